"""Conditions of shell scripts as plain logic: alternatives of clauses of terms, where they only compare values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.shell_syntax import (
    AndOr,
    Block,
    Literal,
    Parameter,
    Pipeline,
    Simple,
    Statement,
    TestAnd,
    TestBinary,
    TestCommand,
    TestExpr,
    TestNot,
    TestOr,
    TestUnary,
    TestWord,
    Word,
)  # fmt: skip


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """One comparison: ``name`` (as in ``$name``) with ``value``, ``op`` is ``=``, ``!=`` or another operator of ``test``.

    ``literal`` tells whether the value is plain text (no pattern, no variable).
    """

    name: str
    op: str
    value: str
    literal: bool = True

    def __str__(self) -> str:
        return f"{self.name} {self.op} {self.value}".strip()


Clause = frozenset[Term]
_MOST = 64
_NEGATED = {"=": "!=", "!=": "=", "-n": "-z", "-z": "-n"}
_SIMPLE_DEFAULT = (":-", "-")


def alternatives(condition: Block) -> tuple[Clause, ...]:
    """The clauses of which one has to hold; empty where the condition does anything but compare variables with values, or is too large."""
    if len(condition) != 1:
        return ()
    try:
        found = tuple(dict.fromkeys(_of_statement(condition[0])))
    except _Unclear:
        return ()
    return tuple(clause for clause in found if clause)


class _Unclear(Exception):
    pass


def _of_statement(statement: Statement) -> list[Clause]:
    if isinstance(statement, TestCommand):
        return _of_test(statement.expression, True)
    if isinstance(statement, AndOr):
        result = _of_statement(statement.first)
        for operator, item in statement.rest:
            result = _both(result, _of_statement(item)) if operator == "&&" else [*result, *_of_statement(item)]
        return result
    if isinstance(statement, Simple) and not statement.assignments and not statement.redirects:
        return [frozenset({_of_words(statement.words)})]
    if isinstance(statement, Pipeline) and statement.negated and len(statement.parts) == 1:
        inner = statement.parts[0]
        if isinstance(inner, TestCommand):
            return _of_test(inner.expression, False)
        if isinstance(inner, Simple) and not inner.assignments and not inner.redirects:
            return [frozenset({_negated(_of_words(inner.words))})]
    raise _Unclear


def _both(one: list[Clause], other: list[Clause]) -> list[Clause]:
    if len(one) * len(other) > _MOST:
        raise _Unclear
    return [left | right for left in one for right in other]


def _of_test(test: TestExpr, holds: bool) -> list[Clause]:
    if isinstance(test, TestNot):
        return _of_test(test.operand, not holds)
    if isinstance(test, (TestAnd, TestOr)):
        left, right = _of_test(test.left, holds), _of_test(test.right, holds)
        return _both(left, right) if isinstance(test, TestAnd) == holds else [*left, *right]
    if isinstance(test, TestBinary):
        term = _compared(test.left, test.op, test.right, pattern=True)
    elif isinstance(test, TestUnary):
        term = _asked(test.op, test.operand)
    elif isinstance(test, TestWord):
        term = _asked("-n", test.operand)
    else:
        raise _Unclear
    return [frozenset({term if holds else _negated(term)})]


def _of_words(words: tuple[Word, ...]) -> Term:
    texts = [word.text for word in words]
    given = words[1:]
    if texts[0] == "[" and texts[-1] == "]":
        given = given[:-1]
    elif texts[0] != "test":
        raise _Unclear
    if len(given) == 3:
        return _compared(given[0], given[1].static or "", given[2], pattern=False)
    if len(given) == 2 and given[0].static in ("-n", "-z"):
        return _asked(given[0].static or "", given[1])
    raise _Unclear


def _compared(left: Word, op: str, right: Word, pattern: bool) -> Term:
    op = "=" if op == "==" else op
    if op not in ("=", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"):
        raise _Unclear
    if any(not isinstance(part, (Literal, Parameter)) for part in right.parts):
        raise _Unclear
    literal = right.static is not None or not right.parts
    if literal and pattern and op in ("=", "!=", "=~"):
        literal = op != "=~" and not any(
            isinstance(part, Literal) and not part.quoted and re.search(r"[*?\[(]", part.text) for part in right.parts
        )
    value = (right.static or "") if literal else right.text
    return Term(_name(left), op, value, literal)


def _asked(op: str, operand: Word) -> Term:
    if op not in ("-n", "-z"):
        raise _Unclear
    return Term(_name(operand), op, "")


def _name(word: Word) -> str:
    """``x`` of ``$x``, ``"$x"`` and ``${x:-}``; a word that is put together stays as written."""
    parts = [part for part in word.parts if not (isinstance(part, Literal) and not part.text)]
    if (
        not parts
        or any(not isinstance(part, (Literal, Parameter)) for part in parts)
        or not any(isinstance(part, Parameter) for part in parts)
    ):
        raise _Unclear
    if len(parts) == 1 and isinstance(parts[0], Parameter):
        one = parts[0]
        plain = not (one.index or one.length or one.indirect or one.keys or one.prefix)
        if plain and (not one.op or (one.op in _SIMPLE_DEFAULT and (one.argument is None or not one.argument.parts))):
            return one.name
    return word.text.strip('"')


def _negated(term: Term) -> Term:
    if term.op not in _NEGATED:
        raise _Unclear
    return Term(term.name, _NEGATED[term.op], term.value, term.literal)


def equalities(clause: Clause) -> Iterator[tuple[str, str]]:
    """The variables that a clause fixes to plain text."""
    for term in clause:
        if term.op == "=" and term.literal:
            yield term.name, term.value
