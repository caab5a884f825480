"""A removal goes to the root where a variable is empty

What
`rm -r` gets a path that begins with a variable and goes on with a slash, and nothing makes sure that the variable has a value: no default,
no `${X:?}`, no test, no constant, no `set -u`.

Why
Where the variable is empty the path begins at the root: `rm -rf "$DIR/logs"` removes `/logs`, and `rm -rf $DIR/*` everything.

Example
    rm -rf "$RESULTS_DIR/"*

Instead
    rm -rf "${RESULTS_DIR:?}/"*
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.shell_syntax import Literal, Parameter, Word
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.shell_facts import Facts, facts_of, first_word, words

RULE = Rule("unguarded-removal", Level.WARNING, frozenset({"documents"}), scope="document")

_GIVEN = re.compile(r"(?:GITHUB|RUNNER|SLURM\w*)_\w+|HOME|PWD|TMPDIR")
_NOUNSET = re.compile(r"-\w*u|nounset\Z")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        if "rm" not in script.text:
            continue
        facts = facts_of(script)
        sets = [words(one.statement) for one in facts.statements if first_word(one.statement) == "set"]
        if any(_NOUNSET.match(word.text) for given in sets for word in given):
            continue
        for placed in facts.statements:
            given = list(words(placed.statement))
            if given and given[0].static == "sudo":
                del given[0]
            if not given or given[0].static != "rm" or not any(re.match(r"-\w*[rR]|--recursive\Z", word.text) for word in given[1:]):
                continue
            for word in given[1:]:
                name = _leading(word)
                if name is None or _GIVEN.fullmatch(name) or _has_value(facts, name, word.line):
                    continue
                yield context.finding(
                    RULE,
                    f"where `{name}` is empty this removes `{_left(word)}`",
                    word.span,
                    path=path,
                    help=f"write `${{{name}:?}}`, which ends the script there",
                    fix=_fix(path, word, name),
                    structure=name,
                    subject=word.text,
                )


def _leading(word: Word) -> str | None:
    """The variable that a path begins with, where a slash and more follow it."""
    parts = [part for part in word.parts if not (isinstance(part, Literal) and not part.text)]
    if len(parts) < 2 or not isinstance(parts[0], Parameter) or not isinstance(parts[1], Literal):
        return None
    first = parts[0]
    if first.op or first.length or first.indirect or first.index is not None or not parts[1].text.startswith("/"):
        return None
    return first.name if re.match(r"[A-Za-z_]", first.name) else None


def _left(word: Word) -> str:
    return re.sub(r"^\$(?:\w+|\{\w+\})", "", word.text.replace('"', ""))


def _has_value(facts: Facts, name: str, line: int) -> bool:
    """Whether anything in the script gives the variable a text that cannot be empty, or asks for it."""
    if any(read.name == name and read.guarded and read.line <= line for read in facts.reads):
        return True
    return any(
        one.name == name and one.value is not None and any(isinstance(part, Literal) and part.text for part in one.value.parts)
        for one in facts.assigned
    )


def _fix(path: str, word: Word, name: str) -> Fix | None:
    start = word.text.find("$")
    for written in (f"${{{name}}}", f"${name}"):
        if word.text.startswith(written, start) and word.span.line == word.span.end_line:
            column = word.span.column + start
            there = Replacement(path, word.span.line, column, word.span.line, column + len(written), f"${{{name}:?}}")
            return Fix(f"write `${{{name}:?}}`", (there,), safe=False)
    return None
