"""At which commits an effective value of a key changed: read from git objects, nothing is checked out.

Consecutive commits differ in little. A commit that touches no file which the key's points or traces read is skipped; otherwise only what
differs is read anew: a master is cut down to the entries that are asked for, scripts are parsed once by content, and a trace is made again
only where a file that it read has another content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from reviewbot.bench.model import Job, Point
from reviewbot.bench.repository import load_bench
from reviewbot.change.values import Effective, effective_values
from reviewbot.git import Commit, Repository
from reviewbot.runs.build import build_run
from reviewbot.runs.collect import KNOWN_HELPERS, Collector
from reviewbot.runs.model import Run
from reviewbot.settings import Settings
from reviewbot.trace.trace import Given
from reviewbot.trace.values import Hole
from reviewbot.tree import CommitTree, Tree, TreeError

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Change:
    """A value that became another one for ``points``; ``None``: it is not set, or the point is not there."""

    name: str
    before: str | None
    after: str | None
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A commit at which values changed."""

    commit: str
    subject: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class History:
    """``commits`` were looked at, ``read`` of them had to be read; ``names`` are all values of the key that were seen."""

    steps: tuple[Step, ...]
    commits: int
    read: int
    names: frozenset[str]


class _Cut:
    """A tree with some files replaced by a part of them, lines where they were."""

    def __init__(self, tree: Tree, contents: Mapping[str, bytes]) -> None:
        self._tree = tree
        self._contents = contents

    def read(self, path: str) -> bytes:
        found = self._contents.get(path)
        return self._tree.read(path) if found is None else found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tree, name)


