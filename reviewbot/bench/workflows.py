"""The launch contract: how a repository's workflows turn a sweep point into the environment and script of a launcher.

A *caller* is a job with a matrix of points that uses a reusable workflow; a *template* is that workflow, where one step runs a
launcher. For each kind of point the caller is found by what it passes (topology, scenario, eval), its ``with:`` is evaluated for
the row, then the inputs' defaults, the template's environments and the script of the step. Expressions are compiled once.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingType
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field
from typing import Any

from reviewbot.bench.model import Job, Point
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.runners import Runners
from reviewbot.bench.templates import MISSING, Names, Template, compile_template, look_up
from reviewbot.documents.expressions import Partial, Unknown, to_string
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence, find
from reviewbot.documents.positions import Site, Span

LAUNCHER = re.compile(r"""(?:\./)?([\w./-]*runners/launch_[^\s;&|"']*)""")
RUNTIME_NAMES = frozenset(
    {
        "GITHUB_WORKSPACE", "GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_RUN_NUMBER", "GITHUB_SHA", "GITHUB_REF", "GITHUB_REF_NAME",
        "GITHUB_REPOSITORY", "GITHUB_ACTOR", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH",
        "GITHUB_STEP_SUMMARY", "GITHUB_JOB", "GITHUB_SERVER_URL", "RUNNER_TEMP", "RUNNER_WORKSPACE", "HOME", "USER", "PATH", "HOSTNAME",
    }
)
"""Names that a runner sets for every step and whose value is not known before the job."""

_FIXED_ENVIRONMENT = {"CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted"}
_LOCAL = "./.github/workflows/"
_BUCKET = re.compile(r"""(?:\.|\[['"])([\w-]+)(?:['"]\])?\s*\}\}\s*$""")
_LENGTHS = re.compile(r"^\d+k\d+k$")


@dataclass(frozen=True, slots=True)
class Caller:
    """A job that runs a template once a point. ``variable`` is the matrix variable that holds the row."""

    workflow: str
    job: str
    site: Site
    template: str
    variable: str
    bucket: str  # last name of the matrix expression: ``8k1k``, ``agentic``, ``evals``
    multinode: bool
    agentic: bool
    eval_only: bool
    automatic: bool  # the workflow starts by itself (push, pull request, schedule)
    inputs: MappingType[str, tuple[Template, Site]]


@dataclass(frozen=True, slots=True)
class Input:
    name: str
    type: str
    default: Any
    required: bool
    site: Site


@dataclass(frozen=True, slots=True)
class LaunchTemplate:
    """A reusable workflow with a step that runs a launcher. ``environment`` is in the order of the levels: workflow, job, step."""

    path: str
    inputs: MappingType[str, Input]
    environment: tuple[tuple[str, Template, Site], ...]
    script: Template
    site: Site  # first line of the script


@dataclass(frozen=True, slots=True)
class Contract:
    """All callers and templates of a repository, or the built-in profile where it has no workflows."""

    callers: tuple[Caller, ...] = ()
    templates: MappingType[str, LaunchTemplate] = field(default_factory=dict)
    problems: tuple[BenchProblem, ...] = ()

    def caller(self, row: MappingType[str, Any], eval_only: bool = False) -> Caller | None:
        """The caller for a row: the one that names the row's bucket before one that takes any, the first of equal ones."""
        multinode, agentic = "prefill" in row, "scenario-type" in row
        best: Caller | None = None
        best_rank: tuple[int, ...] = ()
        for caller in self.callers:
            if (caller.multinode, caller.agentic, caller.eval_only) != (multinode, agentic, eval_only):
                continue
            named = _LENGTHS.match(caller.bucket) is not None
            if named and caller.bucket != _length_name(row):
                continue
            rank = (int(caller.automatic), int(named))
            if best is None or rank > best_rank:
                best, best_rank = caller, rank
        return best

    @property
    def separate_evals(self) -> bool:
        """Whether evals run in jobs of their own, so that throughput jobs never carry the eval mark."""
        return any(caller.eval_only for caller in self.callers)


def _length_name(row: MappingType[str, Any]) -> str:
    isl, osl = row.get("isl"), row.get("osl")
    return f"{isl // 1024}k{osl // 1024}k" if isinstance(isl, int) and isinstance(osl, int) else ""


# --- reading -------------------------------------------------------------------------------------------------------


def read_contract(documents: MappingType[str, Node | None]) -> Contract:
    """The contract of the workflows in ``documents`` (path to root node)."""
    problems: list[BenchProblem] = []
    templates: dict[str, LaunchTemplate] = {}
    for path, root in documents.items():
        template = _template(path, root)
        if template is not None:
            templates[path] = template
    callers: list[Caller] = []
    for path, root in documents.items():
        callers.extend(_callers(path, root, templates))
    return Contract(tuple(callers), templates, tuple(problems))


def _template(path: str, root: Node | None) -> LaunchTemplate | None:
    call = _trigger(root, "workflow_call")
    jobs = find(root, "jobs")
    if call is _MISSING or not isinstance(jobs, Mapping):
        return None
    for _, entry in jobs.items():
        steps = find(entry.value, "steps")
        for step in steps.items if isinstance(steps, Sequence) else ():
            run = find(step, "run")
            if not isinstance(run, Scalar) or not isinstance(run.value, str) or LAUNCHER.search(run.value) is None:
                continue
            environment = [
                (str(name), compile_template(value.value), _site(path, value.value))
                for block in (find(root, "env"), find(entry.value, "env"), find(step, "env"))
                if isinstance(block, Mapping)
                for name, value in block.items()
            ]
            line = run.span.line + (1 if run.style in ("|", ">") else 0)
            inputs = find(call, "inputs") if not isinstance(call, str) else None
            return LaunchTemplate(path, _inputs(path, inputs), tuple(environment), compile_template(run), Site(path, line))
    return None


_MISSING = "missing"


def _trigger(root: Node | None, name: str) -> Node | str | None:
    """The settings of a trigger (``None`` where it has none), or ``_MISSING``."""
    on = find(root, "on")
    if on is None:
        on = find(root, True)  # a loader that reads ``on`` as a boolean
    if isinstance(on, Mapping) and name in on.index():
        return on.get(name)
    if isinstance(on, Scalar) and on.value == name:
        return None
    if isinstance(on, Sequence) and any(isinstance(item, Scalar) and item.value == name for item in on.items):
        return None
    return _MISSING


def _inputs(path: str, block: Node | None) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    for name, entry in block.items() if isinstance(block, Mapping) else ():
        kind, default, required = (find(entry.value, key) for key in ("type", "default", "required"))
        inputs[str(name)] = Input(
            str(name),
            kind.text if isinstance(kind, Scalar) else "string",
            default.value if isinstance(default, Scalar) else None,
            isinstance(required, Scalar) and required.value is True,
            Site(path, entry.key.span.line),
        )
    return inputs


def _callers(path: str, root: Node | None, templates: MappingType[str, LaunchTemplate]) -> Iterable[Caller]:
    jobs = find(root, "jobs")
    automatic = any(_trigger(root, name) is not _MISSING for name in ("push", "pull_request", "schedule"))
    for name, entry in jobs.items() if isinstance(jobs, Mapping) else ():
        uses, block, matrix = find(entry.value, "uses"), find(entry.value, "with"), find(entry.value, "strategy", "matrix")
        if not isinstance(uses, Scalar) or not isinstance(uses.value, str) or not uses.value.startswith(_LOCAL):
            continue
        template = uses.value[2:]
        if template not in templates or not isinstance(block, Mapping) or not isinstance(matrix, Mapping):
            continue
        inputs = {str(key): (compile_template(item.value), _site(path, item.value)) for key, item in block.items()}
        for variable, expression in matrix.items():
            if not isinstance(expression.value, Scalar) or not isinstance(expression.value.value, str):
                continue
            if not any(f"matrix.{variable}" in part.source for part, _ in inputs.values()):
                continue
            bucket = _BUCKET.search(expression.value.value)
            scenario = inputs.get("scenario-type")
            eval_only = inputs.get("eval-only")
            yield Caller(
                path, str(name), Site(path, entry.key.span.line), template, str(variable), bucket.group(1) if bucket else "",
                any(".prefill." in part.source for part, _ in inputs.values()),
                scenario is not None and scenario[0].source.strip("'\" ") == "agentic-coding",
                eval_only is not None and eval_only[0].constant in (True, "true"),
                automatic, inputs,
            )
            break


def _site(path: str, node: Node) -> Site:
    return Site(path, node.span.line)


# --- evaluating ----------------------------------------------------------------------------------------------------


class _Plan:
    """How a caller and its template make an environment, with all that no row changes worked out."""

    def __init__(self, caller: Caller, template: LaunchTemplate) -> None:
        self.template = template
        self.variable = caller.variable
        self.fixed_inputs: dict[str, Any] = {}
        self.row_inputs: list[tuple[str, str, Names | None, Template]] = []
        for name, declared in template.inputs.items():
            given = caller.inputs.get(name)
            if given is None:
                self.fixed_inputs[name] = _typed(declared.default, declared.type)
            elif not given[0].parts:
                self.fixed_inputs[name] = _typed(given[0].constant, declared.type)
            else:
                names = given[0].names
                own = names is not None and names[:2] == ("matrix", caller.variable)
                self.row_inputs.append((name, declared.type, names[2:] if names is not None and own else None, given[0]))
        entries = {name: (value, site) for name, value, site in template.environment}
        self.sites = {name: site for name, (_, site) in entries.items()}
        self.fixed: dict[str, str] = dict(_FIXED_ENVIRONMENT)
        self.of_row: list[tuple[str, str | None, Template]] = []
        self.of_node: list[tuple[str, Template]] = []
        for name, (value, _) in entries.items():
            self.fixed.pop(name, None)
            if not value.parts:
                self.fixed[name] = to_string(value.constant)
            elif "runner." in value.source:
                self.of_node.append((name, value))
            else:
                names = value.names
                self.of_row.append((name, names[1] if names is not None and len(names) == 2 and names[0] == "inputs" else None, value))
        self.always_unknown = RUNTIME_NAMES - entries.keys()
        found = LAUNCHER.search(template.script.source)
        self.launcher = "" if found is None else _normal(found.group(1))

    def evaluate(self, row: MappingType[str, Any]) -> tuple[dict[str, Any], dict[str, str], set[str]]:
        """Contexts, known environment and unknown names of a row, for any runner."""
        contexts: dict[str, Any] = {**_WORLD, "matrix": {self.variable: row}}
        inputs = dict(self.fixed_inputs)
        for name, kind, names, template in self.row_inputs:
            value: Any = MISSING if names is None else look_up(row, names)
            if value is MISSING:
                value = template.evaluate(contexts)
            inputs[name] = _typed(value, kind)
        environment = dict(self.fixed)
        unknown: set[str] = set(self.always_unknown)
        contexts["inputs"] = inputs
        contexts["env"] = environment
        if self.template.inputs:
            del contexts["matrix"]  # it is the caller's, not the template's own
        for name, source, template in self.of_row:
            value = MISSING if source is None else inputs.get(source, MISSING)
            if value is MISSING:
                value = template.evaluate(contexts)
            if value.__class__ is str:
                environment[name] = value
            elif isinstance(value, Unknown):
                environment.pop(name, None)
                unknown.add(name)
            else:
                environment[name] = to_string(value)
        return contexts, environment, unknown


class Launches:
    """Makes the jobs of points. ``prepare`` gives the row that the workflow's matrix holds (for an eval job or not)."""

    def __init__(self, contract: Contract, runners: Runners, prepare: Callable[[Point, bool], MappingType[str, Any]]) -> None:
        self._contract = contract
        self._runners = runners
        self._prepare = prepare
        self.problems: list[BenchProblem] = list(contract.problems)
        self._reported: set[tuple[str, str]] = set()
        self._plans: dict[int, _Plan] = {}
        self._choices: dict[tuple[Any, ...], Caller | None] = {}
        self._representatives: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def jobs_of(self, point: Point, eval_only: bool = False) -> list[Job]:
        """One job for each distinct launcher among the nodes of the point's runner label, in the label's order."""
        row = self._prepare(point, eval_only)
        kind = (row.get("isl"), row.get("osl"), "prefill" in row, "scenario-type" in row, eval_only)
        if kind not in self._choices:
            self._choices[kind] = self._contract.caller(row, eval_only)
        caller = self._choices[kind]
        if caller is None:
            if not eval_only:
                text = f"no workflow job runs {'multi' if 'prefill' in row else 'single'}-node {point.scenario} points"
                self._report("no-caller", text, point.site, point.key)
            return []
        plan = self._plans.get(id(caller))
        if plan is None:
            plan = self._plans[id(caller)] = _Plan(caller, self._contract.templates[caller.template])
        label = str(row.get("runner", ""))
        if not self._runners.nodes(label) and not self._runners.is_node(label):
            self._report(
                "unknown-runner", f"the runner list has no label {label!r}", point.sites.get("runner", point.site), point.key, False
            )
        contexts, environment, unknown = plan.evaluate(row)
        return [
            self._job(point, plan, contexts, environment, unknown, (label, node, launcher), eval_only)
            for node, launcher in self._nodes(label, plan)
        ]

    def _nodes(self, label: str, plan: _Plan) -> tuple[tuple[str, str], ...]:
        """The first node of each launcher. A label that is not listed stands for a node of that name."""
        place = (label, plan.launcher)
        if place not in self._representatives:
            nodes: SequenceType[str] = self._runners.nodes(label)
            if not nodes:
                nodes = (label,) if self._runners.is_node(label) else (f"{label.removeprefix('cluster:')}_0",)
            first: dict[str, str] = {}
            for node in nodes:
                first.setdefault(_with_runner_name(plan.launcher, node), node)
            self._representatives[place] = tuple((node, launcher) for launcher, node in first.items())
        return self._representatives[place]

    def _job(
        self, point: Point, plan: _Plan, contexts: dict[str, Any], environment: dict[str, str], unknown: set[str],
        target: tuple[str, str, str], eval_only: bool,
    ) -> Job:
        label, node, launcher = target
        values = dict(environment)
        names = set(unknown)
        own = {**contexts, "env": values, "runner": Partial(name=node, os="Linux")}
        for name, template in plan.of_node:
            value = template.evaluate(own)
            if isinstance(value, Unknown):
                values.pop(name, None)
                names.add(name)
            else:
                values[name] = to_string(value)
        script, left = plan.template.script.interpolate(own)
        return Job(
            point, label, node, launcher, script, plan.template.site, values, plan.sites, frozenset(names | left), eval_only
        )

    def _report(self, code: str, message: str, site: Site, key: str, known: bool = True) -> None:
        if (code, key) not in self._reported:
            self._reported.add((code, key))
            span = Span(site.line, 1, site.line, 1)
            self.problems.append(BenchProblem(code, message, site, span, key, "" if known else "runner", known))


# Contexts of a sweep that runs by itself on the main branch, without labels; other names of these contexts are unknown.
_WORLD: dict[str, Any] = {
    "github": Partial(event_name="push", ref="refs/heads/main", event={"pull_request": {"labels": []}}),
}


def _typed(value: Any, kind: str) -> Any:
    """A value as an input of a reusable workflow holds it."""
    if isinstance(value, Unknown):
        return value
    if value.__class__ is str and kind == "string":
        return value
    if kind == "boolean":
        return value if isinstance(value, bool) else to_string(value).lower() == "true"
    if kind == "number":
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else _number(to_string(value))
    return to_string(value)


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return 0


_RUNNER_NAME = re.compile(r"\$\{RUNNER_NAME(?:(%%|%|##|#)([^}]*))?\}|\$RUNNER_NAME\b")


def _with_runner_name(text: str, node: str) -> str:
    """The path with ``$RUNNER_NAME`` expanded as the shell does, the four trimming operators included."""

    def expand(found: re.Match[str]) -> str:
        operator, pattern = found.group(1), found.group(2)
        if not operator:
            return node
        if operator.startswith("%"):
            ends = range(len(node) + 1) if operator == "%%" else range(len(node), -1, -1)
            return next((node[:end] for end in ends if fnmatch.fnmatchcase(node[end:], pattern)), node)
        starts = range(len(node), -1, -1) if operator == "##" else range(len(node) + 1)
        return next((node[start:] for start in starts if fnmatch.fnmatchcase(node[:start], pattern)), node)

    return _RUNNER_NAME.sub(expand, text)


def _normal(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts)
