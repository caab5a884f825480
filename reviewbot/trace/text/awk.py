"""A small ``awk``: patterns, ranges, fields, assignments, arithmetic, ``print``/``printf``, ``if``, ``next``, ``exit``, a few functions.

A program outside of it does not parse, a result that is not certain (locale, number formats that awks print differently) is
``None``. No loops, so a run is linear in its input.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

from reviewbot.trace.text.regex import Regex, compile_regex

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r]|\\\n|\#[^\n]*)+)|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<string>"(?:[^"\\\n]|\\.)*")
    |(?P<name>[A-Za-z_]\w*\(?)|(?P<op>\+\+|--|\+=|-=|\*=|/=|%=|==|!=|<=|>=|&&|\|\||!~|[-+*/%^!<>=~?:,;(){}$\n])""",
    re.VERBOSE,
)
_FUNCTIONS = {"length", "substr", "index", "int", "tolower", "toupper", "sprintf", "sub", "gsub"}
_KEYWORDS = {"BEGIN", "END", "print", "printf", "if", "else", "next", "exit"}
_FORBIDDEN = {"while", "for", "do", "function", "getline", "in", "delete", "return", "break", "continue", "func", "nextfile", "switch"}
_VARIABLES_WITH_MEANING = {
    "RS",
    "ORS",
    "SUBSEP",
    "FILENAME",
    "FNR",
    "ENVIRON",
    "ARGV",
    "ARGC",
    "RSTART",
    "RLENGTH",
    "CONVFMT",
    "OFMT",
    "RT",
}
_NUMBER = re.compile(r"[ \t\n]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")


class _Refused(Exception):
    pass


@dataclass(frozen=True, slots=True)
class AwkResult:
    text: str
    status: int


@dataclass(frozen=True, slots=True)
class _FieldText:
    """Text of the input: it compares as a number where it looks like one."""

    text: str


_Value = Union[str, float, _FieldText]
_Node = tuple[object, ...]


