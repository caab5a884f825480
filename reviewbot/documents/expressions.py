"""GitHub Actions expressions: ``${{ }}`` parsed, and evaluated as far as the contexts are known.

Values are ``None``, ``bool``, ``int``/``float`` (doubles to GitHub), ``str``, ``list`` and ``dict``; what cannot be known is
``Unknown`` and stays so through every operation whose result depends on it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MAX_LENGTH = 21_000  # characters of an expression, GitHub's limit
MAX_DEPTH = 50  # levels of an expression, GitHub's limit
CONTEXTS = frozenset({"github", "env", "vars", "job", "jobs", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs"})


class ExpressionError(Exception):
    """An expression that GitHub refuses; ``offset`` counts characters from its start."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that cannot be known here; ``text`` is the piece of the expression that made it so (``secrets.TOKEN``)."""

    text: str


class CaseSensitive(dict[str, Any]):
    """An object whose keys are told apart by case (``env`` on Linux); every other object is looked up without regard to case."""


class Partial(dict[str, Any]):
    """An object of which more keys exist than are known: a missing one is ``Unknown``, not null."""


@dataclass(frozen=True, slots=True)
class LiteralValue:
    value: object
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ContextName:
    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Access:
    """``object.name``, ``object[index]``, ``object.*`` (``index`` is ``None``)."""

    object: Expression
    index: Expression | None
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Call:
    name: str  # lower case
    arguments: tuple[Expression, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Operation:
    """``!`` (one operand), a comparison (two), ``&&``/``||`` (two or more)."""

    op: str
    operands: tuple[Expression, ...]
    start: int
    end: int


Expression = LiteralValue | ContextName | Access | Call | Operation

# --- parsing -------------------------------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"""[ \t\r\n]*(?:
      (?P<number>[-+]?(?:0x[0-9a-fA-F]+|0o[0-7]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![A-Za-z0-9_.-])|[-+]?(?:Infinity|NaN)\b)
    | (?P<string>'(?:[^']|'')*')
    | (?P<name>[A-Za-z_][A-Za-z0-9_-]*)
    | (?P<op>&&|\|\||==|!=|<=|>=|[<>!().,*\[\]])
    | (?P<end>$)
    )""",
    re.VERBOSE,
)
_ARITY: dict[str, tuple[int, int]] = {
    "contains": (2, 2),
    "startswith": (2, 2),
    "endswith": (2, 2),
    "format": (1, 255),
    "join": (1, 2),
    "tojson": (1, 1),
    "fromjson": (1, 1),
    "hashfiles": (1, 255),
    "success": (0, 255),
    "failure": (0, 255),
    "always": (0, 0),
    "cancelled": (0, 0),
    "case": (3, 255),
}
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None, "nan": math.nan, "infinity": math.inf}


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self.position)
        if found is None or found.lastgroup is None:
            rest = self.text[self.position :]
            offset = self.position + len(rest) - len(rest.lstrip())
            sign = self.text[offset : offset + 1]
            if sign == "'":
                raise ExpressionError("a string that opens here is never closed", offset)
            if sign == '"':
                raise ExpressionError("strings in expressions have single quotes", offset)
            raise ExpressionError(f"unexpected {sign!r}", offset)
        self.kind = found.lastgroup
        self.value = found.group(self.kind)
        self.start = found.start(self.kind)
        self.position = found.end()

    def error(self, expected: str) -> ExpressionError:
        what = "the end of the expression" if self.kind == "end" else f"{self.value!r}"
        return ExpressionError(f"unexpected {what}, expected {expected}", self.start)

    def take(self, op: str) -> int:
        if self.kind != "op" or self.value != op:
            raise self.error(f"{op!r}")
        end = self.position
        self.advance()
        return end

    def is_op(self, *ops: str) -> bool:
        return self.kind == "op" and self.value in ops

    def binary(self, level: int = 0) -> Expression:
        levels = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="))
        if level == len(levels):
            return self.unary()
        left = self.binary(level + 1)
        while self.is_op(*levels[level]):
            op = self.value
            self.advance()
            right = self.binary(level + 1)
            if op in ("&&", "||") and isinstance(left, Operation) and left.op == op and self.text[left.start] != "(":
                left = Operation(op, (*left.operands, right), left.start, right.end)
            else:
                left = Operation(op, (left, right), left.start, right.end)
        return left

    def unary(self) -> Expression:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"nested over {MAX_DEPTH} levels", self.start)
        try:
            if self.is_op("!"):
                start = self.start
                self.advance()
                operand = self.unary()
                return Operation("!", (operand,), start, operand.end)
            return self.postfix()
        finally:
            self.depth -= 1

    def postfix(self) -> Expression:
        node = self.primary()
        steps = 0
        while True:
            if isinstance(node, LiteralValue):
                return node
            steps += 1
            if steps > MAX_DEPTH * 4:
                raise ExpressionError("too many property accesses", self.start)
            if self.is_op("."):
                self.advance()
                if self.is_op("*"):
                    end = self.take("*")
                    node = Access(node, None, node.start, end)
                elif self.kind == "name":
                    name = LiteralValue(self.value, self.start, self.position)
                    self.advance()
                    node = Access(node, name, node.start, name.end)
                else:
                    raise self.error("a property name")
            elif self.is_op("["):
                self.advance()
                if self.is_op("*"):
                    self.advance()
                    node = Access(node, None, node.start, self.take("]"))
                else:
                    index = self.binary()
                    node = Access(node, index, node.start, self.take("]"))
            else:
                return node

    def primary(self) -> Expression:
        start, end, value = self.start, self.position, self.value
        if self.kind == "number":
            self.advance()
            return LiteralValue(_number_literal(value), start, end)
        if self.kind == "string":
            self.advance()
            return LiteralValue(value[1:-1].replace("''", "'"), start, end)
        if self.kind == "name":
            self.advance()
            if self.is_op("("):
                return self.call(value.lower(), start)
            lower = value.lower()
            if value in ("true", "false", "null", "NaN", "Infinity"):
                return LiteralValue(_WORDS[lower], start, end)
            if lower not in CONTEXTS:
                raise ExpressionError(f"{value!r} is not a context", start)
            return ContextName(lower, start, end)
        if self.is_op("("):
            self.advance()
            inner = self.binary()
            end = self.take(")")
            return _enclosed(inner, start, end)
        raise self.error("a value")

    def call(self, name: str, start: int) -> Expression:
        if name not in _ARITY:
            raise ExpressionError(f"there is no function {name!r}", start)
        self.advance()
        arguments: list[Expression] = []
        if not self.is_op(")"):
            arguments.append(self.binary())
            while self.is_op(","):
                self.advance()
                arguments.append(self.binary())
        end = self.take(")")
        least, most = _ARITY[name]
        if not least <= len(arguments) <= most:
            raise ExpressionError(f"{name} does not take {len(arguments)} arguments", start)
        return Call(name, tuple(arguments), start, end)


def _enclosed(node: Expression, start: int, end: int) -> Expression:
    if isinstance(node, LiteralValue):
        return LiteralValue(node.value, start, end)
    if isinstance(node, ContextName):
        return ContextName(node.name, start, end)
    if isinstance(node, Access):
        return Access(node.object, node.index, start, end)
    if isinstance(node, Call):
        return Call(node.name, node.arguments, start, end)
    return Operation(node.op, node.operands, start, end)


def _number_literal(text: str) -> float | int:
    value = _to_number(text)
    return int(value) if math.isfinite(value) and value.is_integer() else value


def parse_expression(text: str) -> Expression:
    """The tree of an expression (what stands between ``${{`` and ``}}``, or an ``if:``). Raises ``ExpressionError``."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"an expression has at most {MAX_LENGTH} characters", MAX_LENGTH)
    parser = _Parser(text)
    node = parser.binary()
    if parser.kind != "end":
        raise parser.error("an operator or the end")
    return node


