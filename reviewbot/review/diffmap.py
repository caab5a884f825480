"""Where a finding can be shown in a pull request: the diff from the merge base to the head, as git tells it.

GitHub takes a comment only on a line inside a hunk of that diff, and refuses a whole review for one that is not. So every place is decided
here, from git's own objects; what the API says about a patch is never asked for, since it is absent for large files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Finding
from reviewbot.git import ChangedPath, GitError, Repository

CONTEXT = 3  # lines around a change that GitHub shows, and takes comments on
MAX_FILES = 3_000  # files of a pull request that the API knows
MAX_LINES = 20_000  # changed lines of a file, and of all files up to it, beyond which GitHub has no diff
MAX_BYTES = 500_000  # of one file's diff

Side = Literal["LEFT", "RIGHT"]


@dataclass(frozen=True, slots=True)
class Block:
    """A hunk as GitHub shows it: the numbers of its lines on each side, and which of them changed."""

    new: range
    old: range
    added: frozenset[int]
    deleted: frozenset[int]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A changed file. ``blocks`` is empty for a binary, moved or too large file; ``commentable`` says whether GitHub takes comments on it;
    ``added`` are the added lines of all blocks."""

    path: str
    old_path: str
    status: str
    blocks: tuple[Block, ...]
    commentable: bool
    added: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a finding is shown: ``inline`` on lines of the diff, ``file`` on a changed file, or in the ``summary`` only.

    ``path`` is that of the pull request, so from the top of the repository. ``line`` is the last line, ``start_line`` the first where
    there is more than one. ``because`` is a changed line that causes the finding, where it is shown elsewhere.
    """

    kind: Literal["inline", "file", "summary"]
    path: str
    line: int = 0
    side: Side = "RIGHT"
    start_line: int | None = None
    because: Site | None = None

    def shows(self, path: str, line: int) -> bool:
        return self.kind == "inline" and self.side == "RIGHT" and self.path == path and (self.start_line or self.line) <= line <= self.line


class DiffMap:
    """The diff of a pull request, read file by file when it is asked for. ``prefix`` is the folder that paths of findings start from."""

    def __init__(self, repository: Repository, merge_base: str, head: str, prefix: str = "") -> None:
        self.merge_base = repository.resolve(merge_base)
        self.head = repository.resolve(head)
        self.prefix = prefix
        self._repository = repository
        self._changes: dict[str, ChangedPath] = {change.path: change for change in repository.changed_paths(self.merge_base, self.head)}
        counts = repository.line_counts(self.merge_base, self.head)
        self._shown: set[str] = set()
        total = 0
        for path in sorted(self._changes, key=lambda path: path.encode("utf-8", "surrogateescape"))[:MAX_FILES]:
            total += counts.get(path, 0)
            if counts.get(path, 0) <= MAX_LINES and total <= MAX_LINES and _is_text(path):
                self._shown.add(path)
        self._files: dict[str, FileDiff] = {}

    @classmethod
    def between(cls, repository: Repository, base: str, head: str, prefix: str = "") -> DiffMap:
        """The diff from the merge base of two revisions to ``head``. Raises ``GitError``."""
        return cls(repository, repository.merge_base(base, head), head, prefix)

    def paths(self) -> Iterable[str]:
        """The changed paths, from the top of the repository; a renamed one by its new name, a deleted one by its old name."""
        return self._changes.keys()

    def file(self, path: str) -> FileDiff | None:
        """The changes of a file, ``None`` where it has none."""
        change = self._changes.get(path)
        if change is None:
            return None
        if path not in self._files:
            self._files[path] = self._read(change)
        return self._files[path]

    def _read(self, change: ChangedPath) -> FileDiff:
        shown = change.path in self._shown
        blocks: tuple[Block, ...] = ()
        if shown and "160000" not in (change.old_mode, change.mode):
            old = None if change.status == "added" else change.old_path
            new = None if change.status == "deleted" else change.path
            try:
                hunks = self._repository.file_diff(self.merge_base, self.head, old, new, context=CONTEXT, limit=MAX_BYTES)
            except GitError:
                hunks, shown = [], False
            blocks = tuple(
                Block(
                    range(hunk.new_start, hunk.new_start + hunk.new_count),
                    range(hunk.old_start, hunk.old_start + hunk.old_count),
                    frozenset(line.new for line in hunk.lines if line.kind == "+" and line.new is not None),
                    frozenset(line.old for line in hunk.lines if line.kind == "-" and line.old is not None),
                )
                for hunk in hunks
            )
        added = frozenset(line for block in blocks for line in block.added)
        return FileDiff(change.path, change.old_path, change.status, blocks, shown, added)


def _is_text(path: str) -> bool:
    """Whether the API, which speaks JSON, can name a path."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def place(finding: Finding, diff: DiffMap | None) -> Anchor:
    """Where to show a finding of the head."""
    if diff is None or finding.path == ".":
        return Anchor("summary", finding.path)
    path = diff.prefix + finding.path
    end = finding.end_line
    if end > finding.line and finding.end_column <= 1:
        end -= 1  # the range ends before the first character of that line
    file = diff.file(path)
    if file is not None and file.commentable:
        return _deletion(finding, file, path, end) or _inside(file, path, *_with_neighbours(finding, end)) or Anchor("file", path)
    cause = _cause(finding, diff)
    if file is None and cause is not None:
        return cause
    return Anchor("summary", path, because=_changed_related(finding, diff))


