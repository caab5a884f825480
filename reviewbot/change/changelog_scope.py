"""The keys whose runs change against the keys that the added changelog entries select."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reviewbot.bench.changelog import ChangelogEntry, resolve
from reviewbot.bench.model import Point
from reviewbot.change.impact import Impact
from reviewbot.documents.positions import Site

_SCENARIOS = ("fixed-seq-len", "agentic-coding")


@dataclass(frozen=True, slots=True)
class Missing:
    """A key (of ``scenarios``) whose runs change and that no added entry selects. ``proven`` is false where they only may change."""

    key: str
    scenarios: tuple[str, ...]
    points: tuple[str, ...]
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Needless:
    """A key that an added entry selects though no run of it changes; ``site`` is the entry's line of it."""

    key: str
    site: Site


@dataclass(frozen=True, slots=True)
class Scope:
    """``entries`` are those that head has and base has not; ``selected`` maps a key to the scenarios they select."""

    entries: tuple[ChangelogEntry, ...]
    selected: Mapping[str, frozenset[str]]
    missing: tuple[Missing, ...]
    needless: tuple[Needless, ...]
    lost: tuple[tuple[str, Site], ...] = ()  # patterns that name no key


def added_entries(base: Any, head: Any) -> tuple[ChangelogEntry, ...]:
    """The entries of head's changelog whose text base's has not."""
    if head.changelog is None:
        return ()
    before: dict[object, int] = {}
    for entry in base.changelog.entries if base.changelog is not None else ():
        before[_said(entry)] = before.get(_said(entry), 0) + 1
    found: list[ChangelogEntry] = []
    for entry in head.changelog.entries:
        said = _said(entry)
        if before.get(said, 0):
            before[said] -= 1
        else:
            found.append(entry)
    return tuple(found)


def _said(entry: ChangelogEntry) -> object:
    """All that an entry says but its link, which is corrected later."""
    return (
        tuple(text.text for text in entry.keys), tuple(text.text for text in entry.description),
        tuple(text.text for text in entry.scenarios),
        entry.evals_only, entry.all_evals, entry.append_only, entry.min_prefill_ep,
    )  # fmt: skip


def changelog_scope(found: Impact, base: Any, head: Any) -> Scope:
    """Compares what changes with what the added entries say. A removed point is no reason for an entry."""
    entries = added_entries(base, head)
    keys = list(dict.fromkeys(point.key for point in head.points))
    selected: dict[str, set[str]] = {}
    places: dict[str, Site] = {}
    lost: list[tuple[str, Site]] = []
    path = head.changelog.path if head.changelog is not None else ""
    for entry in entries:
        mine, unknown = resolve(entry, [*keys, *(key for key in head.masters.index if key not in keys)])
        lost.extend((text.text, Site(path, text.span.line)) for text in unknown)
        for key in mine:
            scenarios = {text.text for text in entry.scenarios} or set(_SCENARIOS)
            selected.setdefault(key, set()).update(scenarios)
            pattern = next((text for text in entry.keys if text.text == key), None)
            places.setdefault(key, Site(path, pattern.span.line) if pattern is not None else entry.site)
    touched = [(point, True) for point in found.added] + [(one.point, one.proven) for one in found.changed]
    missing = _missing(touched, selected)
    changing = {point.key for point, _ in touched} | {point.key for point in found.removed}
    measured = {key for entry in entries if not entry.evals_only and not entry.all_evals for key in resolve(entry, keys)[0]}
    needless = tuple(Needless(key, places[key]) for key in selected if key in measured and key not in changing)
    return Scope(entries, {key: frozenset(some) for key, some in selected.items()}, missing, needless, tuple(lost))


def _missing(touched: Iterable[tuple[Point, bool]], selected: Mapping[str, set[str]]) -> tuple[Missing, ...]:
    groups: dict[str, list[tuple[Point, bool]]] = {}
    for point, proven in touched:
        if point.scenario not in selected.get(point.key, ()):
            groups.setdefault(point.key, []).append((point, proven))
    return tuple(
        Missing(
            key,
            tuple(dict.fromkeys(point.scenario for point, _ in some)),
            tuple(point.id for point, _ in some),
            any(proven for _, proven in some),
        )
        for key, some in sorted(groups.items())
    )
