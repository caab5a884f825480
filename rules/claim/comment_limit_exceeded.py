"""A row goes beyond the limit that its comment gives

What
The comment above a row says where its concurrencies end (`hard stop at conc 16`), and the row has a higher one.

Why
Either the limit is still there and the point fails, or the comment keeps others from a range that works.

Example
    # OOM above: hard stop at conc 16
    - { tp: 4, conc-list: [8, 16, 48] }

Instead
    - { tp: 4, conc-list: [8, 16, 48] }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import comment_blocks
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("comment-limit-exceeded", Level.WARNING, frozenset({"bench", "documents"}))

_LIMIT = re.compile(
    r"\b(?:(?:hard\s+)?stops?\s+at|capped\s+at|ends?\s+at|limited\s+to)\s+conc(?:urrency)?\s?=?\s?(?P<one>\d{1,6})\b(?!\s*(?:-|per|/|[GMK]i?B))"
    r"|\bconc(?:urrency)?\s+(?:is\s+)?(?:hard-)?(?:capped|stopped|limited)\s+(?:at|to)\s+(?P<two>\d{1,6})\b(?!\s*(?:-|per|/))",
    re.IGNORECASE,
)


def check(context: Context) -> Iterator[Finding]:
    rows: dict[tuple[str, int], list[Point]] = {}
    for point in context.bench.points:
        rows.setdefault((point.site.path, point.site.line), []).append(point)
    for path in sorted({path for path, _ in rows}):
        for block in comment_blocks(context.documents.yaml(path)):
            points = rows.get((path, block.span.end_line + 1), [])
            for comment in block.comments if points else ():
                match = _LIMIT.search(comment.text)
                if match is None:
                    continue
                limit = int(match["one"] or match["two"])
                above = [point for point in points if max(_concurrencies(point), default=0) > limit]
                if above:
                    highest = max(value for point in above for value in _concurrencies(point))
                    yield context.finding(
                        RULE,
                        f"the comment says `{match.group()}`, and the row goes to {highest}",
                        Site(path, comment.span.line),
                        help="correct the comment, or the row",
                        touches=[point.id for point in above],
                        related=[(above[0].site, "the row")],
                        subject=f"{match.group()} {above[0].key}",
                    )


def _concurrencies(point: Point) -> list[int]:
    conc = point.row.get("conc")
    return [value for value in (conc if isinstance(conc, (list, tuple)) else [conc]) if isinstance(value, int)]
