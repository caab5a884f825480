"""A calculation in a comment is wrong

What
A comment spells out a product or a quotient with its result (`360x10s=3600s`, `8*2/8 = 2 nodes`), and the result is another.

Why
Such comments justify a time limit, a node count or a batch size. Where the calculation is wrong, the value that rests on it probably is
too.

Example
    # 360 x 10 s = 7200 s
    max_attempts: 360

Instead
    # 360 x 10 s = 3600 s
    max_attempts: 360

Fix
Unsafe: writes the result of the left side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.claims import arithmetic
from reviewbot.documents.positions import Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("wrong-arithmetic", Level.WARNING, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for kind in ("yaml", "shell"):
        for path in context.documents.paths(kind):
            document = context.documents.yaml(path) if kind == "yaml" else context.documents.shell(path)
            for comment in document.comments:
                yield from _comment(context, path, comment.text, comment.span)


def _comment(context: Context, path: str, text: str, span: Span) -> Iterator[Finding]:
    if "=" not in text:
        return
    for claim in arithmetic(text):
        if not claim.holds:
            result = f"{float(claim.result):g}"
            yield context.finding(
                RULE,
                f"`{claim.text}`: the left side is {result}",
                span,
                path=path,
                help="correct the calculation, and the value that rests on it",
                fix=_fix(context, path, span, claim.text, result),
                subject=claim.text,
            )


def _fix(context: Context, path: str, span: Span, text: str, result: str) -> Fix | None:
    """The right result in place of the written one, where the calculation stands once in its line."""
    lines = context.lines(path)
    numbers = range(span.line, span.end_line + 1)
    places = [(number, lines[number - 1].find(text)) for number in numbers if lines[number - 1].count(text) == 1]
    number = re.compile(r"\d{1,9}(?:\.\d{1,9})?").search(text, text.rindex("=") + 1)
    if len(places) != 1 or number is None or "e" in result:
        return None
    line, column = places[0]
    place = Replacement(path, line, column + number.start() + 1, line, column + number.end() + 1, result)
    return Fix(f"write {result}", (place,), safe=False)
