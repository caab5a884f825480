"""The branches of a shell script: the conditions that a line stands under."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reviewbot.documents.shell_syntax import (
    Block,
    Case,
    Function,
    Group,
    If,
    Script,
    Subshell,
    blocks,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """What has to hold: ``text`` as written on ``line``; ``holds`` is false for an ``else``."""

    line: int
    text: str
    holds: bool = True


@dataclass(frozen=True, slots=True)
class Branch:
    """An arm of an ``if`` or ``case``, or the body of a function: lines ``line`` to ``end``, the first statement in it, its conditions."""

    line: int
    end: int
    statement: int
    conditions: tuple[Condition, ...]


def branches(script: Script) -> list[Branch]:
    """All arms of a script, outer ones first."""
    return list(_of_block(script.body, (), script.text.split("\n")))


def conditions_at(script: Script, line: int) -> tuple[Condition, ...]:
    """The conditions that a line stands under, outermost first."""
    inside = [branch for branch in branches(script) if branch.line <= line <= branch.end]
    return max(inside, key=lambda branch: (branch.line, -branch.end)).conditions if inside else ()


def statement_at(script: Script, line: int) -> int | None:
    """The first line of the innermost statement that ``line`` belongs to; of the next one where it belongs to none."""
    statements = sorted(set(_statements(script.body)))
    around = [start for start, end in statements if start <= line <= end]
    if around:
        innermost = max(around)
        return innermost if innermost == line or not _hasblocks(statements, innermost, line) else _next(statements, line) or innermost
    return _next(statements, line)


def _hasblocks(statements: Sequence[tuple[int, int]], start: int, line: int) -> bool:
    """Whether a line between statements of a compound is blank, a comment or a word like ``then``: the statement below it counts."""
    end = max(last for first, last in statements if first == start)
    return any(start < first for first, _ in statements if line < first <= end)


def _next(statements: Sequence[tuple[int, int]], line: int) -> int | None:
    return next((start for start, _ in statements if start > line), None)


def _statements(block: Block) -> Iterator[tuple[int, int]]:
    for statement in block:
        yield statement.line, statement.end_line
        for inner in blocks(statement):
            yield from _statements(inner)


def _of_block(block: Block, above: tuple[Condition, ...], lines: Sequence[str]) -> Iterator[Branch]:
    for statement in block:
        if isinstance(statement, If):
            yield from _of_if(statement, above, lines)
        elif isinstance(statement, Case):
            subject = _written(lines, statement.line, statement.line)
            for arm in statement.arms:
                condition = Condition(arm.line, f"{subject} {_written(lines, arm.line, arm.line)}")
                if arm.body:
                    yield Branch(arm.line, arm.body[-1].end_line, arm.body[0].line, (*above, condition))
                yield from _of_block(arm.body, (*above, condition), lines)
        elif isinstance(statement, Function):
            condition = Condition(statement.line, f"{statement.name}() is called")
            first = (
                statement.body.body[0].line
                if isinstance(statement.body, (Group, Subshell)) and statement.body.body
                else statement.body.line
            )
            yield Branch(statement.line, statement.end_line, first, (*above, condition))
            yield from _of_block((statement.body,), (*above, condition), lines)
        else:
            for inner in blocks(statement):
                yield from _of_block(inner, above, lines)


def _of_if(statement: If, above: tuple[Condition, ...], lines: Sequence[str]) -> Iterator[Branch]:
    before: tuple[Condition, ...] = above
    for index, (condition, body) in enumerate(statement.arms):
        first = condition[0].line if condition else statement.line
        last = condition[-1].end_line if condition else first
        text = _written(lines, first, last)
        own = (*before, Condition(first, text))
        start = statement.line if index == 0 else first
        if body:
            yield Branch(start, body[-1].end_line, body[0].line, own)
        yield from _of_block(condition, before, lines)
        yield from _of_block(body, own, lines)
        before = (*before, Condition(first, text, False))
    if statement.otherwise:
        start = statement.otherwise[0].line
        yield Branch(start, statement.otherwise[-1].end_line, start, before)
        yield from _of_block(statement.otherwise, before, lines)


def _written(lines: Sequence[str], first: int, last: int) -> str:
    text = " ".join(line.strip().removesuffix("\\").strip() for line in lines[first - 1 : last])
    for word in ("if ", "elif "):
        text = text.removeprefix(word)
    return text.removesuffix("then").rstrip("; ")[:300]
