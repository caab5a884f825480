"""A launcher replaces a value that the recipe's author wrote

What
A launcher edits the recipe before it submits it, and the edit lowers a number or replaces a value that stands in the recipe.

Why
The file says one thing, the job gets another. A health check cut to half ends a healthy start-up of a large model; whoever reads the
recipe looks for the cause everywhere else. An edit that raises a number is what such lines are for and is not reported; neither is the
job's name.

Example
    # recipe
    health_check:
      max_attempts: 1440
    # launcher
    sed -i 's/^  max_attempts: [0-9]*/  max_attempts: 720/' "$CONFIG_FILE"

Instead
    # launcher: only where the recipe asks for less
    sed -i -E 's/^  max_attempts: ([0-9]{1,2}|[1-6][0-9]{2}|7[01][0-9])$/  max_attempts: 720/' "$CONFIG_FILE"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.durations import duration
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.runs.model import Run
from reviewbot.trace.values import is_known

RULE = Rule("recipe-value-overridden", Level.WARNING, scope="run")

_PAIR = re.compile(r"^\s*(?:- )?(?P<key>[\w.-]+|\"[^\"]*\"|'[^']*'):\s+(?P<value>[^#]*?)\s*(?:#.*)?$")
_LABELS = frozenset({"name"})  # names a job, decides nothing about it


@dataclass(frozen=True, slots=True)
class _Change:
    line: Site
    by: Site
    key: str
    written: str
    gets: str


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        for change in dict.fromkeys(_changes(run)):
            related = [Related(change.by, f"replaces it with `{change.gets}`")]
            budget = _budget(change, run, related)
            yield context.finding(
                RULE,
                f"`{change.key}: {change.written}` is written here, but the job gets {change.gets}: "
                f"{change.by} rewrites it before it submits{budget}",
                change.line,
                help=f"let the launcher change only values that are lower than {change.gets}, or take the value out of the recipe"
                if _number(change.gets) is not None
                else "let the launcher leave a written value alone, or take the value out of the recipe",
                touches=[run],
                related=related,
                subject=f"{change.key}: {change.written} -> {change.gets}",
            )


def _changes(run: Run) -> Iterator[_Change]:
    if run.outcome != "submit" or run.text is None:
        return
    lines: list[str] | None = None
    for index, origin in enumerate(run.text.origins):
        if origin.site is None or not origin.by:
            continue
        if lines is None:
            lines = run.text.text.split("\n")
        written = _PAIR.match(origin.by[0][1] or "")
        gets = _PAIR.match(lines[index])
        if written is None or gets is None or written["key"] != gets["key"] or written["key"] in _LABELS:
            continue
        if not is_known(gets["value"]):
            continue
        if written["value"] != gets["value"] and _takes_away(written["value"], gets["value"]):
            yield _Change(origin.site, origin.by[-1][0], written["key"], written["value"], gets["value"])


def _takes_away(written: str, gets: str) -> bool:
    """Whether an edit denies what was written: a lower number, another text, but not a raised number or a filled-in nothing."""
    before, after = _number(written), _number(gets)
    if before is not None and after is not None:
        return after < before
    return _plain(written) != _plain(gets) and _plain(written) not in ("", "null", "~") and "__" not in written


def _number(text: str) -> float | None:
    try:
        number = float(_plain(text).replace("_", ""))
    except ValueError:
        return None
    return number if isfinite(number) else None


def _plain(text: str) -> str:
    return text.strip().strip("\"'")


def _budget(change: _Change, run: Run, related: list[Related]) -> str:
    """What a change of the health check means in time, and which wait of an engine ends first all the same."""
    recipe = run.recipe
    before, after = _number(change.written), _number(change.gets)
    if change.key not in ("max_attempts", "interval_seconds") or recipe is None or before is None or after is None:
        return ""
    other = recipe.health_interval if change.key == "max_attempts" else recipe.health_attempts
    written = _number(str(other.value)) if other is not None else None
    factor = written if written is not None else (10.0 if change.key == "max_attempts" else 180.0)
    unit = f" at {factor:g} s" if change.key == "max_attempts" else f" x {factor:g}"
    text = f": {duration(before * factor)} becomes {duration(after * factor)}{unit}"
    limit = _engine_limit(run)
    if limit is not None and limit[1] < before * factor:
        name, seconds, site = limit
        when = "still ends the wait first" if seconds <= after * factor else "no longer ends the wait first"
        related.append(Related(site, f"`{name}` is {seconds:g} s ({duration(seconds)}) and {when}"))
        text += f"; `{name}` ({seconds:g} s) {when}"
    return text


def _engine_limit(run: Run) -> tuple[str, float, Site] | None:
    for server in run.servers:
        for name, setting in server.env.items():
            if name.endswith("_READY_TIMEOUT_S") and setting.value is not None and setting.layers:
                seconds = _number(setting.value)
                if seconds is not None:
                    return name, seconds, setting.layers[-1].site
    return None
