"""A line of a comment stands there twice

What
Two lines of a comment that follow each other are the same.

Why
It is what a merge or a paste leaves behind; often the second was to be another.

Example
    #  3 draft tokens -> AL 2.78
    #  3 draft tokens -> AL 2.78

Instead
    #  3 draft tokens -> AL 2.78

Fix
Safe: takes the second one out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("repeated-comment-line", Level.NOTE, frozenset({"documents"}), scope="document")

_WORDS = re.compile(r"[A-Za-z]{2,}.*[A-Za-z0-9]{2,}")


def check(context: Context) -> Iterator[Finding]:
    for kind in ("yaml", "shell"):
        for path in context.documents.paths(kind):
            document = context.documents.yaml(path) if kind == "yaml" else context.documents.shell(path)
            lines: list[str] = []
            last: tuple[int, str] = (0, "")
            for comment in document.comments:
                text = comment.text.strip()
                line = comment.span.line
                if last == (line - 1, text) and _WORDS.search(text):
                    lines = lines or context.lines(path)
                    if lines[line - 1] == lines[line - 2] and lines[line - 1].lstrip().startswith("#"):
                        yield context.finding(
                            RULE,
                            "the line repeats the one above",
                            Site(path, line),
                            fix=Fix("take it out", (Replacement(path, line, 1, line + 1, 1, ""),), True) if line < len(lines) else None,
                            subject=text,
                        )
                last = (line, text)
