"""The layouts of a model on a GPU: which exist up to a number of GPUs, and what each one holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from reviewbot.catalog.gpus import Gpu
from reviewbot.catalog.models import Checkpoint, Model
from reviewbot.fit.layout import Layout, split_of
from reviewbot.fit.verdict import Report, fit


def layouts(model: Model, engine: str, most: int, base: Layout) -> Iterator[Layout]:
    """Layouts up to ``most`` GPUs in the engine's own notation, smallest first: powers of two for every size; expert parallelism and
    DP-attention only where the model has experts. ``base`` gives every other setting."""
    experts = bool(model.arch.get("n_routed_experts"))
    seen: set[Layout] = set()
    found: list[Layout] = []
    for pp in _powers(most):
        for ranks in _powers(most // pp):
            for one in _of_ranks(engine, ranks, pp, experts, base):
                if one not in seen:
                    seen.add(one)
                    found.append(one)
    found.sort(key=lambda one: (split_of(one).world, one.pp, one.dp, one.dp_attention, one.ep))
    yield from found


def _of_ranks(engine: str, ranks: int, pp: int, experts: bool, base: Layout) -> Iterator[Layout]:
    if engine == "vllm":
        for dp in _powers(ranks) if experts else (1,):
            for ep in (1, ranks) if experts else (1,):
                yield replace(base, engine=engine, tp=ranks // dp, dp=dp, ep=ep, pp=pp, dp_attention=False)
        return
    yield replace(base, engine=engine, tp=ranks, dp=1, ep=1, pp=pp, dp_attention=False)
    if experts and ranks > 1:
        yield replace(base, engine=engine, tp=ranks, dp=1, ep=ranks, pp=pp, dp_attention=False)
        yield replace(base, engine=engine, tp=ranks, dp=ranks, ep=ranks, pp=pp, dp_attention=True)


def _powers(most: int) -> list[int]:
    return [1 << bit for bit in range(most.bit_length()) if 1 << bit <= most]


def table(model: Model, checkpoint: Checkpoint, gpu: Gpu, base: Layout, most: int) -> tuple[Report, ...]:
    """The reports of all layouts up to ``most`` GPUs."""
    return tuple(fit(model, checkpoint, one, gpu) for one in layouts(model, base.engine, most, base))
