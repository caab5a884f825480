"""Which points of the sweep a change touches: effective runs of base and head, compared value by value."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from reviewbot.bench.model import Job, Point
from reviewbot.change.causes import Causes, Executed, Side
from reviewbot.change.lines import Because, Diff
from reviewbot.change.mentions import Mentions, names_in_programs
from reviewbot.change.values import Effective, effective_values
from reviewbot.engine.workers import work_on
from reviewbot.runs.model import Run
from reviewbot.runs.unseen import effective_name
from reviewbot.trace.values import is_known
from reviewbot.tree import Tree, TreeError

_PIECE = 8  # pairs of points that are compared at a time
_MARKS = ("run-eval", "eval-conc", "recipe-fingerprint")  # depend on the siblings of a row, or on nothing but it


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that differs; ``None``: not set on that side. ``proven`` is false where a side is not known, so that both may be equal.

    ``launchers`` are those of head (of base, where the run is gone) on which it differs.
    """

    name: str
    base: str | None
    head: str | None
    proven: bool
    because: Because | None
    launchers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedPoint:
    """A point of both sides whose run differs; ``before`` is its id on base where that is another one."""

    point: Point
    values: tuple[Difference, ...]
    before: str | None = None

    @property
    def proven(self) -> bool:
        return any(value.proven for value in self.values)


