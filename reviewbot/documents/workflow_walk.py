"""Every text of a workflow that may hold an expression, with what GitHub gives it there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.expressions import (
    Access,
    Call,
    ContextName,
    Embedded,
    Expression,
    ExpressionError,
    LiteralValue,
    Operation,
    parse_expression,
    split_template,
)
from reviewbot.documents.nodes import Node, Scalar, Sequence
from reviewbot.documents.workflow import Workflow, run_text

_ALL = frozenset({"github", "needs", "strategy", "matrix", "job", "runner", "env", "vars", "secrets", "steps", "inputs"})
_JOB = frozenset({"github", "needs", "strategy", "matrix", "vars", "inputs"})
_STATUS = frozenset({"always", "success", "failure", "cancelled"})
_ANYWHERE = frozenset({"contains", "startswith", "endswith", "format", "join", "tojson", "fromjson", "case"})

# What GitHub gives, by the place below a job; the longest prefix that fits counts. ``*`` is any name.
_PLACES: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = (
    (("if",), frozenset({"github", "needs", "vars", "inputs"})),
    (("strategy",), frozenset({"github", "needs", "vars", "inputs"})),
    (("env",), _JOB | {"secrets"}),
    (("secrets",), _JOB | {"secrets"}),
    (("defaults",), _JOB | {"env"}),
    (("environment", "url"), _JOB | {"job", "runner", "env", "steps"}),
    (("container", "env"), _JOB | {"job", "runner", "env", "secrets"}),
    (("container", "credentials"), _JOB | {"env", "secrets"}),
    (("services", "*", "env"), _JOB | {"job", "runner", "env", "secrets"}),
    (("services", "*", "credentials"), _JOB | {"env", "secrets"}),
    (("outputs",), _ALL),
    (("steps", "*", "if"), _ALL - {"secrets"}),
    (("steps",), _ALL),
)
_TOP = {
    "run-name": frozenset({"github", "inputs", "vars"}),
    "concurrency": frozenset({"github", "inputs", "vars"}),
    "env": frozenset({"github", "secrets", "inputs", "vars"}),
}


@dataclass(frozen=True, slots=True)
class Placed:
    """An expression in a workflow. ``path`` is the way from the root (``jobs``, the job, ...); ``line`` and ``column`` are where it begins
    (column 0: unknown); ``contexts`` and ``functions`` are what there is at that place, ``None`` where anything may be.

    ``expression`` is ``None`` where ``error`` says why GitHub refuses it. ``bare``: a condition without ``${{ }}``.
    """

    path: tuple[str, ...]
    scalar: Scalar
    source: str
    line: int
    column: int
    expression: Expression | None
    error: ExpressionError | None
    contexts: frozenset[str] | None
    functions: frozenset[str] | None
    bare: bool = False

    @property
    def job(self) -> str | None:
        return self.path[1] if len(self.path) > 2 and self.path[0] == "jobs" else None


def expressions(workflow: Workflow) -> Iterator[Placed]:
    """The expressions of a workflow, in the order of the file."""
    root = workflow.document.root
    if root is not None:
        for path, scalar in _scalars(root, (), 0):
            yield from _of_scalar(workflow, path, scalar)


def _scalars(node: Node, path: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], Scalar]]:
    if depth > 40:
        return
    if isinstance(node, Scalar):
        if isinstance(node.value, str):
            yield path, node
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            if index not in node.aliases:
                yield from _scalars(item, (*path, str(index)), depth + 1)
    else:
        for entry in node.entries:
            if isinstance(entry.key, Scalar) and entry.alias is None:
                yield from _scalars(entry.value, (*path, str(entry.key.text)), depth + 1)


def _of_scalar(workflow: Workflow, path: tuple[str, ...], scalar: Scalar) -> Iterator[Placed]:
    text = str(scalar.value)
    condition = path[-1:] == ("if",) and path[0] == "jobs" and (len(path) == 3 or (len(path) == 5 and path[2] == "steps"))
    if "${{" not in text and not condition:
        return
    contexts, functions = available(path)
    lines = run_text(workflow.document, scalar)
    if "${{" not in text:
        expression, error = None, None
        try:
            expression = parse_expression(text)
        except ExpressionError as problem:
            error = problem
        yield Placed(path, scalar, text, scalar.span.line, scalar.span.column, expression, error, contexts, functions, True)
        return
    for piece in split_template(text):
        if isinstance(piece, Embedded):
            number = text.count("\n", 0, piece.start) + 1
            start = text.rfind("\n", 0, piece.start) + 1
            column = lines.columns[number - 1] if number <= len(lines.columns) else 0
            at = column + piece.start - start if column else 0
            yield Placed(path, scalar, piece.source, lines.line(number), at, piece.expression, piece.error, contexts, functions)


def available(path: tuple[str, ...]) -> tuple[frozenset[str] | None, frozenset[str] | None]:
    """The contexts and functions at a place; ``None`` where GitHub's table does not say."""
    if path[:1] != ("jobs",):
        if path and path[0] in _TOP:
            return _TOP[path[0]], _ANYWHERE
        if path[:2] == ("on", "workflow_call"):
            return (frozenset({"github", "jobs", "vars", "inputs"}), _ANYWHERE) if "outputs" in path else (_TOP["concurrency"], _ANYWHERE)
        return None, None
    below = path[2:]
    best: tuple[int, frozenset[str]] = (0, _JOB)
    for place, contexts in _PLACES:
        if len(place) <= len(below) and all(one in ("*", two) for one, two in zip(place, below, strict=False)) and len(place) > best[0]:
            best = (len(place), contexts)
    functions = _ANYWHERE
    if below[-1:] == ("if",) and len(below) in (1, 3):
        functions = functions | _STATUS
    if below[:1] == ("steps",):
        functions = functions | {"hashfiles"}
    return best[1], functions


def names_in(expression: Expression) -> Iterator[tuple[tuple[str, ...], int]]:
    """The dotted names of an expression (``("inputs", "runner")``) and their offset; what is indexed by something else than a text ends
    the name."""
    pending: list[Expression] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, (Access, ContextName)):
            chain: list[str] = []
            inner: Expression = node
            while isinstance(inner, Access):
                if isinstance(inner.index, LiteralValue) and isinstance(inner.index.value, str):
                    chain.append(inner.index.value)
                else:
                    chain.clear()
                    if inner.index is not None:
                        pending.append(inner.index)
                inner = inner.object
            if isinstance(inner, ContextName):
                yield (inner.name, *reversed(chain)), inner.start
            else:
                pending.append(inner)
        elif isinstance(node, Call):
            pending.extend(node.arguments)
        elif isinstance(node, Operation):
            pending.extend(node.operands)


def calls_in(expression: Expression) -> Iterator[tuple[str, int]]:
    """The functions that an expression calls, in lower case, and their offset."""
    pending: list[Expression] = [expression]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            yield node.name, node.start
            pending.extend(node.arguments)
        elif isinstance(node, Operation):
            pending.extend(node.operands)
        elif isinstance(node, Access):
            pending.append(node.object)
            if node.index is not None:
                pending.append(node.index)
