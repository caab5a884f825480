from __future__ import annotations

from typing import Any

import pytest

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.runs.model import Server, Setting
from reviewbot.runs.parallel import UNKNOWN, Parallelism, parallelism
from reviewbot.runs.parity import differences, pairs, row_gpus, row_roles, server_gpus
from tests import support


def server(engine: str, flags: str = "", role: str = "agg", **more: Any) -> Server:
    """``flags`` are ``name=value`` words; a value ``?`` is unknown."""
    settings = {}
    for word in flags.split():
        name, _, value = word.partition("=")
        settings[name] = Setting((), True) if value == "?" else Setting((value or "true",))
    given: dict[str, Any] = {"gpus": None, "nodes": None, "workers": 1, **more}
    return Server(role, engine, settings, {}, **given)


def point(row: dict[str, Any], multinode: bool = True) -> Point:
    return Point("p", "k", row, multinode, "fixed-seq-len", "configs/x-master.yaml", Site("configs/x-master.yaml", 3))


TP, DP, EP, PP = "tensor-parallel-size", "data-parallel-size", "expert-parallel-size", "pipeline-parallel-size"


@pytest.mark.parametrize(
    ("engine", "flags", "expected"),
    [
        ("vllm", "", Parallelism(1, 1, 1, 1, False)),
        ("vllm", f"{TP}=8", Parallelism(8, 1, 1, 1, False)),
        ("vllm", f"{TP}=8 {PP}=2", Parallelism(8, 2, 1, 1, False)),
        ("vllm", f"{TP}=2 {DP}=4 enable-expert-parallel", Parallelism(2, 1, 4, 8, True)),
        ("vllm", f"{TP}=8 enable-expert-parallel decode-context-parallel-size=4", Parallelism(8, 1, 1, 8, False, 4)),
        ("vllm", f"{TP}=? {DP}=4", Parallelism(None, 1, 4, 1, True)),
        ("vllm", f"{TP}=many", Parallelism(None, 1, 1, 1, False)),
        ("sglang", f"{TP}=8 {DP}=8 {EP}=8 enable-dp-attention", Parallelism(1, 1, 8, 8, True)),
        ("sglang", f"{TP}=8 {DP}=2 enable-dp-attention", Parallelism(4, 1, 2, 1, True)),
        ("sglang", f"{TP}=8 {DP}=3 enable-dp-attention", Parallelism(None, 1, 3, 1, True)),
        ("sglang", f"{TP}=8 {DP}=0 enable-dp-attention", Parallelism(None, 1, 0, 1, True)),
        ("sglang", f"{TP}=8 moe-a2a-backend=deepep", Parallelism(8, 1, 1, 8, False)),
        ("sglang", f"{TP}=8 moe-a2a-backend=none", Parallelism(8, 1, 1, 1, False)),
        ("sglang", f"{TP}=8 enable-dp-attention=?", Parallelism(None, 1, None, 1, None)),
        ("trtllm", f"{TP}=8 moe-expert-parallel-size=2", Parallelism(8, 1, 1, 2, False)),
        ("trtllm", f"{TP}=8 moe-expert-parallel-size=-1 enable-attention-dp=true", Parallelism(1, 1, 8, 1, True)),
        ("trtllm", f"{TP}=8 enable-attention-dp=false", Parallelism(8, 1, 1, 1, False)),
        ("atom", f"{TP}=8 enable-expert-parallel enable-dp-attention", Parallelism(1, 1, 8, 8, True)),
        ("some-engine", f"{TP}=8", UNKNOWN),
    ],
)
def test_parallelism(engine: str, flags: str, expected: Parallelism):
    assert parallelism(server(engine, flags)) == expected


def test_world_is_all_ranks_of_a_worker():
    assert Parallelism(2, 2, 4, 8, True, 1, 2).world == 32
    assert Parallelism(2, None, 4, 8, True).world is None