# --- coercions -----------------------------------------------------------------------------------------------------

_JSON_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def _to_number(value: object) -> float:
    if value is None:
        return 0.0
    if isinstance(value, (bool, int, float)):
        return float(value)
    if isinstance(value, str):
        text = value.strip()
        if not text:
            return 0.0
        if _JSON_NUMBER.fullmatch(text):
            return float(text)
        if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", text):
            unsigned = int(text, 16)
            return float(unsigned - (1 << 32) if unsigned >= 1 << 31 else unsigned)
        if re.fullmatch(r"0o[0-7]{1,11}", text):
            return float(int(text, 8))
        if text in ("Infinity", "+Infinity", "-Infinity"):
            return -math.inf if text[0] == "-" else math.inf
    return math.nan


def to_string(value: object) -> str:
    """The text that GitHub puts in place of a value (``Array``, ``Object`` for collections)."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number_text(value)
    if isinstance(value, str):
        return value
    return "Array" if isinstance(value, list) else "Object"


def _number_text(value: float) -> str:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    text = f"{number:.15g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        # .NET's G15 writes small numbers in full down to 1E-05, and exponents with a sign and two digits.
        return f"{mantissa}E{exponent[0]}{exponent[1:].zfill(2)}"
    return text


def is_true(value: object) -> bool:
    """Whether a known value counts as true."""
    if value is None or value is False or value == "":
        return False
    if isinstance(value, (int, float)):
        return value != 0 and not math.isnan(value)
    return True


def _coerced(left: object, right: object) -> tuple[str, object, object]:
    """The kind in which two values are compared (``""``: none), and the values in it."""
    kinds = _kind(left), _kind(right)
    if kinds[0] == kinds[1]:
        return kinds[0], left, right
    if {"array", "object"} & set(kinds):
        return "", left, right
    return "number", _to_number(left), _to_number(right)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def _equal(left: object, right: object) -> bool:
    kind, one, two = _coerced(left, right)
    if kind == "string":
        return str(one).upper() == str(two).upper()
    if kind in ("number", "boolean"):
        return one == two
    return kind == "null" or (kind in ("array", "object") and one is two)


def _greater(left: object, right: object) -> bool:
    kind, one, two = _coerced(left, right)
    if kind == "string":
        return str(one).upper() > str(two).upper()
    return bool(one > two) if kind in ("number", "boolean") else False  # type: ignore[operator]


# --- evaluation ----------------------------------------------------------------------------------------------------


class _Filtered(list[Any]):
    """What ``.*`` gives: further accesses go to each item."""


class _Evaluator:
    def __init__(self, contexts: Mapping[str, Any], source: str) -> None:
        self.contexts = contexts
        self.source = source

    def unknown(self, node: Expression) -> Unknown:
        return Unknown(self.source[node.start : node.end] or "?")

    def evaluate(self, node: Expression) -> object:
        if isinstance(node, LiteralValue):
            return node.value
        if isinstance(node, ContextName):
            return self.contexts[node.name] if node.name in self.contexts else self.unknown(node)
        if isinstance(node, Access):
            return self.access(node)
        if isinstance(node, Operation):
            return self.operation(node)
        return self.call(node)

    def access(self, node: Access) -> object:
        value = self.evaluate(node.object)
        if isinstance(value, Unknown):
            # The longest chain of names says best what is unknown.
            return self.unknown(node) if isinstance(node.object, (ContextName, Access)) else value
        if node.index is None:
            if isinstance(value, _Filtered):
                return _Filtered(inner for item in value for inner in _children(item))
            return _Filtered(_children(value))
        index = self.evaluate(node.index)
        if isinstance(index, Unknown):
            return index
        if isinstance(value, _Filtered):
            found = [_lookup(item, index) for item in value]
            return _Filtered(self.unknown(node) if item is _OPEN else item for item in found if item is not _MISSING)
        item = _lookup(value, index)
        return None if item is _MISSING else self.unknown(node) if item is _OPEN else item

    def operation(self, node: Operation) -> object:
        if node.op in ("&&", "||"):
            result: object = None
            for operand in node.operands:
                result = self.evaluate(operand)
                if isinstance(result, Unknown) or is_true(result) is (node.op == "||"):
                    return result
            return result
        values = [self.evaluate(operand) for operand in node.operands]
        for value in values:
            if isinstance(value, Unknown):
                return value
        if node.op == "!":
            return not is_true(values[0])
        left, right = values
        if node.op == "==":
            return _equal(left, right)
        if node.op == "!=":
            return not _equal(left, right)
        if node.op in (">", ">="):
            return _greater(left, right) or (node.op == ">=" and _equal(left, right))
        return _greater(right, left) or (node.op == "<=" and _equal(left, right))

    def call(self, node: Call) -> object:
        if node.name == "case":
            for condition, outcome in zip(node.arguments[:-1:2], node.arguments[1::2]):
                holds = self.evaluate(condition)
                if isinstance(holds, Unknown):
                    return holds
                if is_true(holds):
                    return self.evaluate(outcome)
            return self.evaluate(node.arguments[-1])
        if node.name == "always":
            return True
        function = _FUNCTIONS.get(node.name)
        if function is None:
            return self.unknown(node)  # the state of the job, or of the disk
        values = [self.evaluate(argument) for argument in node.arguments]
        for value in values:
            if isinstance(value, Unknown):
                return value
        inside = next((found for value in values if (found := _unknown_inside(value)) is not None), None)
        if inside is not None:
            inside = self.unknown(node) if inside.text == "?" else inside
            if node.name == "contains" and isinstance(values[0], list):
                known = [item for item in values[0] if not isinstance(item, Unknown)]
                return True if _contains(known, values[1]) else inside
            return inside
        return function(*values)


_MISSING = object()
_OPEN = object()


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _lookup(value: object, index: object) -> object:
    if isinstance(value, dict):
        key = to_string(index)
        if key in value:
            return value[key]
        if not isinstance(value, CaseSensitive):
            upper = key.upper()
            for name, item in value.items():
                if name.upper() == upper:
                    return item
        return _OPEN if isinstance(value, Partial) else _MISSING
    if isinstance(value, list):
        number = _to_number(index)
        if not math.isnan(number) and 0 <= number < len(value):
            return value[int(number)]
    return _MISSING


def _unknown_inside(value: object) -> Unknown | None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Unknown):
            return item
        if isinstance(item, Partial):
            return Unknown("?")
        if isinstance(item, (dict, list)):
            pending.extend(_children(item))
    return None


def _primitive(value: object) -> bool:
    return not isinstance(value, (list, dict))


def _contains(search: object, item: object) -> bool:
    if _primitive(search):
        return _primitive(item) and to_string(item).upper() in to_string(search).upper()
    return isinstance(search, list) and any(_equal(one, item) for one in search)


def _starts_with(search: object, item: object) -> bool:
    return _primitive(search) and _primitive(item) and to_string(search).upper().startswith(to_string(item).upper())


def _ends_with(search: object, item: object) -> bool:
    return _primitive(search) and _primitive(item) and to_string(search).upper().endswith(to_string(item).upper())


def _format(template: object, *values: object) -> str:
    def piece(found: re.Match[str]) -> str:
        text = found.group()
        if text in ("{{", "}}"):
            return text[0]
        number = found.group(1)
        if number is None or int(number[:6]) >= len(values):
            raise ExpressionError(f"format does not understand {text!r}", 0)
        return to_string(values[int(number)])

    return re.sub(r"\{\{|\}\}|\{([0-9]+)\}|[{}]", piece, to_string(template))


def _join(values: object, separator: object = ",") -> str:
    if isinstance(values, list):
        return (to_string(separator) if _primitive(separator) else "").join(to_string(item) for item in values)
    return to_string(values) if _primitive(values) else ""


_ESCAPED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _json_string(text: str) -> str:
    return (
        '"'
        + re.sub('["\\\\\x00-\x1f\x85\u2028\u2029]', lambda found: _ESCAPED.get(found.group()) or f"\\u{ord(found.group()):04x}", text)
        + '"'
    )


def to_json(value: object, indent: str = "") -> str:
    """A known value as ``toJSON`` prints it: two blanks a level, numbers as GitHub writes them."""
    below = indent + "  "
    if isinstance(value, dict):
        if not value:
            return "{}"
        body = ",\n".join(f"{below}{_json_string(str(key))}: {to_json(item, below)}" for key, item in value.items())
        return f"{{\n{body}\n{indent}}}"
    if isinstance(value, list):
        if not value:
            return "[]"
        return "[\n" + ",\n".join(below + to_json(item, below) for item in value) + f"\n{indent}]"
    if isinstance(value, str):
        return _json_string(value)
    return "null" if value is None else to_string(value)


def _from_json(text: object) -> object:
    try:
        value: object = json.loads(to_string(text))
        return value
    except (ValueError, RecursionError) as error:
        raise ExpressionError(f"fromJSON cannot read its argument: {error}", 0) from error


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "contains": _contains,
    "startswith": _starts_with,
    "endswith": _ends_with,
    "format": _format,
    "join": _join,
    "tojson": to_json,
    "fromjson": _from_json,
}


def evaluate(expression: Expression | str, contexts: Mapping[str, Any], source: str = "") -> object:
    """The value of an expression, or ``Unknown``. A context that is not in ``contexts`` is unknown.

    Raises ``ExpressionError`` where GitHub would stop: bad syntax (of a ``str``), a bad ``format`` or ``fromJSON``.
    """
    if isinstance(expression, str):
        source, tree = expression, parse_expression(expression)
    else:
        tree = expression
    try:
        return _plain(_Evaluator(contexts, source).evaluate(tree))
    except RecursionError as error:
        raise ExpressionError("nested too deeply", 0) from error


def _plain(value: object) -> object:
    return list(value) if isinstance(value, _Filtered) else value


# --- text with expressions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Embedded:
    """``${{ source }}`` in a text: ``start`` and ``end`` are its offsets, ``${{`` and ``}}`` included.

    ``error`` says why it is refused (its offset counts in the whole text); ``expression`` is ``None`` then.
    """

    source: str
    start: int
    end: int
    expression: Expression | None
    error: ExpressionError | None = None


_CLOSE = re.compile(r"'(?:[^']|'')*'|\}\}")


def split_template(text: str) -> tuple[str | Embedded, ...]:
    """A text cut into plain pieces and expressions."""
    return _split(text) if len(text) <= MAX_LENGTH else _split.__wrapped__(text)


@lru_cache(maxsize=8192)  # the same texts are evaluated for every point
def _split(text: str) -> tuple[str | Embedded, ...]:
    pieces: list[str | Embedded] = []
    position = 0
    while True:
        start = text.find("${{", position)
        if start < 0:
            break
        if start > position:
            pieces.append(text[position:start])
        inner = start + 3
        close = next((found for found in _CLOSE.finditer(text, inner) if found.group() == "}}"), None)
        if close is None:
            error = ExpressionError("an expression that opens here is never closed", start)
            pieces.append(Embedded(text[inner:], start, len(text), None, error))
            position = len(text)
            break
        source = text[inner : close.start()]
        try:
            pieces.append(Embedded(source, start, close.end(), parse_expression(source)))
        except ExpressionError as error:
            placed = ExpressionError(error.message, inner + error.offset)
            pieces.append(Embedded(source, start, close.end(), None, placed))
        position = close.end()
    if position < len(text):
        pieces.append(text[position:])
    return tuple(pieces)


def template_errors(text: str) -> list[ExpressionError]:
    """What GitHub refuses in the expressions of a text; offsets count in the text."""
    return [piece.error for piece in split_template(text) if isinstance(piece, Embedded) and piece.error is not None]


def interpolate(text: str, contexts: Mapping[str, Any]) -> list[str | Unknown]:
    """A text with its expressions evaluated: known text, neighbours joined, and ``Unknown`` parts named by their expression.

    An expression that GitHub would refuse is unknown, too; ``template_errors`` tells.
    """
    parts: list[str | Unknown] = []
    for piece in split_template(text):
        if isinstance(piece, Embedded):
            part: str | Unknown = Unknown(piece.source.strip())
            if piece.expression is not None:
                try:
                    value = evaluate(piece.expression, contexts, piece.source)
                    if not isinstance(value, Unknown):
                        part = to_string(value)
                except ExpressionError:
                    pass
        else:
            part = piece
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] = parts[-1] + part
        elif part != "":
            parts.append(part)
    return parts


def interpolated_value(text: str, contexts: Mapping[str, Any]) -> object:
    """The value of a YAML scalar: where one expression is all of the text its value with its type, else the text, or ``Unknown``."""
    pieces = split_template(text)
    if len(pieces) == 1 and isinstance(pieces[0], Embedded):
        only = pieces[0]
        if only.expression is None:
            return Unknown(only.source.strip())
        try:
            return evaluate(only.expression, contexts, only.source)
        except ExpressionError:
            return Unknown(only.source.strip())
    parts = interpolate(text, contexts)
    unknown = next((part for part in parts if isinstance(part, Unknown)), None)
    return unknown if unknown is not None else "".join(part for part in parts if isinstance(part, str))
