"""Plain text for people: a finding with its source line, the other places, and what to do."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from reviewbot.engine.model import Finding, Level
from reviewbot.report.common import Report, some_points, summary, visible

_MAX_LINE = 160  # characters of a source line that are shown
_COLOURS = {Level.ERROR: "31", Level.WARNING: "33", Level.NOTE: "36"}


def render_text(report: Report, *, colour: bool = False, terminal: bool = False) -> str:
    """The report as text: new findings only, then a summary. Without findings it is empty, but on a terminal the summary stays."""
    blocks = ["\n".join(_finding(finding, report, colour)) for finding in report.new]
    if blocks or terminal or report.incomplete:
        blocks.append(summary(report))
    return "".join(block + "\n" for block in blocks)


def _finding(finding: Finding, report: Report, colour: bool) -> Iterator[str]:
    level = _paint(str(finding.level), _COLOURS[finding.level], colour)
    message = visible(finding.message)
    yield f"{place(finding.path)}:{finding.line}:{finding.column} {level} {_paint(finding.rule, '1', colour)}: {message}"
    yield from _source(finding, report)
    for other in finding.related:
        yield f"    => {visible(other.site.path)}:{other.site.line}: {visible(other.message)}"
    if finding.help:
        yield f"    help: {visible(finding.help)}"
    if finding.points:
        yield f"    {some_points(finding.points)}"


def place(path: str) -> str:
    """A path that begins a line: one that looks like a workflow command of a CI log is made harmless."""
    return ("./" if path.startswith((":", "#", " ")) else "") + visible(path)


def _source(finding: Finding, report: Report) -> Iterator[str]:
    lines = report.lines(finding.path)
    if not 0 < finding.line <= len(lines) or not lines[finding.line - 1].strip():
        return
    text = lines[finding.line - 1]
    start = min(max(finding.column, 1), len(text) + 1) - 1
    end = finding.end_column - 1 if finding.end_line == finding.line else len(text.rstrip())
    cut = max(0, min(start - 40, len(text) - _MAX_LINE)) if len(text) > _MAX_LINE else 0
    shown = text[cut : cut + _MAX_LINE].rstrip()
    end = min(max(end, start + 1), max(cut + len(shown), start + 1))
    number = str(finding.line)
    lead = "..." if cut else ""
    tail = "..." if cut + _MAX_LINE < len(text.rstrip()) else ""
    before, marked = lead + _flat(text[cut:start]), _flat(text[start:end])
    yield f"    {number} | {lead}{_flat(shown)}{tail}"
    yield f"    {' ' * len(number)} | {' ' * _width(before)}{'^' * max(_width(marked), 1)}"


def _flat(text: str) -> str:
    return visible(text.replace("\t", "    "))


def _width(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
