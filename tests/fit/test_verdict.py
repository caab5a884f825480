"""Verdicts against what is published, and the properties that any arithmetic of weights must have."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.catalog.gpus import GIB, find_gpu
from reviewbot.catalog.models import all_models
from reviewbot.catalog.tensors import checkpoint_bytes, tensors
from reviewbot.fit.advice import advise
from reviewbot.fit.budget import budget, sglang_default_fraction
from reviewbot.fit.kv import kv_cost
from reviewbot.fit.layout import Layout
from reviewbot.fit.table import layouts
from reviewbot.fit.verdict import Report, fit
from reviewbot.fit.weights import weights


def _fit(model: str, precision: str, gpu: str, layout: Layout) -> Report:
    facts = all_models()[model]
    checkpoint = facts.checkpoint(precision)
    found = find_gpu(gpu)
    assert checkpoint is not None
    assert found is not None
    return fit(facts, checkpoint, layout, found)


# published runs that started
_RAN = [
    ("deepseek-r1", "fp8", "b200", Layout("sglang", tp=4, utilization=0.95)),
    ("deepseek-r1", "fp8", "b200", Layout("sglang", tp=4)),
    ("deepseek-r1", "fp8", "b200", Layout("vllm", tp=4)),
    ("deepseek-r1", "nvfp4", "b200", Layout("sglang", tp=4)),
    ("deepseek-v4-flash", "fp4", "b200", Layout("vllm", tp=8, ep=8, version=(0, 25, 0), utilization=0.95, max_model_len=1048576)),
    ("deepseek-v4-flash", "fp4", "b200", Layout("vllm", dp=8, ep=8, version=(0, 25, 0), utilization=0.95, max_model_len=1048576)),
    ("deepseek-v4-pro", "fp4", "h200", Layout("vllm", dp=8, ep=8)),
    ("kimi-k2.5", "int4", "mi355x", Layout("sglang", tp=8)),
    ("glm-5", "fp8", "mi355x", Layout("sglang", tp=8)),
    ("glm-5.2", "nvfp4", "b200", Layout("sglang", tp=8, mtp=True, utilization=0.83)),
    ("qwen3.5-397b-a17b", "nvfp4", "rtx6000pro", Layout("sglang", tp=4, utilization=0.7)),
    ("qwen3.5-397b-a17b", "nvfp4", "rtx6000pro", Layout("sglang", tp=4, utilization=0.8, mtp=True)),
    ("qwen3-235b-a22b", "fp8", "h100", Layout("vllm", tp=4, utilization=0.9)),
    ("minimax-m3", "nvfp4", "b200", Layout("vllm", tp=4, utilization=0.9)),
    ("minimax-m3", "mxfp8", "h100", Layout("vllm", tp=8)),
    ("minimax-m3", "mxfp8", "h100", Layout("vllm", dp=8, ep=8, utilization=0.94, language_only=True)),
    ("gpt-oss-120b", "mxfp4", "mi300x", Layout("vllm", tp=1, utilization=0.9)),
    ("llama-3.1-8b", "bf16", "h100", Layout("sglang", tp=1)),
]

# published runs that ran out of memory at load
_DID_NOT = [
    ("deepseek-v4-pro", "fp4", "h200", Layout("sglang", tp=8, utilization=0.88)),
    ("deepseek-v4-pro", "fp4", "h200", Layout("sglang", tp=8, mtp=True, version=(0, 5, 12))),
    ("deepseek-v4-pro", "fp4", "h200", Layout("vllm", dp=8, ep=8, max_model_len=800000)),
    ("glm-5.2", "fp8", "rtx6000pro", Layout("sglang", tp=8, utilization=0.98, max_model_len=4096)),
    ("minimax-m3", "nvfp4", "b200", Layout("vllm", tp=2, utilization=0.9, max_model_len=1048576, kv_dtype="fp8")),
    ("minimax-m3", "mxfp8", "h100", Layout("vllm", dp=8, ep=8, utilization=0.9, language_only=True)),
    ("gpt-oss-120b", "mxfp4", "h100", Layout("vllm", tp=1, version=(0, 11), utilization=0.95)),
    ("gpt-oss-120b", "mxfp4", "mi300x", Layout("vllm", tp=1, version=(0, 21), utilization=0.95)),
    ("llama-3.1-405b", "fp8", "h100", Layout("vllm", tp=8, version=(0, 5, 3))),
    ("qwen3-235b-a22b", "fp8", "h100", Layout("vllm", tp=8)),
    ("deepseek-v4-pro", "fp4", "h100", Layout("vllm", tp=16, version=(0, 20))),
]


@pytest.mark.parametrize(("model", "precision", "gpu", "layout"), _RAN)
def test_a_published_run_is_not_refused(model: str, precision: str, gpu: str, layout: Layout) -> None:
    report = _fit(model, precision, gpu, layout)
    assert report.verdict != "does-not-fit", report.reason


@pytest.mark.parametrize(("model", "precision", "gpu", "layout"), _DID_NOT)
def test_a_published_failure_at_load_does_not_fit(model: str, precision: str, gpu: str, layout: Layout) -> None:
    report = _fit(model, precision, gpu, layout)
    assert report.verdict != "fits", report.reason


def test_kimi_k3_on_b200() -> None:
    model = all_models()["kimi-k3"]
    gpu = find_gpu("b200")
    assert gpu is not None
    for engine in ("vllm", "sglang", "trtllm", "atom"):
        reports = [fit(model, model.checkpoints[0], one, gpu) for one in layouts(model, engine, 8, Layout(engine))]
        assert {one.verdict for one in reports} == {"does-not-fit"}
        assert all(one.weights_gib is not None and one.weights_gib > 181 for one in reports)
    two_nodes = fit(model, model.checkpoints[0], Layout("vllm", tp=8, pp=2), gpu)
    assert two_nodes.verdict == "fits"
    advice = advise(fit(model, model.checkpoints[0], Layout("vllm", tp=8), gpu))
    assert advice.layout is not None
    assert (advice.layout.tp, advice.layout.pp, advice.nodes) == (8, 2, 2)
    assert "16 GPUs, 2 nodes of 8" in advice.text


def test_r1_fp8_at_tp4_fills_most_of_b200() -> None:
    report = _fit("deepseek-r1", "fp8", "b200", Layout("sglang", tp=4))
    assert report.share == pytest.approx(0.886, abs=0.003)
    assert report.verdict == "tight"
    assert report.least_fraction == pytest.approx(0.9, abs=0.02)


def test_a_stated_fraction_below_the_weights_does_not_fit() -> None:
    report = _fit("deepseek-r1", "fp8", "b200", Layout("sglang", tp=4, utilization=0.8))
    assert report.verdict == "does-not-fit"
    assert "leave nothing for the cache" in report.reason


def test_fractions_mean_different_things() -> None:
    gpu = find_gpu("b200")
    assert gpu is not None
    vllm, sglang, trtllm = (budget(Layout(engine, tp=8, utilization=0.9), gpu) for engine in ("vllm", "sglang", "trtllm"))
    assert vllm.gib == pytest.approx(0.9 * gpu.usable_gib)
    assert vllm.overhead_inside
    assert sglang.gib < vllm.gib
    assert not sglang.overhead_inside
    assert trtllm.gib == gpu.usable_gib
    assert trtllm.share == 0.9
    assert budget(Layout("vllm"), gpu).fraction == 0.92
    assert budget(Layout("vllm", version=(0, 19, 1)), gpu).fraction == 0.9
    assert 0.8 < sglang_default_fraction(Layout("sglang", tp=8), gpu) < 0.95


def test_nonlinear_cache_is_not_computed() -> None:
    report = _fit("deepseek-v4-pro", "fp4", "b200", Layout("vllm", tp=8))
    assert report.kv_bytes_per_token is None
    assert report.kv_tokens is None
    assert report.verdict == "cannot-tell"


def test_a_model_that_is_not_understood() -> None:
    model = replace(all_models()["qwen3-8b"], family=None)
    gpu = find_gpu("h100")
    assert gpu is not None
    report = fit(model, model.checkpoints[0], Layout("vllm"), gpu)
    assert (report.verdict, report.weights_gib) == ("cannot-tell", None)


@pytest.mark.parametrize(
    ("layout", "verdict"),
    [
        (Layout("sglang", tp=4, unknown=frozenset({"utilization"})), "cannot-tell"),  # the default would be too small
        (Layout("vllm", tp=8, unknown=frozenset({"utilization"})), "cannot-tell"),
        (Layout("vllm", tp=2, unknown=frozenset({"utilization"})), "does-not-fit"),  # no fraction would do
        (Layout("vllm", tp=8, unknown=frozenset({"kv_dtype"})), "cannot-tell"),
        (Layout("vllm", tp=8, unknown=frozenset({"max_model_len"})), "fits"),
    ],
)
def test_a_value_that_is_not_known_decides_nothing(layout: Layout, verdict: str) -> None:
    assert _fit("deepseek-r1", "fp8", "b200", layout).verdict == verdict


def test_causes() -> None:
    def cause(layout: Layout) -> str:
        return _fit("deepseek-r1", "fp8", "b200", layout).cause

    assert cause(Layout("vllm", tp=2)) == "weights"
    assert cause(Layout("sglang", tp=4, utilization=0.7)) == "budget"
    assert cause(Layout("vllm", tp=4)) == "context"
    assert cause(Layout("vllm", tp=8, utilization=0.97)) == "utilization"
    assert cause(Layout("vllm", tp=6)) == "constraint"
    assert cause(Layout("vllm", tp=8)) == "room"


def test_steps_add_up() -> None:
    report = _fit("glm-5.2", "fp8", "h200", Layout("vllm", tp=8, concurrency=16, max_model_len=65536))
    parts = sum(step.value or 0 for step in report.steps if step.name.startswith("weights: "))
    assert parts == pytest.approx(report.weights_gib)
    assert report.left_gib is not None
    assert report.overhead_gib is not None
    assert report.left_gib[0] == pytest.approx(report.budget_gib - (report.weights_gib or 0) - report.overhead_gib[1])


_MODELS = [(model, checkpoint) for model in all_models().values() for checkpoint in model.checkpoints]
_GPU = find_gpu("b200")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(_MODELS), st.sampled_from(["vllm", "sglang", "trtllm"]), st.integers(0, 3), st.booleans())
def test_weights_do_not_grow_with_tp(pair, engine: str, power: int, whole_experts: bool) -> None:  # type: ignore[no-untyped-def]
    model, checkpoint = pair
    tp = 1 << power
    small, large = (Layout(engine, tp=one, ep=one if whole_experts else 1) for one in (tp, tp * 2))
    before = max(one.bytes for one in weights(model, checkpoint, small, _GPU))
    after = max(one.bytes for one in weights(model, checkpoint, large, _GPU))
    assert after <= before
    # and never below the even share of what the checkpoint holds for the main model
    main = sum(one.total_bytes for one in tensors(model, checkpoint) if not one.absorbed and one.group != "mtp")
    converted = 0.995  # headers of blocks; nothing is lost by splitting
    assert after * tp * 2 >= main * converted


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(_MODELS), st.integers(1, 6))
def test_stages_hold_the_whole_model(pair, pp: int) -> None:  # type: ignore[no-untyped-def]
    model, checkpoint = pair
    one = Layout("trtllm", absorbed=False)
    parts = weights(model, checkpoint, replace(one, pp=pp), None)
    whole = weights(model, checkpoint, one, None)
    assert sum(part.bytes for part in parts) == pytest.approx(whole[0].bytes)
    drafts = sum(tensor.total_bytes for tensor in tensors(model, checkpoint) if tensor.group == "mtp" and not tensor.absorbed)
    assert whole[0].bytes == pytest.approx(checkpoint_bytes(model, checkpoint) - drafts - checkpoint.draft_bytes, rel=2e-5)


def test_ranks_hold_the_checkpoint_where_nothing_is_replicated() -> None:
    model = all_models()["llama-3.1-70b"]
    checkpoint = model.checkpoints[0]
    part = weights(model, checkpoint, Layout("vllm", tp=8))[0]
    norms = part.groups["norm"]
    assert (part.bytes - norms) * 8 + norms == pytest.approx(checkpoint_bytes(model, checkpoint), rel=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(["vllm", "sglang", "trtllm", "atom"]), st.floats(0.3, 0.85), st.floats(0.001, 0.05))
def test_more_budget_never_holds_less(engine: str, fraction: float, more: float) -> None:
    small, large = (_fit("qwen3-235b-a22b", "fp8", "b200", Layout(engine, tp=4, utilization=one)) for one in (fraction, fraction + more))
    assert small.kv_tokens is not None
    assert large.kv_tokens is not None
    assert small.kv_tokens[0] <= large.kv_tokens[0]
    order = ("does-not-fit", "tight", "fits")
    assert order.index(small.memory) <= order.index(large.memory)


def test_kv_heads_are_replicated_beyond_their_number() -> None:
    model = all_models()["qwen3.5-397b-a17b"]
    costs = [kv_cost(model, model.checkpoints[0], Layout("sglang", tp=tp)).per_token for tp in (1, 2, 4, 8)]
    assert costs == [15 * 2 * 2 * 256 * 2, 15 * 2 * 256 * 2, 15 * 2 * 256 * 2, 15 * 2 * 256 * 2]


def test_latent_cache_is_not_divided_by_tp_but_by_context_parallel() -> None:
    model = all_models()["deepseek-r1"]
    assert kv_cost(model, model.checkpoints[0], Layout("vllm", tp=8)).per_token == 61 * 576 * 2
    assert kv_cost(model, model.checkpoints[0], Layout("vllm", tp=8, dcp=8)).per_token == 61 * 576 * 2 / 8


def test_sglang_draft_loads_its_own_embedding() -> None:
    model = all_models()["qwen3.5-397b-a17b"]
    checkpoint = model.checkpoint("nvfp4")
    assert checkpoint is not None
    part = weights(model, checkpoint, Layout("sglang", tp=4, mtp=True), find_gpu("rtx6000pro"))[0]
    assert part.groups["mtp"] / GIB == pytest.approx(4.05, rel=0.01)


def test_equal_questions_are_answered_once() -> None:
    layout = Layout("vllm", tp=8)
    assert _fit("kimi-k3", "fp4", "b200", layout) is _fit("kimi-k3", "fp4", "b200", Layout("vllm", tp=8))
