"""A flag stands twice on one command

What
The command line of a server or a load generator has the same flag twice. Where a variable holds the second one, its last assignment that
can be seen counts.

Why
The last one wins and the first one does nothing: whoever changes the first line sees no effect. Where both are the same, one of them will
be changed alone some day.

Example
    vllm serve "$MODEL" --gpu-memory-utilization 0.90 --block-size 64 --gpu-memory-utilization 0.95

Instead
    vllm serve "$MODEL" --gpu-memory-utilization 0.95 --block-size 64

Fix
The second of two equal ones is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.catalog.engines import canonical
from reviewbot.documents.positions import Site, Span
from reviewbot.documents.shell_syntax import Simple, Statement, Word
from reviewbot.engine.commands import program_of
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, assignments, facts_of

RULE = Rule("duplicate-flag", Level.WARNING, frozenset({"documents"}), scope="document")

_FLAG = re.compile(r"--[A-Za-z][\w.-]*\Z")
_HOLDS = re.compile(r"""\$\{?(?P<name>[A-Za-z_]\w*)\}?\Z|"?\$\{(?P<array>[A-Za-z_]\w*)\[[@*]\]\}"?\Z""")
_IN_TEXT = re.compile(r"""(?:\A|(?<=[\s"']))(?P<flag>--[A-Za-z][\w.-]*)(?:[ =](?P<value>[^\s"'-][^\s"']*))?""")
_REPEATABLE = frozenset({"header", "extra-inputs", "goodput", "env", "set", "lora-modules", "middleware", "metadata"})


@dataclass(frozen=True, slots=True)
class _Given:
    spelling: str
    value: str
    span: Span
    end: Span
    held: str = ""  # the variable that holds it


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        for placed in facts.statements:
            command = placed.statement
            program = program_of(command)
            if not isinstance(command, Simple) or program is None:
                continue
            seen: dict[str, _Given] = {}
            for given in (*_flags(command.words), *_held(command.words, facts)):
                name = canonical(program.engine, given.spelling.lstrip("-"))
                before = seen.setdefault(name, given)
                if before is not given and name not in _REPEATABLE and not (before.held and given.held):
                    yield _finding(context, path, program.name, name, before, given)


def _flags(words: tuple[Word, ...], held: str = "") -> Iterator[_Given]:
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        spelling, equals, value = word.text.partition("=")
        if not _FLAG.match(spelling):
            continue
        values = [value] if equals else []
        end = word.span
        while not equals and index < len(words) and not words[index].text.startswith("--") and not (values and _opaque(words[index])):
            if "[@]" in words[index].text:
                break
            values.append(words[index].text)
            end = words[index].span
            index += 1
        yield _Given(spelling, " ".join(values), word.span, end, held)


def _opaque(word: Word) -> bool:
    return word.static is None


def _held(words: tuple[Word, ...], facts: Facts) -> Iterator[_Given]:
    """The flags of variables that the command names bare: what each can hold, as its assignments in this script say."""
    for word in words:
        found = _HOLDS.match(word.text)
        if found is None:
            continue
        name = found["name"] or found["array"]
        told: set[str] = set()
        for placed in facts.statements:
            for given in (*_of_array(placed.statement, name), *_of_text(placed.statement, name)):
                if given.spelling not in told:
                    told.add(given.spelling)
                    yield given


def _of_array(statement: Statement, name: str) -> Iterator[_Given]:
    for item in assignments(statement):
        if item.name == name and item.array is not None:
            yield from _flags(tuple(word for _, word in item.array), name)


def _of_text(statement: Statement, name: str) -> Iterator[_Given]:
    for item in assignments(statement):
        if item.name == name and item.value is not None:
            for match in _IN_TEXT.finditer(item.value.text):
                yield _Given(match["flag"], match["value"] or "", item.value.span, item.value.span, name)


def _finding(context: Context, path: str, program: str, name: str, before: _Given, given: _Given) -> Finding:
    same = before.value == given.value
    if given.held:
        said = f"`{before.spelling}` stands on this command, and once more in `{given.held}`, which it names too"
    else:
        said = f"`{given.spelling}` stands twice on this command"
        said += "" if same else f": `{before.value}` does nothing, `{given.value}` on line {given.span.line} wins"
    at, other = (given, before) if same and not given.held else (before, given)
    return context.finding(
        RULE,
        said,
        at.span,
        path=path,
        help=f"give it in one place: here, or in `{given.held}`" if given.held else "leave one of them",
        related=[(Site(path, other.span.line), f"stands here {'first' if other is before else 'too'}")],
        fix=_fix(context, path, given) if same and not given.held else None,
        structure=program,
        subject=f"{name} {before.value} / {given.value}",
        level=Level.NOTE if is_retired(path) else None,
    )


def _fix(context: Context, path: str, given: _Given) -> Fix | None:
    """The flag taken out: the whole line where nothing else stands on it."""
    line, start, end = given.span.line, given.span.column, given.end
    text = context.lines(path)[line - 1]
    if end.end_line != line:
        return None
    if not text[: start - 1].strip():
        if text[end.end_column - 1 :].strip() != "\\":
            return None
        return Fix("take out the second", (Replacement(path, line, 1, line + 1, 1, ""),), safe=True)
    while text[start - 2] in " \t":
        start -= 1
    return Fix("take out the second", (Replacement(path, line, start, line, end.end_column, ""),), safe=True)
