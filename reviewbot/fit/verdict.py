"""Whether a model fits at a layout on a GPU, with the arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from reviewbot.catalog.gpus import GIB, Gpu
from reviewbot.catalog.models import Checkpoint, Model, ModelError
from reviewbot.catalog.tensors import checkpoint_bytes
from reviewbot.fit.budget import Budget, Overhead, budget, overhead, replicas, sglang_default_fraction
from reviewbot.fit.constraints import Violation, older, violations
from reviewbot.fit.kv import KvCost, kv_cost
from reviewbot.fit.layout import Layout, split_of
from reviewbot.fit.weights import StageWeights, doubts, expert_padding, weights, weights_layout

VERDICTS = ("fits", "tight", "does-not-fit", "cannot-tell")

_NONLINEAR_LIMIT = 93 * 1024
"""Bytes a token that the cache of DeepSeek V4 took at most on one machine (vllm issue 51041: 4 to 93 KiB)."""

_CLOSE_UTILIZATION = 0.95
"""From this fraction of the memory on, published vLLM runs ran out of it after start (KV plus graphs and workspaces outside of the
budget)."""

_WEIGHTS_ERROR = 0.03
"""Part of the weights by which the arithmetic may be too high; nothing is refused on less."""

_LEAST_CONTEXT = 4096
"""Tokens that a cache must hold to be of use where no context is stated."""


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the arithmetic; ``value`` in ``unit`` (GiB, bytes, tokens, requests, ranks or none)."""

    name: str
    value: float | None
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class Report:
    """The answer for one layout. Sizes are a GPU's, of the fullest rank of the fullest pipeline stage, in GiB; ``None`` is not known.

    ``verdict`` covers constraints and memory; ``memory`` is memory alone. ``kv_tokens`` (low, high) is what one attention replica can
    hold, ``requests`` the same in requests of ``context`` tokens over all replicas. ``cause`` is what decided: ``constraint``, ``weights``
    (exceed the GPU), ``budget`` (exceed the fraction), ``context`` (one request is too long), ``overhead`` (depends on it),
    ``utilization`` (too little outside of the fraction), ``doubt``, ``cache`` (not linear), ``unknown``, ``room``.
    """

    model: Model
    checkpoint: Checkpoint
    gpu: Gpu
    layout: Layout
    verdict: str
    memory: str
    cause: str
    reason: str
    gpus: int
    weights_gib: float | None
    groups: dict[str, float]
    kv_bytes_per_token: float | None
    overhead_gib: tuple[float, float] | None
    budget_gib: float
    budget: Budget
    left_gib: tuple[float, float] | None
    kv_tokens: tuple[int, int] | None
    context: int | None
    requests: tuple[float, float] | None
    constraints: tuple[Violation, ...]
    doubts: tuple[str, ...]
    parts: tuple[StageWeights, ...] = ()
    cost: KvCost | None = None
    overhead: Overhead | None = None
    least_fraction: float | None = None

    @property
    def share(self) -> float | None:
        """Weights as a part of the usable memory."""
        return None if self.weights_gib is None else self.weights_gib / self.gpu.usable_gib

    @property
    def steps(self) -> tuple[Step, ...]:
        """The arithmetic, line by line."""
        return tuple(_steps(self))

    @property
    def headroom_gib(self) -> float | None:
        """What is left for the cache in the worst case, in GiB."""
        return None if self.left_gib is None else self.left_gib[0]


@lru_cache(maxsize=8192)
def fit(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu) -> Report:
    """The report of ``layout``; equal questions are answered once."""
    return _fit(model, checkpoint, layout, gpu)


def _fit(model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu) -> Report:
    broken = violations(model, checkpoint, layout, gpu)
    limit = budget(layout, gpu)
    try:
        parts = weights(model, checkpoint, weights_layout(layout), gpu)
        cost = kv_cost(model, checkpoint, layout)
        extra = overhead(model, layout, gpu)
    except ModelError as error:
        return _unknown(model, checkpoint, layout, gpu, limit, broken, str(error))
    if not parts:
        return _unknown(model, checkpoint, layout, gpu, limit, broken, "the pipeline partition is not possible")
    worst = max(parts, key=lambda one: one.bytes)
    weight = worst.gib
    left = _left(weight, limit, extra)
    context = layout.max_model_len
    if context is None and layout.engine in ("vllm", "atom") and "max_model_len" not in layout.unknown:
        context = model.arch.get("max_position_embeddings")
    tokens: tuple[int, int] | None = None
    requests: tuple[float, float] | None = None
    if cost.per_token:
        tokens = _tokens(left[0], cost.highest or cost.per_token), _tokens(left[1], cost.per_token)
        if context:
            requests = tokens[0] / context * replicas(layout), tokens[1] / context * replicas(layout)
    uncertain = doubts(model, checkpoint, layout, gpu)
    judged = _as_known(_judge(model, layout, gpu, weight, limit, extra, left, cost, context, uncertain), layout)
    verdict, reason, cause = judged.verdict, judged.reason, judged.cause
    if broken:
        verdict, cause, reason = "does-not-fit", "constraint", f"{layout.engine} refuses to start: {broken[0].message}"
    return Report(
        model=model,
        checkpoint=checkpoint,
        gpu=gpu,
        layout=layout,
        verdict=verdict,
        memory=judged.verdict,
        cause=cause,
        reason=reason,
        gpus=split_of(layout).world,
        weights_gib=weight,
        groups={name: value / GIB for name, value in worst.groups.items()},
        kv_bytes_per_token=cost.per_token,
        overhead_gib=(extra.low, extra.high),
        budget_gib=limit.gib,
        budget=limit,
        left_gib=left,
        kv_tokens=tokens,
        context=context,
        requests=requests,
        constraints=broken,
        doubts=uncertain,
        parts=parts,
        cost=cost,
        overhead=extra,
        least_fraction=judged.least,
    )


