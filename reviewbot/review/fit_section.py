"""The part of a review's summary that tells whether the points that a change touches fit."""

from __future__ import annotations

from collections.abc import Sequence

from reviewbot.fit.layout import described
from reviewbot.fit.run_table import Group, grouped, rows_of
from reviewbot.report.common import counted
from reviewbot.review.markup import prose, span
from reviewbot.review.render import SummarySection
from reviewbot.runs.model import Run

TITLE = "Fit of changed points"
_MOST = 20


def fit_section(runs: Sequence[Run]) -> SummarySection | None:
    """A table of the distinct layouts of runs; ``None`` where the fit of none is known."""
    rows = rows_of(runs)
    groups = grouped(rows)
    if not groups:
        return None
    lines = ["| verdict | model | layout | weights a GPU | runs | why |", "|---|---|---|---|---|---|"]
    lines += [_line(group) for group in groups[:_MOST]]
    if len(groups) > _MOST:
        lines.append(f"\nand {counted(len(groups) - _MOST, 'more layout')}")
    missing = sum(row.report is None for row in rows)
    if missing:
        lines.append(f"\n{counted(missing, 'server')} not looked at: model, GPU or layout not known.")
    return SummarySection(TITLE, "\n".join(lines))


def _line(group: Group) -> str:
    report = group.report
    gpus = f"{report.gpus} x {report.gpu.name.upper()}"
    weights = "not known" if report.weights_gib is None else f"{report.weights_gib:.1f} of {report.gpu.usable_gib:.1f} GiB"
    first = span(group.rows[0].run.point.id, 120)
    more = f" and {len(group.rows) - 1} more" if len(group.rows) > 1 else ""
    cells = (
        f"**{report.verdict}**" if report.verdict in ("does-not-fit", "tight") else report.verdict,
        f"{report.model.name} {report.checkpoint.precision}",
        f"{report.layout.engine} {described(report.layout)} on {gpus}",
        weights,
        first + more,
        prose(report.reason),
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
