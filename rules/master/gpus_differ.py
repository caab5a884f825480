"""A row and its recipe use other numbers of GPUs

What
The GPUs of all workers of the row, in every accepted reading, are not the GPUs that the recipe's workers take.

Why
Throughput for each GPU divides by this number.

Example
    # master row: 1 prefill of 4 GPUs, 1 decode of 8
    prefill: {num-worker: 1, tp: 4}
    decode: {num-worker: 1, tp: 8}
    # recipe
    resources:
      prefill_workers: 1
      gpus_per_prefill: 8
      decode_workers: 1
      gpus_per_decode: 8

Instead
    prefill: {num-worker: 1, tp: 8}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.wording import counted
from reviewbot.runs.parity import differences, pairs, row_gpus, server_gpus

RULE = Rule("gpus-differ", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        both = list(pairs(run))
        if run.recipe is None or not both:
            continue
        total = server_gpus(run.servers)
        rows = row_gpus([role for role, _ in both])
        if total is None or total in rows:
            continue
        if any(role.workers != server.workers or differences(role, server) for role, server in both):
            continue  # the other difference is the cause
        yield context.finding(
            RULE,
            f"the workers of the row take {' or '.join(str(number) for number in sorted(rows))} GPUs, those of the recipe {total}",
            field_site(run.point, "prefill.tp", "worker.tp", "tp"),
            help="make the GPUs of a worker in the recipe (nodes x GPUs a node / workers) equal to its parallelism, or correct the row",
            touches=[run],
            related=[
                (server.site, f"{counted(server.workers or 0, server.role + ' worker')} of {server.gpus} GPUs")
                for _, server in both
                if server.site is not None
            ],
            structure=f"{run.point.key}.gpus",
            subject=f"{sorted(rows)} / {total}",
        )
