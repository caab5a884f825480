"""GitHub-flavoured Markdown, for a job summary or a comment."""

from __future__ import annotations

import re

from reviewbot.report.common import Report, some_points, summary, visible

_SPECIAL = re.compile(r"([\\`*_{}\[\]()+!|~$-])")
_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;"})


def escape_markdown(text: str) -> str:
    """Text as it stands: no markup, no mention, no reference to an issue, no link, no HTML."""
    escaped = _SPECIAL.sub(r"\\\1", visible(text)).translate(_ENTITIES)
    return escaped.replace("://", "&#58;//").replace("www.", "www&#46;")


def code_span(text: str) -> str:
    """Text as an inline code span, whatever backquotes it has."""
    shown = visible(text)
    fence = "`" * (max((len(run) for run in re.findall("`+", shown)), default=0) + 1)
    blank = " " if shown[:1] in ("`", " ") or shown[-1:] in ("`", " ") or not shown else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def render_markdown(report: Report) -> str:
    """New findings as a list below a summary."""
    out = [f"**reviewbot**: {summary(report)}", ""]
    for finding in report.new:
        where, rule = code_span(f"{finding.path}:{finding.line}"), code_span(finding.rule)
        out.append(f"- **{finding.level}** {where} {rule}: {escape_markdown(finding.message)}")
        for other in finding.related:
            out.append(f"  - {code_span(f'{other.site.path}:{other.site.line}')}: {escape_markdown(other.message)}")
        if finding.help:
            out.append(f"  - help: {escape_markdown(finding.help)}")
        if finding.points:
            out.append(f"  - {escape_markdown(some_points(finding.points))}")
    return "\n".join(out).rstrip("\n") + "\n"
