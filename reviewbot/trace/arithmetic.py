"""Shell arithmetic: 64-bit integers, ``None`` where a value is not known."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from reviewbot.documents.positions import Span
from reviewbot.documents.shell_syntax import Arith, ArithName, ArithNumber, ArithOp, ArithText, Literal, Word
from reviewbot.trace.values import is_known

if TYPE_CHECKING:
    from reviewbot.trace.shell import Evaluator


class ShellArithmeticError(Exception):
    """What bash would print: a syntax error, a division by zero."""


_TOKEN = re.compile(
    r"\s*(?:(0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z@_]+|[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&^|]=|[-+*/%<>=!~&^|?:,()\[\]]))"
)
_LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"), ("<<", ">>"), ("+", "-"), ("*", "/", "%"),
)
_ASSIGN = frozenset(("=", "*=", "/=", "%=", "+=", "-=", "<<=", ">>=", "&=", "^=", "|="))
_SPAN = Span(1, 1, 1, 1)


def number(text: str) -> int:
    """An integer constant. Raises ``ShellArithmeticError``."""
    try:
        if "#" in text:
            base, digits = text.split("#", 1)
            return _based(int(base), digits)
        if text[:2] in ("0x", "0X"):
            return int(text, 16)
        if text[0] == "0" and len(text) > 1:
            return int(text, 8)
        return int(text)
    except ValueError:
        raise ShellArithmeticError(f"{text}: value too great for base") from None


def _based(base: int, digits: str) -> int:
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"
    value = 0
    for digit in digits:
        place = alphabet.find(digit if base > 36 else digit.lower())
        if not 0 <= place < base:
            raise ValueError(digits)
        value = value * base + place
    return value


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens: list[str] = []
        position = 0
        text = text.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if not found or len(self.tokens) > 5000:
                raise ShellArithmeticError(f"{text}: syntax error in expression")
            self.tokens.append(found.group(found.lastindex or 0))
            position = found.end()
        self.at = 0
        self.depth = 0
        self.text = text

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise ShellArithmeticError(f"{self.text}: syntax error in expression")

    def comma(self) -> Arith:
        left = self.assignment()
        while self.peek() == ",":
            self.take()
            left = ArithOp(",", (left, self.assignment()))
        return left

    def assignment(self) -> Arith:
        self.depth += 1
        if self.depth > 100:
            raise ShellArithmeticError("expression recursion level exceeded")
        left = self.ternary()
        if self.peek() in _ASSIGN and isinstance(left, ArithName):
            left = ArithOp(self.take(), (left, self.assignment()))
        self.depth -= 1
        return left

    def ternary(self) -> Arith:
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        self.take()
        then = self.comma()
        self.expect(":")
        return ArithOp("?:", (condition, then, self.assignment()))

    def binary(self, level: int) -> Arith:
        if level == len(_LEVELS):
            return self.power()
        left = self.binary(level + 1)
        while self.peek() in _LEVELS[level]:
            left = ArithOp(self.take(), (left, self.binary(level + 1)))
        return left

    def power(self) -> Arith:
        left = self.unary()
        if self.peek() == "**":
            self.take()
            return ArithOp("**", (left, self.power()))
        return left

    def unary(self) -> Arith:
        self.depth += 1
        if self.depth > 300:
            raise ShellArithmeticError("expression recursion level exceeded")
        token = self.peek()
        result: Arith
        if token in ("-", "+", "!", "~"):
            self.take()
            result = ArithOp(token, (self.unary(),))
        elif token in ("++", "--"):
            self.take()
            result = ArithOp("pre" + token, (self.unary(),))
        else:
            result = self.primary()
            if self.peek() in ("++", "--") and isinstance(result, ArithName):
                result = ArithOp("post" + self.take(), (result,))
        self.depth -= 1
        return result

    def primary(self) -> Arith:
        token = self.take()
        if token == "(":
            inner = self.comma()
            self.expect(")")
            return inner
        if token and token[0].isdigit():
            return ArithNumber(number(token))
        if token and (token[0].isalpha() or token[0] == "_"):
            if self.peek() == "[":
                self.take()
                start = self.at
                depth = 1
                while depth and self.at < len(self.tokens):
                    depth += {"[": 1, "]": -1}.get(self.take(), 0)
                text = "".join(self.tokens[start:self.at - 1])
                return ArithName(token, Word((Literal(text, True),), 1, _SPAN, text, text))
            return ArithName(token)
        raise ShellArithmeticError(f"{self.text}: syntax error: operand expected")


@lru_cache(maxsize=2048)
def parsed(text: str) -> Arith:
    """The tree of an expression in which nothing is left to expand. Raises ``ShellArithmeticError``."""
    if not text.strip():
        return ArithNumber(0)
    parser = _Parser(text)
    tree = parser.comma()
    if parser.at < len(parser.tokens):
        raise ShellArithmeticError(f"{text}: syntax error in expression")
    return tree


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise ShellArithmeticError("division by 0")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _power(left: int, right: int) -> int:
    if right < 0:
        raise ShellArithmeticError("exponent less than 0")
    return _wrap(pow(left, right, 1 << 64))


_BINARY: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b), "**": _power, "<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63),
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b), "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b),
    ",": lambda a, b: b,
}


def of_text(sh: Evaluator, text: str, line: int, depth: int = 0) -> int | None:
    """The value of an expanded text. Raises ``ShellArithmeticError``."""
    stripped = text.strip()
    if stripped.isdigit() and stripped.isascii() and (stripped[0] != "0" or len(stripped) == 1):
        return _wrap(int(stripped[:40]))
    if not is_known(text):
        return None
    if depth > 30:
        raise ShellArithmeticError("expression recursion level exceeded")
    return value(sh, parsed(text), line, depth + 1)


def value(sh: Evaluator, node: Arith, line: int, depth: int = 0) -> int | None:
    """The value of an expression; assignments in it take effect. Raises ``ShellArithmeticError``."""
    if isinstance(node, ArithNumber):
        return _wrap(node.value)
    if isinstance(node, ArithText):
        return of_text(sh, sh.text_of(node.word), line, depth)
    if isinstance(node, ArithName):
        found = sh.lookup(node.name, _index(sh, node))
        if found is None:
            sh.check_set(node.name, line)
        return of_text(sh, found, line, depth) if found else 0
    op, operands = node.op, node.operands
    if len(operands) == 1:
        if op.startswith(("pre", "post")):
            return _step(sh, op, operands[0], line, depth)
        only = value(sh, operands[0], line, depth)
        if only is None:
            return None
        return _wrap({"-": -only, "+": only, "!": int(not only), "~": ~only}.get(op, only))
    if op == "?:":
        condition = value(sh, operands[0], line, depth)
        if condition is None:
            then, other = value(sh, operands[1], line, depth), value(sh, operands[2], line, depth)
            return then if then == other else None
        return value(sh, operands[1 if condition else 2], line, depth)
    if op in ("&&", "||"):
        left = value(sh, operands[0], line, depth)
        if left is not None and bool(left) == (op == "||"):
            return int(op == "||")
        right = value(sh, operands[1], line, depth)
        if right is not None and (left is not None or bool(right) == (op == "||")):
            return int(bool(right))
        return None
    if op in _ASSIGN:
        target = operands[0]
        right = value(sh, operands[1], line, depth)
        if not isinstance(target, ArithName):
            raise ShellArithmeticError("attempted assignment to non-variable")
        if op != "=":
            left = value(sh, target, line, depth)
            right = None if left is None or right is None else _wrap(_BINARY[op[:-1]](left, right))
        _put(sh, target, right, line)
        return right
    left, right = value(sh, operands[0], line, depth), value(sh, operands[1], line, depth)
    if op == ",":
        return right
    if left is None or right is None:
        if op == "*" and 0 in (left, right):
            return 0
        return None
    function = _BINARY.get(op)
    if function is None:
        raise ShellArithmeticError(f"{op}: syntax error")
    return _wrap(function(left, right))


def _index(sh: Evaluator, node: ArithName) -> str | None:
    return None if node.index is None else sh.text_of(node.index)


def _step(sh: Evaluator, op: str, target: Arith, line: int, depth: int) -> int | None:
    if not isinstance(target, ArithName):
        raise ShellArithmeticError("attempted assignment to non-variable")
    old = value(sh, target, line, depth)
    new = None if old is None else _wrap(old + (1 if op.endswith("++") else -1))
    _put(sh, target, new, line)
    return old if op.startswith("post") else new


def _put(sh: Evaluator, target: ArithName, result: int | None, line: int) -> None:
    site = sh.site(line)
    text = sh.hole(f"value of {target.name}", site, nonempty=True, numeric=True) if result is None else str(result)
    if target.index is None:
        sh.assign(target.name, text, site)
    else:
        sh.assign_element(target.name, sh.text_of(target.index), text, site)
