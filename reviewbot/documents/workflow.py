"""GitHub Actions workflows: jobs, steps and scripts, with the place of everything that decides what a launcher gets."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass

from reviewbot.documents.expressions import to_string
from reviewbot.documents.nodes import Entry, Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Problem, Site, Span
from reviewbot.documents.yaml import YamlDocument, parse_yaml


@dataclass(frozen=True, slots=True)
class Setting:
    """A name and its value as text, expressions not evaluated: an entry of ``env``, ``with``, ``outputs``.

    ``text`` is what GitHub makes of the YAML value (``0.80`` is ``0.8``); ``node`` is the value itself; ``site`` the line of the key.
    """

    name: str
    text: str
    node: Node
    site: Site


Settings = MappingType[str, Setting]


@dataclass(frozen=True, slots=True)
class WorkflowInput:
    """An input of ``workflow_call`` or ``workflow_dispatch``. ``type`` is ``string`` where none is written; ``default`` is typed."""

    name: str
    type: str
    required: bool
    has_default: bool
    default: object
    options: tuple[str, ...]
    site: Site

    @property
    def value_without_argument(self) -> object:
        """What the input is where the caller does not pass it."""
        if self.has_default and self.default is not None:
            return self.default
        return {"boolean": False, "number": 0}.get(self.type, "")


@dataclass(frozen=True, slots=True)
class RunText:
    """A ``run:`` text. ``lines[i]`` is the file's line of the i-th line of ``text``; ``columns[i]`` the column (from 1) of its first
    character, where the text stands in the file character by character, else 0."""

    text: str
    lines: tuple[int, ...]
    columns: tuple[int, ...]
    span: Span

    def line(self, number: int) -> int:
        """The file's line of line ``number`` (from 1) of the text; past the end, that of the last one."""
        return self.lines[min(max(number, 1), len(self.lines)) - 1] if self.lines else self.span.line


@dataclass(frozen=True, slots=True)
class WorkflowStep:
    name: str | None
    id: str | None
    condition: str | None
    run: RunText | None
    shell: str | None
    uses: str | None
    working_directory: str | None
    env: Settings
    arguments: Settings  # ``with``
    continue_on_error: str | None
    site: Site
    node: Mapping


@dataclass(frozen=True, slots=True)
class WorkflowJob:
    """A job; ``uses`` and ``arguments`` where it calls another workflow. ``matrix`` is the node of ``strategy.matrix``."""

    id: str
    name: str | None
    needs: tuple[str, ...]
    condition: str | None
    runs_on: Node | None
    uses: str | None
    arguments: Settings
    secrets: Node | None
    matrix: Node | None
    strategy: Mapping | None
    env: Settings
    shell: str | None
    working_directory: str | None
    outputs: Settings
    permissions: Node | None
    steps: tuple[WorkflowStep, ...]
    site: Site
    node: Mapping


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow file. ``inputs`` are those of ``workflow_call``, ``dispatch_inputs`` those of ``workflow_dispatch``."""

    path: str
    name: str | None
    triggers: tuple[str, ...]
    inputs: MappingType[str, WorkflowInput]
    dispatch_inputs: MappingType[str, WorkflowInput]
    env: Settings
    shell: str | None
    working_directory: str | None
    permissions: Node | None
    jobs: MappingType[str, WorkflowJob]
    problems: tuple[Problem, ...]
    document: YamlDocument


def parse_workflow(data: bytes, path: str = "") -> Workflow:
    """The workflow of a file's content; everything wrong with it is in ``problems``."""
    return read_workflow(parse_yaml(data, path, github=True))


def read_workflow(document: YamlDocument) -> Workflow:
    """The workflow of a document that was parsed with ``github=True``."""
    path = document.path
    root = document.root
    problems = list(document.problems)
    if not isinstance(root, Mapping):
        if not problems:
            span = root.span if root is not None else Span(1, 1, 1, 1)
            problems.append(Problem("workflow-shape", "a workflow is a mapping with `on` and `jobs`", span, True))
        root = Mapping([], [], Span(1, 1, 1, 1), "", False)
    on = root.get("on")
    jobs: dict[str, WorkflowJob] = {}
    listed = root.get("jobs")
    if isinstance(listed, Mapping):
        for entry in _entries(listed):
            name = _text(entry.key)
            if name is not None and isinstance(entry.value, Mapping):
                jobs[name] = _job(document, name, entry.value, Site(path, entry.key.span.line), problems)
            else:
                problems.append(Problem("workflow-shape", f"the job {name} is not a mapping", entry.value.span))
    elif listed is not None:
        problems.append(Problem("workflow-shape", "`jobs` is not a mapping", listed.span))
    shell, folder = _run_defaults(root)
    return Workflow(
        path=path,
        name=_text(root.get("name")),
        triggers=_names(on),
        inputs=_inputs(on, "workflow_call", path),
        dispatch_inputs=_inputs(on, "workflow_dispatch", path),
        env=_settings(root.get("env"), path),
        shell=shell,
        working_directory=folder,
        permissions=root.get("permissions"),
        jobs=jobs,
        problems=tuple(problems),
        document=document,
    )


def _entries(node: Node | None) -> list[Entry]:
    return [entry for _, entry in node.items()] if isinstance(node, Mapping) else []


def _text(node: Node | None) -> str | None:
    """A scalar as GitHub's text of it; ``None`` for what is no scalar, or null."""
    if not isinstance(node, Scalar) or node.value is None:
        return None
    return to_string(node.value)


def _names(node: Node | None) -> tuple[str, ...]:
    """``needs``, ``on``: a name, a list of names, or the keys of a mapping."""
    if isinstance(node, Scalar):
        text = _text(node)
        return (text,) if text else ()
    if isinstance(node, Sequence):
        return tuple(text for item in node.items if (text := _text(item)) is not None)
    return tuple(text for entry in _entries(node) if (text := _text(entry.key)) is not None)


