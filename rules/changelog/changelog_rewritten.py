"""The changelog's history is changed

What
The change edits or deletes lines of entries that were there before, or puts new entries in front of them. Only the `pr-link` of an old
entry may be corrected.

Why
The sweep of a change is made from what is added at the end of the file; a changed or deleted line stops it, and an entry at another
place is taken for history by those who read the file by its order.

Example
    - config-keys:            # new, and first in the file
        - toy-fp8-lab-vllm
      ...

    - config-keys:            # the oldest entry
        - toy-fp4-lab-vllm

Instead
Restore the file as it was, and append the entry at its end.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.change.changelog_scope import added_entries
from reviewbot.change.lines import Changed, Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("changelog-rewritten", Level.ERROR, frozenset({"bench", "change"}))


def check(context: Context) -> Iterator[Finding]:
    base = context.base
    if base is None or not context.changed or context.bench.changelog is None or base.bench.changelog is None:
        return
    path = context.bench.changelog.path
    if path not in context.changed or path != base.bench.changelog.path:
        return
    before, after = base.lines(path), context.lines(path)
    last = max((number for number, line in enumerate(before, 1) if line.strip()), default=0)
    hunks = Diff(base.tree, context.tree, context.changed).hunks(path)
    for hunk in hunks:
        old = [line for line in hunk.base_lines if line <= last and before[line - 1].strip()]
        new = [line for line in hunk.head_lines if line <= len(after)]
        if old and not _corrects_link([before[line - 1] for line in old], [after[line - 1] for line in new if after[line - 1].strip()]):
            yield _changed(context, path, hunk, before[old[0] - 1].strip(), len(old))
    added = added_entries(base.bench, context.bench)
    entries = context.bench.changelog.entries
    behind = {entry.index for entry in entries[len(entries) - len(added) :]}
    for entry in added:
        lines = range(entry.site.line, entry.span.end_line)
        if entry.index in behind or any(hunk.base_count and hunk.head_start in lines for hunk in hunks):
            continue  # at the end; or an old one that was edited
        yield context.finding(
            RULE,
            "the new entry stands in front of older ones",
            entry.span,
            path=path,
            help="move it to the end of the file",
            related=[(entries[-1].site, "the last entry")],
            subject=" ".join(text.text for text in entry.keys),
        )


def _changed(context: Context, path: str, hunk: Changed, first: str, count: int) -> Finding:
    line = hunk.head_start if hunk.head_count else max(1, hunk.head_start - 1)
    what = "edits" if hunk.head_count else "deletes"
    return context.finding(
        RULE,
        f"the change {what} {count} line{'s' if count > 1 else ''} of the changelog's history, first `{first[:80]}`",
        Site(path, min(line, len(context.lines(path)))),
        help="restore the lines; a correction is a new entry at the end",
        subject=first[:80],
    )


def _corrects_link(old: list[str], new: list[str]) -> bool:
    return len(old) == len(new) and all(line.lstrip().startswith("pr-link:") for line in (*old, *new))
