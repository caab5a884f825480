"""A changelog entry is appended in a form that the sweep does not take

What
An added entry follows the last line of the one before without an empty line (or with more than one), the file does not end with exactly
one line break, or an added line holds a tab or a carriage return.

Why
What starts the sweep compares the file byte by byte: the old text, one empty line, then `- config-keys:`.

Example
      pr-link: https://github.com/lab/bench/pull/11
    - config-keys:
        - toy-fp8-lab-vllm

Instead
      pr-link: https://github.com/lab/bench/pull/11

    - config-keys:
        - toy-fp8-lab-vllm

Fix
Safe: puts the empty line in, takes surplus ones out, ends the file with one line break.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.change.changelog_scope import added_entries
from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("changelog-append-format", Level.ERROR, frozenset({"bench", "change"}))


def check(context: Context) -> Iterator[Finding]:
    base = context.base
    if base is None or not context.changed or context.bench.changelog is None or context.bench.changelog.path not in context.changed:
        return
    path = context.bench.changelog.path
    added = added_entries(base.bench, context.bench)
    if not added:
        return
    lines = context.data(path).decode("utf-8", "replace").split("\n")
    entries = context.bench.changelog.entries
    for entry in added:
        if entry.index == 0 or entries[entry.index - 1].site.line >= entry.site.line:
            continue
        blank = 0
        while blank < entry.site.line - 1 and not lines[entry.site.line - 2 - blank].strip():
            blank += 1
        if blank == 1 and not lines[entry.site.line - 2]:
            continue
        first = entry.site.line - blank
        if not blank:
            said = f"the entry begins right below `{lines[entry.site.line - 2].strip()[:80]}`"
        elif blank == 1:
            said = "the line in front of the entry is not empty: it holds blanks"
        else:
            said = f"{blank} empty lines stand in front of the entry"
        yield context.finding(
            RULE,
            said,
            entry.site,
            help="one empty line goes between entries",
            fix=Fix("leave one empty line", (Replacement(path, first, 1, entry.site.line, 1, "\n"),), True),
            level=None if not blank else Level.WARNING,
            subject=f"separator {' '.join(text.text for text in entry.keys)}",
        )
    yield from _end(context, path, lines)
    diff = Diff(base.tree, context.tree, context.changed)
    for sign, what in (("\t", "a tab"), ("\r", "a carriage return")):
        mine = [number for number, line in enumerate(lines, 1) if sign in line and diff.added(Site(path, number)) is not None]
        if mine:
            yield context.finding(
                RULE,
                f"the line holds {what}" + (f", as do {len(mine) - 1} more added ones" if len(mine) > 1 else ""),
                Site(path, mine[0]),
                help="write blanks and plain line breaks",
                subject=what,
            )


def _end(context: Context, path: str, lines: list[str]) -> Iterator[Finding]:
    last = len(lines)
    while last > 1 and not lines[last - 1].strip():
        last -= 1
    surplus = len(lines) - last - 1
    if surplus == 0 and not lines[-1]:
        return
    said = "the file does not end with a line break" if surplus < 0 else "the file ends with empty lines"
    end = len(lines[last - 1]) + 1
    yield context.finding(
        RULE,
        said,
        Site(path, last),
        help="one line break ends the file",
        fix=Fix("end the file with one line break", (Replacement(path, last, end, len(lines), len(lines[-1]) + 1, "\n"),), True),
        level=Level.WARNING,
        subject="end of file",
    )