def _unknown(
    model: Model, checkpoint: Checkpoint, layout: Layout, gpu: Gpu, limit: Budget, broken: tuple[Violation, ...], why: str
) -> Report:
    return Report(
        model=model,
        checkpoint=checkpoint,
        gpu=gpu,
        layout=layout,
        verdict="does-not-fit" if broken else "cannot-tell",
        memory="cannot-tell",
        cause="constraint" if broken else "unknown",
        reason=f"{layout.engine} refuses to start: {broken[0].message}" if broken else why,
        gpus=split_of(layout).world,
        weights_gib=None,
        groups={},
        kv_bytes_per_token=None,
        overhead_gib=None,
        budget_gib=limit.gib,
        budget=limit,
        left_gib=None,
        kv_tokens=None,
        context=layout.max_model_len,
        requests=None,
        constraints=broken,
        doubts=(why,),
    )


def _steps(report: Report) -> Iterator[Step]:
    cost, extra = report.cost, report.overhead
    if cost is not None and extra is not None and report.left_gib is not None:
        yield from _weight_steps(report)
        yield from _cache_steps(report, cost, extra, report.left_gib)
    if report.checkpoint.assumed:
        text = f"the list of unquantised layers of {report.checkpoint.precision} is assumed: {report.checkpoint.source}"
        yield Step("assumed", None, "", text)
    for text in older(report.model, report.checkpoint, report.layout, report.gpu):
        yield Step("older versions", None, "", text)
    yield Step("verdict", None, "", f"{report.verdict}: {report.reason}")


def _weight_steps(report: Report) -> Iterator[Step]:
    size = checkpoint_bytes(report.model, report.checkpoint)
    worst = max(report.parts, key=lambda one: one.bytes)
    yield Step("checkpoint", size / GIB, "GiB", f"{size / 1e9:,.1f} GB = {size / GIB:,.1f} GiB in {report.checkpoint.precision}")
    split = split_of(report.layout)
    text = f"attention TP {split.attention_tp} x DP {split.attention_dp}, experts TP {split.moe_tp} x EP {split.moe_ep}, PP {split.pp}"
    if len(report.parts) > 1:
        text += f" ({', '.join(str(one.layers) for one in report.parts)} layers)"
    yield Step("ranks", split.world, "ranks", text)
    for name, value in sorted(worst.groups.items(), key=lambda item: -item[1]):
        yield Step(f"weights: {name}", value / GIB, "GiB", "")
    form = report.checkpoint.layout.get("experts")
    text = f"{worst.gib / report.gpu.usable_gib:.1%} of the usable memory"
    if isinstance(form, str) and "routed experts" in worst.groups:
        why = expert_padding(form, report.layout, report.gpu, report.model.family).why
        text += f"; {why}" if why else ""
    yield Step("weights", worst.gib, "GiB", text)


def _cache_steps(report: Report, cost: KvCost, extra: Overhead, left: tuple[float, float]) -> Iterator[Step]:
    gpu, limit, layout = report.gpu, report.budget, report.layout
    text = f"{gpu.name.upper()}: {gpu.marketed_gb:g} GB on the box, {gpu.usable_gib:.2f} GiB usable{'' if gpu.measured else ' (estimated)'}"
    yield Step("usable memory", gpu.usable_gib, "GiB", text)
    yield Step("budget", limit.gib, "GiB", limit.why)
    text = f"{extra.low:.1f} to {extra.high:.1f} GiB: {extra.why}{'' if limit.overhead_inside else '; outside of the budget'}"
    yield Step("overhead", extra.high, "GiB", text)
    yield Step("left for cache", left[0], "GiB", f"{left[0]:.1f} to {left[1]:.1f} GiB: {_left_formula(limit)}")
    yield Step("cache a token", cost.per_token, "bytes", cost.why)
    if cost.per_request:
        yield Step("state a request", cost.per_request / GIB, "GiB", "recurrent state or window of one request")
    if report.kv_tokens is not None:
        low, high = report.kv_tokens
        yield Step("cache tokens", low, "tokens", f"{low:,} to {high:,} in one attention replica ({replicas(layout)} of them)")
    if report.requests is not None and report.context:
        text = f"{report.requests[0]:.1f} to {report.requests[1]:.1f} of {report.context:,} tokens"
        text += f", {layout.concurrency} wanted at once" if layout.concurrency else ""
        yield Step("requests", report.requests[0], "requests", text)


