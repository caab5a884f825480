"""Masters become rows: every field, every default, every way of being wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reviewbot.bench.inferencex import evaluated, recipe_fingerprint, workflow_row
from reviewbot.bench.repository import Bench, load_bench
from reviewbot.tree import MemoryTree

HEAD = """
image: reg/engine:1
model: org/model
model-prefix: mdl
precision: fp4
framework: vllm
runner: {runner}
multinode: {multinode}
"""


def entry(
    space: str, *, runner: str = "alpha", multinode: str = "false", more: str = "", scenario: str = "", key: str = "mdl-fp4-alpha"
) -> str:
    """A master entry with one search space, given as YAML flow items, one a line."""
    scenario = scenario or "fixed-seq-len:\n- isl: 8192\n  osl: 1024\n  search-space:"
    lines = (HEAD.format(runner=runner, multinode=multinode) + more).strip().splitlines()
    lines += ["scenarios:", *("  " + line for line in scenario.splitlines())]
    lines += [f"    - {item.strip()}" for item in space.strip().splitlines()]
    return f"{key}:\n" + "\n".join("  " + line for line in lines) + "\n"


AGENTIC = "agentic-coding:\n- search-space:"
OFFLOADED = "agentic-coding:\n- dram-utilization: 0.8\n  search-space:"
WORKERS = "prefill: {num-worker: 2, tp: 4, ep: 4, dp-attn: true}, decode: {num-worker: 1, tp: 8, ep: 1, dp-attn: false}"


def rows(bench: Bench) -> list[dict[str, Any]]:
    return [dict(point.row) for point in bench.points]


def codes(bench: Bench) -> list[str]:
    return [problem.code for problem in bench.problems]


def test_single_node_row_with_all_defaults(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(entry("{tp: 8, conc-list: [4]}"))
    assert rows(bench) == [
        {
            "image": "reg/engine:1",
            "model": "org/model",
            "model-prefix": "mdl",
            "precision": "fp4",
            "framework": "vllm",
            "runner": "alpha",
            "isl": 8192,
            "osl": 1024,
            "tp": 8,
            "pp": 1,
            "dcp-size": 1,
            "pcp-size": 1,
            "ep": 1,
            "dp-attn": False,
            "conc": 4,
            "spec-decoding": "none",
            "max-model-len": 8192 + 1024 + 256,
            "exp-name": "mdl_8k1k",
            "disagg": False,
            "run-eval": False,
        }
    ]
    assert bench.problems == ()


def test_single_node_row_with_every_field(bench_of: Callable[..., Bench]) -> None:
    sizes = "tp: 4, pp: 2, dcp-size: 2, pcp-size: 3, ep: 4, dp-attn: true"
    space = f"{{{sizes}, spec-decoding: mtp, router: {{name: r, version: '1'}}, conc-list: [1]}}"
    (row,) = rows(bench_of(entry(space)))
    expected = {
        "tp": 4,
        "pp": 2,
        "dcp-size": 2,
        "pcp-size": 3,
        "ep": 4,
        "dp-attn": True,
        "spec-decoding": "mtp",
        "router": {"name": "r", "version": "1"},
    }
    assert {name: row[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("space", "concs"),
    [
        ("conc-start: 4, conc-end: 64", [4, 8, 16, 32, 64]),
        ("conc-start: 4, conc-end: 50", [4, 8, 16, 32, 50]),
        ("conc-start: 7, conc-end: 7", [7]),
        ("conc-list: [64, 4, 4]", [64, 4, 4]),
        ("conc-list: [], conc-start: 1, conc-end: 2", [1, 2]),
        ("conc-list: null, conc-start: 1, conc-end: 2", [1, 2]),
    ],
)
def test_concurrencies(bench_of: Callable[..., Bench], space: str, concs: list[int]) -> None:
    bench = bench_of(entry(f"{{tp: 8, {space}}}"))
    assert [row["conc"] for row in rows(bench)] == concs
    assert bench.problems == ()


def test_multi_node_row(bench_of: Callable[..., Bench]) -> None:
    more = "disagg: true\nkv-p2p-transfer: nixl\nrouter: {name: r, version: '2'}\n"
    space = (
        "{conc-list: [8, 4], prefill: {num-worker: 2, tp: 4, ep: 4, dp-attn: true, hardware: a, additional-settings: [A=1]}, "
        "decode: {num-worker: 1, tp: 8, pp: 2, ep: 1, dp-attn: false, hardware: b}}"
    )
    bench = bench_of(entry(space, runner="alpha-multi", multinode="true", more=more))
    (row,) = rows(bench)
    assert row["conc"] == [8, 4]
    assert row["prefill"] == {
        "num-worker": 2,
        "tp": 4,
        "ep": 4,
        "dp-attn": True,
        "hardware": "a",
        "additional-settings": ["A=1"],
        "pp": 1,
        "dcp-size": 1,
        "pcp-size": 1,
    }
    assert row["decode"]["pp"] == 2 and "additional-settings" not in row["decode"]
    assert (row["disagg"], row["kv-p2p-transfer"], row["router"]) == (True, "nixl", {"name": "r", "version": "2"})
    assert bench.problems == () and bench.points[0].multinode


def test_single_node_agentic_row_with_dram(bench_of: Callable[..., Bench]) -> None:
    space = "{tp: 4, kv-offloading: dram, kv-offload-backend: {name: lm, version: '3'}, spec-decoding: mtp, conc-list: [2]}"
    bench = bench_of(entry(space, runner="cluster:alpha-one", scenario=OFFLOADED))
    (row,) = rows(bench)
    assert row["total-cpu-dram-gb"] == 2_000_000 * 1024 * 1024 * 8 // 10 * 4 // 8 // 1_000_000_000 == 838
    assert row["exp-name"] == "mdl_tp4_conc2_kvdram-lm_spec-mtp"
    assert (row["duration"], row["scenario-type"], row["run-eval"]) == (3600, "agentic-coding", False)
    assert not {"isl", "osl", "max-model-len", "disagg"} & row.keys()
    assert bench.problems == ()


def test_dram_is_capped(bench_of: Callable[..., Bench]) -> None:
    space = "{tp: 8, kv-offloading: dram, kv-offload-backend: {name: lm}, conc-list: [2]}"
    runners = "labels: {'cluster:big': [big_0]}\nhardware: {'cluster:big': {available-cpu-dram-mib: 9_000_000, gpus-per-node: 8}}\n"
    text = entry(space, runner="cluster:big", scenario="agentic-coding:\n- dram-utilization: 1\n  search-space:")
    (row,) = rows(bench_of(text, {"configs/runners.yaml": runners}))
    assert row["total-cpu-dram-gb"] == 2_861_022 * 1024 * 1024 // 1_000_000_000


def test_agentic_without_offload(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(entry("{tp: 8, kv-offloading: none, conc-list: [1, 3]}", runner="cluster:alpha-one", scenario=AGENTIC))
    assert [(row["total-cpu-dram-gb"], row["exp-name"]) for row in rows(bench)] == [
        (0, "mdl_tp8_conc1_kvnone"),
        (0, "mdl_tp8_conc3_kvnone"),
    ]


def test_multi_node_agentic_rows_hold_one_concurrency(bench_of: Callable[..., Bench]) -> None:
    space = f"{{{WORKERS}, kv-offloading: dram, kv-offload-backend: {{name: lm}}, conc-list: [4, 8]}}"
    bench = bench_of(entry(space, runner="cluster:alpha-one", multinode="true", scenario=OFFLOADED))
    assert [(row["conc"], row["exp-name"]) for row in rows(bench)] == [
        ([4], "mdl_p2x4ep4dpa_d1x8_conc4_kvdram-lm"),
        ([8], "mdl_p2x4ep4dpa_d1x8_conc8_kvdram-lm"),
    ]
    assert {row["total-cpu-dram-gb"] for row in rows(bench)} == {838}


@pytest.mark.parametrize(
    ("worker", "code"),
    [("tp: 3", "uneven-node"), ("tp: 12", "uneven-node"), ("tp: 16", None), ("tp: 8, pp: 3", None)],
)
def test_a_worker_must_tile_nodes_to_offload(bench_of: Callable[..., Bench], worker: str, code: str | None) -> None:
    workers = f"prefill: {{num-worker: 1, {worker}, ep: 1, dp-attn: false}}, decode: {{num-worker: 1, tp: 8, ep: 1, dp-attn: false}}"
    space = f"{{{workers}, kv-offloading: dram, kv-offload-backend: {{name: lm}}, conc-list: [4]}}"
    bench = bench_of(entry(space, runner="cluster:alpha-one", multinode="true", scenario=OFFLOADED))
    assert codes(bench) == ([code] if code else [])
    assert [row["total-cpu-dram-gb"] for row in rows(bench)] == ([] if code else [1677])


def test_evals_mark_highest_and_median_of_a_group(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(entry("{tp: 8, conc-list: [4, 16, 32, 64]}\n{tp: 4, conc-list: [64, 8]}\n{tp: 8, dp-attn: true, conc-list: [15]}"))
    assert [(row["tp"], row["conc"]) for row in rows(bench) if row["run-eval"]] == [(8, 32), (8, 64), (4, 64)]


def test_evals_mark_each_multi_node_topology(bench_of: Callable[..., Bench]) -> None:
    other = WORKERS.replace("num-worker: 2", "num-worker: 3")
    space = f"{{{WORKERS}, conc-list: [16, 64]}}\n{{{WORKERS}, conc-list: [32]}}\n{{{other}, conc-list: [8]}}"
    bench = bench_of(entry(space, multinode="true"))
    assert [(row["run-eval"], row.get("eval-conc")) for row in rows(bench)] == [(True, 64), (False, None), (False, None)]


def test_other_lengths_are_not_evaluated(bench_of: Callable[..., Bench]) -> None:
    scenario = "fixed-seq-len:\n- isl: 2000\n  osl: 300\n  search-space:"
    (row,) = rows(bench_of(entry("{tp: 8, conc-list: [64]}", scenario=scenario)))
    assert (row["run-eval"], row["exp-name"], row["max-model-len"]) == (False, "mdl_2000_300", 2556)


def test_evaluated_adds_the_highest_agentic_row_of_each_group() -> None:
    single: dict[str, Any] = {"model": "m", "runner": "r", "framework": "f", "precision": "p", "scenario-type": "agentic-coding"}
    multi = {**single, "prefill": {"tp": 8}, "decode": {"tp": 8}}
    table: list[dict[str, Any]] = [
        {**single, "conc": 4},
        {**single, "conc": 8},
        {**multi, "conc": [8]},
        {**multi, "conc": [16]},
        {**single, "precision": "q", "conc": 1},
    ]
    assert evaluated(table) == {1, 3, 4}


def test_sites_name_the_line_that_decides(bench_of: Callable[..., Bench]) -> None:
    text = """\
