"""A flag begins with dashes that no program understands

What
A word of a command begins with three or more dashes, or with a dash of typography (`–`, `—`), and goes on like a flag.

Why
No program has such a flag: it refuses it, or takes it for a value of the flag before.

Example
    vllm serve "$MODEL" ---max-model-len 4096

Instead
    vllm serve "$MODEL" --max-model-len 4096

Fix
The dashes become two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Span
from reviewbot.documents.shell_syntax import Simple
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.shell_facts import array_words, facts_of, first_word, words

RULE = Rule("misspelt-dashes", Level.ERROR, frozenset({"documents"}), scope="document")

_BAD = re.compile(r"(?P<dashes>-{3,}|-*[\u2010-\u2015\u2212][-\u2010-\u2015\u2212]*)(?P<name>[A-Za-z][\w-]*)(?:=.*)?\Z", re.DOTALL)
_SPEAKING = frozenset({"echo", "printf", "log", "die", "fail", "warn", "info", "error"})


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        for placed in facts_of(context.documents.shell(path)).statements:
            given = array_words(placed.statement)
            if isinstance(placed.statement, Simple) and first_word(placed.statement) not in _SPEAKING:
                given += words(placed.statement)
            for word in given:
                found = _BAD.match(word.text)
                if found is None:
                    continue
                right = f"--{found['name']}"
                span = word.span
                until = Span(span.line, span.column, span.line, span.column + len(found["dashes"]) + len(found["name"]))
                yield context.finding(
                    RULE,
                    f"`{found['dashes']}{found['name']}` is no flag: it has other dashes than `{right}`",
                    until,
                    path=path,
                    help=f"write `{right}`",
                    fix=Fix(f"write {right}", (Replacement(path, span.line, span.column, span.line, until.end_column, right),), safe=True),
                    structure=first_word(placed.statement),
                    subject=found["name"],
                )


