"""SARIF 2.1.0 within the limits of GitHub code scanning.

The fingerprint stands under a key of its own: ``primaryLocationLineHash`` is left to the uploader, which computes it from the file. What
comments or a baseline hide is left out, since suppressions are not honoured there. A crash is a notification, not a result.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from reviewbot import __version__
from reviewbot.engine.model import Finding, Level
from reviewbot.engine.registry import RuleModule
from reviewbot.report.common import Report, some_points, visible

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FINGERPRINT_KEY = "reviewbot/v1"
MAX_RESULTS = 25_000
MAX_TEXT = 1_024
MAX_RELATED = 100
_SEVERITY = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "recommendation"}


def render_sarif(report: Report) -> str:
    return json.dumps(sarif_log(report), indent=1, ensure_ascii=True) + "\n"


def sarif_log(report: Report) -> dict[str, Any]:
    """The log as plain data; the worst findings come first, so that a limit cuts the least."""
    findings = sorted((finding for finding in report.new if finding.path != "."), key=lambda finding: -finding.level)
    names = sorted({finding.rule for finding in findings})
    numbers = {name: number for number, name in enumerate(names)}
    driver = {
        "name": "reviewbot",
        "semanticVersion": __version__,
        "rules": [_rule(name, report.rules.get(name)) for name in names],
    }
    notifications = [
        {"level": str(finding.level), "message": {"text": visible(finding.message)}} for finding in report.new if finding.path == "."
    ]
    run = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "reviewbot/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": not report.incomplete, "toolExecutionNotifications": notifications}],
        "results": [_result(finding, numbers[finding.rule], report) for finding in findings[:MAX_RESULTS]],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(name: str, module: RuleModule | None) -> dict[str, Any]:
    title = module.page.title if module else name
    what = module.page.sections.get("What", title) if module else title
    level = module.rule.level if module else Level.WARNING
    text = "\n\n".join(f"{heading}\n{body}" for heading, body in module.page.sections.items()) if module else title
    return {
        "id": name,
        "name": name,
        "shortDescription": {"text": _short(title)},
        "fullDescription": {"text": _short(" ".join(what.split()))},
        "help": {"text": text},
        "defaultConfiguration": {"level": str(level)},
        "properties": {
            "tags": [module.family] if module else [],
            "precision": "medium" if module and module.rule.guess else "high",
            "problem.severity": _SEVERITY[level],
        },
    }


def _result(finding: Finding, number: int, report: Report) -> dict[str, Any]:
    parts = [visible(finding.message)]
    if finding.help:
        parts.append(f"help: {visible(finding.help)}")
    if finding.points:
        parts.append(some_points(finding.points))
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": str(finding.level),
        "message": {"text": _plain("\n".join(parts))},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": _uri(report.resolve(finding.path))}, "region": _region(finding)}}
        ],
        "partialFingerprints": {FINGERPRINT_KEY: finding.fingerprint or "0"},
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(report.resolve(other.site.path))},
                    "region": {"startLine": max(other.site.line, 1)},
                },
                "message": {"text": _plain(visible(other.message)) or "see here"},
            }
            for other in finding.related[:MAX_RELATED]
        ]
    return result


def _region(finding: Finding) -> dict[str, int]:
    line, column = max(finding.line, 1), max(finding.column, 1)
    end_line = max(finding.end_line, line)
    end_column = max(finding.end_column, column if end_line == line else 1)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def _uri(path: str) -> str:
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        raw = path.encode("utf-8", "backslashreplace")
    return quote(raw, safe="/") or "."


def _plain(text: str) -> str:
    # Brackets make embedded links in a SARIF message, braces placeholders.
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace("{", "{{").replace("}", "}}")


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."
