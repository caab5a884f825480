from __future__ import annotations

import pytest

from reviewbot.documents.claims import absence_claims, arithmetic, instead_claims, name_claims, topology_claims, value_claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1P2D", [("workers", "prefill", 1), ("workers", "decode", 2)]),
        ("1P3D: 1 prefill (DEP8), 3 decode (TP4), conc=64",
         [("workers", "prefill", 1), ("workers", "decode", 3), ("workers", "prefill", 1), ("dep", "prefill", 8), ("workers", "decode", 3),
          ("tp", "decode", 4), ("concurrency", "", 64)]),
        ("2x DEP4 prefill", [("workers", "prefill", 2), ("dep", "prefill", 4)]),
        ("Nodes: 1 prefill + 2 decode (+ head/infra).", [("nodes", "prefill", 1), ("nodes", "decode", 2)]),
        ("1 prefill + 2 decode", [("workers", "prefill", 1), ("workers", "decode", 2)]),
        ("2 decode nodes", [("nodes", "decode", 2)]),
        ("4 decode workers @ TP2/EP2", [("workers", "decode", 4), ("tp", "decode", 2), ("ep", "decode", 2)]),
        ("TP8 x PP2 (2 nodes / 16 GPUs)", [("nodes", "", 2), ("gpus", "", 16)]),
        ("1 decode (TP8/no-dp-attn)", [("workers", "decode", 1), ("tp", "decode", 8), ("dp-attn", "decode", 0)]),
        ("each prefill step makes 1024 decode steps", []),
        ("1 prefill + 1024 decode steps", [("workers", "prefill", 1)]),
        ("same as 1P2D", []),
        ("1P2D was too slow", []),
        ("v1p2d", []),
        ("9" * 5000 + "P1D", []),
    ],
)  # fmt: skip
def test_topology(text: str, expected: list[tuple[str, str, int]]):
    assert [(claim.name, claim.role, claim.value) for claim in topology_claims(text)] == expected


def test_short_marks_what_may_count_nodes():
    assert [claim.short for claim in topology_claims("1P2D, 2 decode workers")] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("No CACHE_RETENTION_S: refused", ["CACHE_RETENTION_S"]),
        ("No explicit `max-num-seqs`.", ["max-num-seqs"]),
        ("Fine. No enable_offload; host memory is short", ["enable_offload"]),
        ("No offload: refused", []),
        ("No CACHE_RETENTION_S values above 3 work", []),
        ("There is no CACHE_RETENTION_S", []),
    ],
)
def test_absence(text: str, keys: list[str]):
    assert [claim.key for claim in absence_claims(text)] == keys


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("max_attempts=360", [("max_attempts", "360")]),
        ("max-num-seqs: 256 for each rank", [("max-num-seqs", "256")]),
        ("--block-size = 64", [("block-size", "64")]),
        ("ENABLE_X: true, OTHER_Y=none", [("ENABLE_X", "true"), ("OTHER_Y", "none")]),
        ("gpu-memory-utilization: 0.9", [("gpu-memory-utilization", "0.9")]),
        ("tp=8", []),
        ("max_attempts=360 was too small", []),
        ("max_attempts=360*10", []),
        ("$MAX_ATTEMPTS=3", []),
        ("max_attempts: 300-400", []),
        ("default max_attempts=360", []),
        ("lower max_attempts=360 if it hangs", []),
    ],
)
def test_values(text: str, expected: list[tuple[str, str]]):
    assert [(claim.key, claim.value) for claim in value_claims(text)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.90, not 0.95: graphs need the rest", [("0.90", "0.95")]),
        ("8 rather than 16", [("8", "16")]),
        ("8 instead of `16`", [("8", "16")]),
        ("use 8, not 16", []),
        ("8, not 16x", []),
        ("8, not 50%", []),
    ],
)
def test_instead(text: str, expected: list[tuple[str, str]]):
    assert [(claim.value, claim.other) for claim in instead_claims(text)] == expected


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("360x10s=3600s", [True]),
        ("360 x 10 s = 60 min", [True]),
        ("360x10s=7200s", [False]),
        ("4*4/8 = 2", [True]),
        ("4*4/8 = 3 nodes", [False]),
        ("10/3 = 3.33", [True]),
        ("10/3 = 3.3", [True]),
        ("10/3 = 3.4", [False]),
        ("2*3 = 7, 2*4 = 8", [False, True]),
        ("10 s x 2 s = 3 min", []),
        ("360 x 10 = 3600s", []),
        ("n * 2 * 3 = 12", []),
        ("3 + 2 * 3 = 9", []),
        ("2 * 3 = 5 + 1", []),
        ("2*8=16K", []),
        ("5/0 = 3", []),
        ("1.2.3*2=4", []),
        ("2*" * 30 + "2=3", []),
        ("9" * 5000 + "*2=3", []),
    ],
)
def test_arithmetic(text: str, holds: list[bool]):
    assert [claim.holds for claim in arithmetic(text)] == holds


@pytest.mark.parametrize(
    ("name", "workers", "groups", "concurrencies"),
    [
        ("disagg-b200-1p2d-tp4-dep8-c16", (1, 2), ["tp4", "dep8"], (16,)),
        ("agg-b200-tp8pp2", None, ["tp8pp2"], ()),
        ("c4_ctx1_gen7_tep8_batch32", None, ["tep8"], (4,)),
        ("24-c4096-conc8", None, [], (4096, 8)),
        ("8k1k_stp_lowlat_0", None, [], ()),
        ("http8-step4", None, [], ()),
        ("1P1D-TP4", (1, 1), ["tp4"], ()),
        ("tp" + "9" * 5000, None, [], ()),
    ],
)
def test_names(name: str, workers: tuple[int, int] | None, groups: list[str], concurrencies: tuple[int, ...]):
    claims = name_claims(name)
    assert claims.workers == workers
    assert ["".join(f"{part}{value}" for part, value in group) for group in claims.groups] == groups
    assert claims.concurrencies == concurrencies
