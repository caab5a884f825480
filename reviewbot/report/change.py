"""What ``impact``, ``reach`` and ``when`` found, as text, JSON, Markdown or HTML; and impact as a section of a review's summary."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Union

from reviewbot.change.append_only import Verdict
from reviewbot.change.command import ImpactReport, ReachReport, WhenReport
from reviewbot.change.cost import Cost
from reviewbot.change.impact import Difference
from reviewbot.change.lines import Changed
from reviewbot.change.reach import Reached
from reviewbot.change.summary import KeyRow, ValueRow, by_key, headline
from reviewbot.documents.positions import Site
from reviewbot.report.common import counted, visible, without_holes
from reviewbot.report.markdown import code_span, escape_markdown

VERSION = 1
_MOST_ROWS = 200  # of a table for people
_MOST_SHOWN = 120  # characters of a value for people

Found = Union[ImpactReport, ReachReport, WhenReport]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """Sentences, one a line."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """``code`` names the columns that hold names and values of the repository."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    code: frozenset[int] = frozenset()


Block = Union[Heading, Lines, Table]


def render(found: Found, form: str) -> str:
    """The report in one of the formats."""
    if form == "json":
        return json.dumps(as_data(found), indent=2, ensure_ascii=True) + "\n"
    blocks = list(_blocks(found))
    if form == "markdown":
        return _markdown(blocks)
    return _html(blocks) if form == "html" else _text(blocks)


def summary_markdown(report: ImpactReport) -> str:
    """The section on impact of a review's summary: one line where nothing changes, else the table of what does."""
    found = report.impact
    problems = _scope_lines(report)
    if found.empty and not problems:
        return escape_markdown(headline(found)) + "\n"
    blocks: list[Block] = [Lines((headline(found), *problems)), *_value_table(by_key(found), 40)]
    if report.append_only is not None:
        blocks.append(Lines((_verdict_line(report.append_only),)))
    if report.cost.points:
        blocks.append(Lines((_cost_line(report.cost),)))
    return _markdown(blocks, "#####")


# --- for programs ----------------------------------------------------------------------------------------------------


def as_data(found: Found) -> dict[str, Any]:
    """The report as plain data; for ``impact`` version 1 of ``schemas/impact-report.schema.json``."""
    if isinstance(found, ImpactReport):
        return _impact_data(found)
    if isinstance(found, ReachReport):
        return {
            "version": VERSION,
            "path": without_holes(found.path),
            "points": found.points,
            "head": [_reached_data(one) for one in found.head],
            "base": None if found.base is None else [_reached_data(one) for one in found.base],
        }
    history = found.history
    return {
        "version": VERSION,
        "key": found.key,
        "value": found.value,
        "commits": history.commits,
        "steps": [
            {
                "commit": step.commit,
                "subject": without_holes(step.subject),
                "changes": [
                    {"name": one.name, "before": _plain(one.before), "after": _plain(one.after), "points": list(one.points)}
                    for one in step.changes
                ],
            }
            for step in history.steps
        ],
    }


def _impact_data(report: ImpactReport) -> dict[str, Any]:
    found = report.impact
    data: dict[str, Any] = {
        "version": VERSION,
        "added": [without_holes(point.id) for point in found.added],
        "removed": [without_holes(point.id) for point in found.removed],
        "changed": [
            {
                "point": without_holes(one.point.id),
                "key": without_holes(one.point.key),
                "before": _plain(one.before),
                "proven": one.proven,
                "values": [_value_data(value) for value in one.values],
            }
            for one in found.changed
        ],
        "unchanged": found.unchanged,
        "moved": [{"base": without_holes(old), "head": without_holes(new)} for old, new in found.moved],
        "changelog": {
            "entries": len(report.scope.entries),
            "missing": [
                {
                    "key": one.key, "scenarios": list(one.scenarios), "proven": one.proven,
                    "points": [without_holes(point) for point in one.points],
                }
                for one in report.scope.missing
            ],
            "needless": [{"key": one.key, **_site(one.site)} for one in report.scope.needless],
            "lost": [{"pattern": without_holes(pattern), **_site(site)} for pattern, site in report.scope.lost],
        },
        "append_only": None,
        "cost": {
            "gpu_hours": round(report.cost.gpu_hours, 2),
            "unknown": [without_holes(point) for point in report.cost.unknown],
            "points": [
                {
                    "point": without_holes(one.point), "gpus": one.gpus, "seconds": one.seconds, "jobs": one.jobs, "evals": one.evals,
                    "gpu_hours": None if one.gpu_hours is None else round(one.gpu_hours, 2),
                }
                for one in report.cost.points
            ],
        },
    }  # fmt: skip
    verdict = report.append_only
    if verdict is not None:
        site = None if verdict.site is None else _site(verdict.site)
        data["append_only"] = {
            "holds": verdict.holds,
            "reason": without_holes(verdict.reason),
            "point": _plain(verdict.point),
            "site": site,
        }
    if report.hunks is not None:
        data["hunks"] = [
            {**_hunk(one.hunk), "base": list(map(without_holes, one.base)), "head": list(map(without_holes, one.head))}
            for one in report.hunks
        ]
    return data