class _Parser:
    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.kind = ""
        self.text = ""
        self.before = ""
        self.no_in = 0
        self.reads = False
        self.computes = False
        self.advance()

    def advance(self) -> None:
        while True:
            if self.at >= len(self.source):
                self.kind, self.text = "end", ""
                return
            found = _TOKEN.match(self.source, self.at)
            if found is None:
                self.kind, self.text = "bad", self.source[self.at]
                return
            self.at = found.end()
            if found.lastgroup == "space":
                continue
            self.kind, self.text = found.lastgroup or "", found[0]
            return

    def regex(self) -> Regex:
        """The expression whose opening slash is the current token."""
        start = self.at
        at = start
        bracket = False
        while True:
            c = self.source[at : at + 1]
            if not c or c == "\n":
                raise _Refused
            if c == "\\":
                at += 2
                continue
            if bracket:
                bracket = not (c == "]" and self.source[at - 1] not in "[^")
            elif c == "[":
                bracket = True
            elif c == "/":
                break
            at += 1
        pattern = self.source[start:at].replace("\\/", "/")
        self.at = at + 1
        self.advance()
        return _ere(pattern)

    def take(self, text: str) -> bool:
        if self.text == text and self.kind in ("op", "name"):
            self.advance()
            return True
        return False

    def need(self, text: str) -> None:
        if not self.take(text):
            raise _Refused

    def newlines(self) -> None:
        while self.kind == "op" and self.text in ("\n", ";"):
            self.advance()

    def program(self) -> list[tuple[str, tuple[_Node, ...], tuple[_Node, ...] | None]]:
        rules: list[tuple[str, tuple[_Node, ...], tuple[_Node, ...] | None]] = []
        self.newlines()
        while self.kind != "end":
            kind = "main"
            patterns: tuple[_Node, ...] = ()
            if self.kind == "name" and self.text in ("BEGIN", "END"):
                kind = self.text
                self.advance()
            elif self.text != "{":
                patterns = (self.expression(),)
                if self.take(","):
                    self.skip_newlines()
                    patterns = (patterns[0], self.expression())
            if kind != "BEGIN":
                self.reads = True
            body = self.block() if self.kind == "op" and self.text == "{" else None
            if body is None and kind != "main":
                raise _Refused
            rules.append((kind, patterns, body))
            if self.kind != "end" and body is None and self.text not in ("\n", ";"):
                raise _Refused
            self.newlines()
        return rules

    def skip_newlines(self) -> None:
        while self.kind == "op" and self.text == "\n":
            self.advance()

    def block(self) -> tuple[_Node, ...]:
        self.need("{")
        statements: list[_Node] = []
        self.newlines()
        while not self.take("}"):
            statements.append(self.statement())
            if self.kind == "op" and self.text == "}":
                continue
            if statements[-1][0] in ("if", "block"):
                self.newlines()
                continue
            if not (self.kind == "op" and self.text in ("\n", ";")):
                raise _Refused
            self.newlines()
        return tuple(statements)

    def statement(self) -> _Node:
        if self.kind == "op" and self.text == "{":
            return ("block", self.block())
        if self.kind == "name":
            word = self.text.rstrip("(")
            if word == "if":
                self.paren_keyword("if")
                condition = self.expression()
                self.need(")")
                self.skip_newlines()
                then = self.statement()
                mark = (self.at, self.kind, self.text)
                self.newlines()
                if self.take("else"):
                    self.skip_newlines()
                    return ("if", condition, then, self.statement())
                self.at, self.kind, self.text = mark
                return ("if", condition, then, None)
            if word in ("next", "exit"):
                parens = self.text.endswith("(")
                self.advance()
                if word == "next":
                    if parens:
                        raise _Refused
                    return ("next",)
                if parens:
                    value: _Node | None = self.expression()
                    self.need(")")
                elif self.kind in ("end",) or (self.kind == "op" and self.text in ("\n", ";", "}")):
                    value = None
                else:
                    value = self.expression()
                return ("exit", value)
            if word in ("print", "printf"):
                parens = self.text.endswith("(")
                self.advance()
                if parens:
                    # ``print (a)(b)`` and ``print (a, b)`` differ: only a parenthesis around everything is taken.
                    values = self.list_until(")")
                    if not (self.kind == "end" or (self.kind == "op" and self.text in ("\n", ";", "}"))):
                        raise _Refused
                elif self.kind == "end" or (self.kind == "op" and self.text in ("\n", ";", "}")):
                    values = []
                else:
                    grouped = self.kind == "op" and self.text == "("
                    values = [self.expression(no_greater=True)]
                    while self.take(","):
                        self.skip_newlines()
                        values.append(self.expression(no_greater=True))
                    if grouped and len(values) == 1 and self.kind == "op" and self.text == ",":
                        raise _Refused
                if self.kind == "op" and self.text == ">":
                    raise _Refused
                return (word, tuple(values))
        return ("expr", self.expression())

    def paren_keyword(self, word: str) -> None:
        parens = self.text.endswith("(")
        self.advance()
        if not parens:
            self.need("(")

    def list_until(self, close: str) -> list[_Node]:
        values: list[_Node] = []
        if self.take(close):
            return values
        while True:
            self.skip_newlines()
            values.append(self.expression())
            if self.take(close):
                return values
            self.need(",")

    def expression(self, no_greater: bool = False) -> _Node:
        previous, self.no_greater = getattr(self, "no_greater", False), no_greater
        try:
            return self.ternary()
        finally:
            self.no_greater = previous

    def ternary(self) -> _Node:
        left = self.alternative()
        if self.kind == "op" and self.text == "?":
            self.advance()
            self.skip_newlines()
            then = self.ternary()
            self.skip_newlines()
            self.need(":")
            self.skip_newlines()
            return ("?", left, then, self.ternary())
        if self.kind == "op" and self.text in ("=", "+=", "-=", "*=", "/=", "%="):
            if left[0] != "var":
                raise _Refused
            operator = self.text
            self.advance()
            self.skip_newlines()
            right = self.ternary()
            if operator != "=":
                self.computes = True
                right = ("arith", operator[0], left, right)
            return ("assign", left[1], right)
        return left

    def alternative(self) -> _Node:
        left = self.conjunction()
        while self.take("||"):
            self.skip_newlines()
            left = ("or", left, self.conjunction())
        return left

    def conjunction(self) -> _Node:
        left = self.matching()
        while self.take("&&"):
            self.skip_newlines()
            left = ("and", left, self.matching())
        return left

    def matching(self) -> _Node:
        left = self.comparison()
        while self.kind == "op" and self.text in ("~", "!~"):
            negated = self.text == "!~"
            self.advance()
            if not (self.kind == "op" and self.text == "/"):
                if self.kind != "string":
                    raise _Refused
                regex = _ere(_string(self.text))
                self.advance()
            else:
                regex = self.regex()
            left = ("match", left, regex)
            if negated:
                left = ("not", left)
        return left

    def comparison(self) -> _Node:
        left = self.concatenation()
        if self.kind == "op" and self.text in ("<", "<=", "==", "!=", ">=", ">") and not (self.text == ">" and self.no_greater):
            operator = self.text
            self.advance()
            if operator not in ("==", "!="):
                self.computes = True
            left = ("compare", operator, left, self.concatenation())
        return left

    def concatenation(self) -> _Node:
        left = self.sum()
        while (
            self.kind in ("number", "string")
            or (self.kind == "name" and self.text not in ("else",))
            or (self.kind == "op" and self.text in ("$", "!", "("))
        ):
            if self.kind == "op" and self.text == "!":
                raise _Refused
            left = ("concat", left, self.sum())
        return left

    def sum(self) -> _Node:
        left = self.product()
        while self.kind == "op" and self.text in "+-" and self.text:
            operator = self.text
            self.advance()
            self.computes = True
            left = ("arith", operator, left, self.product())
        return left

    def product(self) -> _Node:
        left = self.unary()
        while self.kind == "op" and self.text in ("*", "/", "%"):
            operator = self.text
            self.advance()
            self.computes = True
            left = ("arith", operator, left, self.unary())
        return left

    def unary(self) -> _Node:
        if self.kind == "op" and self.text == "!":
            self.advance()
            return ("not", self.unary())
        if self.kind == "op" and self.text in ("-", "+"):
            operator = self.text
            self.advance()
            self.computes = True
            return ("arith", operator, ("number", 0.0), self.unary())
        left = self.primary()
        if self.kind == "op" and self.text == "^":
            raise _Refused
        return left

    def primary(self) -> _Node:
        kind, text = self.kind, self.text
        if kind == "number":
            self.advance()
            return ("number", float(text))
        if kind == "string":
            self.advance()
            return ("string", _string(text))
        if kind == "op":
            if text == "/":
                return ("match", ("field", ("number", 0.0)), self.regex())
            if text == "(":
                self.advance()
                previous, self.no_greater = self.no_greater, False
                inner = self.ternary()
                self.no_greater = previous
                self.need(")")
                return ("group", inner)
            if text == "$":
                self.advance()
                if self.kind == "op" and self.text in ("++", "--", "-", "+", "!"):
                    raise _Refused
                return ("field", self.primary())
            if text in ("++", "--"):
                self.advance()
                name = self.primary()
                if name[0] != "var":
                    raise _Refused
                self.computes = True
                return ("assign", name[1], ("arith", text[0], name, ("number", 1.0)))
            raise _Refused
        if kind != "name":
            raise _Refused
        self.advance()
        if text.endswith("("):
            name_ = text[:-1]
            if name_ not in _FUNCTIONS:
                if name_ in _KEYWORDS | _FORBIDDEN:
                    raise _Refused
                raise _Refused
            if name_ in ("sub", "gsub"):
                return self.substitution(name_)
            if name_ in ("int", "length", "index"):
                self.computes = True
            return ("call", name_, tuple(self.list_until(")")))
        if text == "length":
            self.computes = True
            return ("call", "length", ())
        if text in _KEYWORDS | _FORBIDDEN | _FUNCTIONS | _VARIABLES_WITH_MEANING or text in ("FS",):
            raise _Refused
        if self.source[self.at - 1 : self.at] == "[" or self.kind == "bad":
            raise _Refused
        if self.kind == "op" and self.text in ("++", "--"):
            operator = self.text[0]
            self.advance()
            self.computes = True
            return ("post", text, operator)
        return ("var", text)

    def substitution(self, name: str) -> _Node:
        if self.kind == "op" and self.text == "/":
            regex = self.regex()
        elif self.kind == "string":
            regex = _ere(_string(self.text))
            self.advance()
        else:
            raise _Refused
        self.need(",")
        if self.kind != "string" or "\\" in self.text or "&" in self.text:
            raise _Refused
        replacement = _string(self.text)
        self.advance()
        target: _Node = ("field", ("number", 0.0))
        if self.take(","):
            target = self.primary()
            if target[0] not in ("var", "field"):
                raise _Refused
        self.need(")")
        return ("sub", name, regex, replacement, target)


