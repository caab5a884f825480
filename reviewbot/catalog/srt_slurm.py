"""Which release of srt-slurm a commit is: ``srt_slurm.json`` holds, by release, the commits that it was the first to contain, newest first.

git log --format=%H | git name-rev --tags --refs='v[0-9]*' --annotate-stdin | python -m reviewbot.catalog.srt_slurm
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

DATA = Path(__file__).with_name("srt_slurm.json")
_TAG = re.compile(r"v\d+\.\d+\.\d+$")
_NAMED = re.compile(r"(?P<commit>[0-9a-f]{40}) \((?:tags/)?(?P<tag>v\d+\.\d+\.\d+)(?P<behind>(?:[~^]\d*)*)\)")
_LENGTH = 10


def releases_of(ref: str) -> tuple[str, ...]:
    """The releases that a ref of the tool's own repository can behave like: the tag itself, of a commit the two that it lies between.

    Empty where the ref is a branch or is not known.
    """
    if _TAG.match(ref):
        return (ref,)
    if not re.fullmatch(r"[0-9a-f]{7,40}", ref):
        return ()
    releases = list(_data())
    for index, release in enumerate(releases):
        for position, commit in enumerate(_data()[release]):
            if commit.startswith(ref[:_LENGTH]):
                exact = position == 0
                return (release,) if exact or index == 0 else (releases[index - 1], release)
    return ()


@lru_cache(maxsize=1)
def _data() -> Mapping[str, list[str]]:
    loaded: Mapping[str, str] = json.loads(DATA.read_text(encoding="utf-8"))
    return {tag: commits.split() for tag, commits in loaded.items()}


def collected(lines: Iterable[str]) -> dict[str, str]:
    """The content of the file for the output of ``git name-rev``, newest commit first."""
    found: dict[str, list[str]] = {}
    for line in lines:
        match = _NAMED.match(line.strip())
        if match is not None:
            behind = match["behind"] not in ("", "^0")
            commits = found.setdefault(match["tag"], [])
            commits.insert(len(commits) if behind else 0, match["commit"][:_LENGTH])
    return {tag: " ".join(found[tag]) for tag in sorted(found, key=lambda tag: tuple(map(int, tag[1:].split("."))))}


if __name__ == "__main__":
    DATA.write_text(json.dumps(collected(sys.stdin), indent=0) + "\n", encoding="utf-8")