k:
  image: i:1
  model: m
  model-prefix: p
  precision: fp8
  framework: f
  runner: alpha-multi
  multinode: true
  scenarios:
    fixed-seq-len:
    - isl: 1024
      osl: 1024
      search-space:
      - spec-decoding: mtp
        conc-list:
        - 4
        - 8
        prefill:
          num-worker: 1
          tp: 8
          ep: 1
          dp-attn: false
          additional-settings:
          - A=1
          # a remark
          - B=2
        decode: {num-worker: 1, tp: 8, ep: 1, dp-attn: false}
"""
    bench = bench_of(text)
    (point,) = bench.points
    lines = {name: site.line for name, site in point.sites.items()}
    expected = {
        "image": 2,
        "runner": 7,
        "isl": 11,
        "spec-decoding": 14,
        "conc-list": 15,
        "conc": 16,
        "prefill.tp": 20,
        "prefill.additional-settings[0]": 24,
        "prefill.additional-settings[1]": 26,
        "decode.tp": 27,
    }
    assert {name: lines[name] for name in expected} == expected
    assert point.site == ("configs/x-master.yaml", 14)
    entry_ = bench.entry("k")
    assert entry_ is not None and (entry_.span.line, entry_.site.line) == (1, 1)


def test_each_concurrency_has_its_line(bench_of: Callable[..., Bench]) -> None:
    text = entry("{tp: 8, conc-list: [4]}").replace("conc-list: [4]}", "conc-list: [4,\n          8]}")
    bench = bench_of(text)
    first, second = (point.sites["conc"].line for point in bench.points)
    assert second == first + 1


def test_a_merged_block_keeps_its_own_place(bench_of: Callable[..., Bench]) -> None:
    space = "&base {tp: 8, conc-list: [4]}\n{<<: *base, tp: 4}"
    bench = bench_of(entry(space))
    assert [row["tp"] for row in rows(bench)] == [8, 4]
    first, second = bench.points
    assert second.sites["conc"] == first.sites["conc"] and second.sites["tp"].line == first.sites["tp"].line + 1


@pytest.mark.parametrize(
    ("space", "code", "field", "left"),
    [
        ("{tp: eight, conc-list: [4]}", "wrong-type", "tp", 0),
        ("{tp: 0, conc-list: [4]}", "out-of-range", "tp", 0),
        ("{conc-list: [4]}", "missing-field", "tp", 0),
        ("{tp: 8}", "no-concurrency", "", 0),
        ("{tp: 8, conc-start: 4}", "no-concurrency", "", 0),
        ("{tp: 8, conc-start: 8, conc-end: 4}", "wrong-concurrency", "conc-start", 0),
        ("{tp: 8, conc-start: -1, conc-end: 4}", "out-of-range", "conc-start", 0),
        ("{tp: 8, conc-list: [4, x]}", "wrong-concurrency", "conc-list[1]", 0),
        ("{tp: 8, conc-list: [0]}", "wrong-concurrency", "conc-list[0]", 0),
        ("{tp: 8, conc-list: [true]}", "wrong-concurrency", "conc-list[0]", 0),
        ("{tp: 8, conc-list: 4}", "wrong-type", "conc-list", 0),
        ("{tp: 8, conc-list: [4], conc-start: 4, conc-end: 8}", "conc-twice", "conc-list", 1),
        ("{tp: 8, conc-list: [4], spec-decoding: eagle}", "unknown-value", "spec-decoding", 0),
        ("{tp: 8, conc-list: [4], dp-attn: maybe}", "wrong-type", "dp-attn", 0),
        ("{tp: 8, conc-list: [4], tpp: 1}", "unknown-field", "tpp", 1),
        ("{tp: 8, conc-list: [4], dcp-size: 3}", "dcp-divides-tp", "dcp-size", 1),
        ("{tp: 8, conc-list: [4], router: {name: r}}", "missing-field", "router.version", 0),
        ("{tp: 8, conc-list: [4], router: {name: r, version: 'image:x'}}", "image-as-version", "router.version", 1),
        ("{tp: 8, conc-list: [4], router: r}", "wrong-type", "router", 0),
        ("word", "wrong-type", "", 0),
    ],
)
def test_a_wrong_row_is_one_problem_and_loses_no_other(
    bench_of: Callable[..., Bench], space: str, code: str, field: str, left: int
) -> None:
    bench = bench_of(entry(f"{space}\n{{tp: 2, conc-list: [1]}}"))
    (problem,) = bench.problems
    assert (problem.code, problem.key) == (code, "mdl-fp4-alpha")
    assert problem.field.endswith(field) and problem.site.line == 14
    assert len(bench.points) == left + 1 and bench.points[-1].row["tp"] == 2


@pytest.mark.parametrize(
    ("change", "code", "points"),
    [
        (("image: reg/engine:1", "image: 3"), "wrong-type", 0),
        (("model: org/model\n", "\n"), "missing-field", 0),
        (("multinode: false", "multinode: 5"), "wrong-type", 0),
        (("multinode: false", "multinode: false\n  disagg: true"), "disagg-single-node", 1),
        (("multinode: false", "multinode: false\n  colour: red"), "unknown-field", 1),
        (("isl: 8192", "isl: 8k"), "wrong-type", 0),
        (("fixed-seq-len:", "fixed-length:"), "unknown-field", 0),
    ],
)
def test_a_wrong_entry_loses_no_other_entry(bench_of: Callable[..., Bench], change: tuple[str, str], code: str, points: int) -> None:
    good = entry("{tp: 2, conc-list: [1]}", key="good")
    wrong = entry("{tp: 8, conc-list: [4]}").replace(*change)
    bench = bench_of(wrong + good)
    assert code in codes(bench)
    assert [point.key for point in bench.points] == ["mdl-fp4-alpha"] * points + ["good"]


@pytest.mark.parametrize(
    ("space", "runner", "scenario", "code"),
    [
        ("{tp: 8, kv-offloading: dram, conc-list: [1]}", "cluster:alpha-one", OFFLOADED, "missing-field"),
        ("{tp: 8, conc-list: [1]}", "cluster:alpha-one", AGENTIC, "missing-field"),
        ("{tp: 8, kv-offloading: nvme, conc-list: [1]}", "cluster:alpha-one", AGENTIC, "unknown-value"),
        (
            "{tp: 8, kv-offloading: none, kv-offload-backend: {name: x}, conc-list: [1]}",
            "cluster:alpha-one",
            AGENTIC,
            "backend-without-offload",
        ),
        ("{tp: 8, kv-offloading: dram, kv-offload-backend: {name: x}, conc-list: [1]}", "cluster:alpha-one", AGENTIC, "missing-field"),
        ("{tp: 16, kv-offloading: dram, kv-offload-backend: {name: x}, conc-list: [1]}", "cluster:alpha-one", OFFLOADED, "too-many-gpus"),
        ("{tp: 8, kv-offloading: dram, kv-offload-backend: {name: x}, conc-list: [1]}", "cluster:other", OFFLOADED, "no-hardware"),
        ("{tp: 8, kv-offloading: none, conc-list: [1]}", "alpha", AGENTIC, "agentic-runner"),
    ],
)
def test_wrong_offload(bench_of: Callable[..., Bench], space: str, runner: str, scenario: str, code: str) -> None:
    assert codes(bench_of(entry(space, runner=runner, scenario=scenario))) == [code]


def test_a_component_in_two_scopes(bench_of: Callable[..., Bench]) -> None:
    more = "router: {name: a, version: '1'}\n"
    bench = bench_of(entry("{tp: 8, conc-list: [1], router: {name: b, version: '2'}}", more=more))
    assert codes(bench) == ["two-scopes"] and bench.points[0].row["router"]["name"] == "b"


def test_a_text_that_reads_as_an_integer_is_passed_on(bench_of: Callable[..., Bench]) -> None:
    bench = bench_of(entry("{tp: '8', conc-list: [4]}"))
    assert rows(bench)[0]["tp"] == "8" and bench.problems == ()


def test_keys_in_two_masters(bench_of: Callable[..., Bench]) -> None:
    text = entry("{tp: 8, conc-list: [4]}")
    bench = bench_of(text, {"configs/y-master.yaml": text, "configs/deprecated/z-master.yaml": entry("{tp: 1, conc-list: [1]}", key="old")})
    assert codes(bench) == ["duplicate-key"]
    assert bench.entry("old") is None
    found = bench.entry("old", deprecated=True)
    assert found is not None and found.deprecated and "old" not in bench.by_key


def test_wildcards_in_a_key(bench_of: Callable[..., Bench]) -> None:
    assert codes(bench_of(entry("{tp: 8, conc-list: [4]}", key='"mdl-*"'))) == ["wildcard-key"]


def test_older_form_without_scenarios(bench_of: Callable[..., Bench]) -> None:
    text = (
        entry("{tp: 8, conc-list: [4]}")
        .replace("  scenarios:\n    fixed-seq-len:\n", "  seq-len-configs:\n")
        .replace("\n    - isl", "\n  - isl")
    )
    bench = bench_of(text.replace("      osl", "    osl").replace("      search-space", "    search-space"))
    assert [row["conc"] for row in rows(bench)] == [4] and bench.problems == ()


def test_ids_are_unique_and_do_not_depend_on_the_order(bench_of: Callable[..., Bench]) -> None:
    settings_ = WORKERS.replace("dp-attn: true", "dp-attn: true, additional-settings: [CONFIG_FILE=recipes/a/NAME.yaml:override_x]")
    lines = [
        f"{{{settings_.replace('NAME', 'one')}, conc-list: [8]}}",
        f"{{{settings_.replace('NAME', 'two')}, conc-list: [8]}}",
        f"{{{settings_.replace('NAME', 'two')}, conc-list: [16]}}",
        f"{{{WORKERS.replace('tp: 4', 'tp: 2')}, conc-list: [16, 32]}}",
    ]
    there = [point.id for point in bench_of(entry("\n".join(lines), multinode="true")).points]
    back = [point.id for point in bench_of(entry("\n".join(reversed(lines)), multinode="true")).points]
    assert sorted(there) == sorted(back) and len(set(there)) == 4
    prefix = "mdl-fp4-alpha[8k1k,p2xtp4ep4dpa,d1xtp8"
    assert there == [
        f"{prefix},one:override_x]",
        f"{prefix},two:override_x,conc8]",
        f"{prefix},two:override_x,conc16]",
        "mdl-fp4-alpha[8k1k,p2xtp2ep4dpa,d1xtp8]",
    ]


def test_identical_rows_are_numbered(bench_of: Callable[..., Bench]) -> None:
    ids = [point.id for point in bench_of(entry("{tp: 8, conc-list: [4, 4]}")).points]
    assert ids == ["mdl-fp4-alpha[8k1k,tp8,conc4]", "mdl-fp4-alpha[8k1k,tp8,conc4]#2"]


def test_rows_of_the_workflow() -> None:
    row = {
        "isl": 8192,
        "conc": [4, 8],
        "run-eval": True,
        "eval-conc": 8,
        "prefill": {"tp": 8},
        "decode": {"tp": 8, "additional-settings": ["A=1"]},
    }
    plain = workflow_row(row, False, True, True)
    assert (plain["run-eval"], "eval-conc" in plain) == (False, False)
    assert (plain["prefill"]["additional-settings"], plain["decode"]["additional-settings"]) == ([], ["A=1"])
    measured = {name: value for name, value in row.items() if name != "eval-conc"}
    assert plain["recipe-fingerprint"] == recipe_fingerprint({**measured, "run-eval": False, "conc": [1], "exp-name": "x"})
    evaluation = workflow_row(row, True, True, True)
    assert (evaluation["eval-only"], evaluation["eval-conc"], "recipe-fingerprint" in evaluation) == (True, 8, False)
    assert workflow_row(row, False, False, False)["run-eval"] is True
    assert row["run-eval"] is True and row["prefill"] == {"tp": 8}


def test_fingerprint_leaves_concurrency_and_name_out() -> None:
    row = {"tp": 8, "conc": 4, "exp-name": "a"}
    assert recipe_fingerprint(row) == recipe_fingerprint({**row, "conc": 8, "exp-name": "b"})
    assert recipe_fingerprint(row) != recipe_fingerprint({**row, "tp": 4})


@pytest.mark.parametrize(
    ("space", "field"),
    [("{tp: 8, conc-list: [4], 3: 4, '5': 6}", "3"), ("{tp: 8, conc-list: [4], router: {name: a, version: b, 3: c}}", "router.3")],
)
def test_keys_that_are_no_text(bench_of: Callable[..., Bench], space: str, field: str) -> None:
    bench = bench_of(entry(space))
    assert len(bench.points) == 1 and any(problem.field.endswith(field) for problem in bench.problems)
    assert set(codes(bench)) == {"unknown-field"} and len(bench.jobs()) == 2


def test_numbers_without_end(bench_of: Callable[..., Bench]) -> None:
    large = "9" * 4000
    space = f"{{tp: {large}, pp: {large}, kv-offloading: dram, kv-offload-backend: {{name: x}}, conc-list: [{large}]}}"
    bench = bench_of(entry(space, runner="cluster:alpha-one", scenario=OFFLOADED))
    assert bench.points == () and set(codes(bench)) == {"out-of-range", "wrong-concurrency"}


def test_recipes_that_masters_name(bench_of: Callable[..., Bench]) -> None:
    settings_ = "dp-attn: true, additional-settings: [CONFIG_FILE=r/a.yaml:override_x, EVAL_CONFIG_FILE=r/b.yaml, OTHER=r/c.yaml]"
    text = entry(f"{{{WORKERS.replace('dp-attn: true', settings_)}, conc-list: [8]}}", multinode="true")
    bench = bench_of(text, {"configs/deprecated/o-master.yaml": text})
    assert [(found.name, found.path, found.selector, found.deprecated) for found in bench.mentions] == [
        ("CONFIG_FILE", "r/a.yaml", "override_x", False),
        ("EVAL_CONFIG_FILE", "r/b.yaml", "", False),
        ("CONFIG_FILE", "r/a.yaml", "override_x", True),
        ("EVAL_CONFIG_FILE", "r/b.yaml", "", True),
    ]
    assert {found.site.line for found in bench.mentions} == {bench.points[0].site.line}


HOSTILE = [
    "",
    "[]",
    "- a",
    "a: b",
    "a: {scenarios: 1}",
    "a: {scenarios: {fixed-seq-len: 3}}",
    "1: {scenarios: {}}",
    "a: &a {scenarios: *a}",
    "a: {scenarios: {fixed-seq-len: [[1]]}}",
    "? [x]\n: {scenarios: {}}",
    "a: {scenarios: {fixed-seq-len: [{search-space: {}}]}}",
    "\x00",
    "a: {",
    "a: {scenarios: {fixed-seq-len: [{isl: 99999999999999999999999, osl: 1, search-space: [{tp: 1, conc-start: 1, conc-end: 99999999}]}]}}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_masters_never_raise(bench_of: Callable[..., Bench], text: str) -> None:
    good = entry("{tp: 2, conc-list: [1]}", key="good")
    bench = bench_of(good, {"configs/bad-master.yaml": text})
    assert [point.key for point in bench.points if point.key == "good"] == ["good"]
    assert all(problem.site.path for problem in bench.problems)
    bench.jobs()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_mutated_masters_never_raise(data: st.DataObject) -> None:
    workers = f"{{{WORKERS}, kv-offloading: dram, kv-offload-backend: {{name: lm}}, conc-list: [4]}}"
    text = entry(workers, runner="cluster:alpha-one", multinode="true", scenario=OFFLOADED) + entry("{tp: 8, conc-list: [4]}", key="b")
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start]
            + data.draw(st.sampled_from(["", " ", "\n", "[]", "{}", "null", "-1", "x", ": ", "- ", "1e9", "~", "*a", "&a "]))
            + text[end:]
        )
    runners = b"labels: {'cluster:alpha-one': [a_0]}\nhardware: {'cluster:alpha-one': {available-cpu-dram-mib: 5, gpus-per-node: 8}}\n"
    bench = load_bench(MemoryTree({"configs/x-master.yaml": text.encode(), "configs/runners.yaml": runners}))
    bench.jobs()
    assert len(bench.by_id) == len(bench.points)
