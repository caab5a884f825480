"""A launcher refuses a point of the matrix

What
The launcher, or the bench script that it starts, ends with an error for the environment that a point of the matrix gives it, before
anything runs.

Why
The point takes its place in the queue, and the job fails with no result.

Example
    # launcher
    if [[ $FRAMEWORK != "dynamo-sglang" ]]; then
        echo "Unsupported framework: $FRAMEWORK"
        exit 1
    fi
    # master
    framework: dynamo-trt

Instead
Add the arm to the launcher, or take the row to a runner whose launcher serves it.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.runs.build import NOTHING
from reviewbot.runs.model import Run

RULE = Rule("point-refused", Level.ERROR)


def check(context: Context) -> Iterator[Finding]:
    causes: dict[tuple[str, object, str], list[Run]] = {}
    for run in context.runs:
        if run.outcome == "refused" and run.missing is None:
            causes.setdefault((run.key, run.where, run.message), []).append(run)
    for (key, _where, message), runs in causes.items():
        run = runs[0]
        where = f" at {run.where}" if run.where is not None and not run.where.path.startswith("<") else ""
        what = "starts nothing" if message == NOTHING else "ends with an error"
        said = f": {message}" if message and message != NOTHING else ""
        yield context.finding(
            RULE,
            f"the launcher {what} for this row{where}{said}",
            run.point.site,
            help="add the case to the launcher, or correct the row",
            touches=runs,
            related=[(run.where, message or "ends here")] if run.where is not None else [],
            structure=key,
            subject=f"{run.launcher} {message}",
        )