def _left(weight: float, limit: Budget, extra: Overhead) -> tuple[float, float]:
    """What the cache can get, (low, high)."""
    if limit.overhead_inside:
        return (limit.low - weight - extra.high) * limit.share, (limit.high - weight - extra.low) * limit.share
    return limit.low - weight, limit.high - weight


def _left_formula(limit: Budget) -> str:
    if not limit.overhead_inside:
        return "budget - weights"
    return f"(usable - weights - overhead) x {limit.share:g}" if limit.share != 1 else "budget - weights - overhead"


def _tokens(left: float, per_token: float) -> int:
    return max(0, int(left * GIB / per_token))


@dataclass(frozen=True, slots=True)
class _Judgement:
    verdict: str
    cause: str
    reason: str
    least: float | None = None


def _judge(
    model: Model, layout: Layout, gpu: Gpu, weight: float, limit: Budget, extra: Overhead, left: tuple[float, float], cost: KvCost,
    context: int | None, uncertain: tuple[str, ...],
) -> _Judgement:  # fmt: skip
    """The verdict on memory; ``least`` is the least fraction that would do where the fraction is too small."""
    error = weight * _WEIGHTS_ERROR
    if weight - error + extra.low > gpu.usable_gib:
        text = f"weights of {weight:.1f} GiB and at least {extra.low:.1f} GiB of overhead exceed {gpu.usable_gib:.1f} GiB"
        return _Judgement("does-not-fit", "weights", text)
    if left[1] <= 0:
        return _full(layout, gpu, weight, limit, extra, left[1] + error * limit.share <= 0)
    if uncertain:
        return _Judgement("cannot-tell", "doubt", uncertain[0])
    range_left = f"{left[0]:.1f} to {left[1]:.1f} GiB are left, depending on overhead"
    single = _single_request(layout, cost, context)
    whole = context is not None and layout.engine in ("vllm", "atom")
    if single is None:
        tokens = context if whole and context else _LEAST_CONTEXT
        worst_case = _NONLINEAR_LIMIT * tokens / GIB
        if left[0] <= 0:
            return _Judgement("tight", "overhead", range_left)
        if model.family == "dsv4" and left[0] >= worst_case + error * limit.share:
            text = f"at least {left[0]:.1f} GiB are left, above the {worst_case:.1f} GiB that {tokens:,} tokens may take"
            return _Judgement("fits", "room", text)
        return _Judgement("cannot-tell", "cache", f"{left[0]:.1f} GiB at least are left for the cache; {cost.why}")
    low, high = single
    what = f"a request of {context:,} tokens" if whole else f"a cache of {_LEAST_CONTEXT:,} tokens"
    if left[1] < low:
        text = f"{what} needs {low:.1f} GiB, at most {left[1]:.1f} GiB are left for the cache"
        if limit.stated and layout.max_model_len and left[1] + error < low and layout.engine in ("vllm", "atom"):
            return _Judgement("does-not-fit", "context", text)
        return _Judgement("tight", "context", f"{text}: a shorter context is needed" if whole else text)
    if left[0] < high + error * limit.share:
        return _Judgement("tight", "overhead", f"{what} needs {high:.1f} GiB of cache, {range_left}")
    outside = gpu.usable_gib - limit.low
    if layout.engine in ("vllm", "atom") and limit.fraction >= _CLOSE_UTILIZATION and not layout.eager:
        text = f"gpu-memory-utilization {limit.fraction:g} leaves {outside:.1f} GiB for graphs and workspaces outside of the budget"
        return _Judgement("tight", "utilization", text)
    reserve = gpu.usable_gib * (1 - sglang_default_fraction(layout, gpu)) if layout.engine == "sglang" else 0.0
    if layout.engine == "sglang" and limit.stated and outside < max(extra.low + 2.0, min(reserve, 16.0) / 2):
        text = f"mem-fraction-static {limit.fraction:g} leaves {outside:.1f} GiB for activations and graphs"
        return _Judgement("tight", "utilization", text)
    return _Judgement("fits", "room", f"{left[0]:.1f} GiB at least are left for the cache")


