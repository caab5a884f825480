"""Arithmetic of a shell script: ``$(( ))``, ``(( ))``, subscripts and ``for (( ; ; ))``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reviewbot.documents.shell_source import ShellSyntaxError
from reviewbot.documents.shell_syntax import Arith, ArithName, ArithNumber, ArithOp, ArithText, Literal, Part

if TYPE_CHECKING:
    from reviewbot.documents.shell_words import Scanner

MAX_NESTING = 60

_SPACE = re.compile(r"(?:[ \t\n\r]|\\\n)*")
_OPERATOR = re.compile(r"<<=|>>=|\*\*|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:,()]")
_OPERAND_RUN = re.compile(r"[\w#@]+", re.ASCII)
_NUMBER = re.compile(r"(?:0[xX]([0-9a-fA-F]{1,99})|([0-9]{1,2})\#([0-9A-Za-z@_]{1,99})|(0[0-7]{0,99})|([1-9][0-9]{0,99}))\Z", re.ASCII)
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_ASSIGN = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="})
_BINARY = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, ">": 9, "<=": 9, ">=": 9, "<<": 10, ">>": 10, "+": 11, "-": 11,
    "*": 12, "/": 12, "%": 12, "**": 13,
}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"


class _NotArithmetic(Exception):
    """The text is no expression before its expansion (``$x $op $y``), or none at all."""


def number(text: str) -> int | None:
    """The value of a constant as bash reads it: decimal, octal, hexadecimal or ``base#digits``."""
    found = _NUMBER.match(text)
    if not found:
        return None
    hexa, base_text, digits, octal, decimal = found.groups()
    if hexa:
        return int(hexa, 16)
    if octal:
        return int(octal, 8)
    if decimal:
        return int(decimal)
    base = int(base_text)
    if not 2 <= base <= 64:
        return None
    value = 0
    for c in digits:
        digit = _DIGITS.index(c)
        if base <= 36 and c.isupper():
            digit = ord(c) - ord("A") + 10
        if digit >= base:
            return None
        value = value * base + digit
    return value


def read_arithmetic(scanner: Scanner, start: int, end: int) -> Arith:
    """The expression between two offsets.

    An empty expression is the number 0. What is no expression before its expansions are made is one ``ArithText`` of the whole text.
    """
    reader = _Reader(scanner, start, end)
    try:
        return reader.whole()
    except _NotArithmetic:
        return ArithText(scanner.arithmetic_word(start, end))


class _Reader:
    def __init__(self, scanner: Scanner, start: int, end: int) -> None:
        self.scanner = scanner
        self.text = scanner.text
        self.i = start
        self.end = end
        self.level = 0

    def whole(self) -> Arith:
        self.space()
        if self.i >= self.end:
            return ArithNumber(0)
        expression = self.comma()
        self.space()
        if self.i < self.end:
            raise _NotArithmetic
        return expression

    def space(self) -> None:
        found = _SPACE.match(self.text, self.i, self.end)
        if found:
            self.i = found.end()

    def peek(self) -> str:
        self.space()
        found = _OPERATOR.match(self.text, self.i, self.end)
        return found.group() if found else ""

    def comma(self) -> Arith:
        left = self.assignment()
        while self.peek() == ",":
            self.i += 1
            left = ArithOp(",", (left, self.assignment()))
        return left

    def assignment(self) -> Arith:
        self.level += 1
        if self.level > MAX_NESTING:
            raise ShellSyntaxError("arithmetic nested too deeply to be read", self.i, "too-deep")
        left = self.ternary()
        op = self.peek()
        if op in _ASSIGN:
            if not isinstance(left, (ArithName, ArithText)):
                raise _NotArithmetic
            self.i += len(op)
            left = ArithOp(op, (left, self.assignment()))
        self.level -= 1
        return left

    def ternary(self) -> Arith:
        condition = self.binary(3)
        if self.peek() != "?":
            return condition
        self.i += 1
        yes = self.comma()
        if self.peek() != ":":
            raise _NotArithmetic
        self.i += 1
        self.level += 1
        if self.level > MAX_NESTING:
            raise ShellSyntaxError("arithmetic nested too deeply to be read", self.i, "too-deep")
        no = self.assignment() if self.peek() else self.ternary()
        self.level -= 1
        return ArithOp("?:", (condition, yes, no))

    def binary(self, lowest: int) -> Arith:
        left = self.unary()
        while True:
            op = self.peek()
            strength = _BINARY.get(op, 0)
            if strength < lowest:
                return left
            self.i += len(op)
            # ** binds to the right
            right = self.binary(strength if op == "**" else strength + 1)
            left = ArithOp(op, (left, right))

    def unary(self) -> Arith:
        self.level += 1
        if self.level > MAX_NESTING:
            raise ShellSyntaxError("arithmetic nested too deeply to be read", self.i, "too-deep")
        op = self.peek()
        result: Arith
        if op in ("++", "--"):
            self.i += 2
            operand = self.unary()
            if isinstance(operand, (ArithName, ArithText)):
                result = ArithOp("pre" + op, (operand,))
            else:
                result = ArithOp(op[0], (ArithOp(op[0], (operand,)),))
        elif op in ("+", "-", "!", "~"):
            self.i += 1
            result = ArithOp(op, (self.unary(),))
        elif op == "(":
            self.i += 1
            result = self.comma()
            if self.peek() != ")":
                raise _NotArithmetic
            self.i += 1
        else:
            result = self.operand()
            op = self.peek()
            if op in ("++", "--") and isinstance(result, ArithName):
                self.i += 2
                result = ArithOp("post" + op, (result,))
        self.level -= 1
        return result

    def operand(self) -> Arith:
        self.space()
        start = self.i
        text = self.text
        parts: list[Part] = []
        while self.i < self.end:
            run = _OPERAND_RUN.match(text, self.i, self.end)
            if run:
                parts.append(Literal(run.group(), True))
                self.i = run.end()
            elif text[self.i] in "$`\"'":
                piece, self.i = self.scanner.arithmetic_piece(self.i, self.end)
                parts.extend(piece)
            else:
                break
        if self.i == start:
            raise _NotArithmetic
        if all(isinstance(part, Literal) for part in parts):
            plain = "".join(part.text for part in parts if isinstance(part, Literal))
            value = number(plain)
            if value is not None:
                return ArithNumber(value)
            if _NAME.match(plain):
                if text.startswith("[", self.i) and self.i < self.end:
                    close = self.scanner.subscript_end(self.i, self.end)
                    index = self.scanner.subscript(self.i + 1, close - 1)
                    self.i = close
                    return ArithName(plain, index)
                return ArithName(plain)
            if plain.strip() == "":
                return ArithNumber(0)
        return ArithText(self.scanner.make_word(parts, start, self.i))
