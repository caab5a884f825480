"""Which flags and environment variables an engine has, by release: what ``extract`` found in the packages.

A question is asked about a *window* of releases: one that is known exactly, or the two neighbours of an unreleased build. A name that any
release of the window has is known. So nothing is called unknown that a neighbour has.
"""

from __future__ import annotations

import difflib
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, TypeVar

DATA = Path(__file__).with_name("engine_names.json")
_VERSION = re.compile(r"(\d+(?:\.\d+)*)(?:\.?(post|rc)(\d+))?")
_Item = TypeVar("_Item")

VersionKey = tuple[tuple[int, ...], int, int]


def version_key(version: str) -> VersionKey:
    """What orders releases: ``0.5.8`` < ``0.5.8.post1`` < ``0.5.9rc1`` < ``0.5.9``. Raises ``ValueError`` where it is none."""
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ValueError(version)
    return tuple(map(int, match[1].split("."))), {"rc": -1, None: 0, "post": 1}[match[2]], int(match[3] or 0)


def ordered(items: Iterable[_Item], version: Callable[[_Item], str]) -> list[_Item]:
    """``items`` from the oldest release to the newest."""
    return sorted(items, key=lambda item: version_key(version(item)))


@dataclass(frozen=True, slots=True)
class Window:
    """Releases that a build is one of or lies between, by position; ``exact`` where it is the release itself."""

    engine: str
    first: int
    last: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Status:
    """``known``; or else in which releases the name is: ``before`` is the last one before the window, ``after`` the first behind it.

    ``registered`` tells whether the engine declares the name, and does not only mention it somewhere.
    """

    known: bool
    registered: bool = False
    before: str | None = None
    after: str | None = None

    @property
    def ever(self) -> bool:
        return self.known or self.before is not None or self.after is not None


class Names:
    """The names of one engine."""

    def __init__(self, engine: str, data: Mapping[str, Any]) -> None:
        self.engine = engine
        self.versions: list[str] = [version for version, _ in data["versions"]]
        self.dates: list[str] = [date for _, date in data["versions"]]
        self._flags: Mapping[str, str] = data["flags"]
        self._env: Mapping[str, str] = data["env"]
        self._read: Mapping[str, str] = data["read"]
        self._on: Mapping[str, str] = data["on"]
        self._renamed: Mapping[str, tuple[str, int]] = data["renamed"]
        self.requires: Mapping[str, Mapping[str, str]] = data["requires"]

    @cached_property
    def _keys(self) -> list[VersionKey]:
        return [version_key(version) for version in self.versions]

    def at(self, version: str) -> Window | None:
        """The window of a release: itself where it was read, else its neighbours; ``None`` outside of what was read."""
        try:
            key = version_key(version)
        except ValueError:
            return None
        position = bisect_left(self._keys, key)
        if position < len(self._keys) and self._keys[position] == key:
            return Window(self.engine, position, position, True)
        if 0 < position < len(self._keys):
            return Window(self.engine, position - 1, position, False)
        return None

    def on_date(self, date: str) -> Window | None:
        """The window of a build of a day (``2026-05-28``): the last release before it and the next one behind, since what is merged
        today is released later; ``None`` outside of what was read."""
        position = bisect_left(self.dates, date)
        if not 0 < position < len(self.dates):
            return None
        # Release branches are cut some days before the release, and what was merged in between comes with the one after; a post release
        # comes from the same branch.
        last, branch = position, self._keys[position][0]
        while last < len(self.dates) - 1 and self._keys[last][0] == branch:
            last += 1
        return Window(self.engine, position - 1, last, False)

    @cached_property
    def anywhere(self) -> Window:
        """All releases."""
        return Window(self.engine, 0, len(self.versions) - 1, False)

    def describe(self, window: Window) -> str:
        """``sglang 0.5.17``, or ``sglang 0.5.16 to 0.5.17``."""
        first, last = self.versions[window.first], self.versions[window.last]
        return f"{self.engine} {first}" if first == last else f"{self.engine} {first} to {last}"

    @lru_cache(maxsize=16384)  # noqa: B019 - there are as many of these objects as engines
    def flag(self, name: str, window: Window) -> Status:
        """The status of a flag, without leading dashes, underscores as dashes; of ``a.b`` that of ``a``."""
        return self._status(name, window, self._flags)

    @lru_cache(maxsize=16384)  # noqa: B019
    def env(self, name: str, window: Window) -> Status:
        """The status of an environment variable: registered, or mentioned anywhere in the code."""
        return self._status(name, window, self._env, self._read)

    def on_by_default(self, flag: str, window: Window) -> bool:
        """Whether a switch is on in every release of the window where nothing is said."""
        inside = _positions(self._on.get(flag, ""), len(self.versions))
        return all(position in inside for position in range(window.first, window.last + 1))

    def replacement(self, name: str, window: Window) -> str | None:
        """What a name (``--flag`` or variable) that is deprecated in all of the window is called now.

        ``""`` where it has no successor, ``None`` where it is not deprecated.
        """
        found = self._renamed.get(name)
        return found[0] if found is not None and found[1] <= window.first else None

    def abbreviates(self, flag: str, window: Window) -> tuple[str, ...]:
        """The flags of the window that argparse would take ``flag`` for, by prefix."""
        last = len(self.versions)
        return tuple(
            name
            for name, ranges in self._flags.items()
            if name.startswith(flag) and any(window.first <= position <= window.last for position in _positions(ranges, last))
        )

    def similar_flag(self, name: str, window: Window) -> str | None:
        """A flag of the window that ``name`` was probably meant to be."""
        return self._similar(name, window, "flags")

    def similar_env(self, name: str, window: Window) -> str | None:
        """A variable of the window that ``name`` was probably meant to be."""
        return self._similar(name, window, "env")

    @lru_cache(maxsize=4096)  # noqa: B019 - there are as many of these objects as engines
    def _similar(self, name: str, window: Window, what: str) -> str | None:
        table, cutoff = (self._flags, 0.75) if what == "flags" else (self._env, 0.85)
        last = len(self.versions)
        known = [
            other
            for other, ranges in table.items()
            if any(window.first <= position <= window.last for position in _positions(ranges, last))
        ]
        close = difflib.get_close_matches(name, known, 1, cutoff)
        if close:
            return close[0]
        words = frozenset(re.split(r"[-_]", name))
        same = [other for other in known if len(words) > 2 and frozenset(re.split(r"[-_]", other)) >= words]
        return same[0] if len(same) == 1 else None

    def _status(self, name: str, window: Window, *tables: Mapping[str, str]) -> Status:
        before = after = -1
        for index, table in enumerate(tables):
            for position in _positions(table.get(name, ""), len(self.versions)):
                if window.first <= position <= window.last:
                    return Status(True, index == 0)
                if position < window.first:
                    before = max(before, position)
                elif after < 0 or position < after:
                    after = position
        return Status(False, False, self.versions[before] if before >= 0 else None, self.versions[after] if after >= 0 else None)


@lru_cache(maxsize=4096)
def _positions(text: str, count: int) -> frozenset[int]:
    if text == "-":
        return frozenset(range(count))
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=8)
def names_of(engine: str) -> Names | None:
    """The names of an engine; ``None`` where none of its releases was read."""
    data = _data().get(engine)
    return None if data is None else Names(engine, data)