def _ere(pattern: str) -> Regex:
    regex = compile_regex(pattern, "ere")
    if regex is None or not pattern or re.search(r"\\[^.\[\](){}*+?|^$/\\]|\{", pattern):
        raise _Refused
    return regex


def _string(token: str) -> str:
    out: list[str] = []
    body = token[1:-1]
    at = 0
    while at < len(body):
        c = body[at]
        at += 1
        if c == "\\":
            c = body[at]
            at += 1
            if c not in '"\\/nt':
                raise _Refused
            c = {"n": "\n", "t": "\t"}.get(c, c)
        out.append(c)
    return "".join(out)


class _Next(Exception):
    pass


class _Exit(Exception):
    pass


class Program:
    """A parsed program. ``reads``: it has rules for input; ``computes``: it does arithmetic or orders values."""

    def __init__(self, source: str) -> None:
        parser = _Parser(source)
        self._rules = parser.program()
        self.reads = parser.reads
        self.computes = parser.computes

    def run(self, text: str, variables: Mapping[str, str] | None = None, separator: str | None = None) -> AwkResult | None:
        """The output and the exit status for an input; ``None`` where they are not certain."""
        try:
            return _Run(self._rules, variables or {}, separator).run(text, self.reads)
        except (_Refused, RecursionError, OverflowError, ValueError):
            return None


