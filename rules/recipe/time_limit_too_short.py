"""A job has less time than its work takes

What
The time limit of a recipe is below the time that its concurrencies take one after the other: a scenario that runs for a fixed time
(`DURATION`) runs it for every concurrency of the row. Starting the engine is not even counted.

Why
The scheduler ends the job, and the later concurrencies have no result.

Example
    # row: conc-list [1, 2, 4, 8, 16, 32], duration 3600
    slurm:
      time_limit: "04:00:00"

Instead
    slurm:
      time_limit: "08:00:00"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.durations import duration
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.recipes import own, uses
from reviewbot.runs.model import Run

RULE = Rule("time-limit-too-short", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        limit = use.recipe.time_limit
        if limit is None or not isinstance(limit.value, int) or isinstance(limit.value, bool):
            continue
        site = use.site(limit)
        short = [(run, work) for run in use.runs if (work := _work(run)) is not None and work[0] * work[1] > limit.value]
        if not short:
            continue
        run, (count, seconds) = max(short, key=lambda one: one[1][0] * one[1][1])
        row = field_site(run.point, "conc", "conc-list")
        yield context.finding(
            RULE,
            f"the job has {duration(limit.value)}, but "
            + (
                f"{count} concurrencies of {duration(seconds)} each take {duration(count * seconds)}"
                if count > 1
                else f"its concurrency takes {duration(seconds)}"
            ),
            site if site is not None and own(context, site) else row,
            help="raise `time_limit`, or split the row",
            touches=[one for one, _ in short],
            related=[Related(row, "the concurrencies of the row")],
            structure=limit.key,
            subject=f"{count} x {seconds} > {limit.value}",
        )


def _work(run: Run) -> tuple[int, int] | None:
    """Concurrencies that one job runs, and the seconds of each."""
    length, concurrencies = run.point.row.get("duration"), run.point.row.get("conc")
    if isinstance(length, bool) or not isinstance(length, int) or length <= 0:
        return None
    return (len(concurrencies) if isinstance(concurrencies, (list, tuple)) else 1), length
