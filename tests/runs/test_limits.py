"""Batch limits, graph sizes and drafts of a server, whatever its engine calls them."""

from __future__ import annotations

import pytest

from reviewbot.runs.limits import batch_cap, draft_tokens, graph_sizes, ranks, trt_graph_sizes
from reviewbot.runs.model import Server, Setting


def server(engine: str, **flags: str) -> Server:
    settings = {name.replace("_", "-"): Setting((value,)) for name, value in flags.items()}
    return Server("decode", engine, settings, {}, 8, 1, 1)


@pytest.mark.parametrize(
    ("one", "cap"),
    [
        (server("vllm", max_num_seqs="64"), 64),
        (server("sglang", max_running_requests="96"), 96),
        (server("trtllm", max_batch_size="8"), 8),
        (server("vllm"), None),
        (server("vllm", max_num_seqs="many"), None),
        (server("vllm", max_num_seqs="0"), None),
        (server("unknown", max_num_seqs="8"), None),
    ],
)
def test_batch_cap(one: Server, cap: int | None):
    found = batch_cap(one)
    assert (found.value if found else None) == cap


@pytest.mark.parametrize(
    ("one", "largest"),
    [
        (server("sglang", cuda_graph_bs="1 2 4 128"), (128, False)),
        (server("sglang", cuda_graph_max_bs="64"), (64, False)),
        (server("sglang", cuda_graph_max_bs="auto"), None),
        (server("vllm", max_cudagraph_capture_size="512"), (512, True)),
        (server("vllm", compilation_config='{"cudagraph_capture_sizes":[1,2,8]}'), (8, True)),
        (server("vllm", compilation_config='{"max_cudagraph_capture_size":16}'), (16, True)),
        (server("vllm", compilation_config='{"cudagraph_mode":"FULL"}'), None),
        (server("vllm", compilation_config="{broken"), None),
        (server("trtllm", cuda_graph_config="{'enable_padding': True, 'batch_sizes': [1, 2, 4]}"), (4, False)),
        (server("trtllm", cuda_graph_config="{'max_batch_size': 32}"), (32, False)),
        (server("trtllm", cuda_graph_config="{'enable_padding': True}"), None),
        (server("atom"), None),
    ],
)
def test_graph_sizes(one: Server, largest: tuple[int, bool] | None):
    found = graph_sizes(one)
    assert ((found[0].value, found[1]) if found else None) == largest


def test_drafts_are_read_from_the_configuration():
    assert draft_tokens(server("vllm", speculative_config='{"method":"mtp","num_speculative_tokens":3}')) == 3
    assert draft_tokens(server("vllm")) == 0
    assert draft_tokens(server("vllm", speculative_config="{broken")) is None


def test_ranks_are_attention_replicas():
    assert ranks(server("vllm", data_parallel_size="8")) == 8
    assert ranks(server("trtllm", tensor_parallel_size="4", enable_attention_dp="true")) == 4
    assert ranks(server("unknown")) is None


def test_sizes_in_a_text_of_trtllm():
    assert trt_graph_sizes("[1, 2]") == (1, 2)
    assert trt_graph_sizes("batch_sizes: [3]") == (3,)
    assert trt_graph_sizes("nothing") == ()
