"""Texts with ``${{ }}`` of a workflow, compiled once and evaluated for the many rows of a sweep.

Rows differ in few of the values that an expression reads, so its result is remembered by them; a mere look-up is walked directly.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from reviewbot.bench.freeze import freeze
from reviewbot.documents.expressions import (
    Access,
    Call,
    ContextName,
    Embedded,
    Expression,
    ExpressionError,
    LiteralValue,
    Partial,
    Unknown,
    evaluate,
    split_template,
    to_string,
)
from reviewbot.documents.nodes import Node, Scalar

Contexts = Mapping[str, Any]
Names = tuple[str, ...]
_MAX_REMEMBERED = 20_000


class Part:
    """One expression. ``names`` is the look-up that it is (``("inputs", "tp")``), or ``None`` where it is more than that."""

    __slots__ = ("_expression", "_last", "_memo", "_reads", "names", "source")

    def __init__(self, piece: Embedded) -> None:
        self.source = piece.source.strip()
        self._expression = piece.expression
        self.names = None if piece.expression is None else _chain(piece.expression)
        reads: set[Names] = set()
        told = piece.expression is not None and _collect(piece.expression, reads)
        self._reads = tuple(sorted(reads)) if told else None
        self._memo: dict[Hashable, Any] = {}
        self._last: tuple[object, Any] = (None, None)  # a context that is the same for all rows, and the value in it

    def value(self, contexts: Contexts) -> Any:
        """The value, or ``Unknown``; an expression that GitHub would refuse is unknown too."""
        if self._expression is None:
            return Unknown(self.source)
        if self.names is not None:
            found = look_up(contexts, self.names)
            return found if found is not MISSING else self._walked(contexts, self.names[0].lower())
        if self._reads is None:
            return self._evaluated(contexts)
        key = tuple(freeze(look_up(contexts, names)) for names in self._reads)
        try:
            return self._memo[key]
        except KeyError:
            value = self._evaluated(contexts)
            if len(self._memo) < _MAX_REMEMBERED:
                self._memo[key] = value
            return value

    def _walked(self, contexts: Contexts, name: str) -> Any:
        root = contexts.get(name, MISSING)
        if root is not MISSING and not isinstance(root, Partial):
            return self._evaluated(contexts)
        if self._last[0] is not root:
            self._last = (root, self._evaluated(contexts))
        return self._last[1]

    def _evaluated(self, contexts: Contexts) -> Any:
        assert self._expression is not None
        try:
            found = evaluate(self._expression, contexts, self.source)
        except ExpressionError:
            return Unknown(self.source)
        return Unknown(self.source) if isinstance(found, Unknown) else found


class Template:
    """A text with expressions. ``source`` is the text as written, ``constant`` its value where ``parts`` is empty."""

    __slots__ = ("constant", "parts", "source")

    def __init__(self, source: str, constant: Any, parts: tuple[str | Part, ...]) -> None:
        self.source = source
        self.constant = constant
        self.parts = parts

    @property
    def names(self) -> Names | None:
        """The look-up that the whole text is, or ``None``."""
        return self.parts[0].names if len(self.parts) == 1 and isinstance(self.parts[0], Part) else None

    def evaluate(self, contexts: Contexts) -> Any:
        """The value: of any type where the whole text is one expression, else a text; ``Unknown`` where a part is."""
        if not self.parts:
            return self.constant
        if len(self.parts) == 1 and isinstance(self.parts[0], Part):
            return self.parts[0].value(contexts)
        pieces: list[str] = []
        for part in self.parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            value = part.value(contexts)
            if isinstance(value, Unknown):
                return value
            pieces.append(to_string(value))
        return "".join(pieces)

    def interpolate(self, contexts: Contexts) -> tuple[str, frozenset[str]]:
        """The text with unknown expressions left in it as ``${{ source }}``, and those texts."""
        pieces: list[str] = [] if self.parts else [to_string(self.constant)]
        names: set[str] = set()
        for part in self.parts:
            value = part if isinstance(part, str) else part.value(contexts)
            if isinstance(value, Unknown):
                value = f"${{{{ {value.text} }}}}"
                names.add(value)
            pieces.append(to_string(value))
        return "".join(pieces), frozenset(names)


def compile_template(node: Node | str) -> Template:
    """Compiles a scalar, or a text."""
    value = node if isinstance(node, str) else node.value if isinstance(node, Scalar) else None
    if not isinstance(value, str):
        return Template(to_string(value), value, ())
    pieces = split_template(value)
    if not any(isinstance(piece, Embedded) for piece in pieces):
        return Template(value, value, ())
    return Template(value, None, tuple(Part(piece) if isinstance(piece, Embedded) else piece for piece in pieces))


MISSING = object()


def look_up(contexts: Contexts, names: Names) -> Any:
    """The value at exactly these names, else ``MISSING`` (the evaluator knows the finer rules)."""
    value: Any = contexts
    for name in names:
        if not isinstance(value, dict):
            return MISSING
        value = value.get(name, MISSING)
        if value is MISSING:
            return MISSING
    return value


def _chain(node: Expression) -> Names | None:
    names: list[str] = []
    while isinstance(node, Access):
        if not isinstance(node.index, LiteralValue) or not isinstance(node.index.value, str):
            return None
        names.append(node.index.value)
        node = node.object
    return (node.name, *reversed(names)) if isinstance(node, ContextName) else None


def _collect(node: Expression, reads: set[Names]) -> bool:
    """Gathers what the value of ``node`` depends on; false where that cannot be told."""
    chain = _chain(node)
    if chain is not None:
        reads.add(chain)
        return True
    if isinstance(node, Access):
        return _collect(node.object, reads) and (node.index is None or _collect(node.index, reads))
    if isinstance(node, Call):
        return all(_collect(argument, reads) for argument in node.arguments)
    if isinstance(node, LiteralValue):
        return True
    if isinstance(node, ContextName):
        return False
    return all(_collect(operand, reads) for operand in node.operands)
