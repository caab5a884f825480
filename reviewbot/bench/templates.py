"""Texts with ``${{ }}`` of a workflow, compiled once and evaluated for many rows.

An expression becomes a closure over its contexts; its result is remembered by the values that it reads, since the rows of a sweep
differ in few of them. A context, or a name of a ``Partial`` one, that is not given is ``Unknown``, and so is what depends on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reviewbot.bench.freeze import freeze
from reviewbot.documents.nodes import Node, Scalar

MAX_DEPTH = 60
MAX_TEXT = 1_000_000


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be known before the job: ``name`` is the expression that asks for it."""

    name: str


class Partial(dict[str, Any]):
    """A context of which some names are known; the others are unknown rather than absent."""


Contexts = Mapping[str, Any]
_Evaluator = Callable[[Contexts], Any]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\.\d+))|(?P<text>'(?:[^']|'')*')"
    r"|(?P<name>[A-Za-z_][\w-]*)|(?P<op>&&|\|\||==|!=|<=|>=|[<>!()\[\],.*]))"
)
_EXPRESSION = re.compile(r"\$\{\{((?:'(?:[^']|'')*'|[^'])*?)\}\}", re.DOTALL)
_WORDS = {"true": True, "false": False, "null": None}


class ExpressionError(ValueError):
    """A text between ``${{`` and ``}}`` that is not an expression."""


@dataclass(frozen=True, slots=True)
class _Expression:
    source: str
    evaluate: _Evaluator
    reads: tuple[_Evaluator, ...] | None  # what the result depends on; None: not told
    plain: bool  # a mere look-up, not worth remembering


class Template:
    """A text with expressions. ``source`` is the text as written, ``constant`` its value where it holds no expression."""

    __slots__ = ("source", "constant", "_parts", "_memo")

    def __init__(self, source: str, constant: Any, parts: tuple[str | _Expression, ...]) -> None:
        self.source = source
        self.constant = constant
        self._parts = parts
        self._memo: list[dict[Hashable, Any]] = [{} for _ in parts]

    def evaluate(self, contexts: Contexts) -> Any:
        """The value: of any type where the whole text is one expression, else a text; ``Unknown`` where a part is."""
        if not self._parts:
            return self.constant
        if len(self._parts) == 1 and isinstance(self._parts[0], _Expression):
            return self._value(0, self._parts[0], contexts)
        pieces: list[str] = []
        for index, part in enumerate(self._parts):
            value = part if isinstance(part, str) else self._value(index, part, contexts)
            if isinstance(value, Unknown):
                return value
            pieces.append(as_text(value))
        return "".join(pieces)

    def interpolate(self, contexts: Contexts) -> tuple[str, frozenset[str]]:
        """The text, with unknown expressions left as they are written, and the names of those."""
        if not self._parts:
            return as_text(self.constant), frozenset()
        pieces: list[str] = []
        names: set[str] = set()
        for index, part in enumerate(self._parts):
            value = part if isinstance(part, str) else self._value(index, part, contexts)
            if isinstance(value, Unknown) and not isinstance(part, str):
                pieces.append(f"${{{{ {part.source} }}}}")
                names.add(pieces[-1])
            else:
                pieces.append(as_text(value))
        return "".join(pieces), frozenset(names)

    def _value(self, index: int, part: _Expression, contexts: Contexts) -> Any:
        if part.plain or part.reads is None:
            return part.evaluate(contexts)
        key = tuple(freeze(read(contexts)) for read in part.reads)
        memo = self._memo[index]
        if key not in memo:
            memo[key] = part.evaluate(contexts)
        return memo[key]


def compile_template(node: Node | str) -> Template:
    """Compiles a scalar (or a text). An expression that cannot be read is unknown, under its own text as a name."""
    value = node if isinstance(node, str) else node.value if isinstance(node, Scalar) else None
    if not isinstance(value, str):
        return Template("" if value is None else as_text(value), value, ())
    parts: list[str | _Expression] = []
    end = 0
    for found in _EXPRESSION.finditer(value):
        if found.start() > end:
            parts.append(value[end : found.start()])
        parts.append(_compile(found.group(1).strip()))
        end = found.end()
    if not parts:
        return Template(value, value, ())
    if end < len(value):
        parts.append(value[end:])
    return Template(value, None, tuple(parts))


