"""Where a repository keeps what: paths and patterns, found by an adapter or given by settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from reviewbot.settings import Settings


@dataclass(frozen=True, slots=True)
class Layout:
    """Patterns are ``/``-separated globs: ``*`` and ``?`` stay within a name, ``**`` crosses folders. Empty: there is none.

    ``generator`` names source files whose constants decide how masters expand.
    """

    masters: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ("runners/launch_*.sh",)
    workflows: tuple[str, ...] = (".github/workflows/*.yml", ".github/workflows/*.yaml")
    scripts: tuple[str, ...] = ("**/*.sh",)
    recipes: tuple[str, ...] = ("**/srt-slurm-recipes/**/*.yaml",)
    changelog: str = "perf-changelog.yaml"
    generator: tuple[str, ...] = ()


def given_layout(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The fields of a layout that settings give."""
    own = settings.layout
    given = {
        "masters": own.masters, "runners": own.runners, "launchers": own.launchers, "workflows": own.workflows, "recipes": own.recipes,
    }  # fmt: skip
    return {name: globs for name, globs in given.items() if globs}


def with_given(layout: Layout, given: Mapping[str, tuple[str, ...]]) -> Layout:
    """The layout with the fields of ``given`` in place of its own."""
    return replace(
        layout,
        masters=given.get("masters", layout.masters),
        runners=given.get("runners", layout.runners),
        launchers=given.get("launchers", layout.launchers),
        workflows=given.get("workflows", layout.workflows),
        recipes=given.get("recipes", layout.recipes),
    )


@lru_cache(maxsize=256)
def _pattern(glob: str) -> re.Pattern[str]:
    parts: list[str] = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob):
        parts.append({"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece, re.escape(piece)))
    return re.compile("".join(parts))


def matches_any(path: str, globs: Iterable[str]) -> bool:
    return any(_pattern(glob).fullmatch(path) is not None for glob in globs)


def select(paths: Iterable[str], globs: Sequence[str]) -> list[str]:
    """The paths that a pattern of ``globs`` matches, in their order."""
    if not globs:
        return []
    whole = re.compile("|".join(f"(?:{_pattern(glob).pattern})" for glob in globs))
    return [path for path in paths if whole.fullmatch(path) is not None]