def _settings(node: Node | None, path: str) -> dict[str, Setting]:
    settings = {}
    for entry in _entries(node):
        name = _text(entry.key)
        if name is not None:
            settings[name] = Setting(name, _text(entry.value) or "", entry.value, Site(path, entry.key.span.line))
    return settings


def _get(node: Node | None, *keys: str) -> Node | None:
    for key in keys:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _run_defaults(node: Mapping) -> tuple[str | None, str | None]:
    return _text(_get(node, "defaults", "run", "shell")), _text(_get(node, "defaults", "run", "working-directory"))


def _inputs(on: Node | None, trigger: str, path: str) -> dict[str, WorkflowInput]:
    inputs = {}
    for entry in _entries(_get(on, trigger, "inputs")):
        name = _text(entry.key)
        if name is None:
            continue
        default = _get(entry.value, "default")
        options = _get(entry.value, "options")
        inputs[name] = WorkflowInput(
            name=name,
            type=_text(_get(entry.value, "type")) or "string",
            required=_text(_get(entry.value, "required")) == "true",
            has_default=default is not None,
            default=_typed(default, _text(_get(entry.value, "type")) or "string"),
            options=_names(options) if isinstance(options, Sequence) else (),
            site=Site(path, entry.key.span.line),
        )
    return inputs


def _typed(node: Node | None, kind: str) -> object:
    if not isinstance(node, Scalar):
        return None
    return node.value if kind in ("boolean", "number") or node.value is None else to_string(node.value)


def _job(document: YamlDocument, name: str, node: Mapping, site: Site, problems: list[Problem]) -> WorkflowJob:
    strategy = node.get("strategy")
    shell, folder = _run_defaults(node)
    steps = []
    listed = node.get("steps")
    for item in listed.items if isinstance(listed, Sequence) else []:
        if isinstance(item, Mapping):
            steps.append(_step(document, item))
        else:
            problems.append(Problem("workflow-shape", f"a step of the job {name} is not a mapping", item.span))
    return WorkflowJob(
        id=name,
        name=_text(node.get("name")),
        needs=_names(node.get("needs")),
        condition=_text(node.get("if")),
        runs_on=node.get("runs-on"),
        uses=_text(node.get("uses")),
        arguments=_settings(node.get("with"), document.path),
        secrets=node.get("secrets"),
        matrix=_get(strategy, "matrix"),
        strategy=strategy if isinstance(strategy, Mapping) else None,
        env=_settings(node.get("env"), document.path),
        shell=shell,
        working_directory=folder,
        outputs=_settings(node.get("outputs"), document.path),
        permissions=node.get("permissions"),
        steps=tuple(steps),
        site=site,
        node=node,
    )


def _step(document: YamlDocument, node: Mapping) -> WorkflowStep:
    run = node.get("run")
    return WorkflowStep(
        name=_text(node.get("name")),
        id=_text(node.get("id")),
        condition=_text(node.get("if")),
        run=run_text(document, run) if isinstance(run, Scalar) else None,
        shell=_text(node.get("shell")),
        uses=_text(node.get("uses")),
        working_directory=_text(node.get("working-directory")),
        env=_settings(node.get("env"), document.path),
        arguments=_settings(node.get("with"), document.path),
        continue_on_error=_text(node.get("continue-on-error")),
        site=Site(document.path, node.span.line),
        node=node,
    )


def run_text(document: YamlDocument, scalar: Scalar) -> RunText:
    """A scalar that holds a script, with the line of the file behind each of its lines."""
    text = to_string(scalar.value)
    pieces = text.split("\n")
    if pieces and not pieces[-1]:
        pieces.pop()
    span = scalar.span
    if scalar.style == "|":
        lines = [span.line + 1 + number for number in range(len(pieces))]
    elif span.line == span.end_line:
        lines = [span.line] * len(pieces)
    else:
        lines = _folded_lines(document, scalar, text, pieces)
    columns = []
    for number, (line, piece) in enumerate(zip(lines, pieces)):
        written = document.lines[line - 1] if line <= len(document.lines) else ""
        if scalar.style == "|":
            columns.append(len(written) - len(piece) + 1 if written.endswith(piece) else 0)
        else:
            at = written.find(piece, span.column - 1 if number == 0 and line == span.line else 0)
            columns.append(at + 1 if at >= 0 else 0)
    return RunText(text, tuple(lines), tuple(columns), span)


def _folded_lines(document: YamlDocument, scalar: Scalar, text: str, pieces: list[str]) -> list[int]:
    """The file's lines behind the lines of a folded text: each written line is found again in the text, in order."""
    found: list[tuple[int, int]] = []  # offset in the text, line of the file
    position = 0
    first = scalar.span.line + (1 if scalar.style == ">" else 0)
    for line in range(first, min(scalar.span.end_line, len(document.lines)) + 1):
        written = document.lines[line - 1]
        if line == scalar.span.line:
            written = written[scalar.span.column - 1 :]
        written = written.strip().removeprefix(scalar.style if scalar.style in ("'", '"') else "")
        if line == scalar.span.end_line and scalar.style in ("'", '"'):
            written = written.removesuffix(scalar.style)
        if scalar.style == "'":
            written = written.replace("''", "'")
        if not written:
            continue
        at = text.find(written, position)
        if at >= 0:
            found.append((at, line))
            position = at + len(written)
    lines = []
    offset = 0
    for piece in pieces:
        start = offset + len(piece) - len(piece.lstrip())
        lines.append(max((line for at, line in found if at <= start), default=scalar.span.line))
        offset += len(piece) + 1
    return lines
