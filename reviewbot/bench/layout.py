"""Where a repository keeps what: paths and patterns, found by an adapter or given by settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Layout:
    """Patterns are ``/``-separated globs: ``*`` and ``?`` stay within a name, ``**`` crosses folders. Empty: there is none.

    ``generator`` names source files whose constants decide how masters expand; ``adapter`` forces an adapter by its name.
    """

    masters: tuple[str, ...] = ()
    deprecated: tuple[str, ...] = ()
    runners: str = ""
    launchers: tuple[str, ...] = ("runners/launch_*.sh",)
    workflows: tuple[str, ...] = (".github/workflows/*.yml", ".github/workflows/*.yaml")
    scripts: tuple[str, ...] = ("**/*.sh",)
    recipes: tuple[str, ...] = ("**/srt-slurm-recipes/**/*.yaml",)
    changelog: str = "perf-changelog.yaml"
    generator: tuple[str, ...] = ()
    adapter: str = ""


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
