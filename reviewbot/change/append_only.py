"""Whether entries that promise to append only keep their word: decided by rows and runs of base and head.

The rules: every selected key exists on base; nothing that is not selected changes, in masters or in runs; no scenario comes or goes;
every point of base stays, with an equal run; at least one point is new; each new one belongs to a curve that base has, with the same image.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from reviewbot.bench.changelog import ChangelogEntry, resolve
from reviewbot.bench.freeze import freeze
from reviewbot.bench.model import Point
from reviewbot.change.impact import Impact, plain_row
from reviewbot.change.lines import Diff
from reviewbot.documents.nodes import Mapping as MappingNode
from reviewbot.documents.nodes import plain
from reviewbot.documents.positions import Site

_SCENARIOS = ("fixed-seq-len", "agentic-coding")
_POINT_LEVEL = ("conc", "exp-name", "recipe-fingerprint")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``holds``: proven; ``None`` where some run cannot be proven equal. ``point`` and ``site`` are the first that break it."""

    holds: bool | None
    reason: str
    point: str | None = None
    site: Site | None = None


def append_only(entries: Iterable[ChangelogEntry], found: Impact, base: Any, head: Any, diff: Diff) -> Verdict | None:
    """The verdict on the entries with ``append-only: true``; ``None`` where there is none."""
    every = tuple(entries)
    mine = [entry for entry in every if entry.append_only]
    if not mine:
        return None
    path = head.changelog.path
    if len(mine) != len(every):
        other = next(entry for entry in every if not entry.append_only)
        return Verdict(False, "an append-only entry stands beside an ordinary one", None, other.site)
    selected: dict[str, set[str]] = defaultdict(set)
    for entry in mine:
        for key in resolve(entry, list(head.masters.index))[0]:
            selected[key].update({text.text for text in entry.scenarios} or _SCENARIOS)
    place = Site(path, mine[0].span.line)
    if not selected:
        return Verdict(False, "the entries select no key", None, place)
    for verdict in (_declared(selected, base, head, diff, place), _points(selected, found, base, head, place)):
        if verdict is not None:
            return verdict
    doubtful = next((one for one in found.changed if not one.proven), None)
    if doubtful is not None:
        cause = next((value.because for value in doubtful.values if value.because is not None), None)
        return Verdict(None, "the run of an existing point cannot be proven equal", doubtful.point.id, cause.site if cause else None)
    return Verdict(True, f"{len(found.added)} new points; every point of base is there with an equal run")


# --- what is declared ------------------------------------------------------------------------------------------------


def _declared(selected: Mapping[str, set[str]], base: Any, head: Any, diff: Diff, place: Site) -> Verdict | None:
    before, after = base.masters.index, head.masters.index
    for key in selected:
        if key not in before:
            return Verdict(False, f"{key} is not in base: there is no curve to append to", None, _site_of(after.get(key)) or place)
    for key in sorted(before.keys() | after.keys()):
        if key in selected:
            continue
        one, two = (_plain_entry(side.get(key)) for side in (before, after))
        if one != two:
            return Verdict(False, f"{key} is changed and not selected", None, _changed_site(diff, after.get(key) or before.get(key)))
    for key, scenarios in selected.items():
        one, two = _plain_entry(before[key]), _plain_entry(after[key])
        if not isinstance(one, dict) or not isinstance(two, dict):
            continue
        mine, theirs = _scenarios(one), _scenarios(two)
        if mine.keys() != theirs.keys():
            return Verdict(False, f"{key} gains or loses a scenario", None, _changed_site(diff, after[key]))
        for scenario in sorted(mine.keys() - scenarios):
            if mine[scenario] != theirs[scenario] or _top(one) != _top(two):
                return Verdict(False, f"{key} changes for {scenario}, which is not selected", None, _changed_site(diff, after[key]))
    return None


def _plain_entry(entry: Any) -> Any:
    return None if entry is None else plain(entry.node)


