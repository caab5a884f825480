"""What ``reviewbot fit`` says about a repository: a table, or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from reviewbot.fit.advice import advise
from reviewbot.fit.layout import described
from reviewbot.fit.run_table import Row, grouped, runs_data
from reviewbot.fit.verdict import VERDICTS, Report
from reviewbot.report.common import counted, visible

_HEAD = ("verdict", "model", "GPUs", "engine", "layout", "weights", "KV/token", "overhead", "budget", "runs", "why")
_COLOURS = {"fits": 32, "tight": 33, "does-not-fit": 31}
_LEFT = frozenset({"verdict", "model", "GPUs", "engine", "layout", "why"})


def render_text(rows: Sequence[Row], *, every: bool, colour: bool = False) -> str:
    """A table, one line a distinct layout, or (``every``) one line for each server of each run."""
    groups = grouped(rows)
    if every:
        lines = [_cells(row.report, f"{row.run.point.id} {row.server.role}", row.why) for row in rows]
    else:
        lines = [_cells(group.report, _names(group.rows), _why(group.report)) for group in groups]
    out = _table([_HEAD, *lines], colour) if lines else []
    counts = [(verdict, sum(row.report is not None and row.report.verdict == verdict for row in rows)) for verdict in VERDICTS]
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts if count)
    out.append(
        f"{counted(len(rows), 'server')} of {counted(len({row.run.point.id for row in rows}), 'point')}, "
        f"{counted(len(groups), 'distinct layout')}: {said or 'none is known'}"
    )
    missing: dict[str, int] = {}
    for row in rows:
        if row.report is None:
            missing[row.why] = missing.get(row.why, 0) + 1
    out.extend(f"{count} not looked at: {visible(why)}" for why, count in sorted(missing.items(), key=lambda item: -item[1]))
    return "\n".join(out) + "\n"


def _why(report: Report) -> str:
    return f"{report.reason}; {advise(report).text}" if report.verdict == "does-not-fit" else report.reason


def _names(rows: Sequence[Row]) -> str:
    first = f"{rows[0].run.point.id} {rows[0].server.role}"
    return first if len(rows) == 1 else f"{first} and {len(rows) - 1} more"


def _cells(report: Report | None, names: str, why: str) -> tuple[str, ...]:
    if report is None:
        return ("not known", "", "", "", "", "", "", "", "", names, why)
    layout = report.layout
    version = f" {'.'.join(map(str, layout.version))}" if layout.version else ""
    cost = report.kv_bytes_per_token
    extra = report.overhead_gib
    return (
        report.verdict,
        f"{report.model.name} {report.checkpoint.precision}",
        f"{report.gpus} {report.gpu.name}",
        f"{layout.engine}{version}",
        described(layout),
        "?" if report.weights_gib is None else f"{report.weights_gib:.1f}",
        "?" if not cost else f"{cost:,.0f}",
        "?" if extra is None else f"{extra[0]:.1f}-{extra[1]:.1f}",
        f"{report.budget_gib:.1f}",
        names,
        why,
    )


def _table(lines: Sequence[tuple[str, ...]], colour: bool) -> list[str]:
    lines = [tuple(visible(cell) for cell in line) for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEAD))]
    out = []
    for line in lines:
        cells = [
            cell.ljust(width) if name in _LEFT or name == "runs" else cell.rjust(width)
            for name, cell, width in zip(_HEAD, line, widths, strict=True)
        ]
        if colour and line is not lines[0]:
            cells[0] = cells[0].replace(line[0], f"\x1b[{_COLOURS.get(line[0], 36)}m{line[0]}\x1b[0m")
        out.append("  ".join(cells).rstrip())
    return out


def render_json(rows: Sequence[Row]) -> str:
    """The form of ``schemas/fit-runs-report.schema.json``."""
    return json.dumps(runs_data(rows), indent=2) + "\n"