@dataclass(frozen=True, slots=True)
class Impact:
    """``moved`` are points that only got another name, as (base, head); they are also in ``changed`` or counted by ``unchanged``."""

    added: tuple[Point, ...]
    removed: tuple[Point, ...]
    changed: tuple[ChangedPoint, ...]
    unchanged: int
    moved: tuple[tuple[str, str], ...] = ()
    total: int = 0  # points of head
    problems: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether no point is touched."""
        return not (self.added or self.removed or self.changed)

    def touched(self) -> tuple[Point, ...]:
        """The points of head that are new or changed."""
        return (*self.added, *(one.point for one in self.changed))


@dataclass(slots=True)
class State:
    """One side of the comparison: what is declared at a revision, and the runs of it."""

    bench: Any
    runs: Sequence[Run]
    tree: Tree
    by_point: dict[str, list[Run]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for run in self.runs:
            self.by_point.setdefault(run.point.id, []).append(run)

    def job(self, run: Run) -> Job | None:
        """The job of a run."""
        jobs: Iterable[Job] = self.bench.jobs_of(run.point)
        return next((job for job in jobs if job.launcher == run.launcher and job.node == run.node), None)


def impact(base: State, head: State, diff: Diff, executed: Executed | None = None, processes: int = 1) -> Impact:
    """Compares two states, in up to ``processes`` processes. ``executed`` tells the statements of a trace, for causes that no history of a
    value names."""
    return _Comparison(base, head, diff, executed, processes).result()


class _Comparison:
    def __init__(self, base: State, head: State, diff: Diff, executed: Executed | None, processes: int) -> None:
        self._processes = processes
        self._base = base
        self._head = head
        self._diff = diff
        declared: Callable[[str], bool] = head.bench.declares
        self._causes = Causes(diff, executed, [path for path in diff.paths if declared(path) or base.bench.declares(path)])
        parsed = {*head.bench.launchers, *base.bench.launchers, *head.bench.recipe_files, *base.bench.recipe_files}
        skip = lambda path: declared(path) or path in parsed or path == head.bench.layout.changelog  # noqa: E731
        self._mentions = Mentions(head.tree, diff.paths, skip)
        self._variables: dict[str, bool] = {}
        self._values: dict[int, dict[str, Effective]] = {}

    def result(self) -> Impact:
        pairs, added, removed = matched(self._base.bench.points, self._head.bench.points)
        changed: list[ChangedPoint] = []
        unchanged = 0
        moved = tuple((before.id, after.id) for before, after in pairs if before.id != after.id)
        for (before, after), values in zip(pairs, self._compared(pairs), strict=True):
            if values:
                changed.append(ChangedPoint(after, values, before.id if before.id != after.id else None))
            else:
                unchanged += 1
        return Impact(added, removed, tuple(changed), unchanged, moved, len(self._head.bench.points))

    def _compared(self, pairs: Sequence[tuple[Point, Point]]) -> list[tuple[Difference, ...]]:
        """What differs in each pair. Those that have to be opened, which traces them once more, are shared among processes."""
        found: list[tuple[Difference, ...]] = [()] * len(pairs)
        waiting = [number for number, (before, after) in enumerate(pairs) if self._differs(before, after)]
        pieces = [waiting[at : at + _PIECE] for at in range(0, len(waiting), _PIECE)]

        def work(number: int) -> bytes:
            return pickle.dumps([self._point(*pairs[place]) for place in pieces[number]])

        for places, answer in zip(pieces, work_on(len(pieces), work, self._processes), strict=True):
            for place, values in zip(places, pickle.loads(answer), strict=True):
                found[place] = values
        return found

    def _differs(self, before: Point, after: Point) -> bool:
        """Whether a pair of points has to be opened; decided by what is at hand."""
        runs, gone, new = _paired(self._base.by_point.get(before.id, []), self._head.by_point.get(after.id, []))
        if gone or new:
            return True
        for old, now in runs:
            jobs = self._side(old, "base").job, self._side(now, "head").job
            if not _same(old, now) or self._mentions.concerns(now) or self._environment(*jobs):
                return True
        return False

    # --- one point

    def _point(self, before: Point, after: Point) -> tuple[Difference, ...]:
        runs, gone, new = _paired(self._base.by_point.get(before.id, []), self._head.by_point.get(after.id, []))
        found: dict[tuple[str, str | None, str | None, bool], list[Difference]] = {}
        for old, now in runs:
            for one in self._run(old, now):
                found.setdefault((one.name, one.base, one.head, one.proven), []).append(one)
        for old in gone:
            one = Difference(
                "launcher",
                old.launcher,
                None,
                True,
                self._causes.of("launcher", None, None, self._side(old, "base"), self._side(old, "base")),
            )
            found.setdefault((one.name, one.base, one.head, True), []).append(replace(one, launchers=(old.launcher,)))
        for now in new:
            one = Difference(
                "launcher",
                None,
                now.launcher,
                True,
                self._causes.of("launcher", None, None, self._side(now, "head"), self._side(now, "head")),
            )
            found.setdefault((one.name, one.base, one.head, True), []).append(replace(one, launchers=(now.launcher,)))
        merged = (
            replace(some[0], launchers=tuple(dict.fromkeys(name for one in some for name in one.launchers))) for some in found.values()
        )
        return tuple(sorted(merged, key=lambda one: (not one.proven, one.name)))

    def _side(self, run: Run, side: str) -> Side:
        return Side(run, (self._head if side == "head" else self._base).job(run))

    def _run(self, old: Run, now: Run) -> list[Difference]:
        before, after = self._side(old, "base"), self._side(now, "head")
        same_digest = _same(old, now)
        variables = self._environment(before.job, after.job)
        if same_digest and not variables and not self._mentions.concerns(now):
            return []
        found: list[Difference] = []
        if not same_digest:
            base, head = self._effective(old), self._effective(now)
            for name in sorted(base.keys() | head.keys()):
                one, two = base.get(name), head.get(name)
                if (one is not None and two is not None and one.same(two)) or _hidden(name, one, old) or _hidden(name, two, now):
                    continue
                proven = (one is None or one.known) and (two is None or two.known)
                because = self._causes.of(name, one, two, before, after)
                found.append(Difference(name, one.text if one else None, two.text if two else None, proven, because))
        told = {(one.base, one.head) for one in found}
        names = {one.name for one in found}
        for name, (was, now_is) in variables.items():
            if f"env.{name}" not in names and (was, now_is) not in told:
                because = self._causes.of(f"env.{name}", None, None, before, after)
                found.append(Difference(f"env.{name}", was, now_is, False, because))
        if self._mentions.leads:
            for unseen in self._mentions.of(now):
                because = self._diff.first(unseen.path)
                found.append(
                    Difference(f"file.{unseen.path}", self._digest("base", unseen.path), self._digest("head", unseen.path), False, because)
                )
        return [replace(one, launchers=(now.launcher,)) for one in found]

    def _effective(self, run: Run) -> dict[str, Effective]:
        found = self._values.get(id(run))
        if found is None:
            found = self._values[id(run)] = effective_values(run)
        return found

    def _environment(self, before: Job | None, after: Job | None) -> dict[str, tuple[str | None, str | None]]:
        """Variables of the job that differ and that something may read which is not evaluated."""
        if before is None or after is None or before.environment == after.environment:
            return {}
        found: dict[str, tuple[str | None, str | None]] = {}
        for name in sorted(before.environment.keys() | after.environment.keys()):
            was, now = before.environment.get(name), after.environment.get(name)
            if (was or "") != (now or "") and effective_name(name) and is_known((was or "") + (now or "")):
                found[name] = was, now
        self._look_up(found)
        return {name: pair for name, pair in found.items() if self._variables[name]}

    def _look_up(self, names: Iterable[str]) -> None:
        new = [name for name in names if name not in self._variables]
        if not new:
            return
        bench = self._head.bench
        evaluated = {*bench.launchers, *bench.layout.generator}
        mentioned = names_in_programs(self._head.tree, new, lambda path: path in evaluated or bench.declares(path))
        self._variables.update((name, name in mentioned) for name in new)

    def _digest(self, side: str, path: str) -> str | None:
        tree = self._diff.head if side == "head" else self._diff.base
        try:
            return tree.digest(path if side == "head" else self._diff.old_path(path))[:12]
        except TreeError:
            return None


# What is known of a job whose recipe is not.
_BESIDE_RECIPE = (
    "outcome",
    "message",
    "launcher",
    "node",
    "recipe",
    "script",
    "argv",
    "checkout.",
    "cluster.",
    "env.",
    "unseen.",
    "client.",
    "program.",
)


def _hidden(name: str, value: Effective | None, run: Run) -> bool:
    """Whether a value is absent only since the run ended before it could be set, or since nobody knows what the recipe says."""
    if value is not None:
        return False
    if run.outcome in ("refused", "unknown"):
        return name not in ("outcome", "message", "launcher", "node")
    if run.outcome != "submit" or run.text is not None:
        return False
    return name.startswith("recipe.") or not name.startswith(_BESIDE_RECIPE)


def _same(old: Run, now: Run) -> bool:
    """Whether two runs say the same, but for what is not evaluated."""
    return old.digest == now.digest and old.launcher == now.launcher and old.node == now.node


# --- matching --------------------------------------------------------------------------------------------------------


def matched(base: Sequence[Point], head: Sequence[Point]) -> tuple[list[tuple[Point, Point]], tuple[Point, ...], tuple[Point, ...]]:
    """The points of both sides that are the same one, the added and the removed ones.

    The same are those of the same key and id; of the others those with equal rows, first within a key.
    """
    before = {(point.key, point.id): point for point in base}
    pairs: dict[int, tuple[Point, Point]] = {}
    taken: set[int] = set()
    for number, point in enumerate(head):
        same = before.get((point.key, point.id))
        if same is not None:
            pairs[number] = (same, point)
            taken.add(id(same))
    for with_key in (True, False):
        waiting: dict[object, list[Point]] = {}
        for point in base:
            if id(point) not in taken:
                waiting.setdefault(_row_key(point, with_key), []).append(point)
        for number, point in enumerate(head if waiting else ()):
            some = waiting.get(_row_key(point, with_key)) if number not in pairs else None
            if some:
                same = some.pop(0)
                pairs[number] = (same, point)
                taken.add(id(same))
    added = tuple(point for number, point in enumerate(head) if number not in pairs)
    removed = tuple(point for point in base if id(point) not in taken)
    return [pairs[number] for number in sorted(pairs)], added, removed


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row without what depends on its siblings or on its place."""
    return {name: value for name, value in row.items() if name not in _MARKS}


def _row_key(point: Point, with_key: bool) -> object:
    row = plain_row(point.row)
    if not with_key:
        row.pop("exp-name", None)
    return (point.key if with_key else "", point.scenario, repr(sorted(row.items(), key=lambda item: item[0])))


def _paired(base: Sequence[Run], head: Sequence[Run]) -> tuple[list[tuple[Run, Run]], list[Run], list[Run]]:
    """Runs of one point on the same launcher; then, as far as they go, those that are left, in order."""
    pairs: list[tuple[Run, Run]] = []
    left = list(base)
    new: list[Run] = []
    for run in head:
        places = [number for number, other in enumerate(left) if other.launcher == run.launcher]
        same = next((number for number in places if left[number].node == run.node), places[0] if places else None)
        if same is None:
            new.append(run)
        else:
            pairs.append((left.pop(same), run))
    while left and new:
        pairs.append((left.pop(0), new.pop(0)))
    return pairs, left, new
