"""A row and its recipe have other numbers of workers

What
`num-worker` of a role is not the number of workers that the recipe starts. For an aggregated recipe a row may count data-parallel replicas
instead, as long as the GPUs come out the same.

Why
The number of workers is published, and throughput for each GPU is computed from it.

Example
    # master row
    decode: {num-worker: 2, tp: 8}
    # recipe
    resources:
      decode_workers: 1

Instead
    decode: {num-worker: 1, tp: 8}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.wording import counted
from reviewbot.runs.model import Run, Server
from reviewbot.runs.parity import RowRole, pairs
from reviewbot.runs.servers import layers_of

RULE = Rule("workers-differ", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.recipe is None or run.text is None:
            continue
        for role, server in pairs(run):
            if server.workers is None or role.workers == server.workers or _same_gpus(role, server):
                continue
            yield _finding(context, run, role, server)


def _same_gpus(role: RowRole, server: Server) -> bool:
    if role.role != "agg" or server.gpus is None or server.workers is None:
        return False
    return any(role.workers * world == server.gpus * server.workers for world in role.worlds)


def _finding(context: Context, run: Run, role: RowRole, server: Server) -> Finding:
    written = run.recipe.roles[server.role].workers if run.recipe is not None and server.role in run.recipe.roles else None
    layers = layers_of(run.text, written.line) if written is not None and run.text is not None else ()
    field = f"{role.field}.num-worker"
    return context.finding(
        RULE,
        f"the row says {counted(role.workers, server.role + ' worker')}, the recipe starts {server.workers}",
        field_site(run.point, field, role.field),
        help=f"write `num-worker: {server.workers}`, or change the number of workers in the recipe",
        touches=[run],
        related=[(layers[-1].site, f"{counted(server.workers or 0, 'worker')} here")] if layers else [],
        structure=f"{run.point.key}.{field}",
        subject=f"{role.workers} / {server.workers}",
    )
