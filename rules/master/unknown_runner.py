"""A row runs on a runner that is not in the list

What
`runner` names neither a label nor a node of the runner list. Where nodes of the list begin with that name it may be a label that is
only known to GitHub, and the finding is a note.

Why
No machine takes a job with a label that nobody has: the sweep waits until it is cancelled.

Example
    runner: cluster:mi325x-old   # removed from runners.yaml

Instead
    runner: cluster:mi325x-amds
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.registry import nearest
from reviewbot.engine.wording import counted

RULE = Rule("unknown-runner", Level.ERROR, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    runners = context.bench.runners
    if not runners.labels:
        return
    nodes = {node for label in runners.labels for node in runners.nodes(label)}
    causes: dict[tuple[str, str], list[str]] = {}
    for point in context.bench.points:
        name = str(point.row.get("runner", ""))
        if name and name not in runners.labels and name not in nodes:
            causes.setdefault((point.key, name), []).append(point.id)
    first = {point.id: point for point in context.bench.points}
    for (key, name), points in causes.items():
        prefix = name.partition(":")[2] or name
        known = [node for node in sorted(nodes) if node.startswith(prefix)]
        close = nearest(name, sorted(runners.labels))
        if known:
            begin = "begin" if len(known) > 1 else "begins"
            message = f"runner `{name}` is not a label of {runners.path}; {counted(len(known), 'node')} {begin} with that name"
        else:
            message = f"runner `{name}` is neither a label nor a node of {runners.path}"
        yield context.finding(
            RULE,
            message,
            field_site(first[points[0]], "runner"),
            help=f"write a label of {runners.path}" + (f", for instance `{close}`" if close else ""),
            touches=points,
            structure=f"{key}.runner",
            subject=name,
            level=Level.NOTE if known else None,
        )
