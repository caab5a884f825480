"""A launcher could not be evaluated

What
The evaluation of the launcher came to a bound (an endless loop, a text that only grows, an unclosed here-document), or the launcher
could not be read. What the rows that it serves run is not known, and the check ends with status 3.

Why
Nothing is reported about these rows, which must not look like a clean result.

Example
    while true; do
        attempt=$((attempt + 1))
    done

Instead
    while ((attempt < 30)); do
        attempt=$((attempt + 1))
    done
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Limit

RULE = Rule("not-evaluated", Level.NOTE)


def check(context: Context) -> Iterator[Finding]:
    causes: dict[tuple[Site, str], list[Run]] = {}
    for run in context.runs:
        if run.outcome == "unknown":
            limit = next((effect for effect in run.effects if isinstance(effect, Limit)), None)
            site = limit.site if limit is not None else Site(run.launcher, 1)
            message = limit.text if limit is not None else run.message
            causes.setdefault((site, message), []).append(run)
    for (site, message), runs in causes.items():
        run = runs[0]
        yield context.finding(
            RULE,
            f"what {run.launcher} does for this row is not known: {message}",
            site if not site.path.startswith("<") else run.point.site,
            help="bound the loop or close what is open, so that the launcher can be followed",
            touches=runs,
            structure=run.launcher,
            subject=message,
        )