class Walker:
    """Follows the values of the points of some keys through commits."""

    def __init__(
        self,
        repository: Repository,
        folder: str,
        keys: Sequence[str],
        names: Sequence[str],
        settings: Settings,
        upstreams: Mapping[str, str],
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._keys = tuple(keys)
        self._names = tuple(names)
        self._settings = settings
        self._upstreams = upstreams
        self._collector: Collector | None = None
        self._helpers = {**KNOWN_HELPERS, **{path.rpartition("/")[2]: some for path, some in settings.opaque_helpers.items()}}
        self._bench: Any = None
        self._declared: object = None
        self._reads: frozenset[str] = frozenset()
        self._seen: dict[tuple[str, str], tuple[str, dict[str, Effective]]] = {}
        self._cuts: dict[str, bytes] = {}
        self._all: set[str] = set()
        self._matched = False

    def history(self, commits: Sequence[Commit], start: str, progress: Progress = lambda what, done, total: None) -> History:
        """The steps at ``commits`` (oldest first), the first of which follows ``start``."""
        before_tree: Tree = CommitTree(self._repository, start, self._folder)
        before = self._values(before_tree)
        steps: list[Step] = []
        read = 1
        for number, commit in enumerate(commits):
            progress("commits", number, len(commits))
            tree = CommitTree(self._repository, commit.id, self._folder)
            if self._concerned(before_tree, tree):
                read += 1
                after = self._values(tree)
                changes = _changes(before, after)
                if changes:
                    steps.append(Step(commit.id, commit.subject, changes))
                before = after
            before_tree = tree
        return History(tuple(steps), len(commits), read, frozenset(self._all))

    @property
    def matched(self) -> bool:
        """Whether a key was there at one of the commits."""
        return self._matched

    def _concerned(self, before: Tree, after: Tree) -> bool:
        if self._bench is None or not self._bench.points:
            return True
        old, new = _ids(before), _ids(after)
        if old is None or new is None:
            return True
        changed = {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
        if any(self._bench.declares(path) for path in changed) or changed & self._reads:
            return True
        came = {path for path in changed if (path in old) != (path in new)}
        return any(folder in self._reads for path in came for folder in _folders(path))

    # --- one commit

    def _values(self, tree: Tree) -> dict[str, dict[str, str]]:
        """Point -> value -> text, for the values that are asked for; launchers that agree are told once."""
        bench = self._load(tree)
        if self._collector is None:
            self._collector = Collector(tree, self._upstreams, self._settings.opaque_helpers)
        reads: set[str] = set()
        found: dict[str, dict[str, str]] = {}
        for point in bench.points:
            if not self._wanted(point):
                continue
            self._matched = True
            mine = found.setdefault(point.id, {})
            for job in bench.jobs_of(point):
                run, files = self._run(job, tree)
                reads |= files
                for name, value in self._effective(job, run).items():
                    self._all.add(name)
                    if any(name == wanted or fnmatchcase(name, wanted) for wanted in self._names):
                        mine[name] = value.text if mine.get(name) in (None, value.text) else f"{mine[name]} or {value.text}"
        self._reads = frozenset(reads)
        return found

    def _wanted(self, point: Point) -> bool:
        return any(name == key or fnmatchcase(name, key) for key in self._keys for name in (point.key, point.id))

    def _run(self, job: Job, tree: Tree) -> tuple[Run, frozenset[str]]:
        assert self._collector is not None
        given: dict[str, Given] = dict(job.environment)
        given.update((name, Hole(f"${name}", None, nonempty=True)) for name in job.unknown)
        trace = self._collector.traces.trace(job.script, job.site.path, job.site.line - 1, given, tree)
        return build_run(job, trace, self._helpers), trace.files_read

    def _effective(self, job: Job, run: Run) -> dict[str, Effective]:
        """The values of a run, remembered for the next commit."""
        key = (job.point.id, job.launcher)
        known = self._seen.get(key)
        said = f"{run.digest} {run.node}"
        if known is None or known[0] != said:
            known = self._seen[key] = (said, effective_values(run))
        return known[1]

    def _load(self, tree: Tree) -> Any:
        cut = self._cut_masters(tree)
        declared = self._declarations(tree, cut)
        if self._bench is None or declared is None or declared != self._declared:
            whole: Any = _Cut(tree, cut)
            self._bench = load_bench(whole, self._settings)
            self._declared = self._declarations(tree, cut)
        else:
            self._bench = self._bench.over(tree)
        return self._bench

    def _declarations(self, tree: Tree, cut: Mapping[str, bytes]) -> object:
        """What decides the points: contents of masters (cut) by their text less empty lines, ids of the other files."""
        if self._bench is None:
            return None
        found: list[tuple[str, object]] = []
        for path in tree.paths():
            if self._bench.declares(path):
                found.append((path, cut[path].strip(b"\n") if path in cut else tree.digest(path)))
        return tuple(found)

    def _cut_masters(self, tree: Tree) -> dict[str, bytes]:
        if not _plain_keys(self._keys):
            return {}
        found: dict[str, bytes] = {}
        for path in tree.paths():
            if path.endswith("-master.yaml"):
                try:
                    identity = tree.digest(path)
                    if identity not in self._cuts:
                        self._cuts[identity] = _only(tree.read(path), self._keys)
                except TreeError:
                    continue
                found[path] = self._cuts[identity]
        return found


def _plain_keys(keys: Sequence[str]) -> bool:
    """Whether all are config keys or ids of points, so that the entries in question can be told by their names."""
    return not any(character in key for key in keys for character in "*?")


_TOP_KEY = re.compile(rb"^(?:\"([^\"\n]+)\"|'([^'\n]+)'|([^\s#'\"][^:\n]*?))\s*:", re.MULTILINE)


def _only(data: bytes, keys: Sequence[str]) -> bytes:
    """A master with all but the entries of ``keys`` blanked out; as it is where anchors tie entries together."""
    if re.search(rb"(?m)(?:^|[\s:\[,{-])[*&][A-Za-z_]", re.sub(rb"(?m)#.*$", b"", data)) is not None:
        return data
    wanted = {key.partition("[")[0].encode() for key in keys}
    starts = [(match.start(), next(group for group in match.groups() if group is not None)) for match in _TOP_KEY.finditer(data)]
    if not starts:
        return data
    if not any(name in wanted for _, name in starts):
        wanted = {starts[0][1]}  # so that it can be told for a master
    kept: list[bytes] = [_blank(data[: starts[0][0]])]
    for number, (start, name) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(data)
        piece = data[start:end]
        kept.append(piece if name in wanted else _blank(piece))
    return b"".join(kept)


def _blank(data: bytes) -> bytes:
    return b"\n" * data.count(b"\n")


def _ids(tree: Tree) -> Mapping[str, str] | None:
    ids = getattr(tree, "ids", None)
    return ids() if ids is not None else None


def _folders(path: str) -> Iterator[str]:
    folder = path
    while folder:
        folder = folder.rpartition("/")[0]
        yield folder + "/"


def _changes(before: Mapping[str, Mapping[str, str]], after: Mapping[str, Mapping[str, str]]) -> tuple[Change, ...]:
    groups: dict[tuple[str, str | None, str | None], list[str]] = {}
    for point in sorted(before.keys() | after.keys()):
        old, new = before.get(point, {}), after.get(point, {})
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name):
                groups.setdefault((name, old.get(name), new.get(name)), []).append(point)
    return tuple(Change(*key, tuple(points)) for key, points in groups.items())
