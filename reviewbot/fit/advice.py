"""What would work where a layout does not, and how much is left where it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from reviewbot.fit.layout import Layout, described, split_of
from reviewbot.fit.table import layouts
from reviewbot.fit.verdict import Report, fit

MOST_GPUS = 128


@dataclass(frozen=True, slots=True)
class Advice:
    """A layout that works, in how many nodes, and a sentence that says so; ``layout`` is ``None`` where the given one works or none
    does."""

    layout: Layout | None
    nodes: int | None
    text: str


def advise(report: Report) -> Advice:
    """The smallest parallelism that fits on the same GPU for a report that does not, the headroom for one that does."""
    if report.verdict == "fits":
        left = report.headroom_gib or 0.0
        text = f"{left:.1f} GiB a GPU are left for the cache at least"
        if report.requests is not None:
            text += f", {report.requests[0]:.1f} requests of {report.context:,} tokens"
        return Advice(None, None, text)
    if report.verdict == "cannot-tell":
        return Advice(None, None, f"cannot tell: {report.reason}")
    if report.memory == "tight" and not report.constraints:
        return Advice(None, None, report.reason)
    base = replace(report.layout, nodes=None, partition=None, cp=1, dcp=1, redundant_experts=0, eplb=False, moe_dense_tp=None, moe_dp=1)
    node = report.layout.gpus_per_node or report.gpu.gpus_per_node
    best: Report | None = None
    for accepted in (("fits",), ("fits", "tight", "cannot-tell")):
        candidates = list(layouts(report.model, base.engine, MOST_GPUS, replace(base, gpus_per_node=node)))
        # equal in GPUs: rather pipeline stages over nodes than tensor ranks over nodes
        candidates.sort(key=lambda one: (split_of(one).world, split_of(one).world // one.pp > node))
        for one in candidates:
            if one.pp > 1 and split_of(one).world > node > split_of(one).world // one.pp:
                continue  # stages that leave a node half used
            found = fit(report.model, report.checkpoint, one, report.gpu)
            if found.verdict in accepted:
                best = found
                break
        if best is not None:
            break
    if best is None:
        return Advice(None, None, f"no layout of up to {MOST_GPUS} {report.gpu.name.upper()} holds it")
    return _smallest(best, node)


def advise_table(reports: Sequence[Report]) -> Advice:
    """The smallest layout of a table that fits (or may), with its headroom; what would, where none of the table does."""
    for accepted in ("fits", "tight", "cannot-tell"):
        found = next((one for one in reports if one.verdict == accepted), None)
        if found is not None:
            smallest = _smallest(found, found.layout.gpus_per_node or found.gpu.gpus_per_node)
            return replace(smallest, text=f"{smallest.text}; {advise(found).text}")
    return advise(reports[-1])


def _smallest(report: Report, node: int) -> Advice:
    nodes = -(-report.gpus // node)
    layout = report.layout
    weights = f"{report.weights_gib:.1f} GiB of weights a GPU" if report.weights_gib is not None else "weights not known"
    where = f"{report.gpus} GPU{'s' if report.gpus > 1 else ''}, {nodes} node{'s' if nodes > 1 else ''} of {node}"
    does = "fits" if report.verdict == "fits" else "may fit"
    return Advice(layout, nodes, f"smallest that {does}: {described(layout)} on {where}: {weights}")
