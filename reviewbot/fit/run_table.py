"""What ``reviewbot fit`` says inside a repository: the servers of runs, grouped by layouts that are the same to the arithmetic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reviewbot.fit.advice import advise
from reviewbot.fit.of_runs import answer, question_of
from reviewbot.fit.verdict import VERDICTS, Report, report_data
from reviewbot.runs.model import Run, Server


@dataclass(frozen=True, slots=True)
class Row:
    """A server of a run with its report, or why there is none."""

    run: Run
    server: Server
    report: Report | None
    why: str


@dataclass(frozen=True, slots=True)
class Group:
    """Servers that are the same question but for concurrency; ``report`` is that of the worst of them."""

    report: Report
    rows: tuple[Row, ...]


_WORST = ("does-not-fit", "tight", "cannot-tell", "fits")


def rows_of(runs: Iterable[Run], directories: tuple[Path, ...] = ()) -> list[Row]:
    """A row for every server of the runs. A run without servers that are known has none."""
    rows = []
    for run in runs:
        for server in run.servers:
            asked = question_of(run, server, directories)
            if isinstance(asked, str):
                rows.append(Row(run, server, None, asked))
            else:
                report = answer(asked)
                rows.append(Row(run, server, report, report.reason))
    return rows


def grouped(rows: Iterable[Row]) -> list[Group]:
    """The rows with a report, one group a model, precision, GPU and layout; the worst verdicts first, else in the order of the rows."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        if row.report is not None:
            report = row.report
            layout = replace(report.layout, concurrency=None, max_num_seqs=None)
            groups.setdefault((report.model, report.checkpoint, report.gpu, layout), []).append(row)
    found = []
    for some in groups.values():
        worst = min(some, key=lambda row: _rank(row.report))
        assert worst.report is not None
        found.append(Group(worst.report, tuple(some)))
    return sorted(found, key=lambda group: _rank(group.report))


def _rank(report: Report | None) -> int:
    return _WORST.index(report.verdict) if report is not None else len(_WORST)


def runs_data(rows: Sequence[Row]) -> dict[str, Any]:
    """Every server of every run, and the distinct layouts with their arithmetic: the form of ``schemas/fit-runs-report.schema.json``."""
    groups = grouped(rows)
    number = {id(row): index for index, group in enumerate(groups) for row in group.rows}
    return {
        "version": 1,
        "runs": [_row_data(row, number.get(id(row))) for row in rows],
        "layouts": [_layout_data(group) for group in groups],
        "summary": {verdict: sum(row.report is not None and row.report.verdict == verdict for row in rows) for verdict in VERDICTS},
    }


def _row_data(row: Row, layout: int | None) -> dict[str, Any]:
    report = row.report
    data = report_data(replace(report, parts=(), cost=None)) if report is not None else {}
    names = (
        "model",
        "precision",
        "gpu",
        "engine_version",
        "weights_gib",
        "kv_bytes_per_token",
        "overhead_gib",
        "budget_gib",
        "kv_tokens",
        "requests",
    )
    return {
        "key": row.run.key,
        "point": row.run.point.id,
        "runner": row.run.runner,
        "launcher": row.run.launcher,
        "role": row.server.role,
        "engine": row.server.engine,
        **{name: data.get(name) for name in names},
        "verdict": report.verdict if report is not None else "cannot-tell",
        "cause": report.cause if report is not None else "unknown",
        "why": row.why,
        "layout": layout,
    }


def _layout_data(group: Group) -> dict[str, Any]:
    advice = advise(group.report)
    sizes = advice.layout
    data = report_data(group.report)
    data["advice"] = {
        "text": advice.text,
        "nodes": advice.nodes,
        "layout": None
        if sizes is None
        else {"tp": sizes.tp, "pp": sizes.pp, "dp": sizes.dp, "ep": sizes.ep, "dp_attention": sizes.dp_attention},
    }
    return data
