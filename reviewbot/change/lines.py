"""The lines that differ between two trees, file by file; from the files themselves, so that a working tree serves as well as a commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from reviewbot.documents.positions import Site
from reviewbot.tree import Tree, TreeError

_MOST = 20_000  # lines of a differing middle that are aligned; a larger one is one hunk


@dataclass(frozen=True, slots=True)
class Changed:
    """A run of lines that differ: ``base_count`` lines from ``base_start`` on became ``head_count`` lines from ``head_start`` on.

    Lines count from 1. With a count of 0 the start is the line in front of which nothing stands on that side.
    """

    path: str  # on head; on base where the file is gone
    old_path: str
    base_start: int
    base_count: int
    head_start: int
    head_count: int

    @property
    def head_lines(self) -> range:
        return range(self.head_start, self.head_start + self.head_count)

    @property
    def base_lines(self) -> range:
        return range(self.base_start, self.base_start + self.base_count)


@dataclass(frozen=True, slots=True)
class Because:
    """A line of the diff: of ``head``, or of ``base`` where only the deletion of it is the cause."""

    site: Site
    side: str = "head"

    def __str__(self) -> str:
        return f"{self.site}" if self.side == "head" else f"{self.site} (deleted)"


class Diff:
    """What differs between ``base`` and ``head``; ``renames`` maps an old path to its new one."""

    def __init__(self, base: Tree, head: Tree, paths: Collection[str], renames: Mapping[str, str] | None = None) -> None:
        self.base = base
        self.head = head
        self.paths = frozenset(paths)
        self.renames = dict(renames or {})
        self._hunks: dict[str, tuple[Changed, ...]] = {}

    @cached_property
    def _old(self) -> dict[str, str]:
        return {new: old for old, new in self.renames.items()}

    def old_path(self, path: str) -> str:
        """The path on base of a path of head."""
        return self._old.get(path, path)

    def hunks(self, path: str) -> tuple[Changed, ...]:
        """The hunks of a file, by its path on head (or on base where it is gone). Empty for a file that does not differ or is no text."""
        if path not in self._hunks:
            old = self.old_path(path)
            relevant = path in self.paths or old in self.paths
            self._hunks[path] = tuple(_hunks(path, old, self._lines(self.base, old), self._lines(self.head, path))) if relevant else ()
        return self._hunks[path]

    def added(self, site: Site) -> Because | None:
        """The line of head, where it is new or changed."""
        if site.path not in self.paths and site.path not in self._old:
            return None
        return Because(site) if any(site.line in hunk.head_lines for hunk in self.hunks(site.path)) else None

    def removed(self, site: Site) -> Because | None:
        """For a line of base that is not in head any more: the line of head that stands in its place, else the line itself."""
        path = self.renames.get(site.path, site.path)
        if site.path not in self.paths and path not in self.paths:
            return None
        for hunk in self.hunks(path):
            if site.line in hunk.base_lines:
                offset = site.line - hunk.base_start
                if hunk.head_count:
                    return Because(Site(path, hunk.head_start + min(offset, hunk.head_count - 1)))
                return Because(site, "base")
        return None

    def first(self, path: str) -> Because | None:
        """The first line of a file that differs."""
        for hunk in self.hunks(path):
            if hunk.head_count:
                return Because(Site(path, hunk.head_start))
            return Because(Site(hunk.old_path, hunk.base_start), "base")
        return None

    def _lines(self, tree: Tree, path: str) -> list[str] | None:
        try:
            data = tree.read(path)
        except TreeError:
            return []
        if b"\0" in data[:8000]:  # what git takes for binary
            return None
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return lines


def _hunks(path: str, old_path: str, base: list[str] | None, head: list[str] | None) -> Iterator[Changed]:
    if base is None or head is None or base == head:
        return
    start = 0
    least = min(len(base), len(head))
    while start < least and base[start] == head[start]:
        start += 1
    end = 0
    while end < least - start and base[-1 - end] == head[-1 - end]:
        end += 1
    ours, theirs = base[start : len(base) - end], head[start : len(head) - end]
    if not ours or not theirs or len(ours) + len(theirs) > _MOST:
        yield Changed(path, old_path, start + 1, len(ours), start + 1, len(theirs))
        return
    for tag, b0, b1, h0, h1 in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Changed(path, old_path, start + b0 + 1, b1 - b0, start + h0 + 1, h1 - h0)
