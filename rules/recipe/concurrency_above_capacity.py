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
from reviewbot.runs.limits import batch_cap, ranks
from reviewbot.runs.model import Run

RULE = Rule("concurrency-above-capacity", Level.NOTE, guess=True)

_QUEUES = frozenset({"trtllm"})


@dataclass(frozen=True, slots=True)
class _Over:
    """A run that sends more than the workers of one server have slots for, and what the slots are made of."""

    run: Run
    role: str
    limit: str
    cap: int
    replicas: int
    workers: int
    most: int

    @property
    def slots(self) -> int:
        return self.cap * self.replicas * self.workers


def check(context: Context) -> Iterator[Finding]:
    places: dict[Site, list[_Over]] = {}
    for run, (site, *said) in context.gathered(RULE):
        place = Site(*site) if site is not None else field_site(run.point, "conc", "conc-list")
        places.setdefault(place, []).append(_Over(run, *said))
    for place, found in places.items():
        yield _finding(context, place, max(found, key=lambda over: over.most / over.slots), found)


def gather(context: Context) -> Iterator[object]:
    """The servers of one run that it sends too much to: the limit's place (where it is in the repository) and the fields of ``_Over``."""
    for one in started(context):
        server = one.server
        cap, replicas = batch_cap(server), ranks(server)
        if server.role == "prefill" or cap is None or replicas is None or server.workers is None or not cap.setting.layers:
            continue
        slots = cap.value * replicas * server.workers
        # Where prefill is separate, requests wait there too, and others are on their way.
        least = 2 * slots if server.role == "decode" or server.engine in _QUEUES else slots + 1
        for run in one.runs:
            sent = concurrencies(run)
            if sent and max(sent) >= least:
                site = cap.setting.layers[-1].site
                yield [list(site) if own(context, site) else None, server.role, cap.name, cap.value, replicas, server.workers, max(sent)]


def _finding(context: Context, place: Site, worst: _Over, found: list[_Over]) -> Finding:
    row = field_site(worst.run.point, "conc", "conc-list")
    factors = [str(worst.cap)]
    factors += [f"{worst.replicas} data-parallel ranks"] if worst.replicas > 1 else []
    factors += [f"{worst.workers} workers"] if worst.workers > 1 else []
    product = f" ({' x '.join(factors)} = {worst.slots})" if len(factors) > 1 else ""
    return context.finding(
        RULE,
        f"the run sends {worst.most} requests at a time, {worst.role} takes {worst.slots}{product}: the rest waits",
        place,
        help=f"raise `{worst.limit}`, or lower the concurrency",
        touches=[over.run for over in found],
        related=[Related(row, f"concurrency {worst.most}")] if row != place else [],
        structure=f"{worst.role}.{worst.limit}",
        subject=f"{worst.most} > {worst.slots}",
    )
