"""A script patches what the image holds

What
A bench script applies a patch, or edits the files of an installed package (`git apply`, `patch`, `sed -i` in `site-packages`). A line that
the change brings is a warning; one that was there is a note. `policy: {patches-allowed: true}` turns the rule off.

Why
What is measured is then not the image that is published beside the result.

Example
    sed -i 's/False/True/' /usr/lib/python3/dist-packages/vllm/config.py

Instead
    vllm serve "$MODEL"      # on an image that holds the change
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.policy import policy

RULE = Rule("patched-engine", Level.WARNING, frozenset({"documents", "bench"}))

_PATCHES = re.compile(
    r"(?:^|[;&|({]|\bif\b|\bthen\b|\bdo\b)\s*(?:sudo\s+)?(?:git\s+(?:-C\s+\S+\s+)?apply\b|patch\s+-)"
    r"|\bsed\s+(?:-[A-Za-z]+\s+)*(?:-i|--in-place)\S*\s.*(?:site|dist)-packages"
)


def check(context: Context) -> Iterator[Finding]:
    if policy(context.settings, "patches-allowed"):
        return
    diff = None if context.base is None else Diff(context.base.tree, context.tree, context.changed or ())
    launchers = set(context.documents.paths("launcher"))
    for path in context.documents.paths("script"):
        if path in launchers or "/deprecated/" in path:
            continue
        lines = enumerate(context.lines(path), 1)
        found = [number for number, line in lines if not line.lstrip().startswith("#") and _PATCHES.search(line)]
        new = [number for number in found if diff is not None and diff.added(Site(path, number)) is not None]
        for number in new[:1] or found[:1]:
            yield context.finding(
                RULE,
                "the script patches what the image holds"
                + (f", here and on {len(found) - 1} more line{'s' if len(found) > 2 else ''}" if len(found) > 1 else ""),
                Site(path, number),
                help="use an image that holds the change",
                level=None if new else Level.NOTE,
                subject="patch",
            )
