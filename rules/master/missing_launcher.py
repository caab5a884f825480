"""A runner has no launcher

What
The workflow runs the launcher that is named after the runner (`launch_<name up to the first underscore>.sh`), and there is no such file.

Why
Every point of that runner ends with "No such file or directory".

Example
    # runners.yaml
    labels:
      h100: [h100-new_00]
    # and there is no runners/launch_h100-new.sh

Instead
Add the launcher, or take the runner out of the label.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.runs.model import Run

RULE = Rule("missing-launcher", Level.ERROR)


def check(context: Context) -> Iterator[Finding]:
    causes: dict[tuple[str, str], list[Run]] = {}
    for run in context.runs:
        if run.missing is not None and run.missing.path == run.launcher and context.bench.knows_runner(run.runner):
            causes.setdefault((run.key, run.launcher), []).append(run)
    for (key, launcher), runs in causes.items():
        run = runs[0]
        yield context.finding(
            RULE,
            f"runner `{run.node}` of label `{run.runner}` starts `{launcher}`, which does not exist",
            field_site(run.point, "runner"),
            help="add the launcher, or take the runner out of the label",
            touches=runs,
            related=[(run.where, "started here")] if run.where is not None else [],
            structure=f"{key}.runner",
            subject=launcher,
        )
