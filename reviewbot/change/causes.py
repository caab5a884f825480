"""The line of a diff that makes a value differ.

The history of the value on head is asked first, then its history on base (something was deleted), then the places of the point's row, then
the changed statements that the launcher executed for this point; what is left is the first changed line of a file that the run is made of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from reviewbot.bench.model import Job, Point
from reviewbot.change.lines import Because, Diff
from reviewbot.change.values import Effective
from reviewbot.documents.positions import Site
from reviewbot.runs.model import Run

Executed = Callable[[str, Run], Sequence[Site]]
"""Side (``base`` or ``head``) and a run of it -> the statements that its trace executes."""

_ROW = {
    "image": ("image",), "model_path": ("model", "model-prefix"), "node": ("runner",), "launcher": ("runner",),
    "recipe": ("prefill", "decode"),
    "script": ("model-prefix", "precision", "framework", "spec-decoding"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """A run with the job it was made for (``None`` where the job is not at hand)."""

    run: Run
    job: Job | None

    @property
    def point(self) -> Point:
        return self.run.point


class Causes:
    """Finds causes in one diff. ``executed`` is asked only where the history of a value holds no line of the diff."""

    def __init__(self, diff: Diff, executed: Executed | None = None, declared: Iterable[str] = ()) -> None:
        self._diff = diff
        self._executed = executed
        self._declared = tuple(sorted(set(declared) & diff.paths))

    def of(self, name: str, base: Effective | None, head: Effective | None, before: Side, after: Side) -> Because | None:
        """The cause of one differing value; ``None`` where the diff holds nothing that could be it."""
        found = self._history(base, head) or self._variable(name, before, after) or self._row(name, before, after)
        return found or self._statements(base, head, before.run, after.run) or self._files(before, after)

    def _history(self, base: Effective | None, head: Effective | None) -> Because | None:
        for layer in reversed(head.history() if head is not None else ()):
            found = self._diff.added(layer.site)
            if found is not None:
                return found
        for layer in reversed(base.history() if base is not None else ()):
            found = self._diff.removed(layer.site)
            if found is not None:
                return found
        return None

    def _variable(self, name: str, before: Side, after: Side) -> Because | None:
        variable = name[4:] if name.startswith("env.") else ""
        for side, lookup in ((after, self._diff.added), (before, self._diff.removed)):
            site = side.job.environment_sites.get(variable) if side.job is not None and variable else None
            found = lookup(site) if site is not None else None
            if found is not None:
                return found
        return None

    def _row(self, name: str, before: Side, after: Side) -> Because | None:
        wanted = _ROW.get(name, ())
        for side, lookup in ((after, self._diff.added), (before, self._diff.removed)):
            sites = side.point.sites
            ordered = [site for field, site in sites.items() if field.split(".")[0] in wanted]
            for site in (*ordered, side.point.site, *sites.values()):
                found = lookup(site)
                if found is not None:
                    return found
        return None

    def _statements(self, base: Effective | None, head: Effective | None, before: Run, after: Run) -> Because | None:
        if self._executed is None or not any(path.endswith((".sh", ".yml", ".yaml", ".bash")) for path in self._diff.paths):
            return None
        for side, run, value, lookup in (("head", after, head, self._diff.added), ("base", before, base, self._diff.removed)):
            statements = self._executed(side, run)
            at = value.history()[-1].site if value is not None and value.history() else None
            found = _nearest(_touched(statements, self._diff, side), at)
            if found is not None:
                because = lookup(found)
                if because is not None:
                    return because
        return None

    def _files(self, before: Side, after: Side) -> Because | None:
        run, old = after.run, before.run
        for path in (run.recipe_path, old.recipe_path, run.script, run.launcher, old.launcher, *self._declared):
            found = self._diff.first(path) if path is not None and path in self._diff.paths else None
            if found is not None:
                return found
        for path in sorted(self._diff.paths):
            if path.endswith((".sh", ".bash")):
                found = self._diff.first(path)
                if found is not None:
                    return found
        return None


def _touched(statements: Sequence[Site], diff: Diff, side: str) -> list[Site]:
    """The changed lines that belong to executed statements, in the order of execution. A statement reaches to the next one below it."""
    starts: dict[str, list[int]] = {}
    for site in statements:
        starts.setdefault(site.path, []).append(site.line)
    wanted: dict[Site, Site] = {}
    for path, some in starts.items():
        lines = sorted(set(some))
        new = path if side == "head" else diff.renames.get(path, path)
        for hunk in diff.hunks(new):
            for line in hunk.head_lines if side == "head" else hunk.base_lines:
                place = bisect_right(lines, line) - 1
                if place >= 0 and line - lines[place] <= 40:
                    wanted.setdefault(Site(path, lines[place]), Site(path, line))
    return [wanted[site] for site in statements if site in wanted]


def _nearest(lines: Sequence[Site], at: Site | None) -> Site | None:
    """The changed line closest above a place; else the one that was executed last."""
    if at is not None:
        above = [site for site in lines if site.path == at.path and site.line <= at.line]
        if above:
            return max(above, key=lambda site: site.line)
    return lines[-1] if lines else None
