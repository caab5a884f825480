"""Typed reading of a YAML mapping: every wrong or missing field becomes a problem with its place, and reading goes on."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.nodes import Entry, Mapping, Node, Scalar, Sequence, plain
from reviewbot.documents.positions import Site, Span

MAX_INTEGER = 10**12  # no size, count or length of a benchmark comes near
_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", "t", "f", "y", "n"})


class Fields:
    """One mapping being read. ``failed`` tells that a field which the reader needs is missing or has a wrong type."""

    __slots__ = ("failed", "key", "mapping", "path", "prefix", "problems")

    def __init__(self, mapping: Mapping, path: str, key: str, prefix: str, problems: list[BenchProblem]) -> None:
        self.mapping = mapping
        self.path = path
        self.key = key
        self.prefix = prefix
        self.problems = problems
        self.failed = False

    def dotted(self, name: str) -> str:
        return f"{self.prefix}.{name}" if self.prefix else name

    def problem(self, code: str, message: str, span: Span, name: str = "") -> None:
        self.problems.append(
            BenchProblem(code, message, Site(self.path, span.line), span, self.key, self.dotted(name) if name else self.prefix)
        )

    def fail(self, code: str, message: str, span: Span, name: str = "") -> None:
        self.failed = True
        self.problem(code, message, span, name)

    def entry(self, name: str) -> Entry | None:
        return self.mapping.index().get(name)

    def node(self, name: str) -> Node | None:
        entry = self.mapping.index().get(name)
        return None if entry is None else entry.value

    def site(self, name: str) -> Site | None:
        """The line of the value (of the key, for a nested block)."""
        entry = self.mapping.index().get(name)
        if entry is None:
            return None
        place = entry.value if isinstance(entry.value, Scalar) else entry.key
        return Site(self.path, place.span.line)

    def unknown(self, allowed: Collection[str]) -> None:
        """A problem for every key that is not ``allowed``."""
        for name, entry in self.mapping.index().items():
            if name not in allowed:
                self.problem("unknown-field", f"the field {_shown(name)} is not known here", entry.key.span, str(name))

    def _scalar(self, name: str, required: bool, what: str) -> Scalar | None:
        node = self.node(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if required:
                span = self.mapping.span if node is None else node.span
                self.fail("missing-field", f"the field {name!r} is missing", _first_line(span), name)
            return None
        if not isinstance(node, Scalar):
            self.fail("wrong-type", f"{name!r} must be {what}", _first_line(node.span), name)
            return None
        return node

    def text(self, name: str, required: bool = True) -> str | None:
        node = self._scalar(name, required, "a text")
        if node is None:
            return None
        if not isinstance(node.value, str):
            self.fail("wrong-type", f"{name!r} must be a text, not {node.text!r}", node.span, name)
            return None
        return node.value

    def integer(self, name: str, required: bool = True, least: int | None = None, lax: bool = False) -> int | str | None:
        """An integer; with ``lax`` also a text that reads as one, kept as it is written (the sweep passes it on unchanged)."""
        node = self._scalar(name, required, "an integer")
        if node is None:
            return None
        value = node.value
        if lax and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            return value
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail("wrong-type", f"{name!r} must be an integer, not {node.text!r}", node.span, name)
            return None
        if abs(value) > MAX_INTEGER:
            self.fail("out-of-range", f"{name!r} is too large", node.span, name)
            return None
        if least is not None and value < least:
            self.fail("out-of-range", f"{name!r} must be at least {least}, not {value}", node.span, name)
            return None
        return value

    def boolean(self, name: str) -> bool | str | int | None:
        """A boolean, or what the sweep takes for one, kept as it is written."""
        node = self._scalar(name, False, "a boolean")
        if node is None:
            return None
        value = node.value
        if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
            return value
        if isinstance(value, str) and value.lower() in _BOOLEANS:
            return value
        self.fail("wrong-type", f"{name!r} must be true or false, not {node.text!r}", node.span, name)
        return None

    def choice(self, name: str, choices: Collection[str], default: str | None) -> str | None:
        node = self._scalar(name, False, "a text")
        if node is None:
            entry = self.node(name)
            if entry is not None:
                self.fail("wrong-type", f"{name!r} must be one of {', '.join(sorted(choices))}", _first_line(entry.span), name)
            return default
        if node.value not in choices:
            self.fail("unknown-value", f"{name!r} must be one of {', '.join(sorted(choices))}, not {node.text!r}", node.span, name)
            return default
        return str(node.value)

    def mapping_of(self, name: str, required: bool = True) -> Mapping | None:
        node = self.node(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if required:
                self.fail("missing-field", f"the field {name!r} is missing", _first_line(self.mapping.span), name)
            return None
        if not isinstance(node, Mapping):
            self.fail("wrong-type", f"{name!r} must be a mapping", _first_line(node.span), name)
            return None
        return node

    def sequence_of(self, name: str, required: bool = True) -> Sequence | None:
        node = self.node(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            if required:
                self.fail("missing-field", f"the field {name!r} is missing", _first_line(self.mapping.span), name)
            return None
        if not isinstance(node, Sequence):
            self.fail("wrong-type", f"{name!r} must be a list", _first_line(node.span), name)
            return None
        return node


def json_value(node: Node | None) -> Any:
    """The plain value of a node as JSON has it: the keys of mappings are texts."""
    return _textual(plain(node))


def _textual(value: object) -> Any:
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): _textual(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_textual(item) for item in value]
    return value


def _first_line(span: Span) -> Span:
    """A block's span cut to the place where it begins, so that a problem points at one line."""
    return span if span.line == span.end_line else Span(span.line, span.column, span.line, span.column + 1)


def _shown(name: object) -> str:
    text = str(name)
    return repr(text if len(text) <= 80 else text[:77] + "...")
