"""Workflow commands that GitHub shows as annotations: at most ten a level count there, so the rest is counted."""

from __future__ import annotations

from reviewbot.engine.model import Finding, Level
from reviewbot.report.common import Report, counted, some_points, summary, visible

MOST = 10
_COMMANDS = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}


def escape_data(text: str) -> str:
    """Text behind the second ``::`` of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escape_property(text: str) -> str:
    """The value of a property of a workflow command."""
    return escape_data(text).replace(":", "%3A").replace(",", "%2C")


def render_github(report: Report) -> str:
    """Annotations of the new findings, the worst levels first, then the summary."""
    lines: list[str] = []
    for level, command in _COMMANDS.items():
        findings = [finding for finding in report.new if finding.level is level]
        lines.extend(_annotation(finding, command) for finding in findings[:MOST])
        if len(findings) > MOST:
            lines.append(f"reviewbot: {counted(len(findings) - MOST, f'more {level}')} without an annotation")
    if lines or report.incomplete:
        lines.append(f"reviewbot: {summary(report)}")
    return "".join(line + "\n" for line in lines)


def _annotation(finding: Finding, command: str) -> str:
    properties = {"file": visible(finding.path), "line": str(finding.line)} if finding.path != "." else {}
    properties["title"] = f"reviewbot: {finding.rule}"
    if finding.end_line == finding.line and finding.path != ".":
        properties["col"] = str(finding.column)  # without an end: a range to the end of the file is not shown
    body = [visible(finding.message)]
    body.extend(f"{visible(other.site.path)}:{other.site.line}: {visible(other.message)}" for other in finding.related)
    if finding.help:
        body.append(f"help: {visible(finding.help)}")
    if finding.points:
        body.append(some_points(finding.points))
    shown = ",".join(f"{name}={escape_property(value)}" for name, value in properties.items())
    return f"::{command} {shown}::{escape_data(chr(10).join(body))}"