def as_text(value: Any) -> str:
    """A value as GitHub writes it into a text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else format(value, ".15g")
    if isinstance(value, Mapping):
        return "Object"
    if isinstance(value, (list, tuple)):
        return "Array"
    return str(value)


def _compile(source: str) -> _Expression:
    try:
        return _Parser(source).parse()
    except ExpressionError:
        unknown = Unknown(source)
        return _Expression(source, lambda contexts: unknown, None, True)


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.tokens = list(_tokens(source))
        self.place = 0
        self.depth = 0
        self.reads: list[_Evaluator] | None = []
        self.lookups = 0
        self.others = 0

    def parse(self) -> _Expression:
        evaluate = self._or()
        if self.place < len(self.tokens):
            raise ExpressionError(self.source)
        plain = self.lookups <= 1 and self.others == 0
        return _Expression(self.source, evaluate, None if self.reads is None else tuple(self.reads), plain)

    def _peek(self) -> str:
        return self.tokens[self.place][1] if self.place < len(self.tokens) and self.tokens[self.place][0] == "op" else ""

    def _accept(self, *operators: str) -> str:
        found = self._peek()
        if found and found in operators:
            self.place += 1
            return found
        return ""

    def _expect(self, operator: str) -> None:
        if not self._accept(operator):
            raise ExpressionError(self.source)

    def _or(self) -> _Evaluator:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(self.source)
        left = self._and()
        while self._accept("||"):
            self.others += 1
            left = _either(left, self._and(), stop_at=True)
        self.depth -= 1
        return left

    def _and(self) -> _Evaluator:
        left = self._equality()
        while self._accept("&&"):
            self.others += 1
            left = _either(left, self._equality(), stop_at=False)
        return left

    def _equality(self) -> _Evaluator:
        left = self._comparison()
        while operator := self._accept("==", "!="):
            self.others += 1
            left = _binary(left, self._comparison(), operator)
        return left

    def _comparison(self) -> _Evaluator:
        left = self._unary()
        while operator := self._accept("<", "<=", ">", ">="):
            self.others += 1
            left = _binary(left, self._unary(), operator)
        return left

    def _unary(self) -> _Evaluator:
        count = 0
        while self._accept("!"):
            count += 1
        if count:
            self.others += 1
        value = self._postfix()
        return value if not count else _negated(value, count % 2 == 1)

    def _postfix(self) -> _Evaluator:
        value = self._primary()
        if isinstance(value, list):
            start, path, plain = self.place, value, True
            while True:
                if self._accept("."):
                    if self._accept("*"):
                        plain = False
                        path.append(None)
                    else:
                        path.append(self._word())
                elif self._peek() == "[" and self._is_text_index():
                    path.append(self.tokens[self.place + 1][1])
                    self.place += 3
                elif self._accept("["):
                    plain = False
                    path.append(self._or())
                    self._expect("]")
                else:
                    break
            del start
            self.lookups += 1
            read = _lookup(tuple(path), self.source)
            if self.reads is not None:
                if plain or None in path and not any(callable(step) for step in path):
                    self.reads.append(read)
                else:
                    self.reads = None
            return read
        while self._peek() in (".", "["):
            self.others += 1
            if self._accept("."):
                step: Any = None if self._accept("*") else self._word()
            else:
                self._expect("[")
                step = self._or()
                self._expect("]")
            value = _step(value, step)
        return value

    def _is_text_index(self) -> bool:
        return (
            self.place + 2 < len(self.tokens)
            and self.tokens[self.place + 1][0] == "text"
            and self.tokens[self.place + 2] == ("op", "]")
        )

    def _word(self) -> str:
        if self.place < len(self.tokens) and self.tokens[self.place][0] == "name":
            self.place += 1
            return self.tokens[self.place - 1][1]
        raise ExpressionError(self.source)

    def _primary(self) -> Any:
        if self.place >= len(self.tokens):
            raise ExpressionError(self.source)
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "op":
            if text != "(":
                raise ExpressionError(self.source)
            value = self._or()
            self._expect(")")
            return value
        if kind in ("number", "text"):
            constant: Any = _literal(text) if kind == "number" else text
            return lambda contexts: constant
        if self._peek() == "(":
            return self._call(text.lower())
        if text.lower() in _WORDS:
            word = _WORDS[text.lower()]
            return lambda contexts: word
        return [text]

    def _call(self, name: str) -> _Evaluator:
        self._expect("(")
        self.others += 1
        arguments: list[_Evaluator] = []
        if not self._accept(")"):
            arguments.append(self._or())
            while self._accept(","):
                arguments.append(self._or())
            self._expect(")")
        function = _FUNCTIONS.get(name)
        if function is None:
            unknown = Unknown(self.source)
            return lambda contexts: unknown

        def call(contexts: Contexts) -> Any:
            values = [argument(contexts) for argument in arguments]
            for value in values:
                if isinstance(value, Unknown):
                    return value
            try:
                return function(*values)
            except (TypeError, ValueError, IndexError, RecursionError):
                return Unknown(self.source)

        return call


def _tokens(source: str) -> Iterator[tuple[str, str]]:
    place = 0
    while place < len(source):
        found = _TOKEN.match(source, place)
        if found is None or found.end() == place:
            if source[place:].strip():
                raise ExpressionError(source)
            return
        kind = found.lastgroup or ""
        text = found.group(kind)
        yield kind, text[1:-1].replace("''", "'") if kind == "text" else text
        place = found.end()


def _literal(text: str) -> int | float:
    if "0x" in text:
        return int(text, 16)
    return float(text) if any(mark in text for mark in ".eE") else int(text)


def _lookup(path: tuple[Any, ...], source: str) -> _Evaluator:
    head, steps = path[0], path[1:]
    name = ".".join(str(step) for step in path if step is not None and not callable(step))
    unknown = Unknown(name)

    def look(contexts: Contexts) -> Any:
        if head not in contexts:
            return unknown
        value = contexts[head]
        for step in steps:
            value = _take(value, step(contexts) if callable(step) else step, unknown)
            if isinstance(value, Unknown):
                return value
        return value

    return look


def _step(value: _Evaluator, step: Any) -> _Evaluator:
    def take(contexts: Contexts) -> Any:
        found = value(contexts)
        if isinstance(found, Unknown):
            return found
        return _take(found, step(contexts) if callable(step) else step, Unknown("value"))

    return take


def _take(value: Any, step: Any, unknown: Unknown) -> Any:
    """A member of a value: ``None`` where there is none. ``step`` is ``None`` for ``.*``."""
    if isinstance(step, Unknown):
        return step
    if step is None:
        return list(value.values()) if isinstance(value, Mapping) else list(value) if isinstance(value, list) else []
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        folded = str(step).lower()
        for key, item in value.items():
            if str(key).lower() == folded:
                return item
        return unknown if isinstance(value, Partial) else None
    if isinstance(value, list):
        if isinstance(step, (int, float)) and not isinstance(step, bool):
            return value[int(step)] if 0 <= step < len(value) else None
        return [item[step] for item in value if isinstance(item, Mapping) and step in item]
    return None


def _truth(value: Any) -> bool:
    return not (value is None or value is False or value == "" or (isinstance(value, (int, float)) and (value == 0 or value != value)))


def _either(left: _Evaluator, right: _Evaluator, stop_at: bool) -> _Evaluator:
    """``||`` (``stop_at`` true) or ``&&``: the operand that decides."""

    def decide(contexts: Contexts) -> Any:
        value = left(contexts)
        if isinstance(value, Unknown):
            return value
        return value if _truth(value) is stop_at else right(contexts)

    return decide


def _negated(value: _Evaluator, odd: bool) -> _Evaluator:
    def negate(contexts: Contexts) -> Any:
        found = value(contexts)
        return found if isinstance(found, Unknown) else _truth(found) is not odd

    return negate


def _binary(left: _Evaluator, right: _Evaluator, operator: str) -> _Evaluator:
    def compare(contexts: Contexts) -> Any:
        first, second = left(contexts), right(contexts)
        if isinstance(first, Unknown):
            return first
        if isinstance(second, Unknown):
            return second
        if operator in ("==", "!="):
            return _equal(first, second) is (operator == "==")
        a, b = _comparable(first, second)
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]

    return compare


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, str) and isinstance(second, str):
        return first.lower() == second.lower()
    if isinstance(first, (Mapping, list)) or isinstance(second, (Mapping, list)):
        return first is second
    if first is None and second is None:
        return True
    return _number(first) == _number(second)


def _comparable(first: Any, second: Any) -> tuple[Any, Any]:
    if isinstance(first, str) and isinstance(second, str):
        return first.lower(), second.lower()
    return _number(first), _number(second)


def _number(value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str):
        try:
            return float(value) if value.strip() else 0.0
        except ValueError:
            return math.nan
    return math.nan


def _contains(search: Any, item: Any) -> bool:
    if isinstance(search, list):
        return any(_equal(one, item) for one in search)
    return as_text(item).lower() in as_text(search).lower()


def _format(pattern: Any, *values: Any) -> str:
    text = as_text(pattern)

    def insert(found: re.Match[str]) -> str:
        whole = found.group(0)
        return whole[0] if whole in ("{{", "}}") else as_text(values[int(found.group(1))])

    return re.sub(r"\{\{|\}\}|\{(\d{1,4})\}", insert, text)


def _join(values: Any, separator: Any = ",") -> str:
    if isinstance(values, list):
        return as_text(separator).join(map(as_text, values))
    return as_text(values)


def _from_json(text: Any) -> Any:
    source = as_text(text)
    if len(source) > MAX_TEXT:
        raise ValueError("too long")
    return json.loads(source)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "contains": _contains,
    "startswith": lambda text, start: as_text(text).lower().startswith(as_text(start).lower()),
    "endswith": lambda text, end: as_text(text).lower().endswith(as_text(end).lower()),
    "format": _format,
    "join": _join,
    "tojson": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
    "fromjson": _from_json,
}