def _full(layout: Layout, gpu: Gpu, weight: float, limit: Budget, extra: Overhead, surely: bool) -> _Judgement:
    """Nothing is left for the cache even in the best case: ``surely`` beyond the error of the arithmetic."""
    least = _least_fraction(layout, gpu, weight, extra)
    if limit.stated and surely:
        text = f"weights of {weight:.1f} GiB leave nothing for the cache in a budget of {limit.high:.1f} GiB"
        return _Judgement("does-not-fit", "budget", text, least)
    text = f"weights of {weight:.1f} GiB fill the {'' if limit.stated else 'default '}budget of {limit.high:.1f} GiB"
    if layout.engine != "trtllm":
        word = "mem-fraction-static" if layout.engine == "sglang" else "gpu-memory-utilization"
        text += f": {word} of about {least:g} at least is needed"
    return _Judgement("tight", "budget", text, least)


def _as_known(judgement: _Judgement, layout: Layout) -> _Judgement:
    """A verdict that rests on a value that is set, but not known, cannot be told."""
    if judgement.verdict == "fits" and layout.unknown & {"utilization"}:
        return _Judgement("cannot-tell", "unknown", "the fraction of memory is set to a value that is not known")
    if (
        judgement.verdict in ("tight", "does-not-fit")
        and judgement.cause != "weights"
        and layout.unknown & {"utilization", "max_num_batched_tokens"}
    ):
        names = ", ".join(sorted(layout.unknown))
        return _Judgement("cannot-tell", "unknown", f"{names} set to a value that is not known")
    return judgement


def _single_request(layout: Layout, cost: KvCost, context: int | None) -> tuple[float, float] | None:
    """GiB of cache that the engine must hold to start, (low, high): one request of the whole context on vLLM and ATOM."""
    if not cost.per_token:
        return None
    tokens = context or _LEAST_CONTEXT
    if layout.engine not in ("vllm", "atom"):
        tokens = min(tokens, _LEAST_CONTEXT)  # starts with less than one whole context
    state = cost.per_request / GIB
    return tokens * cost.per_token / GIB + state, tokens * (cost.highest or cost.per_token) / GIB + state


def _least_fraction(layout: Layout, gpu: Gpu, weight: float, extra: Overhead) -> float:
    """The least fraction of the engine's own notation that leaves something for the cache."""
    if layout.engine == "sglang":
        return min(0.999, round(weight / gpu.free_gib[1] + 0.01, 3))
    return min(0.999, round((weight + extra.low) / gpu.usable_gib + 0.01, 3))


def report_data(report: Report) -> dict[str, Any]:
    """The report in its public form (``schemas/fit-report.schema.json``)."""
    layout = report.layout
    return {
        "version": 1,
        "model": report.model.name,
        "precision": report.checkpoint.precision,
        "gpu": report.gpu.name,
        "engine": layout.engine,
        "engine_version": ".".join(map(str, layout.version)) if layout.version else None,
        "layout": {
            "tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "ep": layout.ep, "cp": layout.cp, "dcp": layout.dcp,
            "dp_attention": layout.dp_attention, "mtp": layout.mtp, "gpus": report.gpus,
            "nodes": layout.nodes, "gpus_per_node": layout.gpus_per_node,
        },
        "weights_gib": _rounded(report.weights_gib),
        "weights_by_class_gib": {name: _rounded(value) for name, value in sorted(report.groups.items())},
        "weights_share": _rounded(report.share),
        "kv_bytes_per_token": _rounded(report.kv_bytes_per_token),
        "overhead_gib": _range(report.overhead_gib),
        "usable_gib": report.gpu.usable_gib,
        "budget_gib": _rounded(report.budget_gib),
        "fraction": {"value": report.budget.fraction, "stated": report.budget.stated},
        "left_gib": _range(report.left_gib),
        "kv_tokens": None if report.kv_tokens is None else sum(report.kv_tokens) // 2,
        "kv_tokens_range": None if report.kv_tokens is None else list(report.kv_tokens),
        "context": report.context,
        "concurrency": layout.concurrency,
        "requests": _range(report.requests),
        "verdict": report.verdict,
        "memory_verdict": report.memory,
        "cause": report.cause,
        "reason": report.reason,
        "least_fraction": report.least_fraction,
        "constraints": [
            {
                "rule": one.rule, "engine": one.engine, "message": one.message, "source": one.source,
                "of": one.of, "value": one.value, "valid": list(one.valid),
            }
            for one in report.constraints
        ],
        "doubts": list(report.doubts),
        "steps": [{"name": one.name, "value": _rounded(one.value), "unit": one.unit, "text": one.text} for one in report.steps],
    }  # fmt: skip


def _range(value: tuple[float, float] | None) -> dict[str, float | None] | None:
    return None if value is None else {"low": _rounded(value[0]), "high": _rounded(value[1])}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
