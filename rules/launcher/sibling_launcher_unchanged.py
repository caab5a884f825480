"""A change edits a line of a launcher and leaves the same line of its sibling

What
A change replaces a line of a launcher, and another launcher of the same hardware still has the old line, once, as the first had it.

Why
Launchers of one kind of hardware are kept alike by hand. What was wrong, or is tuned, in one of them most often is so in the others; a row
then gives another result on the pool that was forgotten.

Example
    # launch_h100-one.sh, changed
    SQUASH_DIR=/data/new/squash
    # launch_h100-two.sh
    SQUASH_DIR=/data/old/squash

Instead
Change both, or say in a comment why they differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("sibling-launcher-unchanged", Level.NOTE, frozenset({"documents", "change"}), guess=True)

_LEAST = 24  # characters: shorter lines are alike by chance


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    launchers = context.documents.paths("launcher")
    before = frozenset(context.base.documents.paths("launcher"))
    diff = Diff(context.base.tree, context.tree, context.changed)
    for path in sorted(context.changed & frozenset(launchers) & before):
        siblings = [other for other in launchers if other != path and _hardware(other) == _hardware(path)]
        old = [line.strip() for line in context.base.lines(path)]
        counts = Counter(old)
        now = Counter(line.strip() for line in context.lines(path))
        for hunk in diff.hunks(path):
            if not hunk.head_count:
                continue
            gone = [old[number - 1] for number in hunk.base_lines if number <= len(old)]
            gone = [text for text in gone if len(text) >= _LEAST and not text.startswith("#") and counts[text] == 1 and not now[text]]
            for other in siblings:
                yield from _still_there(context, path, hunk.head_start, gone, other)


def _hardware(path: str) -> str:
    """``h100`` of ``runners/launch_h100-lab.sh``."""
    return path.rpartition("/")[2].removeprefix("launch_").partition(".")[0].partition("-")[0].partition("_")[0]


def _still_there(context: Context, path: str, line: int, gone: list[str], other: str) -> Iterator[Finding]:
    theirs = [text.strip() for text in context.lines(other)]
    found = next((text for text in gone if theirs.count(text) == 1), None)
    if found is None:
        return
    number = theirs.index(found) + 1
    shown = found if len(found) <= 60 else found[:57] + "..."
    yield context.finding(
        RULE,
        f"this replaces `{shown}`, which {other.rpartition('/')[2]} still has",
        Site(path, line),
        help="change both, or say why they differ",
        related=[(Site(other, number), "the same line, unchanged")],
        structure=other,
        subject=found,
    )
