"""A command ends, or goes on, at a line where its author did not mean it to

What
A backslash at the end of a line is missing, is followed by a comment or by an empty line, or the name of a variable stands where no
argument belongs: the rest of the command is run as a command of its own, or a bare name is passed to the program.

Why
The flags behind the break never reach the program, and `--flag: command not found` is one line among thousands of a log. A name that is
not in the list of required variables is not required.

Example
    vllm serve "$MODEL" \\
        # --block-size 64 \\
        --max-model-len 4096

Instead
    vllm serve "$MODEL" \\
        --max-model-len 4096

Fix
A backslash before an empty line, or at the end of the file, is taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Function, Simple
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, facts_of

RULE = Rule("broken-continuation", Level.ERROR, frozenset({"documents"}), scope="document")

_FLAG = re.compile(r"--?[A-Za-z][\w-]*(?:=.*)?\Z", re.DOTALL)
_NAME = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\Z")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        facts = facts_of(script)
        lines = script.text.split("\n")
        functions = {one.statement.name for one in facts.statements if isinstance(one.statement, Function)}
        names = {one.name for one in facts.reads} | {one.name for one in facts.assigned}
        said: set[int] = set()
        for placed in facts.statements:
            if isinstance(placed.statement, Simple) and placed.statement.words:
                for finding in _stray(context, path, lines, placed.statement, names, functions):
                    said.add(finding.line)
                    yield finding
        yield from (finding for finding in _dangling(context, path, lines, facts) if finding.line not in said)


def _stray(
    context: Context, path: str, lines: list[str], command: Simple, names: set[str], functions: set[str]
) -> Iterator[Finding]:
    first = command.words[0].static or ""
    if not command.assignments and _FLAG.match(first) and command.words[0].text == first:
        yield _begins(context, path, lines, command.line, f"`{first}` is run as a command", first)
    elif not command.assignments and _NAME.match(first) and first not in functions and _alone(command):
        yield _begins(context, path, lines, command.line, f"`{first}`, the name of a variable, is run as a command", first)
    else:
        flags = [word.static is not None and _FLAG.match(word.static) is not None for word in command.words]
        if sum(flags) < 2:
            return
        for index in range(1, len(command.words)):
            text = command.words[index].text
            if _NAME.match(text) and text in names and not flags[index - 1] and any(flags[:index]):
                yield context.finding(
                    RULE,
                    f"`{text}` is passed as it stands: it is the name of a variable and no value of a flag",
                    command.words[index].span,
                    path=path,
                    help=f'take it out, or write the flag that takes `"${text}"`',
                    structure=command.words[0].text,
                    subject=text,
                    level=Level.NOTE if is_retired(path) else None,
                )


def _alone(command: Simple) -> bool:
    """Whether nothing but names of variables stands on the line."""
    return all(_NAME.match(word.text) for word in command.words)


def _begins(context: Context, path: str, lines: list[str], line: int, what: str, subject: str) -> Finding:
    before = lines[line - 2].strip() if line > 1 else ""
    if before.startswith("#"):
        start = line - 1
        while start > 1 and lines[start - 2].strip().startswith("#"):
            start -= 1
        why, place = f"the comment on line {start} ends the command above it", start
    elif before.endswith("\\"):
        why, place = f"line {line - 1} has a backslash that does not end the line", line - 1
    elif not before:
        why, place = "the command above it has ended", line
    else:
        why, place = f"line {line - 1} does not end in a backslash", line - 1
    return context.finding(
        RULE,
        f"{what}: {why}",
        Site(path, line),
        help="put comments above the whole command, and a backslash at the end of every line of it but the last",
        related=[(Site(path, place), "the command ends here")] if place != line else [],
        structure="command",
        subject=subject,
        level=Level.NOTE if is_retired(path) else None,
    )


def _dangling(context: Context, path: str, lines: list[str], facts: Facts) -> Iterator[Finding]:
    """Commands that end in a backslash with nothing behind it."""
    for number, text in enumerate(lines, 1):
        if not text.endswith("\\") or text.endswith("\\\\") or (number < len(lines) and lines[number].strip()):
            continue
        if text.lstrip().startswith("#") or not _ends_a_command(facts, number):
            continue
        start = len(text[:-1].rstrip()) + 1
        yield context.finding(
            RULE,
            "the line ends in a backslash and nothing follows",
            Site(path, number),
            help="take the backslash out: a line that is put below it becomes part of this command",
            level=Level.NOTE if is_retired(path) else Level.WARNING,
            fix=Fix("take out the backslash", (Replacement(path, number, start, number, len(text) + 1, ""),), safe=True),
            structure="end",
            subject=" ".join(text[:-1].split()),
        )


def _ends_a_command(facts: Facts, line: int) -> bool:
    """Whether the last word of a plain command stands on a line, or its last redirect."""
    for placed in facts.statements:
        command = placed.statement
        if isinstance(command, Simple) and command.line <= line <= command.end_line:
            words = (*command.words, *(one.target for one in command.redirects if one.op != "<<"))
            if words and max(words, key=lambda word: (word.line, word.span.column)).line == line:
                return True
    return False
