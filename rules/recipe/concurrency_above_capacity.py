"""More requests are sent than the servers take at a time

What
The largest concurrency of a run exceeds what all workers together may run at a time: the written batch limit, times attention replicas,
times workers. Decode workers are counted where prefill and decode are separate: requests wait in prefill there as well, so that only twice
the limit is told, as for TensorRT-LLM, which runs with more requests than slots by design.

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
from reviewbot.runs.model import Run, Server

RULE = Rule("concurrency-above-capacity", Level.NOTE, guess=True, scope="run")

_QUEUES = frozenset({"trtllm"})


def check(context: Context) -> Iterator[Finding]:
    for one in started(context):
        for run in one.runs:
            found = _over(context, one.server, run)
            if found is not None:
                yield found


def _over(context: Context, server: Server, run: Run) -> Finding | None:
    cap, replicas, sent = batch_cap(server), ranks(server), concurrencies(run)
    if server.role == "prefill" or cap is None or replicas is None or server.workers is None or not cap.setting.layers or not sent:
        return None
    slots = cap.value * replicas * server.workers
    # Where prefill is separate, requests wait there too, and others are on their way.
    if max(sent) < (2 * slots if server.role == "decode" or server.engine in _QUEUES else slots + 1):
        return None
    site, row = cap.setting.layers[-1].site, field_site(run.point, "conc", "conc-list")
    place = site if own(context, site) else row
    factors = [str(cap.value)]
    factors += [f"{replicas} data-parallel ranks"] if replicas > 1 else []
    factors += [f"{server.workers} workers"] if server.workers > 1 else []
    product = f" ({' x '.join(factors)} = {slots})" if len(factors) > 1 else ""
    return context.finding(
        RULE,
        f"the run sends {max(sent)} requests at a time, {server.role} takes {slots}{product}: the rest waits",
        place,
        help=f"raise `{cap.name}`, or lower the concurrency",
        touches=[run],
        related=[Related(row, f"concurrency {max(sent)}")] if row != place else [],
        structure=f"{server.role}.{cap.name}",
        subject=cap.name,  # several rows may go beyond one limit
    )