def _scenarios(entry: Mapping[str, Any]) -> dict[str, Any]:
    found = entry.get("scenarios")
    return dict(found) if isinstance(found, dict) else {}


def _top(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != "scenarios"}


def _site_of(entry: Any) -> Site | None:
    return entry.site if entry is not None else None


def _changed_site(diff: Diff, entry: Any) -> Site | None:
    """The first changed line of a master entry; the entry's own where there is none."""
    if entry is None:
        return None
    last = entry.node.span.end_line if isinstance(entry.node, MappingNode) else entry.site.line
    for line in range(entry.site.line, last + 1):
        if diff.added(Site(entry.site.path, line)) is not None:
            return Site(entry.site.path, line)
    return Site(entry.site.path, entry.site.line)


# --- points and runs -------------------------------------------------------------------------------------------------


def _points(selected: Mapping[str, set[str]], found: Impact, base: Any, head: Any, place: Site) -> Verdict | None:
    old, new = _curves(base.points, selected), _curves(head.points, selected)
    if not old:
        return Verdict(False, "base has no curve to append to", None, place)
    for curve, members in old.items():
        lost = members.keys() - new.get(curve, {}).keys()
        if lost:
            point = members[min(lost)]
            return Verdict(False, "a point of base is gone or has another row", point.id, point.site)
    for one in found.changed:
        if one.proven:
            value = next(value for value in one.values if value.proven)
            site = value.because.site if value.because is not None else None
            return Verdict(
                False, f"the run of an existing point changes: {value.name} is {value.head!r}, was {value.base!r}", one.point.id, site
            )
    for point in found.removed:
        return Verdict(False, "a point of base is gone", point.id, point.site)
    added = [members[conc] for curve, members in new.items() for conc in members.keys() - old.get(curve, {}).keys()]
    if not added:
        return Verdict(False, "no point is new", None, place)
    for point in found.added:
        if point.key not in selected or point.scenario not in selected[point.key]:
            return Verdict(False, "a new point is of a key or scenario that is not selected", point.id, point.site)
    images: dict[Hashable, set[object]] = defaultdict(set)
    for point in base.points:
        if point.key in selected:
            images[series(point.row)].add(point.row.get("image"))
    for point in added:
        image = point.row.get("image")
        known = images.get(series(point.row))
        if known is None:
            return Verdict(False, "a new point belongs to no curve of base", point.id, point.site)
        if image is None or known != {image}:
            return Verdict(
                False,
                f"a new point has the image {image}, its curve has {', '.join(sorted(map(str, known)))}",
                point.id,
                point.sites.get("image", point.site),
            )
    return None


def _curves(points: Iterable[Point], selected: Mapping[str, set[str]]) -> dict[Hashable, dict[int, Point]]:
    """Rows without what tells their points apart -> concurrency -> point."""
    found: dict[Hashable, dict[int, Point]] = {}
    for point in points:
        if point.scenario not in selected.get(point.key, ()):
            continue
        row = {name: value for name, value in plain_row(point.row).items() if name not in _POINT_LEVEL}
        conc = point.row.get("conc")
        for value in conc if isinstance(conc, list) else [conc]:
            if isinstance(value, int):
                found.setdefault((point.key, freeze(row)), {}).setdefault(value, point)
    return found


def series(row: Mapping[str, Any]) -> Hashable:
    """The curve of the published charts that a row belongs to."""
    agentic = row.get("scenario-type") == "agentic-coding"
    offload = row.get("kv-offloading", "none") not in (None, "", "none")
    roles: list[Mapping[str, Any]] = [row[name] if isinstance(row.get(name), dict) else {} for name in ("prefill", "decode")]
    return freeze(
        [
            row.get("model"), row.get("model-prefix"), row.get("precision"), row.get("framework"), row.get("runner"),
            bool(row.get("disagg", False)), agentic, None if agentic else row.get("isl"), None if agentic else row.get("osl"), offload,
            "" if agentic else row.get("spec-decoding", "none"), *(role.get("hardware") for role in roles),
        ]
    )  # fmt: skip
