"""More requests are sent than the servers take at a time

What
The largest concurrency of a run exceeds what all workers together may run at a time: the written batch limit, times attention replicas,
times workers. Decode workers are counted where prefill and decode are separate. TensorRT-LLM runs with more requests than slots by
design, so there only twice the limit is told.

Why
The rest waits in a queue: the published latency is then that of the queue, and the point is the one below with a longer wait.

Example
    # conc-list: [4096]; two decode workers, no data parallelism
    decode: {tensor-parallel-size: 4, max-num-seqs: 512}

Instead
    decode: {tensor-parallel-size: 4, max-num-seqs: 2048}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.recipes import concurrencies, own, started
from reviewbot.runs.limits import batch_cap, ranks
from reviewbot.runs.model import Run

RULE = Rule("concurrency-above-capacity", Level.NOTE, frozenset({"runs", "change"}), guess=True, scope="run")

_FACTOR = {"trtllm": 2}


def check(context: Context) -> Iterator[Finding]:
    for one in started(context):
        server = one.server
        cap, replicas = batch_cap(server), ranks(server)
        if server.role == "prefill" or cap is None or replicas is None or server.workers is None or not cap.setting.layers:
            continue
        slots = cap.value * replicas * server.workers
        over: list[tuple[int, Run]] = [
            (max(sent), run) for run in one.runs if (sent := concurrencies(run)) and max(sent) > slots * _FACTOR.get(server.engine, 1)
        ]
        site = cap.setting.layers[-1].site
        if not over:
            continue
        most, run = max(over, key=lambda pair: pair[0])
        row = field_site(run.point, "conc", "conc-list")
        factors = [f"{cap.value}"]
        factors += [f"{replicas} data-parallel ranks"] if replicas > 1 else []
        factors += [f"{server.workers} workers"] if server.workers > 1 else []
        product = f" ({' x '.join(factors)} = {slots})" if len(factors) > 1 else ""
        yield context.finding(
            RULE,
            f"the run sends {most} requests at a time, {server.role} takes {slots}{product}: the rest waits",
            site if own(context, site) else row,
            help=f"raise `{cap.name}`, or lower the concurrency",
            touches=[run for _, run in over],
            related=[Related(row, f"concurrency {most}")] if own(context, site) else [],
            structure=f"{server.role}.{cap.name}",
            subject=f"{most} > {slots}",
        )