@pytest.mark.parametrize(
    ("row", "engine", "flags", "names"),
    [
        ({"tp": 8}, "vllm", f"{TP}=8", []),
        ({"tp": 8}, "vllm", f"{TP}=4", ["tp"]),
        ({"tp": 8, "ep": 8, "dp-attn": True}, "vllm", f"{TP}=1 {DP}=8 enable-expert-parallel", []),
        ({"tp": 1, "ep": 8, "dp-attn": True}, "vllm", f"{TP}=1 {DP}=8 enable-expert-parallel", []),
        ({"tp": 4, "ep": 8, "dp-attn": True}, "vllm", f"{TP}=1 {DP}=8 enable-expert-parallel", ["tp"]),
        ({"tp": 8, "ep": 1}, "vllm", f"{TP}=8 enable-expert-parallel", ["ep"]),
        ({"tp": 8, "ep": 8}, "sglang", f"{TP}=8 moe-a2a-backend=megamoe", []),
        ({"tp": 8, "ep": 2}, "trtllm", f"{TP}=8 moe-expert-parallel-size=2", []),
        ({"tp": 8, "dp-attn": False}, "sglang", f"{TP}=8 {DP}=8 enable-dp-attention", ["dp-attn"]),
        ({"tp": 8, "dp-attn": "true"}, "trtllm", f"{TP}=8 enable-attention-dp", []),
        ({"tp": 1, "pcp-size": 8}, "sglang", f"{TP}=8", []),
        ({"tp": 8, "pcp-size": 8}, "sglang", f"{TP}=8", []),
        ({"tp": 8, "pp": 2}, "vllm", f"{TP}=8", ["pp"]),
        ({"tp": 8, "dcp-size": 8}, "vllm", f"{TP}=8 decode-context-parallel-size=8", []),
        ({"tp": 8}, "vllm", f"{TP}=8 decode-context-parallel-size=8", ["dcp-size"]),
        ({"tp": 8}, "vllm", f"{TP}=?", []),
        ({"tp": 8, "ep": 3}, "some-engine", f"{TP}=4", []),
    ],
)
def test_differences(row: dict[str, Any], engine: str, flags: str, names: list[str]):
    (role,) = row_roles(point(row, multinode=False))
    assert [difference.name for difference in differences(role, server(engine, flags))] == names


def test_roles_without_workers_are_left_out():
    row = {"prefill": {"num-worker": 1, "tp": 8}, "decode": {"num-worker": 0, "tp": 4}}
    assert [(role.role, role.field, role.tp) for role in row_roles(point(row))] == [("agg", "prefill", 8)]
    assert [role.role for role in row_roles(point({**row, "disagg": True}))] == ["prefill"]


def test_pairs_need_the_same_roles():
    both = {"disagg": True, "prefill": {"num-worker": 1, "tp": 8}, "decode": {"num-worker": 2, "tp": 4}}
    prefill, decode = server("vllm", role="prefill"), server("vllm", role="decode")
    run = support.run(servers=(decode, prefill))
    found = list(pairs(support.run(servers=(decode, prefill), point=point(both))))
    assert [(role.role, it.role) for role, it in found] == [("prefill", "prefill"), ("decode", "decode")]
    assert list(pairs(support.run(servers=(prefill,), point=point(both)))) == []
    assert list(pairs(support.run(servers=(prefill, prefill), point=point(both)))) == []
    assert list(pairs(run)) == []


def test_gpus():
    both = {"disagg": True, "prefill": {"num-worker": 2, "tp": 4, "ep": 8}, "decode": {"num-worker": 1, "tp": 8, "pp": 2}}
    assert row_gpus(row_roles(point(both))) == {24, 32}
    assert server_gpus((server("vllm", gpus=4, workers=2), server("vllm", gpus=8, workers=1))) == 16
    assert server_gpus((server("vllm", gpus=4, workers=None),)) is None


@pytest.mark.parametrize("value", [None, "x", True, [1], {"a": 1}, 1.5])
def test_odd_numbers_of_a_row_are_the_default(value: object):
    (role,) = row_roles(point({"tp": value, "ep": value}, multinode=False))
    assert (role.tp, role.ep) == (1, 1)
