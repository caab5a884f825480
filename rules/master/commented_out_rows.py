"""A change adds rows that are commented out

What
A block of comments that a change adds to a master reads as an entry or as search-space rows.

Why
Nobody sweeps them, nobody checks them, and in a month nobody knows whether they were to come back. History keeps what was taken out.

Example
    # - { tp: 4, conc-list: [4, 8] }
    # - { tp: 8, conc-list: [4, 8] }

Instead
    Take them out, or say in one line why they are off.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.wording import counted

RULE = Rule("commented-out-rows", Level.NOTE, frozenset({"bench", "change"}), guess=True)

_ROW = re.compile(r"\s*#+\s*(?:-\s*\{.*\}|-?\s*[a-z][\w.-]*:(?:\s+\S.*)?|-\s+[\"']?[A-Z_]+=.*)\s*\Z")
_FIELD = re.compile(r"\b(?:tp|ep|conc-list|conc-start|search-space|image|num-worker|spec-decoding|isl|osl|CONFIG_FILE)\b\s*[:=]")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or not context.changed:
        return
    for master in context.bench.masters.files:
        if master.deprecated or master.path not in context.changed:
            continue
        old = Counter(line.strip() for line in context.base.lines(master.path))
        block: list[tuple[int, str]] = []
        for number, line in enumerate([*context.lines(master.path), ""], 1):
            text = line.strip()
            if _ROW.match(line) and old[text] == 0:
                block.append((number, text))
                continue
            if block:
                yield from _of(context, master.path, block)
            block = []


def _of(context: Context, path: str, block: list[tuple[int, str]]) -> Iterator[Finding]:
    if len(block) < 2 or not any(_FIELD.search(text) for _, text in block):
        return
    yield context.finding(
        RULE,
        f"{counted(len(block), 'line')} that read as configuration are added as comments",
        Site(path, block[0][0]),
        help="take them out, or say in one line why they are off",
        structure="comment",
        subject=block[0][1],
    )
