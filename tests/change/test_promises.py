"""What a changelog says about a change, and what the change's sweep costs."""

from __future__ import annotations

import pytest

from tests.change.conftest import H100, MASTER, Repository

ROW = "      - { tp: 2, conc-list: [32, 64] }"
MORE = "      - { tp: 2, conc-list: [32, 64, 128] }"


def entry(key: str, more: str = "") -> str:
    return f'\n- config-keys:\n    - {key}\n  description:\n    - "More points"\n  pr-link: https://github.com/toylab/demo/pull/9\n{more}'


def test_a_change_without_an_entry_is_missing(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    changelog = repository.impact()["changelog"]
    assert {one["key"] for one in changelog["missing"]} == {"toy-fp8-h100-dynamo-sglang", "toy-fp8-h100-dynamo-vllm"}
    assert changelog["needless"] == []


def test_an_entry_for_what_stays_is_needless(repository: Repository):
    repository.append("perf-changelog.yaml", entry("toy-fp8-h100-vllm"))
    changelog = repository.impact()["changelog"]
    assert changelog["entries"] == 1
    assert [(one["key"], one["line"]) for one in changelog["needless"]] == [
        ("toy-fp8-h100-vllm", repository.line("perf-changelog.yaml", "More points") - 2)
    ]


def test_an_entry_that_fits(repository: Repository):
    repository.replace(MASTER, ROW, MORE)
    repository.append("perf-changelog.yaml", entry("toy-fp8-h100-v*"))
    changelog = repository.impact()["changelog"]
    assert (changelog["missing"], changelog["needless"], changelog["lost"]) == ([], [], [])


def test_an_entry_of_another_scenario_does_not_fit(repository: Repository):
    repository.replace(MASTER, ROW, MORE)
    repository.append("perf-changelog.yaml", entry("toy-fp8-h100-vllm", "  scenario-type: [agentic-coding]\n"))
    assert [one["key"] for one in repository.impact()["changelog"]["missing"]] == ["toy-fp8-h100-vllm"]


APPEND = entry("toy-fp8-h100-vllm", "  append-only: true\n")


def test_append_only_holds(repository: Repository):
    repository.replace(MASTER, ROW, MORE)
    repository.append("perf-changelog.yaml", APPEND)
    report = repository.impact()
    assert report["append_only"]["holds"] is True
    assert [point["point"] for point in report["cost"]["points"]] == report["added"]


def _lost(repository: Repository) -> None:
    repository.replace(MASTER, ROW, "      - { tp: 2, conc-list: [64, 128] }")


def _other_launch(repository: Repository) -> None:
    repository.replace(MASTER, ROW, MORE)
    repository.replace("benchmarks/single_node/fixed_seq_len/toy_fp8_h100_vllm.sh", "utilization 0.9 ", "utilization 0.8 ")


def _other_key(repository: Repository) -> None:
    repository.replace(MASTER, ROW, MORE)
    repository.replace(MASTER, "{ tp: 8, ep: 8, conc-list: [8, 16] }", "{ tp: 8, ep: 8, conc-list: [8, 16, 32] }")


def _other_curve(repository: Repository) -> None:
    repository.replace(MASTER, ROW, ROW + "\n    - isl: 1024\n      osl: 1024\n      search-space:\n      - { tp: 2, conc-list: [4] }")


def _nothing(repository: Repository) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "reason", "point", "place"),
    [
        (_lost, "gone or has another row", "conc32", "conc-list: [64, 128]"),
        (_other_launch, "gpu-memory-utilization is '0.8', was '0.9'", "toy-fp8-h100-vllm[", "utilization 0.8 "),
        (_other_key, "mini-fp8-h200-sglang is changed and not selected", "", "[8, 16, 32]"),
        (_other_curve, "belongs to no curve of base", "1k1k", "conc-list: [4]"),
        (_nothing, "no point is new", "", ""),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_append_only_is_broken(repository: Repository, change, reason: str, point: str, place: str):
    change(repository)
    repository.append("perf-changelog.yaml", APPEND)
    verdict = repository.impact()["append_only"]
    assert verdict["holds"] is False
    assert reason in verdict["reason"]
    assert point in (verdict["point"] or "")
    if place:
        assert place in (repository.root / verdict["site"]["path"]).read_text("utf-8").split("\n")[verdict["site"]["line"] - 1]


def test_append_only_beside_an_ordinary_entry(repository: Repository):
    repository.replace(MASTER, ROW, MORE)
    repository.append("perf-changelog.yaml", APPEND + entry("toy-fp8-mi300x-sglang"))
    assert repository.impact()["append_only"]["holds"] is False


def test_cost_of_new_points(repository: Repository):
    repository.replace(MASTER, ROW, MORE)
    cost = repository.impact()["cost"]
    assert [(one["gpus"], one["seconds"], one["jobs"]) for one in cost["points"]] == [(2, 180 * 60, 1)]
    assert cost["gpu_hours"] == 2 * 3 * (1 + cost["points"][0]["evals"])


def test_cost_of_several_nodes_counts_whole_nodes_and_the_default_limit(repository: Repository):
    repository.replace(H100, "git checkout v1.0.68", "git checkout v1.0.67")
    points = {one["point"]: one for one in repository.impact("toy-fp8-h100-dynamo-vllm")["cost"]["points"]}
    assert [(one["gpus"], one["seconds"]) for one in points.values()] == [(16, 4 * 3600)]
