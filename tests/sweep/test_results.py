from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reviewbot.sweep.plan import read_plan
from reviewbot.sweep.plots import frontier, svg, ticks
from reviewbot.sweep.report import comparison, csv_text, page, report_data, series, table
from reviewbot.sweep.results import COLUMNS, UnreadableResult, judge, read_result
from tests.sweep.support import ledger_of, plan, point, write_plan

FIXED = {
    "model_id": "m",
    "num_prompts": 10,
    "max_concurrency": 4,
    "completed": 10,
    "duration": 2.0,
    "output_throughput": 100.0,
    "total_token_throughput": 900.0,
    "median_ttft_ms": 20.0,
    "median_tpot_ms": 10.0,
    "median_e2el_ms": 500.0,
}
AGENTIC = {
    "scenario_type": "agentic-coding", "conc": 8, "num_requests_total": 12, "num_requests_successful": 11,
    "request_metrics": {
        "latency": {"ttft": {"p50": 0.2}, "itl": {"p50": 0.01}, "intvty": {"p50": 95.0}},
        "throughput": {"total_tput_tps": 4000.0, "output_tput_tps": 100.0},
    },
}  # fmt: skip
EVAL = {
    "results": {
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,flexible-extract": 0.9,
            "exact_match,strict-match": 0.8,
            "exact_match_stderr,strict-match": 0.01,
        }
    },
    "configs": {"gsm8k": {}},
    "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}},
}
AIPERF = {
    "output_token_throughput": {"avg": 50.0},
    "total_token_throughput": {"avg": 90.0},
    "request_count": {"avg": 7.0},
    "error_request_count": {"avg": 1.0},
    "inter_token_latency": {"avg": 21.0, "p50": 20.0},
    "time_to_first_token": {"p50": 5.0},
    "input_config": {"loadgen": {"concurrency": 2}},
}


def read(tmp_path: Path, data: Any, gpus: int = 2) -> list[dict[str, Any]]:
    path = tmp_path / "r.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return read_result(path, point("a", gpus=gpus, row={"isl": 1024, "osl": 128}))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            FIXED,
            {
                "shape": "fixed",
                "conc": 4,
                "successful": 10,
                "tput_per_gpu": 450.0,
                "output_tput_per_gpu": 50.0,
                "interactivity": 100.0,
                "isl": 1024,
            },
        ),
        (
            AGENTIC,
            {
                "shape": "agentic",
                "conc": 8,
                "requests": 12,
                "successful": 11,
                "tput_per_gpu": 2000.0,
                "interactivity": 95.0,
                "ttft_ms": 200.0,
            },
        ),
        (EVAL, {"shape": "eval", "task": "gsm8k", "score": 0.8, "successful": 1319}),
        (AIPERF, {"shape": "aiperf", "conc": 2, "requests": 8, "successful": 7, "output_tput": 50.0, "interactivity": 50.0}),
        ({"job_id": "1", "exit_code": 0, "score": 0.7}, {"shape": "status", "successful": 1, "score": 0.7}),
    ],
    ids=["fixed", "agentic", "eval", "aiperf", "status"],
)
def test_shapes(tmp_path: Path, data: dict[str, Any], expected: dict[str, Any]):
    [row] = read(tmp_path, data)
    assert {name: row[name] for name in expected} == expected
    assert set(row) <= set(COLUMNS)


@pytest.mark.parametrize("data", [[], {}, {"a": 1}, "3"])
def test_other_files_are_no_results(tmp_path: Path, data: Any):
    assert read(tmp_path, data) == []


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": \ud800'.encode("utf-8", "replace").decode()])
def test_what_is_no_json(tmp_path: Path, text: str):
    with pytest.raises(UnreadableResult):
        read(tmp_path, text)


@pytest.mark.parametrize("value", ["x", None, True, [], {}, float("nan"), float("inf"), -1])
def test_strange_values_do_no_harm(tmp_path: Path, value: Any):
    for data in (FIXED, AGENTIC, AIPERF):
        read(tmp_path, {name: value if name not in ("scenario_type",) else data[name] for name in data})


