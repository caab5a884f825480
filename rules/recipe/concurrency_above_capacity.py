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
from dataclasses import dataclass

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.recipes import concurrencies, own, started
from reviewbot.runs.limits import Bound, batch_cap, ranks
from reviewbot.runs.model import Run, Server

RULE = Rule("concurrency-above-capacity", Level.NOTE, guess=True)

_QUEUES = frozenset({"trtllm"})


@dataclass(frozen=True, slots=True)
class _Over:
    """A server, the slots of all its workers, and the run that sends most beyond them."""

    server: Server
    cap: Bound
    replicas: int
    slots: int
    most: int
    run: Run


def check(context: Context) -> Iterator[Finding]:
    places: dict[Site, list[_Over]] = {}
    for one in started(context):
        cap, replicas = batch_cap(one.server), ranks(one.server)
        if one.server.role == "prefill" or cap is None or replicas is None or one.server.workers is None or not cap.setting.layers:
            continue
        slots = cap.value * replicas * one.server.workers
        # Where prefill is separate, requests wait there too, and others are on their way.
        least = 2 * slots if one.server.role == "decode" or one.server.engine in _QUEUES else slots + 1
        for run in one.runs:
            sent = concurrencies(run)
            if sent and max(sent) >= least:
                site = cap.setting.layers[-1].site
                place = site if own(context, site) else field_site(run.point, "conc", "conc-list")
                places.setdefault(place, []).append(_Over(one.server, cap, replicas, slots, max(sent), run))
    for place, found in places.items():
        yield _finding(context, place, max(found, key=lambda over: over.most / over.slots), found)


def _finding(context: Context, place: Site, worst: _Over, found: list[_Over]) -> Finding:
    row = field_site(worst.run.point, "conc", "conc-list")
    workers = worst.server.workers or 1
    factors = [str(worst.cap.value)]
    factors += [f"{worst.replicas} data-parallel ranks"] if worst.replicas > 1 else []
    factors += [f"{workers} workers"] if workers > 1 else []
    product = f" ({' x '.join(factors)} = {worst.slots})" if len(factors) > 1 else ""
    return context.finding(
        RULE,
        f"the run sends {worst.most} requests at a time, {worst.server.role} takes {worst.slots}{product}: the rest waits",
        place,
        help=f"raise `{worst.cap.name}`, or lower the concurrency",
        touches=[over.run for over in found],
        related=[Related(row, f"concurrency {worst.most}")] if row != place else [],
        structure=f"{worst.server.role}.{worst.cap.name}",
        subject=f"{worst.most} > {worst.slots}",
    )
