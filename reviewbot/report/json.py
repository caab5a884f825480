"""The public JSON form of a check, version 1: ``schemas/check-report.schema.json``."""

from __future__ import annotations

import json
from typing import Any

from reviewbot.engine.model import Finding, Fix
from reviewbot.report.common import Report, count_by_level, without_holes

VERSION = 1


def render_json(report: Report) -> str:
    return json.dumps(check_report(report), indent=2, ensure_ascii=True) + "\n"


def check_report(report: Report) -> dict[str, Any]:
    """The report as plain data; ``summary`` counts new findings by level."""
    counts = count_by_level(report.new)
    return {
        "version": VERSION,
        "findings": [finding_object(finding) for finding in report.findings],
        "summary": {
            **{f"{level}s": number for level, number in counts.items()},
            "new": len(report.new),
            "existing": len(report.findings) - len(report.new),
            "ignored": report.ignored,
            "incomplete": report.incomplete,
        },
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "path": without_holes(finding.path),
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": without_holes(finding.message),
        "help": without_holes(finding.help),
        "points": [without_holes(point) for point in finding.points],
        "related": [
            {"path": without_holes(other.site.path), "line": other.site.line, "message": without_holes(other.message)}
            for other in finding.related
        ],
        "fix": None if finding.fix is None else _fix(finding.fix),
        "fingerprint": finding.fingerprint,
        "status": finding.status,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    fields = ("path", "line", "column", "end_line", "end_column", "text")
    return {
        "title": without_holes(fix.title),
        "safe": fix.safe,
        "replacements": [
            {name: without_holes(value) if isinstance(value := getattr(item, name), str) else value for name in fields}
            for item in fix.replacements
        ],
    }