@pytest.mark.parametrize(
    ("end", "files", "outcome"),
    [
        ({"outcome": "exited", "rc": 0}, {"r.json": FIXED}, "success"),
        ({"outcome": "exited", "rc": 0}, {"r.json": {**FIXED, "completed": 0}}, "no-success"),
        ({"outcome": "exited", "rc": 0}, {"r.json": AGENTIC, "s.json": {**AGENTIC, "num_requests_successful": 0}}, "no-success"),
        ({"outcome": "exited", "rc": 0}, {}, "empty"),
        ({"outcome": "exited", "rc": 0}, {"r.json": {}}, "empty"),
        ({"outcome": "exited", "rc": 0}, {"r.json": "{"}, "unreadable-result"),
        ({"outcome": "exited", "rc": 4}, {"r.json": FIXED}, "exit-status"),
        ({"outcome": "timeout", "rc": 124, "reason": "late"}, {"r.json": FIXED}, "timeout"),
        ({}, {}, "no-last-word"),
    ],
)
def test_what_becomes_of_a_point(tmp_path: Path, end: dict[str, Any], files: dict[str, Any], outcome: str):
    for name, data in files.items():
        (tmp_path / name).write_text(data if isinstance(data, str) else json.dumps(data))
    assert judge(point("a", outputs=("*.json",)), end, tmp_path).outcome == outcome


def test_the_frontier():
    pairs = [(10.0, 100.0), (20.0, 90.0), (15.0, 80.0), (20.0, 50.0), (30.0, 10.0), (30.0, 10.0), (5.0, 100.0)]
    assert frontier(pairs) == {0, 1, 4, 5}
    assert frontier([]) == set()


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0), (0, 7e9), (0, 1e-6), (0, 433_000)])
def test_ticks(low: float, high: float):
    found = ticks(low, high)
    assert found[0] <= low and found[-1] >= high and 2 <= len(found) <= 12


def row(**more: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COLUMNS), "key": "k", "state": "done", "model": "m", "precision": "p", "scenario": "s", **more}


def test_comparison():
    before = [
        row(shape="fixed", conc=4, tput_per_gpu=100.0),
        row(key="gone", shape="fixed", conc=4, tput_per_gpu=1.0),
        row(key="bad", shape="fixed", conc=4),
    ]
    now = [
        row(shape="fixed", conc=4, tput_per_gpu=110.0),
        row(key="bad", state="failed"),
        row(key="new", shape="fixed", conc=4, tput_per_gpu=5.0),
    ]
    found = {one["key"]: one for one in comparison(now, before)}
    assert len(found) == 4 and found["k"]["tput_per_gpu"]["percent"] == pytest.approx(10)
    assert (found["gone"]["now"], found["bad"]["before"], found["bad"]["now"], found["new"]["before"]) == (None, "done", "failed", None)


def test_hostile_text_stays_text():
    evil = '<script>alert(1)</script>"\x1b[31m\x00\udc80=1'
    rows = [row(key=evil, model=evil, shape="fixed", conc=1, tput_per_gpu=1.0, interactivity=2.0, receipt="=cmd()")]
    drawn = series(rows, rows)
    made = plan([point("a")])
    html = page(report_data(made, rows, {"done": 1}, comparison(rows, rows)), svg(drawn), drawn)
    assert "<script" not in html and "\x1b" not in html and "\x00" not in html
    html.encode("utf-8")
    assert ",'=cmd()" in csv_text(rows)


def test_a_point_without_a_result_is_in_the_table(tmp_path: Path):
    path = write_plan(tmp_path / "p.json", [point("a"), point("b")])
    ledger = ledger_of(path)
    rows = table(read_plan(path), ledger)
    ledger.close()
    assert [(one["key"], one["state"], one["shape"]) for one in rows] == [("a", "pending", None), ("b", "pending", None)]
