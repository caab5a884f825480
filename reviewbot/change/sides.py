"""The two sides of a comparison: what is declared and what runs at base and at head, each read once and sharing what is equal."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Protocol

from reviewbot.bench.model import Job
from reviewbot.change.executed import Recorder
from reviewbot.change.impact import State
from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.runs.model import Run
from reviewbot.settings import Settings
from reviewbot.trace.trace import ParseCache
from reviewbot.tree import Tree, TreeError


class Session(Protocol):
    """The part of a session that a comparison needs."""

    @property
    def settings(self) -> Settings: ...

    @property
    def upstreams(self) -> Mapping[str, str]: ...

    def tree(self, revision: str | None) -> Tree: ...

    def context(self, revision: str | None) -> Context: ...

    def changes(self, base: str, head: str | None) -> tuple[frozenset[str], dict[str, str]]: ...


class ChangeError(Exception):
    """Something the user has to change; the message says what would do."""


class Sides:
    """Base and head of a change. ``keys`` (config keys or ids of points, ``*`` for any text) narrow what is compared."""

    def __init__(self, session: Session, base: str, head: str | None, keys: Sequence[str] = ()) -> None:
        self._session = session
        paths, renames = session.changes(base, head)
        self.diff = Diff(session.tree(base), session.tree(head), paths, renames)
        self._revisions: dict[str, str | None] = {"base": base, "head": head}
        self._parses = ParseCache()
        self._recorders: dict[str, Recorder] = {}
        self._launchers: frozenset[str] = frozenset()
        benches = self._benches(keys)
        self.base_bench, self.head_bench = benches
        self._states: dict[str, State] = {}

    def state(self, side: str) -> State:
        """``base`` or ``head`` with its runs."""
        if side not in self._states:
            context = self._context(side)
            bench = self.base_bench if side == "base" else self.head_bench
            self._states[side] = State(bench, self._runs(context, bench), context.tree)
        return self._states[side]

    def runs(self, points: Collection[str]) -> Sequence[Run]:
        """The runs of head, those of ``points`` among them."""
        state = self.state("head")
        if self._concerned is not None and not self._concerned >= set(points):
            return runs_of(self._context("head"))
        return state.runs

    def _runs(self, context: Context, bench: Any) -> Sequence[Run]:
        only = self._concerned
        if only is None or "runs" in vars(context):
            return runs_of(context)
        vars(context)["bench"] = bench.narrowed((point for point in bench.points if point.id in only), self._launchers)
        try:
            return runs_of(context)
        finally:
            vars(context)["bench"] = bench
            vars(context).pop("runs", None)

    @cached_property
    def _concerned(self) -> frozenset[str] | None:
        """Ids of the points that a change of launchers alone can touch: those launched by one of them. ``None`` for any other change, and
        where scripts make names of launchers, so that nobody can tell who reads one."""
        diff, bench = self.diff, self.head_bench
        if diff.renames or any(bench.declares(path) for path in diff.paths):
            return None
        matter = {path for path in diff.paths if path != bench.layout.changelog and not path.endswith((".md", ".rst", ".txt"))}
        launchers = {*bench.launchers} & {*self.base_bench.launchers}
        if not matter <= launchers or not _named_literally(diff.head, matter) or not _named_literally(diff.base, matter):
            return None
        concerned = set(matter)
        for tree in (diff.base, diff.head):
            concerned |= {path for path in launchers if tree.is_link(path) and _resolved(tree, path) in matter}
        self._launchers = frozenset(concerned)
        return frozenset(point.id for point in bench.points if any(job.launcher in concerned for job in bench.jobs_of(point)))

    def executed(self, side: str, run: Run) -> tuple[Site, ...]:
        """The statements that the launch of a run executes."""
        return self.recorder(side).of_run(run)

    def recorder(self, side: str) -> Recorder:
        """What records the statements of jobs on one side."""
        if side not in self._recorders:
            bench = self.base_bench if side == "base" else self.head_bench
            settings = self._session.settings
            tree = self._session.tree(self._revisions[side])
            self._recorders[side] = Recorder(bench, tree, self._session.upstreams, settings.opaque_helpers, self._parses)
        return self._recorders[side]

    def jobs(self, side: str) -> Sequence[Job]:
        """The jobs of one side."""
        jobs: Sequence[Job] = (self.base_bench if side == "base" else self.head_bench).jobs()
        return jobs

    def _context(self, side: str) -> Context:
        return self._session.context(self._revisions[side])

    def _benches(self, keys: Sequence[str]) -> tuple[Any, Any]:
        head = self._context("head")
        base = self._context("base")
        bench = head.bench
        if "bench" not in vars(base) and self.diff.paths.isdisjoint(path for path in self.diff.paths if bench.declares(path)):
            vars(base)["bench"] = bench.over(base.tree)
        if keys:
            known = {name for one in (base.bench, head.bench) for point in one.points for name in (point.key, point.id)}
            wanted = chosen(keys, known)
            for context in (base, head):
                vars(context)["bench"] = context.bench.narrowed(point for point in context.bench.points if {point.key, point.id} & wanted)
        return base.bench, head.bench


def _resolved(tree: Tree, path: str) -> str:
    try:
        return tree.resolve(path)
    except TreeError:
        return path


def _named_literally(tree: Tree, launchers: Collection[str]) -> bool:
    """Whether no script can run one of the launchers as a part of another: no script names one or makes up such names."""
    names = [re.escape(path.rpartition("/")[2]) for path in launchers]
    pattern = re.compile("|".join([*names, r"\blaunch_[^\s\w.-]"]).encode())
    for path in tree.paths():
        if path.endswith((".sh", ".bash")) and not tree.is_link(path):
            try:
                text = tree.read(path)
            except TreeError:
                return False
            code = b"\n".join(line for line in text.split(b"\n") if not line.lstrip().startswith(b"#"))
            if pattern.search(code) is not None:
                return False
    return True


class OneSide:
    """A repository at one revision, compared with nothing: its only side is ``head``."""

    def __init__(self, session: Session, revision: str | None, keys: Sequence[str] = ()) -> None:
        tree = session.tree(revision)
        self.diff = Diff(tree, tree, ())
        bench: Any = session.context(revision).bench
        if keys:
            wanted = chosen(keys, {name for point in bench.points for name in (point.key, point.id)})
            bench = bench.narrowed(point for point in bench.points if {point.key, point.id} & wanted)
        self.head_bench = bench
        self._recorder = Recorder(bench, tree, session.upstreams, session.settings.opaque_helpers)

    def recorder(self, side: str) -> Recorder:
        """What records the statements of jobs."""
        return self._recorder

    def jobs(self, side: str) -> Sequence[Job]:
        """All jobs."""
        jobs: Sequence[Job] = self.head_bench.jobs()
        return jobs


def runs_of(context: Context) -> tuple[Run, ...]:
    """The runs of a context: those that are known from before where there is something that keeps them."""
    if context.checks is not None and "runs" not in vars(context):
        context.checks.check(context, (), (), False, False)
    return context.runs


def chosen(keys: Sequence[str], known: Collection[str]) -> set[str]:
    """The known names that one of the given ones is, or matches. Raises ``ChangeError`` for one that matches none."""
    from reviewbot.engine.registry import nearest

    found: set[str] = set()
    for key in keys:
        mine = {name for name in known if name == key or fnmatchcase(name, key)}
        if not mine:
            close = nearest(key, sorted(known))
            raise ChangeError(f"no point or config key matches {key!r}" + (f"; the nearest is {close}" if close else ""))
        found |= mine
    return found
