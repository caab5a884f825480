"""Tests: ``[[ ]]``, ``[ ]`` and what can be said of values that hold holes. Answers are true, false or ``None``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from reviewbot.documents.shell_syntax import TestAnd, TestBinary, TestExpr, TestNot, TestOr, TestUnary, TestWord
from reviewbot.trace import arithmetic
from reviewbot.trace.text import patterns
from reviewbot.trace.text.regex import compile_regex
from reviewbot.trace.values import HOLE, is_known

if TYPE_CHECKING:
    from reviewbot.trace.shell import Evaluator

_DECIMAL = re.compile("(?:0|[1-9][0-9]{0,17})\\Z")
_NUMBER_TESTS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b, "-ne": lambda a, b: a != b, "-lt": lambda a, b: a < b, "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b, "-ge": lambda a, b: a >= b,
}
UNARY = frozenset(["-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-o", "-p", "-r", "-s", "-t", "-u", "-v", "-w", "-x", "-z",
    "-G", "-L", "-N", "-O", "-R", "-S"])
BINARY = frozenset(("=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"))


class TestSyntaxError(Exception):
    """``[`` with arguments that make no sense."""


def is_empty(sh: Evaluator, value: str) -> bool | None:
    """Whether a value is the empty text."""
    if not value:
        return True
    if is_known(value):
        return False
    for char in value:
        if HOLE.match(char) is None:
            return False
        hole = sh.holes.of(char)
        if hole.nonempty or hole.numeric:
            return False
    return sh.every(value, lambda text: None if text and not is_known(text) and HOLE.sub("", text) == "" else not text)


def equal(sh: Evaluator, left: str, right: str) -> bool | None:
    """Whether two values are the same text."""
    if left == right:
        return True
    if is_known(left) and is_known(right):
        return False
    return sh.every(left, lambda a: sh.every(right, lambda b: _equal(sh, a, b)))


def _equal(sh: Evaluator, left: str, right: str) -> bool | None:
    if left == right:
        return True
    if is_known(left) and is_known(right):
        return False
    if not left or not right:
        return None if is_empty(sh, left or right) is not False else False
    for value, other in ((left, right), (right, left)):
        if is_known(other) and len(value) == 1 and HOLE.match(value) and sh.holes.of(value).numeric and not re.fullmatch("-?[0-9]+", other):
            return False
    return patterns.matches(left, patterns.escape(right), sh.holes)


def like(sh: Evaluator, value: str, pattern: str) -> bool | None:
    """Whether a value matches a shell pattern."""
    if is_known(value) and is_known(pattern):
        return patterns.matches(value, pattern)
    only = patterns.literal(pattern)
    if only is not None:
        return equal(sh, value, only)
    return sh.every(value, lambda text: sh.every(pattern, lambda wanted: patterns.matches(text, wanted, sh.holes)))


@lru_cache(maxsize=512)
def _regex(source: str) -> re.Pattern[str] | None:
    for name, body in patterns.CLASSES.items():
        source = source.replace(f"[:{name}:]", body)
    if re.search(r"(\([^()]*[*+][^()]*\)|\[[^\]]*\]|\.)[*+]\)*[*+{]", source):
        return None  # nested repetition: could run for ever
    try:
        return re.compile(source, re.DOTALL)
    except (re.error, RecursionError, OverflowError):
        return None


def _regex_match(sh: Evaluator, value: str, source: str) -> bool | None:
    if not is_known(source):
        return None
    regex = _regex(source) if compile_regex(source, "ere") is not None else None
    if regex is None:
        return None
    plain = value
    for char in set(HOLE.findall(value)):
        hole = sh.holes.of(char)
        if not hole.numeric:
            return sh.every(value, lambda text: _regex_match(sh, text, source) if is_known(text) else None)
        plain = plain.replace(char, hole.witness or "4242")
    found = regex.search(plain[:100_000])
    if plain == value:
        groups = [found.group(0), *(group or "" for group in found.groups())] if found else []
        sh.set_array("BASH_REMATCH", groups, None)
    elif found:
        site = sh.site_now
        sh.set_array("BASH_REMATCH", [sh.hole("match of a regular expression", site) for _ in range(1 + regex.groups)], None)
    return found is not None


def unary(sh: Evaluator, op: str, value: str) -> bool | None:
    """``-z``, ``-f``, ``-v`` and so on."""
    if op in ("-z", "-n"):
        empty = is_empty(sh, value)
        answer = None if empty is None else empty == (op == "-z")
    elif op == "-v":
        name, _, index = value.partition("[")
        answer = sh.lookup(name, index[:-1] if index else None) is not None if is_known(value) else None
    elif op == "-t":
        answer = False
    elif op == "-o":
        answer = value in sh.options
    elif op == "-R":
        answer = False
    else:
        answer = _file(sh, op, value)
    if answer is None:
        sh.why = f"{op} {value}"
    return answer


def _file(sh: Evaluator, op: str, value: str) -> bool | None:
    if not value:
        return False
    if not is_known(value):
        decided = sh.every(value, lambda text: None if text == value else _file(sh, op, text))
        if decided is not None:
            return decided
    path = sh.absolute(value)
    if path in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"):
        return op in ("-e", "-r", "-w", "-c", "-a")
    kind = sh.files.kind(path)
    if kind == "unknown":
        if op in ("-d", "-e", "-r", "-w", "-x") and sh.settings.directories is not None and not path.endswith((".sqsh", ".sh", ".py")):
            return sh.settings.directories
        return None
    if kind == "missing":
        return False
    if op in ("-e", "-a", "-r", "-w", "-O", "-G"):
        return True
    if op == "-f":
        return kind == "file"
    if op == "-d":
        return kind == "dir"
    if op == "-x":
        return True if kind == "dir" else sh.files.executable(path)
    if op == "-s":
        if kind == "dir":
            return True
        content = sh.files.read_text(path)
        return None if content is None else True if HOLE.sub("", content.text) else None if content.text else False
    if op in ("-b", "-c", "-p", "-S", "-u", "-g", "-k"):
        return False
    return None


def binary(sh: Evaluator, op: str, left: str, right: str, number: Callable[[str], int | None] | None = None) -> bool | None:
    """A test of two words; ``right`` is plain text (``[ ]``). Raises ``TestSyntaxError`` for a number test on something else."""
    answer: bool | None
    if op in ("=", "=="):
        answer = equal(sh, left, right)
    elif op == "!=":
        same = equal(sh, left, right)
        answer = None if same is None else not same
    elif op in _NUMBER_TESTS:
        answer = _numbers(sh, op, left, right, number or _plain_number)
    elif op in ("<", ">"):
        answer = (left < right if op == "<" else left > right) if is_known(left) and is_known(right) else None
    elif op == "-ef":
        one, other = sh.absolute(left), sh.absolute(right)
        kinds = (sh.files.kind(one), sh.files.kind(other))
        answer = None
        if kinds in (("file", "file"), ("dir", "dir"), ("file", "dir"), ("dir", "file")):
            same = sh.files.real(one) == sh.files.real(other)
            linked = sh.files.origin(one) is not None and sh.files.origin(one) == sh.files.origin(other)
            answer = True if same else None if linked or kinds == ("dir", "dir") else False
        if "missing" in (sh.files.kind(one), sh.files.kind(other)):
            answer = False
    elif op in ("-nt", "-ot"):
        answer = None
    else:
        raise TestSyntaxError(f"{op}: binary operator expected")
    if answer is None:
        sh.why = f"{left} {op} {right}"
    return answer


def _plain_number(text: str) -> int | None:
    text = text.strip()
    if re.fullmatch("[-+]?[0-9]{1,30}", text):
        return int(text)
    if not is_known(text):
        return None
    raise TestSyntaxError(f"{text}: integer expression expected")


def _numbers(sh: Evaluator, op: str, left: str, right: str, number: Callable[[str], int | None]) -> bool | None:
    def compare(one: str, other: str) -> bool | None:
        if one == other and not is_known(one):
            return op in ("-eq", "-le", "-ge")
        a, b = number(one), number(other)
        return None if a is None or b is None else _NUMBER_TESTS[op](a, b)

    if is_known(left) and is_known(right):
        if _DECIMAL.match(left) and _DECIMAL.match(right):
            return _NUMBER_TESTS[op](int(left), int(right))
        return compare(left, right)
    return sh.every(left, lambda a: sh.every(right, lambda b: compare(a, b)))


def evaluate(sh: Evaluator, node: TestExpr) -> bool | None:
    """``[[ ]]``."""
    if type(node) is TestBinary:
        return _binary_node(sh, node)
    if isinstance(node, TestAnd):
        left = evaluate(sh, node.left)
        if left is False:
            return False
        right = evaluate(sh, node.right)
        return False if right is False else None if left is None else right
    if isinstance(node, TestOr):
        left = evaluate(sh, node.left)
        if left is True:
            return True
        right = evaluate(sh, node.right)
        return True if right is True else None if left is None else right
    if isinstance(node, TestNot):
        inner = evaluate(sh, node.operand)
        return None if inner is None else not inner
    if isinstance(node, TestUnary):
        return unary(sh, node.op, sh.text_of(node.operand))
    if isinstance(node, TestWord):
        value = sh.text_of(node.operand)
        empty = is_empty(sh, value)
        if empty is None:
            sh.why = f"-n {value}"
        return None if empty is None else not empty
    assert isinstance(node, TestBinary)
    return _binary_node(sh, node)


def _binary_node(sh: Evaluator, node: TestBinary) -> bool | None:
    op = node.op
    left = sh.text_of(node.left)
    if op in ("==", "=", "!="):
        static = node.right.static
        if static is not None and is_known(left) and patterns.plain(static):
            same: bool | None = left == static
        else:
            pattern = sh.pattern_of(node.right)
            same = like(sh, left, pattern)
            if same is None:
                sh.why = f"{left} {op} {pattern}"
        return None if same is None else same == (op != "!=")
    if op == "=~":
        source = sh.regex_of(node.right)
        found = _regex_match(sh, left, source)
        if found is None:
            sh.why = f"{left} =~ {source}"
        return found
    right = sh.text_of(node.right)
    return binary(sh, op, left, right, lambda text: arithmetic.of_text(sh, text, node.left.line))


def bracket(sh: Evaluator, words: Sequence[str]) -> bool | None:
    """``[ ]`` and ``test``. Raises ``TestSyntaxError``."""
    count = len(words)
    if count == 0:
        return False
    if count == 1:
        empty = is_empty(sh, words[0])
        if empty is None:
            sh.why = f"-n {words[0]}"
        return None if empty is None else not empty
    if count == 2:
        if words[0] == "!":
            return _not(bracket(sh, words[1:]))
        if words[0] in UNARY:
            return unary(sh, words[0], words[1])
        raise TestSyntaxError(f"{words[0]}: unary operator expected")
    if count == 3 and words[1] in BINARY:
        return binary(sh, words[1], words[0], words[2])
    if count == 3 and words[0] == "!":
        return _not(bracket(sh, words[1:]))
    if count == 3 and words[0] == "(" and words[2] == ")":
        return bracket(sh, words[1:2])
    answer, rest = _or(sh, words, 0)
    if rest != count:
        raise TestSyntaxError("too many arguments")
    return answer


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _or(sh: Evaluator, words: Sequence[str], at: int) -> tuple[bool | None, int]:
    left, at = _and(sh, words, at)
    while at < len(words) and words[at] == "-o":
        right, at = _and(sh, words, at + 1)
        left = True if left is True or right is True else None if left is None or right is None else False
    return left, at


def _and(sh: Evaluator, words: Sequence[str], at: int) -> tuple[bool | None, int]:
    left, at = _primary(sh, words, at)
    while at < len(words) and words[at] == "-a":
        right, at = _primary(sh, words, at + 1)
        left = False if left is False or right is False else None if left is None or right is None else True
    return left, at


def _primary(sh: Evaluator, words: Sequence[str], at: int, depth: int = 0) -> tuple[bool | None, int]:
    if at >= len(words) or depth > 50:
        raise TestSyntaxError("argument expected")
    word = words[at]
    if word == "!":
        answer, rest = _primary(sh, words, at + 1, depth + 1)
        return _not(answer), rest
    if at + 2 < len(words) and words[at + 1] in BINARY:
        return binary(sh, words[at + 1], word, words[at + 2]), at + 3
    if word == "(" and depth < 20:
        answer, rest = _or(sh, words, at + 1)
        if rest >= len(words) or words[rest] != ")":
            raise TestSyntaxError("`)' expected")
        return answer, rest + 1
    if word in UNARY and at + 1 < len(words):
        return unary(sh, word, words[at + 1]), at + 2
    return bracket(sh, [word]), at + 1
