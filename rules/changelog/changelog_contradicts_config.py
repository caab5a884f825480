"""A changelog entry says something else than the configuration

What
The text of an added entry names an image, concurrencies, a parallelism or a commit that the config keys it names do not have.

Why
The changelog is what is published beside the results. What it says wrongly is either a wrong text or a change that is not in the
configuration yet.

Example
    # image of toy-fp8-lab-vllm: vllm/vllm-openai:v0.11.0
    - "Use vllm/vllm-openai:v0.12.0, conc [8, 16, 32]"

Instead
    - "Use vllm/vllm-openai:v0.11.0, conc [8, 16]"
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reviewbot.bench.changelog import ChangelogEntry, Text, resolve
from reviewbot.bench.model import Point
from reviewbot.change.changelog_scope import added_entries
from reviewbot.documents.positions import Site
from reviewbot.documents.prose import Said, said
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("changelog-contradicts-config", Level.WARNING, frozenset({"bench", "change"}))

_PARALLEL = ("tp", "ep", "pp", "dcp-size", "pcp-size", "num-worker")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.bench.changelog is None:
        return
    for entry in added_entries(context.base.bench, context.bench):
        keys, _ = resolve(entry, list(context.bench.by_key))
        scenarios = {text.text for text in entry.scenarios}
        points = [point for key in keys for point in context.bench.by_key[key] if not scenarios or point.scenario in scenarios]
        if points:
            yield from _entry(context, entry, points)


def _entry(context: Context, entry: ChangelogEntry, points: list[Point]) -> Iterator[Finding]:
    path = context.bench.changelog.path
    for text in entry.description:
        for claim in said(text.text):
            found = _judge(context, claim, points)
            if found is None:
                continue
            message, level, site = found
            yield context.finding(
                RULE,
                message,
                Site(path, _line(text, claim)),
                help="correct the text or the configuration",
                related=[(site, "the configuration")],
                level=level,
                subject=f"{claim.kind} {claim.text} {points[0].key}",
            )


def _line(text: Text, claim: Said) -> int:
    """The line of a claim, where the text is written over several; a folded one has lost its line breaks."""
    return min(text.span.line + text.text.count("\n", 0, claim.start), text.span.end_line)


def _judge(context: Context, claim: Said, points: list[Point]) -> tuple[str, Level, Site] | None:
    first = points[0]
    site = first.site
    if claim.kind == "image":
        images = {str(point.row.get("image", "")) for point in points}
        name, _, tag = claim.text.replace("#", "/").rpartition(":")
        same = [image for image in sorted(images) if image.replace("#", "/").rpartition(":")[0].endswith(name)]
        if not same or any(image.rpartition(":")[2] == tag for image in images):
            return None
        named = next(point for point in points if str(point.row.get("image")) == same[0])
        said_of = f"the image of `{named.key}` is `{same[0]}`"
        if len(images) > 1:
            said_of = f"no key of the entry has that image; {said_of}"
        return f"the text names `{claim.text}`; {said_of}", Level.WARNING, named.sites.get("image", named.site)
    if claim.kind in ("list", "range"):
        group = [point for point in points if _is_of(point.row, claim)] if claim.groups else points
        if not group:
            return None
        present = {value for point in group for value in _concurrencies(point.row)}
        lost = [value for value in claim.numbers if value not in present]
        if not lost or not present:
            return None
        of = f" of {claim.groups[0][0].upper()}{claim.groups[0][1]}" if claim.groups else ""
        there = ", ".join(map(str, sorted(present)[:24]))
        what = f"concurrencies `{claim.text}`{of}"
        are = "is" if len(lost) == 1 else "are"
        message = f"the text names {what}; {', '.join(map(str, lost))} {are} in no row (there are {there})"
        return message, Level.NOTE, group[0].site
    if claim.kind == "parallel":
        numbers = {value for point in points for value in _parallel(point.row)}
        if claim.numbers[0] in numbers or not numbers or claim.numbers[0] == 1:
            return None
        return f"the text names {claim.text}; no row of the entry's keys has {claim.numbers[0]} in any of tp and ep", Level.NOTE, site
    return None if _known_commit(context, claim.text) else (f"the commit {claim.text} of the text is in no configuration", Level.NOTE, site)


def _roles(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row, *(row[role] for role in ("prefill", "decode", "worker") if isinstance(row.get(role), Mapping))]


def _parallel(row: Mapping[str, Any]) -> Iterator[int]:
    for part in _roles(row):
        sizes = [value for name in _PARALLEL if isinstance(value := part.get(name), int)]
        yield from sizes
        tp, pp = part.get("tp"), part.get("pp", 1)
        if isinstance(tp, int) and isinstance(pp, int):
            yield tp * pp
        for name in ("dcp-size", "pcp-size"):
            if isinstance(tp, int) and isinstance(part.get(name), int):
                yield tp * part[name]


def _is_of(row: Mapping[str, Any], claim: Said) -> bool:
    name, value = claim.groups[0]
    for part in _roles(row):
        if part.get("tp") != value and not (name in ("dep", "ep", "tep") and part.get("ep") == value):
            continue
        attention = part.get("dp-attn") in (True, "true")
        if name == "dep" or claim.attention:
            if attention or (name == "dep" and part.get("ep") == value):
                return True
        elif not attention:
            return True
    return False


def _concurrencies(row: Mapping[str, Any]) -> list[int]:
    conc = row.get("conc")
    return [value for value in (conc if isinstance(conc, (list, tuple)) else [conc]) if isinstance(value, int)]


def _known_commit(context: Context, commit: str) -> bool:
    """Whether a file that says what runs holds the commit."""
    bench = context.bench
    paths = [*context.documents.paths("master"), *bench.recipe_files, *bench.scripts]
    return any(commit in line for path in paths for line in context.lines(path))
