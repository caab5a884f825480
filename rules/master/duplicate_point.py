"""A point is in the matrix twice

What
Two search-space rows of one entry give points with the same fields, so that nothing but their place tells them apart.

Why
The same benchmark runs twice and its results overwrite each other; often one of the two was meant to differ.

Example
    - { tp: 8, conc-list: [8, 16] }
    - { tp: 8, conc-list: [16, 32] }

Instead
    - { tp: 8, conc-list: [8, 16, 32] }
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from reviewbot.bench.model import Point
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.wording import counted

RULE = Rule("duplicate-point", Level.WARNING, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    for key, points in context.bench.by_key.items():
        first: dict[str, Point] = {}
        twice: dict[tuple[int, int], list[tuple[Point, Point]]] = {}
        for point in points:
            text = json.dumps(point.row, sort_keys=True, default=str)
            before = first.setdefault(text, point)
            if before is not point:
                twice.setdefault((before.site.line, point.site.line), []).append((before, point))
        for (line, _), pairs in twice.items():
            before, point = pairs[0]
            be = "is" if len(pairs) == 1 else "are"
            where = "the same row" if before.site == point.site else f"the row on line {line}"
            yield context.finding(
                RULE,
                f"{counted(len(pairs), 'point')} of this row (concurrency {_concurrencies(pairs)}) {be} in {where} too",
                point.site,
                help="take one of them out, or write what tells them apart",
                touches=[item.id for pair in pairs for item in pair],
                related=[(before.site, "gives the same point")] if before.site != point.site else [],
                structure=key,
                subject=_concurrencies(pairs),
            )


def _concurrencies(pairs: list[tuple[Point, Point]]) -> str:
    values = [point.row.get("conc") for _, point in pairs]
    return ", ".join(" ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value) for value in values)
