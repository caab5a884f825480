"""Every constraint both ways: a layout that the engine refuses, and its nearest neighbour that starts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reviewbot.catalog.gpus import find_gpu
from reviewbot.catalog.models import all_models
from reviewbot.fit.constraints import each, nearest, older, violations
from reviewbot.fit.layout import Layout

# rule, model, precision, refused layout, what makes it start
_TABLE: list[tuple[str, str, str, Layout, dict[str, Any]]] = [
    ("heads-per-tp", "kimi-k3", "mxfp4", Layout("vllm", tp=64), {"tp": 32}),
    ("heads-per-tp", "kimi-k3", "mxfp4", Layout("sglang", tp=64), {"tp": 32}),
    ("heads-per-tp", "qwen3.5-397b-a17b", "nvfp4", Layout("trtllm", tp=64), {"tp": 32}),
    ("heads-per-tp", "qwen3.5-397b-a17b", "nvfp4", Layout("trtllm", tp=64), {"dp_attention": True}),
    ("kv-heads-per-tp", "qwen3-235b-a22b", "bf16", Layout("vllm", tp=6), {"tp": 8}),
    ("kv-heads-per-tp", "minimax-m3", "nvfp4", Layout("sglang", tp=6), {"tp": 4}),
    ("kda-heads-per-tp", "kimi-k3", "mxfp4", Layout("vllm", tp=64), {"tp": 16}),
    ("output-groups-per-tp", "deepseek-v4-flash", "fp4fp8", Layout("vllm", tp=16), {"tp": 8}),
    ("fp8-block-experts", "qwen3-235b-a22b", "fp8", Layout("vllm", tp=8), {"tp": 4}),
    ("fp8-block-experts", "qwen3-235b-a22b", "fp8", Layout("vllm", tp=8), {"ep": 8}),
    ("fp8-block-experts", "minimax-m2.5", "fp8", Layout("sglang", tp=8), {"ep": 8}),
    ("fp8-block-experts", "minimax-m2.5", "fp8", Layout("sglang", tp=8), {"ep": 2}),
    ("fp8-block-shared-expert", "deepseek-v4-pro", "fp4fp8", Layout("vllm", tp=16, version=(0, 20, 1)), {"version": (0, 33, 0)}),
    ("fp8-block-shared-expert", "qwen3.5-397b-a17b", "fp8", Layout("vllm", tp=16, ep=16), {"tp": 8, "ep": 8}),
    ("fp8-block-dense", "deepseek-r1", "fp8", Layout("vllm", tp=32, ep=32), {"tp": 16, "ep": 16}),
    ("group-quantised-experts", "gpt-oss-120b", "mxfp4", Layout("vllm", tp=4), {"tp": 2}),
    ("expert-parallel-size", "deepseek-r1", "fp8", Layout("vllm", tp=8, ep=4), {"ep": 8}),
    ("expert-parallel-divides", "deepseek-r1", "fp8", Layout("sglang", tp=8, ep=3), {"ep": 4}),
    ("expert-parallel-divides", "deepseek-r1", "nvfp4", Layout("trtllm", tp=8, ep=16), {"ep": 8}),
    ("moe-data-parallel", "kimi-k3", "mxfp4", Layout("sglang", tp=8, ep=8, moe_dp=2), {"ep": 4}),
    ("more-expert-ranks-than-experts", "minimax-m3", "nvfp4", Layout("vllm", tp=1, dp=256, ep=256), {"dp": 128, "ep": 128}),
    ("dp-attention-divides", "deepseek-r1", "fp8", Layout("sglang", tp=8, dp=3, dp_attention=True), {"dp": 4}),
    ("dp-over-nodes", "deepseek-r1", "fp8", Layout("sglang", tp=8, dp=2, nodes=2), {"nodes": 1}),
    ("pp-with-speculation", "deepseek-r1", "fp8", Layout("sglang", tp=8, pp=2, mtp=True, version=(0, 5, 16)), {"version": (0, 5, 23)}),
    ("moe-dense-tp", "deepseek-r1", "fp8", Layout("sglang", tp=8, moe_dense_tp=2), {"moe_dense_tp": 1}),
    ("decode-context-parallel", "kimi-k3", "mxfp4", Layout("vllm", tp=8, dcp=3), {"dcp": 4}),
    ("decode-context-parallel", "kimi-k3", "mxfp4", Layout("sglang", tp=8, dcp=3), {"dcp": 8}),
    ("decode-context-parallel-gqa", "qwen3-235b-a22b", "bf16", Layout("vllm", tp=4, dcp=2), {"tp": 8}),
    ("decode-context-parallel-gqa", "qwen3-235b-a22b", "bf16", Layout("vllm", tp=8, dcp=8), {"dcp": 2}),
    ("layers-per-pp", "qwen3-8b", "bf16", Layout("trtllm", pp=64), {"pp": 32}),
    ("pp-partition", "kimi-k3", "mxfp4", Layout("vllm", tp=8, pp=2, partition=(46, 46)), {"partition": (46, 47)}),
    ("world-size", "kimi-k3", "mxfp4", Layout("vllm", tp=8, pp=2, nodes=1, gpus_per_node=8), {"nodes": 2}),
    ("world-size", "kimi-k3", "mxfp4", Layout("sglang", tp=16, nodes=1, gpus_per_node=8), {"nodes": 2}),
    ("ranks-per-node", "kimi-k3", "mxfp4", Layout("sglang", tp=8, nodes=3), {"nodes": 2}),
    ("context-parallel-experts", "deepseek-r1", "nvfp4", Layout("trtllm", tp=4, ep=4, cp=2), {"cp": 1}),
    ("eplb-needs-ep", "deepseek-r1", "fp8", Layout("vllm", tp=8, eplb=True), {"ep": 8}),
    ("eplb-needs-ep", "deepseek-r1", "fp8", Layout("vllm", tp=8, ep=8, redundant_experts=8), {"eplb": True}),
    (
        "batch-below-sequences", "qwen3-8b", "bf16",
        Layout("vllm", max_num_batched_tokens=99, max_num_seqs=256), {"max_num_batched_tokens": 256},
    ),
    (
        "batch-below-sequences", "qwen3-8b", "bf16",
        Layout("vllm", max_num_batched_tokens=4096, max_model_len=8192, chunked_prefill=False), {"chunked_prefill": None},
    ),
    ("chunk-per-page", "qwen3-8b", "bf16", Layout("sglang", max_num_batched_tokens=1000, page_size=64), {"max_num_batched_tokens": 1024}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "model", "precision", "layout", "change"), _TABLE, ids=lambda value: value if isinstance(value, str) else None
)
def test_refused_and_not(rule: str, model: str, precision: str, layout: Layout, change: dict[str, Any]) -> None:
    facts = all_models()[model]
    checkpoint = next(one for one in facts.checkpoints if one.precision == precision)
    found = {one.rule: one for one in violations(facts, checkpoint, layout)}
    assert rule in found
    violation = found[rule]
    assert violation.engine == layout.engine
    assert violation.source
    assert str(violation.value) in violation.message
    assert all(str(value) in violation.message for value in violation.valid)
    assert rule not in {one.rule for one in violations(facts, checkpoint, replace(layout, **change))}


def test_every_declared_rule_is_in_the_table() -> None:
    assert {one.rule for one in each()} == {rule for rule, *_ in _TABLE}


def test_message_of_a_published_refusal() -> None:
    model = all_models()["qwen3-235b-a22b"]
    (found,) = violations(model, model.checkpoint("fp8"), Layout("vllm", tp=8))  # type: ignore[arg-type]
    assert "1536 over 8 ranks is 192" in found.message
    assert "expert parallelism keeps experts whole" in found.message
    assert found.valid == (4,)


def test_not_errors() -> None:
    r1 = all_models()["deepseek-r1"]
    fp8 = r1.checkpoint("fp8")
    assert fp8 is not None
    assert not violations(r1, fp8, Layout("vllm", tp=8, pp=2))  # 61 layers over 2 stages
    assert not violations(r1, fp8, Layout("vllm", tp=1, dp=24, ep=24))  # 256 experts over 24 ranks
    assert not violations(
        all_models()["minimax-m2.5"], all_models()["minimax-m2.5"].checkpoints[0], Layout("sglang", tp=8), find_gpu("mi355x")
    )


def test_older_versions_are_told_where_the_version_is_not_known() -> None:
    model = all_models()["deepseek-v4-pro"]
    checkpoint = model.checkpoint("fp4")
    assert checkpoint is not None
    (text,) = older(model, checkpoint, Layout("vllm", tp=16))
    assert text.startswith("vllm before 0.33 refuses to start: shared weights")
    assert not older(model, checkpoint, Layout("vllm", tp=16, version=(0, 33, 0)))


def test_nearest() -> None:
    assert nearest(6, lambda n: 16 % n == 0) == (4, 8)
    assert nearest(1, lambda n: n == 1) == ()