@lru_cache(maxsize=256)
def parse_awk(source: str) -> Program | None:
    """The program, ``None`` where it is not understood."""
    if len(source) > 20_000:
        return None
    try:
        return Program(source)
    except (_Refused, RecursionError, IndexError):
        return None


class _Run:
    def __init__(
        self, rules: list[tuple[str, tuple[_Node, ...], tuple[_Node, ...] | None]], variables: Mapping[str, str], separator: str | None
    ) -> None:
        self.rules = rules
        self.variables: dict[str, _Value] = {name: _FieldText(value) for name, value in variables.items()}
        if "FS" in self.variables:
            separator = self.string(self.variables.pop("FS"))
        if set(self.variables) & (_VARIABLES_WITH_MEANING | {"NR", "NF"}):
            raise _Refused
        self.separator = " " if separator is None else separator
        if self.separator == "t" or (len(self.separator) > 1 and self.separator != "\\t"):
            raise _Refused
        if self.separator == "\\t":
            self.separator = "\t"
        self.line = ""
        self.fields: list[str] = []
        self.number = 0
        self.out: list[str] = []
        self.status = 0
        self.active: set[int] = set()

    def run(self, text: str, reads: bool) -> AwkResult:
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        try:
            self.rules_of("BEGIN")
            for line in lines if reads else ():
                self.number += 1
                self.record(line)
                try:
                    self.main()
                except _Next:
                    continue
        except _Exit:
            pass
        with contextlib.suppress(_Exit):
            self.rules_of("END")
        return AwkResult("".join(self.out), self.status)

    def rules_of(self, kind: str) -> None:
        for rule_kind, _, body in self.rules:
            if rule_kind == kind and body is not None:
                for statement in body:
                    self.execute(statement)

    def main(self) -> None:
        for index, (kind, patterns, body) in enumerate(self.rules):
            if kind != "main":
                continue
            if len(patterns) == 1 and not self.truth(self.value(patterns[0])):
                continue
            if len(patterns) == 2:
                if index not in self.active:
                    if not self.truth(self.value(patterns[0])):
                        continue
                    self.active.add(index)
                if self.truth(self.value(patterns[1])):
                    self.active.discard(index)
            if body is None:
                self.out.append(self.line + "\n")
            else:
                for statement in body:
                    self.execute(statement)

    def record(self, line: str) -> None:
        self.line = line
        if self.separator == " ":
            self.fields = line.strip(" \t\n").replace("\t", " ").split(" ")
            self.fields = [piece for piece in self.fields if piece]
        else:
            self.fields = line.split(self.separator) if line else []

    def execute(self, node: _Node) -> None:
        kind = node[0]
        if kind == "expr":
            self.value(node[1])
        elif kind == "block":
            for statement in node[1]:  # type: ignore[attr-defined]
                self.execute(statement)
        elif kind == "if":
            if self.truth(self.value(node[1])):
                self.execute(node[2])  # type: ignore[arg-type]
            elif node[3] is not None:
                self.execute(node[3])  # type: ignore[arg-type]
        elif kind == "next":
            raise _Next
        elif kind == "exit":
            if node[1] is not None:
                self.status = int(self.number_of(self.value(node[1]))) & 255
            raise _Exit
        else:
            values = [self.value(value) for value in node[1]]  # type: ignore[attr-defined]
            if kind == "print":
                joiner = self.string(self.variables.get("OFS", " "))
                self.out.append((joiner.join(self.string(value) for value in values) if values else self.line) + "\n")
            else:
                self.out.append(self.formatted(values))

    def value(self, node: object) -> _Value:
        assert isinstance(node, tuple)
        kind = node[0]
        if kind in ("number", "string"):
            return node[1]  # type: ignore[no-any-return]
        if kind == "group":
            return self.value(node[1])
        if kind == "var":
            if node[1] == "NR":
                return float(self.number)
            if node[1] == "NF":
                return float(len(self.fields))
            return self.variables.get(node[1], _FieldText(""))
        if kind == "field":
            index = int(self.number_of(self.value(node[1])))
            if index < 0:
                raise _Refused
            return _FieldText(self.line if index == 0 else self.fields[index - 1] if index <= len(self.fields) else "")
        if kind == "assign":
            if node[1] in ("NR", "NF"):
                raise _Refused
            value = self.value(node[2])
            self.variables[node[1]] = value
            return value
        if kind == "post":
            old = self.number_of(self.variables.get(node[1], 0.0))
            if node[1] in ("NR", "NF"):
                raise _Refused
            self.variables[node[1]] = old + (1 if node[2] == "+" else -1)
            return old
        if kind == "and":
            return float(self.truth(self.value(node[1])) and self.truth(self.value(node[2])))
        if kind == "or":
            return float(self.truth(self.value(node[1])) or self.truth(self.value(node[2])))
        if kind == "not":
            return float(not self.truth(self.value(node[1])))
        if kind == "?":
            return self.value(node[2] if self.truth(self.value(node[1])) else node[3])
        if kind == "match":
            return float(node[2].test(self.string(self.value(node[1]))) is True)
        if kind == "concat":
            return self.string(self.value(node[1])) + self.string(self.value(node[2]))
        if kind == "arith":
            return self.arithmetic(node[1], self.number_of(self.value(node[2])), self.number_of(self.value(node[3])))
        if kind == "compare":
            return float(self.compare(node[1], self.value(node[2]), self.value(node[3])))
        if kind == "sub":
            return self.substitute(node)
        return self.call(node[1], [self.value(value) for value in node[2]])

    def arithmetic(self, operator: str, a: float, b: float) -> float:
        if operator in "/%" and b == 0:
            raise _Refused
        result = {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b, "%": lambda: math.fmod(a, b)}[operator]()
        if not math.isfinite(result):
            raise _Refused
        return result

    def compare(self, operator: str, a: _Value, b: _Value) -> bool:
        x: float | str
        y: float | str
        if self.numeric(a) and self.numeric(b):
            x, y = self.number_of(a), self.number_of(b)
        else:
            x, y = self.string(a), self.string(b)
            if operator not in ("==", "!=") and not (x + y).isalnum():
                raise _Refused  # the order of texts depends on the locale
            if (operator not in ("==", "!=") and x.lower() != x) or (y.lower() != y and operator not in ("==", "!=")):
                raise _Refused
        return bool({"<": x < y, "<=": x <= y, "==": x == y, "!=": x != y, ">=": x >= y, ">": x > y}[operator])  # type: ignore[operator]

    def numeric(self, value: _Value) -> bool:
        if isinstance(value, _FieldText):
            found = _NUMBER.match(value.text)
            return not value.text or (found is not None and not value.text[found.end() :].strip(" \t\n"))
        return isinstance(value, float)

    def truth(self, value: _Value) -> bool:
        if isinstance(value, _FieldText):
            return self.number_of(value) != 0 if value.text and self.numeric(value) else bool(value.text)
        return value != 0 if isinstance(value, float) else bool(value)

    def number_of(self, value: _Value) -> float:
        if isinstance(value, float):
            return value
        text = value.text if isinstance(value, _FieldText) else value
        if re.match(r"\s*[+-]?(0[xX]|inf|nan)", text, re.IGNORECASE):
            raise _Refused
        found = _NUMBER.match(text)
        return float(found[1]) if found else 0.0

    def string(self, value: _Value) -> str:
        if isinstance(value, _FieldText):
            return value.text
        if isinstance(value, str):
            return value
        if value == int(value):
            if abs(value) >= 2**31:
                raise _Refused  # mawk and gawk differ
            return str(int(value))
        return f"{value:.6g}"

    def formatted(self, values: list[_Value]) -> str:
        if not values:
            raise _Refused
        template = self.string(values[0])
        pending = values[1:]
        out: list[str] = []
        at = 0
        for found in re.finditer(r"%([-+ 0]*)(\d{0,3})(?:\.(\d{1,2}))?([disfgeoxXc%])", template):
            if "%" in template[at : found.start()]:
                raise _Refused
            out.append(template[at : found.start()])
            at = found.end()
            if found[4] == "%":
                out.append("%")
                continue
            if not pending or found[4] == "c":
                raise _Refused
            value = pending.pop(0)
            if found[4] == "s":
                out.append(found[0] % self.string(value))
            elif found[4] in "dioxX":
                number = self.number_of(value)
                if abs(number) >= 2**31 or (number < 0 and found[4] in "oxX"):
                    raise _Refused
                out.append(found[0] % int(number))
            else:
                out.append(found[0] % self.number_of(value))
        if "%" in template[at:]:
            raise _Refused
        return "".join(out) + template[at:]

    def substitute(self, node: tuple[object, ...]) -> _Value:
        _, name, regex, replacement, target = node
        assert isinstance(regex, Regex) and isinstance(replacement, str) and isinstance(target, tuple)
        text = self.string(self.value(target))
        if regex.pattern.match("") is not None:
            raise _Refused
        out: list[str] = []
        at = count = 0
        while True:
            found = regex.search(text, at)
            if found is None or (count and name == "sub"):
                break
            if found.start == found.end:
                raise _Refused
            out.append(text[at : found.start] + replacement)
            at = found.end
            count += 1
        if count:
            new = "".join(out) + text[at:]
            if target[0] == "var":
                if target[1] in ("NR", "NF"):
                    raise _Refused
                self.variables[target[1]] = new
            elif self.number_of(self.value(target[1])) == 0:
                self.record(new)
            else:
                raise _Refused  # the record is built anew
        return float(count)

    def call(self, name: str, values: list[_Value]) -> _Value:
        if name == "sprintf":
            return self.formatted(values)
        if name == "length" and not values:
            return float(len(self.line))
        if name in ("tolower", "toupper", "length", "int"):
            if len(values) != 1:
                raise _Refused
            if name == "int":
                return float(int(self.number_of(values[0])))
            text = self.string(values[0])
            if not text.isascii():
                raise _Refused
            return float(len(text)) if name == "length" else text.lower() if name == "tolower" else text.upper()
        if name == "index" and len(values) == 2:
            if not self.string(values[0]).isascii():
                raise _Refused
            return float(self.string(values[0]).find(self.string(values[1])) + 1)
        if name == "substr" and len(values) in (2, 3):
            text = self.string(values[0])
            numbers = [self.number_of(value) for value in values[1:]]
            if not text.isascii() or any(number != int(number) or number < 0 for number in numbers) or numbers[0] < 1:
                raise _Refused
            start = int(numbers[0]) - 1
            return text[start : start + int(numbers[1])] if len(numbers) == 2 else text[start:]
        raise _Refused
