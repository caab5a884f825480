"""A default with braces ends at its first closing brace

What
`${NAME:-{...}}`: the shell takes the first `}` for the end of the expansion, and the rest for text that follows it.

Why
Where the variable is not set, the pieces happen to add up. Where it is set, its value gets a stray `}`, and JSON with it is refused.

Example
    --speculative-config "${SPEC_CONFIG:-{\\"method\\": \\"mtp\\"}}"

Instead
    DEFAULT_SPEC='{"method": "mtp"}'
    --speculative-config "${SPEC_CONFIG:-$DEFAULT_SPEC}"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Literal, Parameter, Word
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import facts_of, own_words

RULE = Rule("brace-in-default", Level.ERROR, frozenset({"documents"}), scope="document")

_OPERATORS = frozenset({":-", "-", ":=", "=", ":+", "+"})
_QUOTED = re.compile(r"\\.|'[^']*'")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        for placed in facts_of(context.documents.shell(path)).statements:
            for word in own_words(placed.statement):
                for parameter in _broken(word):
                    argument = parameter.argument.text if parameter.argument is not None else ""
                    yield context.finding(
                        RULE,
                        f"the default of `{parameter.name}` ends at the first `}}` (`{argument}`): a set `{parameter.name}` gets the rest",
                        Site(path, parameter.line),
                        help="put the text into a variable of its own with single quotes, and name that as the default",
                        structure=parameter.name,
                        subject=argument,
                    )


def _broken(word: Word) -> Iterator[Parameter]:
    for index, part in enumerate(word.parts):
        if not isinstance(part, Parameter) or part.op not in _OPERATORS or part.argument is None:
            continue
        text = _QUOTED.sub("", part.argument.text)
        behind = word.parts[index + 1] if index + 1 < len(word.parts) else None
        if text.count("{") > text.count("}") and isinstance(behind, Literal) and "}" in behind.text:
            yield part
