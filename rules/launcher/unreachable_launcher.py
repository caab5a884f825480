"""No runner starts a launcher

What
A launcher is in the repository, and no runner of the runner list leads to it.

Why
It is kept in step with its siblings by hand, and never runs. Rows that name the label it was for wait in the queue for ever.

Example
    # runners.yaml, without any lab_*; the file runners/launch_lab.sh

Instead
    labels:
      lab: [lab_00]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import real_path

RULE = Rule("unreachable-launcher", Level.WARNING, frozenset({"bench", "runs", "documents"}))


def check(context: Context) -> Iterator[Finding]:
    bench = context.bench
    nodes = {node for label in bench.runners.labels.values() for node in label.nodes}
    if not nodes:
        return
    reached = {run.launcher for run in context.runs if bench.knows_runner(run.runner)}
    waiting: dict[str, list[str]] = {}
    for run in context.runs:
        if not bench.knows_runner(run.runner):
            waiting.setdefault(run.launcher, []).append(run.point.id)
    for path in bench.launchers:
        stem = re.sub(r"\Alaunch_|\.sh\Z", "", path.rpartition("/")[2])
        if path in reached or "deprecated" in path or any(node == stem or node.startswith((f"{stem}_", f"{stem}-")) for node in nodes):
            continue
        if any(other != path and real_path(context.tree, other) == path for other in bench.launchers) or _named(context, path):
            continue
        waits = waiting.get(path, [])
        more = f"; the label of {len(set(waits))} points that would start it is not in the list either" if waits else ""
        yield context.finding(
            RULE,
            f"no runner of {bench.runners.path} leads to this launcher{more}",
            Site(path, 1),
            help="list a runner for it, or take it out",
            touches=waits,
            structure=path,
            subject=stem,
        )


def _named(context: Context, path: str) -> bool:
    """Whether another script or a workflow names the launcher."""
    name = path.rpartition("/")[2]
    others = {*context.documents.paths("shell"), *context.documents.paths("workflow")} - {path}
    return any(name in line and not line.lstrip().startswith("#") for other in others for line in context.lines(other))
