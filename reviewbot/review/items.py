"""A finding with its place in a pull request and, where its fix applies cleanly, a suggestion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from reviewbot.engine.model import Finding, Fix
from reviewbot.review.diffmap import Anchor, DiffMap, fits, place
from reviewbot.review.markup import is_plain

MAX_SUGGESTION = 200  # lines

Lines = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Item:
    """``path`` is the finding's from the top of the repository. ``suggestion`` holds the lines to put in the place of the anchor's lines,
    ``None`` where there is none (no lines at all: they are to be deleted)."""

    finding: Finding
    anchor: Anchor
    path: str
    suggestion: tuple[str, ...] | None = None


def make_items(findings: Iterable[Finding], diff: DiffMap | None, lines: Lines) -> list[Item]:
    """The findings, each at its place, the most severe first. ``lines`` gives the lines of a file of the head by the path of a finding."""
    items = []
    prefix = diff.prefix if diff is not None else ""
    for finding in sorted(findings, key=lambda f: (-f.level, f.path, f.line, f.column, f.rule, f.fingerprint)):
        path = finding.path if finding.path == "." else prefix + finding.path
        item = Item(finding, place(finding, diff), path)
        if diff is not None and finding.fix is not None:
            item = _with_suggestion(item, finding.fix, diff, lines)
        items.append(item)
    return items


def without_line(item: Item) -> Item:
    """The item for the summary alone, after GitHub refused its place."""
    return replace(item, anchor=Anchor("summary", item.path), suggestion=None)


def _with_suggestion(item: Item, fix: Fix, diff: DiffMap, lines: Lines) -> Item:
    changed = _replaced(fix, item.finding.path, lines) if fix.safe else None
    if changed is None:
        return item
    start, end, text = changed
    anchor = fits(diff, item.path, start, end)
    return item if anchor is None else replace(item, anchor=anchor, suggestion=text)


def _replaced(fix: Fix, path: str, lines: Lines) -> tuple[int, int, tuple[str, ...]] | None:
    """First and last line that a fix replaces and what they become; ``None`` where that is not clean."""
    if not fix.replacements or any(item.path != path for item in fix.replacements):
        return None
    whole = list(lines(path))
    start = min(item.line for item in fix.replacements)
    end = max(item.end_line - 1 if item.end_column <= 1 and item.end_line > item.line else item.end_line for item in fix.replacements)
    # ``lines`` ends with an empty line where the file ends with a newline: without one the last line cannot be suggested.
    if start < 1 or end >= len(whole) or end - start >= MAX_SUGGESTION:
        return None
    text = "".join(line + "\n" for line in whole[start - 1 : end])
    offsets = [0]
    for line in whole[start - 1 : end]:
        offsets.append(offsets[-1] + len(line) + 1)
    before = len(text) + 1
    for item in sorted(fix.replacements, key=lambda item: (item.line, item.column), reverse=True):
        first, last = _offset(offsets, item.line - start, item.column), _offset(offsets, item.end_line - start, item.end_column)
        if first is None or last is None or first > last or last > before:
            return None
        text = text[:first] + item.text + text[last:]
        before = first
    if text and not text.endswith("\n"):
        return None
    result = tuple(text.split("\n")[:-1])
    if not all(is_plain(line) for line in (*result, *whole[start - 1 : end])) or result == tuple(whole[start - 1 : end]):
        return None
    return start, end, result


def _offset(offsets: list[int], line: int, column: int) -> int | None:
    if not 0 <= line < len(offsets) or column < 1:
        return None
    offset = offsets[line] + column - 1
    return offset if offset <= offsets[-1] else None
