"""What the summary of a review says about impact: one line where nothing changes, else which points and values do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from reviewbot.change.impact import ChangedPoint, Impact
from reviewbot.change.lines import Because


@dataclass(frozen=True, slots=True)
class ValueRow:
    """A value that differs in the same way for ``points`` of one key."""

    name: str
    base: str | None
    head: str | None
    proven: bool
    because: Because | None
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What happens to the points of one key."""

    key: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    unproven: tuple[str, ...]
    values: tuple[ValueRow, ...]


def by_key(found: Impact) -> list[KeyRow]:
    """The touched keys, in alphabetical order."""
    keys = sorted({point.key for point in (*found.added, *found.removed)} | {one.point.key for one in found.changed})
    return [
        KeyRow(
            key,
            tuple(point.id for point in found.added if point.key == key),
            tuple(point.id for point in found.removed if point.key == key),
            tuple(one.point.id for one in found.changed if one.point.key == key and one.proven),
            tuple(one.point.id for one in found.changed if one.point.key == key and not one.proven),
            tuple(_values(one for one in found.changed if one.point.key == key)),
        )
        for key in keys
    ]


def _values(changed: Iterable[ChangedPoint]) -> Iterable[ValueRow]:
    groups: dict[tuple[str, str | None, str | None, bool, Because | None], list[str]] = {}
    for one in changed:
        for value in one.values:
            place = (value.name, value.base, value.head, value.proven, value.because)
            groups.setdefault(place, []).append(one.point.id)
    return [ValueRow(*place, tuple(dict.fromkeys(points))) for place, points in groups.items()]


def headline(found: Impact) -> str:
    """One line: what a reviewer has to know first."""
    if found.empty:
        return f"No point changes: all {found.unchanged} run as before."
    certain = sum(one.proven for one in found.changed)
    doubtful = len(found.changed) - certain
    pieces = [
        f"{number} {word}"
        for number, word in (
            (len(found.added), "added"), (len(found.removed), "removed"), (certain, "changed"), (doubtful, "that cannot be proven equal"),
        )
        if number
    ]  # fmt: skip
    return f"Points: {', '.join(pieces)}; {found.unchanged} run as before."