def _value_data(value: Difference) -> dict[str, Any]:
    because = value.because
    return {
        "name": without_holes(value.name),
        "base": _plain(value.base),
        "head": _plain(value.head),
        "proven": value.proven,
        "launchers": [without_holes(name) for name in value.launchers],
        "because": None if because is None else {**_site(because.site), "side": because.side},
    }


def _hunk(hunk: Changed) -> dict[str, Any]:
    return {
        "path": without_holes(hunk.path), "base_start": hunk.base_start, "base_count": hunk.base_count, "head_start": hunk.head_start,
        "head_count": hunk.head_count,
    }  # fmt: skip


def _reached_data(one: Reached) -> dict[str, Any]:
    return {
        "line": one.line,
        "end": one.end,
        "conditions": [{"line": other.line, "text": without_holes(other.text), "holds": other.holds} for other in one.conditions],
        "points": [without_holes(point) for point in one.points],
    }


def _site(site: Site) -> dict[str, Any]:
    return {"path": without_holes(site.path), "line": site.line}


def _plain(text: str | None) -> str | None:
    return None if text is None else without_holes(text)


# --- for people ------------------------------------------------------------------------------------------------------


def _blocks(found: Found) -> Iterator[Block]:
    if isinstance(found, ImpactReport):
        yield from _impact_blocks(found)
    elif isinstance(found, ReachReport):
        yield from _reach_blocks(found)
    else:
        yield from _when_blocks(found)


def _impact_blocks(report: ImpactReport) -> Iterator[Block]:
    found = report.impact
    yield Lines((headline(found),))
    keys = by_key(found)
    if keys:
        rows = tuple(
            (row.key, *(str(len(some)) if some else "" for some in (row.added, row.removed, row.changed, row.unproven))) for row in keys
        )
        yield Table(("key", "added", "removed", "changed", "not proven equal"), rows[:_MOST_ROWS], frozenset({0}))
    yield from _value_table(keys, _MOST_ROWS)
    for title, points in (("Added points", found.added), ("Removed points", found.removed)):
        if points:
            yield Heading(title)
            yield Lines(tuple(point.id for point in points[:_MOST_ROWS]))
    problems = _scope_lines(report)
    if problems:
        yield Heading("Changelog")
        yield Lines(problems)
    if report.append_only is not None:
        yield Heading("Append only")
        yield Lines((_verdict_line(report.append_only),))
    if report.hunks:
        yield Heading("Who reaches what changed")
        rows = tuple(
            (_hunk_place(one.hunk), str(len(one.base)), str(len(one.head)), _some(one.head or one.base))
            for one in report.hunks[:_MOST_ROWS]
        )
        yield Table(("lines", "on base", "on head", "points"), rows, frozenset({0}))
    if report.cost.points:
        yield Heading("Cost")
        yield Lines((_cost_line(report.cost),))


def _value_table(keys: Sequence[KeyRow], most: int) -> Iterator[Block]:
    left = most
    for row in keys:
        if row.values and left > 0:
            yield Heading(f"{row.key}: {counted(len(row.changed) + len(row.unproven), 'point')}")
            yield Table(("value", "base", "head", "because", "points"), tuple(map(_value_row, row.values[:left])), frozenset({0, 1, 2, 3}))
            left -= len(row.values)
    if left < 0:
        yield Lines((f"and {-left} more values",))


def _value_row(value: ValueRow) -> tuple[str, ...]:
    doubt = "" if value.proven else " (cannot be proven equal)"
    because = str(value.because) if value.because is not None else ""
    return value.name, _shown(value.base), _shown(value.head) + doubt, because, _some(value.points, 1)


def _scope_lines(report: ImpactReport) -> tuple[str, ...]:
    scope = report.scope
    lines = [
        f"{one.key} ({', '.join(one.scenarios)}) {'changes' if one.proven else 'may change'} in {counted(len(one.points), 'point')} "
        "and no added changelog entry selects it"
        for one in scope.missing
    ]
    lines += [f"{one.site}: {one.key} is selected and none of its runs changes" for one in scope.needless]
    lines += [f"{site}: {pattern} selects no key" for pattern, site in scope.lost]
    return tuple(lines)


def _verdict_line(verdict: Verdict) -> str:
    word = {True: "holds", False: "broken", None: "cannot be proven"}[verdict.holds]
    place = f" ({verdict.site})" if verdict.site is not None else ""
    point = f"{verdict.point}: " if verdict.point is not None else ""
    return f"{word}: {point}{verdict.reason}{place}"


def _cost_line(cost: Cost) -> str:
    evals = sum(one.evals for one in cost.points)
    jobs = sum(one.jobs for one in cost.points)
    size = f"{counted(jobs, 'job')} and {counted(evals, 'eval')}"
    if not cost.unknown:
        return f"At most {cost.gpu_hours:.0f} GPU-hours: {size}."
    unknown = f"the GPUs or the time limit of {counted(len(cost.unknown), 'point')} are not known"
    return f"{size}; {unknown}, the others take at most {cost.gpu_hours:.0f} GPU-hours." if cost.gpu_hours else f"{size}; {unknown}."


