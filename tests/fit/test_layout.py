"""Layouts from flags in each engine's notation, and what they split."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from reviewbot.catalog.engines import canonical
from reviewbot.fit.layout import Layout, layout_of, parse_version, split_of, stages
from reviewbot.runs.model import Server, Setting
from reviewbot.runs.parallel import parallelism


def _server(engine: str, environment: Mapping[str, str] = MappingProxyType({}), /, **flags: str | None) -> Server:
    def setting(value: str | None) -> Setting:
        return Setting((value,)) if value is not None else Setting((), unknown=True)

    named = {canonical(engine, name.replace("__", ".")): setting(value) for name, value in flags.items()}
    return Server("agg", engine, named, {name: setting(value) for name, value in environment.items()}, None, None, None)


def test_vllm() -> None:
    server = _server(
        "vllm", **{"tensor-parallel-size": "4", "data-parallel-size": "2", "enable-expert-parallel": "true",
                   "decode-context-parallel-size": "2",
                   "gpu-memory-utilization": "0.9", "max-model-len": "8192", "kv-cache-dtype": "fp8"},
    )  # fmt: skip
    layout = layout_of(server, {"conc": 64})
    assert layout is not None
    assert (layout.tp, layout.dp, layout.ep, layout.dcp, layout.utilization, layout.max_model_len, layout.kv_dtype, layout.concurrency) == (
        4, 2, 8, 2, 0.9, 8192, "fp8", 64,
    )  # fmt: skip
    split = split_of(layout)
    assert (split.attention_tp, split.attention_dp, split.moe_tp, split.moe_ep, split.shared_tp, split.world) == (4, 2, 1, 8, 1, 8)


@pytest.mark.parametrize("name", ["tp-size", "tensor-parallel-size", "tp", "tp_size"])
def test_sglang_spellings(name: str) -> None:
    layout = layout_of(_server("sglang", **{name: "8", "dp-size": "8", "ep-size": "8", "enable-dp-attention": "true"}), {})
    assert layout is not None
    split = split_of(layout)
    assert (split.attention_tp, split.attention_dp, split.moe_ep, split.embedding_tp, split.head_tp, split.world) == (1, 8, 8, 1, 8, 8)


def test_trtllm() -> None:
    layout = layout_of(
        _server("trtllm", tensor_parallel_size="8", moe_expert_parallel_size="8", enable_attention_dp="true", pipeline_parallel_size="1",
                kv_cache_config__free_gpu_memory_fraction="0.8", max_num_tokens="4096"), {},
    )  # fmt: skip
    assert layout is not None
    assert (layout.utilization, layout.max_num_batched_tokens) == (0.8, 4096)
    split = split_of(layout)
    assert (split.attention_tp, split.attention_dp, split.moe_tp, split.moe_ep, split.world) == (1, 8, 1, 8, 8)


def test_atom_dp_attention() -> None:
    layout = layout_of(_server("atom", **{"tp": "8", "enable-dp-attention": "true", "enable-expert-parallel": "true"}), {})
    assert layout is not None
    assert (split_of(layout).attention_tp, split_of(layout).moe_ep, split_of(layout).world) == (1, 8, 8)


@pytest.mark.parametrize(
    "server",
    [
        _server("vllm", **{"tensor-parallel-size": None}),
        _server("vllm", **{"tensor-parallel-size": "$TP"}),
        _server("vllm", **{"tensor-parallel-size": "0"}),
        _server("vllm", **{"tensor-parallel-size": "1000000000000"}),
        _server("vllm", **{"tensor-parallel-size": "9" * 400}),
        _server("vllm", **{"tensor-parallel-size": "9" * 5000}),
        _server("vllm", {"VLLM_PP_LAYER_PARTITION": "9" * 5000}, **{"tensor-parallel-size": "x"}),
        _server("vllm", **{"enable-expert-parallel": None}),
        _server("sglang", **{"tp-size": "8", "speculative-algorithm": None}),
        _server("tilert", tp="8"),
        _server("", tp="8"),
    ],
)
def test_unknown_is_no_layout(server: Server) -> None:
    assert layout_of(server, {}) is None


def test_an_unknown_limit_does_not_hide_the_layout() -> None:
    layout = layout_of(
        _server("vllm", **{"tensor-parallel-size": "8", "max-model-len": None, "gpu-memory-utilization": "high"}), {"conc": "x"}
    )
    assert layout is not None
    assert (layout.max_model_len, layout.utilization, layout.concurrency) == (None, None, None)
    assert layout.unknown == {"max_model_len", "utilization"}


def test_draft_layers_and_partition() -> None:
    vllm = layout_of(
        _server("vllm", {"VLLM_PP_LAYER_PARTITION": "31,30"}, **{"pipeline-parallel-size": "2", "speculative-config": '{"method": "mtp"}'}),
        {},
    )
    assert vllm is not None
    assert vllm.mtp
    assert vllm.partition == (31, 30)
    sglang = layout_of(_server("sglang", **{"speculative-algorithm": "EAGLE", "speculative-draft-model-path": "other/draft"}), {})
    assert sglang is not None
    assert not sglang.mtp


@pytest.mark.parametrize(
    ("layout", "layers", "expected"),
    [
        (Layout("vllm", pp=2), 61, (31, 30)),
        (Layout("vllm", pp=2), 93, (47, 46)),
        (Layout("vllm", pp=4), 62, (15, 16, 16, 15)),
        (Layout("vllm", pp=2, version=(0, 6, 6)), 61, (30, 31)),
        (Layout("sglang", pp=2), 93, (46, 47)),
        (Layout("trtllm", pp=4), 61, (16, 15, 15, 15)),
        (Layout("vllm", pp=2, partition=(40, 21)), 61, (40, 21)),
        (Layout("vllm", pp=2, partition=(40, 20)), 61, ()),
    ],
)
def test_stages(layout: Layout, layers: int, expected: tuple[int, ...]) -> None:
    assert stages(layout, layers) == expected


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v0.5.16-cu130", (0, 5, 16)),
        ("vllm/vllm-openai:v0.25.1", (0, 25, 1)),
        ("lmsysorg/sglang:deepseek-v4-hopper", None),
        ("0.33", (0, 33)),
        ("", None),
    ],
)
def test_versions(text: str, version: tuple[int, ...] | None) -> None:
    assert parse_version(text) == version


@pytest.mark.parametrize("number", ["-1", "0", "9" * 30, "9" * 400])
def test_counts_that_no_engine_means(number: str) -> None:
    names = ("max-model-len", "max-num-seqs", "max-num-batched-tokens", "nnodes")
    layout = layout_of(_server("vllm", **{"tensor-parallel-size": "8", **dict.fromkeys(names, number)}), {})
    assert layout is not None
    assert (layout.max_model_len, layout.max_num_seqs, layout.max_num_batched_tokens, layout.nodes) == (None, None, None, None)
    assert layout.unknown == ({"max_model_len", "max_num_batched_tokens"} if len(number) > 2 else set())


def test_one_reading_for_rules_and_arithmetic() -> None:
    flags = {"tensor-parallel-size": "8", "attention-data-parallel-size": "4", "attention-context-parallel-size": "2"}
    server = _server("sglang", **flags)
    layout = layout_of(server, {})
    assert layout is not None
    assert (layout.dp, layout.cp, layout.dp_attention) == (4, 2, True)
    assert split_of(layout).attention_tp == parallelism(server).tp == 1
    assert split_of(layout).world == parallelism(server).world == 8


@pytest.mark.parametrize(
    ("engine", "flags"),
    [
        ("vllm", {"tensor-parallel-size": "4", "data-parallel-size": "2", "enable-expert-parallel": "true", "pipeline-parallel-size": "2"}),
        ("sglang", {"tensor-parallel-size": "8", "data-parallel-size": "2"}),
        ("sglang", {"tensor-parallel-size": "8", "moe-a2a-backend": "deepep", "data-parallel-size": "8", "enable-dp-attention": "true"}),
        ("trtllm", {"tensor_parallel_size": "8", "enable_attention_dp": "true", "moe_expert_parallel_size": "4"}),
        ("atom", {"tensor-parallel-size": "8", "enable-dp-attention": "true", "enable-expert-parallel": "true"}),
        ("atom", {"tensor-parallel-size": "4", "data-parallel-size": "2", "enable-expert-parallel": "true"}),
    ],
)
def test_both_notations_have_one_world(engine: str, flags: dict[str, str]) -> None:
    server = _server(engine, **flags)
    layout, spread = layout_of(server, {}), parallelism(server)
    assert layout is not None
    split = split_of(layout)
    assert (split.world, split.attention_tp, split.moe_ep) == (spread.world, spread.tp, spread.ep)
