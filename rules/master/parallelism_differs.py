"""A row and the servers of its run are spread differently

What
`tp`, `pp`, `ep`, `dp-attn` or `dcp-size` of a row fits no accepted reading of what the recipe or the bench script starts. Both ways to
write a data-parallel layout are accepted: `tp` as the ranks of one attention replica, or as all ranks.

Why
Parallelism is published with the result, and GPU counts (throughput for each GPU) are computed from it.

Example
    # master row
    prefill: {num-worker: 1, tp: 4, ep: 1, dp-attn: false}
    # recipe, vllm
    prefill:
      tensor-parallel-size: 8

Instead
    prefill: {num-worker: 1, tp: 8, ep: 1, dp-attn: false}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.runs.model import Run
from reviewbot.runs.parity import Difference, differences, pairs

RULE = Rule("parallelism-differs", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        for role, server in pairs(run):
            for difference in differences(role, server):
                yield _finding(context, run, difference)


def _finding(context: Context, run: Run, difference: Difference) -> Finding:
    server = difference.of
    related: list[tuple[Site, str]] = []
    if server is not None:
        for name in difference.flags:
            setting = server.flags.get(name)
            if setting is not None and setting.layers:
                related.append((setting.layers[-1].site, f"`{name}` is {setting.value}"))
        if not related and server.site is not None:
            related.append((server.site, "the server starts here"))
    role = f"{server.role} of " if server is not None and server.role != "agg" else ""
    what = "the recipe" if run.recipe is not None else "the bench script"
    return context.finding(
        RULE,
        f"the row says `{difference.name}: {difference.row}`, {role}{what} {_server(difference)}",
        field_site(run.point, difference.field),
        help=f"write {_written(difference)}, or change what the run starts",
        touches=[run],
        related=related,
        structure=f"{run.point.key}.{difference.field}",
        subject=f"{difference.name}: {difference.row} / {difference.server}",
    )


def _server(difference: Difference) -> str:
    return {"true": "has it on", "false": "has it off"}.get(difference.server, f"runs {difference.server}")


def _written(difference: Difference) -> str:
    return " or ".join(f"`{difference.name}: {one}`" for one in difference.server.split(" or "))
