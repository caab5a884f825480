"""Questions that runs of a repository put to the arithmetic."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.fit.of_runs import Question, fit_of, fits, question_of, subject_of
from reviewbot.fit.run_table import grouped, rows_of
from reviewbot.runs.model import Run, Server, Setting
from tests import support

_ROW = {"model": "moonshotai/Kimi-K3", "precision": "fp4", "conc": 4, "runner": "b200", "framework": "vllm"}


def _server(engine: str = "vllm", **flags: str) -> Server:
    given = {name.replace("_", "-"): Setting((value,)) if value != "?" else Setting((), True) for name, value in flags.items()}
    return Server("agg", engine, given, {}, None, 1, 1)


def _run(server: Server, row: dict[str, Any] | None = None, image: str | None = "vllm/vllm-openai:v0.27.0", **fields: Any) -> Run:
    point = Point("p", "k", {**_ROW, **(row or {})}, False, "fixed-seq-len", "configs/x-master.yaml", Site("configs/x-master.yaml", 3))
    setting = Setting((image,)) if image else None
    return support.run(**{"point": point, "runner": "b200", "node": "b200-lab_00", "servers": (server,), "image": setting, **fields})


def test_a_row_with_its_flags() -> None:
    server = _server(tensor_parallel_size="8", max_model_len="16384", gpu_memory_utilization="0.9")
    asked = question_of(_run(server), server)
    assert isinstance(asked, Question)
    assert (asked.model.name, asked.checkpoint.precision, asked.gpu.name) == ("kimi-k3", "mxfp4", "b200")
    assert (asked.layout.tp, asked.layout.version, asked.layout.utilization, asked.layout.concurrency) == (8, (0, 27, 0), 0.9, 4)
    report = fit_of(_run(server), server)
    assert report is not None
    assert (report.verdict, report.cause) == ("does-not-fit", "weights")
    assert fit_of(_run(server), server) is report


@pytest.mark.parametrize(
    ("server", "change", "said"),
    [
        (_server("tilert", tensor_parallel_size="8"), {}, "tilert"),
        (_server("", tensor_parallel_size="8"), {}, "engine is not known"),
        (_server(tensor_parallel_size="?"), {}, "size of the layout"),
        (_server(), {"row": {"model": "toylab/Toy-9T"}}, "no facts"),
        (_server(), {"row": {"model": "deepseek-ai/DeepSeek-R1-0528"}}, "published in fp8, the row says fp4"),
        (_server(), {"runner": "lab", "node": "lab_00"}, "GPU of 'lab'"),
    ],
)
def test_what_cannot_be_asked(server: Server, change: dict[str, Any], said: str) -> None:
    run = _run(server, **change)
    asked = question_of(run, server)
    assert isinstance(asked, str)
    assert said in asked
    assert list(fits([run])) == []
    assert fit_of(run, server) is None


@pytest.mark.parametrize(
    ("engine", "image", "earliest", "newest"),
    [
        ("vllm", "vllm/vllm-openai:v0.27.0", (0, 27, 0), (0, 27, 0)),
        ("sglang", "lmsysorg/sglang:v0.5.16-cu130", (0, 5, 16), (0, 5, 16)),
        ("vllm", "vllm/vllm-openai:made-up", None, None),
        ("vllm", None, None, None),
    ],
)
def test_the_release_is_that_of_the_image(engine: str, image: str | None, earliest: tuple[int, ...], newest: tuple[int, ...]) -> None:
    server = _server(engine, tensor_parallel_size="8")
    asked = question_of(_run(server, image=image), server)
    assert isinstance(asked, Question)
    assert (asked.earliest, asked.layout.version) == (earliest, newest)


def test_a_nightly_build_lies_between_releases() -> None:
    server = _server(tensor_parallel_size="8")
    asked = question_of(_run(server, image="vllm/vllm-openai:nightly-20260528"), server)
    assert isinstance(asked, Question)
    assert asked.earliest is not None
    assert asked.layout.version is not None
    assert asked.earliest < asked.layout.version


def test_layouts_are_grouped_over_concurrencies() -> None:
    server = _server(tensor_parallel_size="8")
    runs = [_run(server, {"conc": number}) for number in (1, 2, 4)]
    other = _server(tensor_parallel_size="8", pipeline_parallel_size="2")
    groups = grouped(rows_of([*runs, _run(replace(other, nodes=2))]))
    assert [(group.report.verdict, len(group.rows)) for group in groups] == [("does-not-fit", 3), ("fits", 1)]


def test_no_graphs_no_workspace() -> None:
    flags = {"tensor_parallel_size": "4", "gpu_memory_utilization": "0.97", "max_model_len": "16384"}
    row = {"model": "nvidia/MiniMax-M3-NVFP4"}
    causes = []
    for more in ({}, {"enforce_eager": "true"}):
        server = _server(**flags, **more)
        report = fit_of(_run(server, row), server)
        assert report is not None
        causes.append(report.cause)
    assert causes == ["utilization", "room"]


def test_the_subject_of_a_row() -> None:
    subject = subject_of(_run(_server()).point)
    assert subject is not None
    assert (subject.model.name, subject.gpu.name, subject.engine) == ("kimi-k3", "b200", "vllm")
    assert subject_of(_run(_server(), {"runner": "lab"}).point) is None
    assert subject_of(_run(_server(), {"framework": "tilert"}).point) is None