def _with_neighbours(finding: Finding, end: int) -> tuple[int, int]:
    """The lines of a finding, with those of the same file beside them that belong to it: a comment and the line that it is about."""
    start = finding.line
    near = sorted(other.site.line for other in finding.related if other.site.path == finding.path)
    for line in reversed(near):
        start = line if line == start - 1 else start
    for line in near:
        end = line if line == end + 1 else end
    return start, end


def fits(diff: DiffMap, path: str, start: int, end: int) -> Anchor | None:
    """The anchor of exactly the lines ``start`` to ``end`` of the new side, where one hunk has them all."""
    file = diff.file(path)
    if file is None or not file.commentable or start > end:
        return None
    for block in file.blocks:
        if start in block.new and end in block.new:
            return _lines(path, start, end)
    return None


def _lines(path: str, start: int, end: int, side: Side = "RIGHT") -> Anchor:
    return Anchor("inline", path, end, side, start if start < end else None)


def _inside(file: FileDiff, path: str, start: int, end: int) -> Anchor | None:
    """The part of a range that one hunk shows; a hunk that changes a line of it is preferred."""
    best: Anchor | None = None
    for block in file.blocks:
        first, last = max(start, block.new.start), min(end, block.new.stop - 1)
        if first <= last:
            anchor = _lines(path, first, last)
            if any(first <= line <= last for line in block.added):
                return anchor
            best = best or anchor
    return best


def _deletion(finding: Finding, file: FileDiff, path: str, end: int) -> Anchor | None:
    """The deleted line beside a finding that nothing but deletions surround: it is what is gone that causes it."""
    for block in file.blocks:
        if finding.line in block.new and end in block.new and block.deleted and not block.added and not file.added:
            old = finding.line - block.new.start + block.old.start
            for line in sorted(block.deleted):
                if line <= old:
                    old += 1  # what the finding's line was before the lines above it went
            nearest = min(block.deleted, key=lambda line: (abs(line - old), line))
            return _lines(path, nearest, nearest, "LEFT")
    return None


def _cause(finding: Finding, diff: DiffMap) -> Anchor | None:
    """A place that belongs to a finding and was changed here: an added line, else a line of a file that is gone."""
    for other in finding.related:
        path = diff.prefix + other.site.path
        file = diff.file(path)
        if file is not None and file.commentable and other.site.line in file.added:
            return _lines(path, other.site.line, other.site.line)
    for other in finding.related:
        path = diff.prefix + other.site.path
        file = diff.file(path)
        if file is not None and file.commentable and file.status == "deleted" and any(other.site.line in b.deleted for b in file.blocks):
            return _lines(path, other.site.line, other.site.line, "LEFT")
    return None


def _changed_related(finding: Finding, diff: DiffMap) -> Site | None:
    changed = [
        Site(diff.prefix + other.site.path, other.site.line) for other in finding.related if diff.file(diff.prefix + other.site.path)
    ]
    return changed[0] if changed else None
