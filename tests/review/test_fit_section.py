"""The fit of changed points in the summary of a review."""

from __future__ import annotations

from dataclasses import replace

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.review.fit_section import fit_section
from reviewbot.runs.model import Run, Server, Setting
from tests import support


def _run(model: str, id_: str = "p|`x`") -> Run:
    row = {"model": model, "precision": "fp4", "conc": 4}
    point = Point(id_, "k", row, False, "fixed-seq-len", "configs/x-master.yaml", Site("configs/x-master.yaml", 3))
    server = Server("agg", "vllm", {"tensor-parallel-size": Setting(("8",))}, {}, None, 1, 1)
    return support.run(point=point, runner="b200", servers=(server,))


def test_a_line_for_each_layout() -> None:
    runs = [_run("moonshotai/Kimi-K3"), _run("moonshotai/Kimi-K3", "q"), _run("nvidia/MiniMax-M3-NVFP4"), _run("toylab/Toy")]
    section = fit_section(runs)
    assert section is not None
    head, _, first, second, *rest = section.markdown.split("\n")
    assert head.count("|") == 7
    assert first.startswith("| **does-not-fit** | kimi-k3 mxfp4 | vllm TP 8 on 8 x B200 | 191.1 of 178.3 GiB |")
    assert "and 1 more" in first
    assert "p\\|" in first
    assert second.startswith("| fits | minimax-m3 nvfp4 |")
    assert rest == ["", "1 server not looked at: model, GPU or layout not known."]


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert fit_section([_run("toylab/Toy"), replace(_run("x/y"), servers=())]) is None