def _reach_blocks(found: ReachReport) -> Iterator[Block]:
    before = found.base
    for number, one in enumerate(found.head):
        place = f"{one.path}:{one.line}" + (f"-{one.end}" if one.end != one.line else "")
        lines = [f"{place}: {len(one.points)} of {counted(found.points, 'point')}"]
        lines += [f"  {'if' if other.holds else 'unless'} {other.text} (line {other.line})" for other in one.conditions]
        if before is not None and len(before) == len(found.head):
            gone = [point for point in before[number].points if point not in one.points]
            new = [point for point in one.points if point not in before[number].points]
            lines.append(f"  on base: {len(before[number].points)}; new: {_some(new) or 'none'}; gone: {_some(gone) or 'none'}")
        elif before is not None and not before:
            lines.append("  on base: there is no such line")
        if one.points:
            lines.append(f"  {_some(one.points, 200 if len(found.head) == 1 else 3)}")
        yield Lines(tuple(lines))


def _when_blocks(found: WhenReport) -> Iterator[Block]:
    history = found.history
    if not history.steps:
        yield Lines((f"{found.value} of {found.key} did not change in {counted(history.commits, 'commit')}",))
        return
    for step in history.steps:
        yield Heading(f"{step.commit[:12]} {step.subject}")
        rows = tuple((one.name, _shown(one.before), _shown(one.after), _some(one.points)) for one in step.changes[:_MOST_ROWS])
        yield Table(("value", "before", "after", "points"), rows, frozenset({0, 1, 2}))


def _hunk_place(hunk: Changed) -> str:
    if hunk.head_count:
        return f"{hunk.path}:{hunk.head_start}" + (f"-{hunk.head_start + hunk.head_count - 1}" if hunk.head_count > 1 else "")
    return f"{hunk.path}: {hunk.base_count} deleted before line {hunk.head_start}"


def _some(points: Sequence[str], most: int = 3) -> str:
    rest = f" and {len(points) - most} more" if len(points) > most else ""
    return ", ".join(points[:most]) + rest


def _shown(text: str | None) -> str:
    if text is None:
        return "not set"
    flat = " ".join(text.split()) if text.strip() else repr(text)
    return flat if len(flat) <= _MOST_SHOWN else flat[: _MOST_SHOWN - 3] + "..."


# --- blocks in each format -------------------------------------------------------------------------------------------


def _text(blocks: Sequence[Block]) -> str:
    out: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            out += ["", visible(block.text)]
        elif isinstance(block, Lines):
            out += [visible(item) for item in block.items]
        else:
            rows = [block.head, *block.rows]
            cells = [[visible(cell) for cell in row] for row in rows]
            widths = [min(max(len(row[column]) for row in cells), 60) for column in range(len(block.head))]
            out += ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(out).strip("\n") + "\n"


def _markdown(blocks: Sequence[Block], level: str = "####") -> str:
    out: list[str] = []
    for block in blocks:
        if isinstance(block, Heading):
            out += [f"{level} {escape_markdown(block.text)}", ""]
        elif isinstance(block, Lines):
            if len(block.items) == 1:
                out += [escape_markdown(block.items[0]), ""]
            else:
                out += [*(f"- {escape_markdown(item.strip())}" for item in block.items), ""]
        else:
            out += ["| " + " | ".join(map(escape_markdown, block.head)) + " |", "|" + " --- |" * len(block.head)]
            for row in block.rows:
                cells = (_code_cell(cell) if number in block.code and cell else escape_markdown(cell) for number, cell in enumerate(row))
                out.append("| " + " | ".join(cells) + " |")
            out.append("")
    return "\n".join(out).strip("\n") + "\n"


def _code_cell(text: str) -> str:
    return code_span(text).replace("|", "\\|")


def _html(blocks: Sequence[Block]) -> str:
    out = ["<!doctype html>", '<meta charset="utf-8">', "<title>reviewbot</title>", f"<style>{_STYLE}</style>"]
    for block in blocks:
        if isinstance(block, Heading):
            out.append(f"<h2>{_escaped(block.text)}</h2>")
        elif isinstance(block, Lines):
            out += [f"<p>{_escaped(item)}</p>" for item in block.items]
        else:
            out += ["<table>", "<tr>" + "".join(f"<th>{_escaped(cell)}</th>" for cell in block.head) + "</tr>"]
            for row in block.rows:
                cells = (
                    f"<td><code>{_escaped(c)}</code></td>" if n in block.code and c else f"<td>{_escaped(c)}</td>"
                    for n, c in enumerate(row)
                )
                out.append("<tr>" + "".join(cells) + "</tr>")
            out.append("</table>")
    return "\n".join(out) + "\n"


_STYLE = (
    "body{font:14px sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #999;padding:.2em .5em;text-align:left}"
)


def _escaped(text: str) -> str:
    return html.escape(visible(text), quote=True)
