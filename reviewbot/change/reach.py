"""Who reaches a line of a script: the points whose launch executes it, on base and on head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reviewbot.bench.model import Job
from reviewbot.change.branches import Branch, Condition, branches, conditions_at, statement_at
from reviewbot.change.executed import Recorder
from reviewbot.change.lines import Changed, Diff
from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Script


@dataclass(frozen=True, slots=True)
class Reached:
    """A place of a script (``line`` to ``end``), the conditions it stands under, and the ids of the points that execute it."""

    path: str
    line: int
    end: int
    conditions: tuple[Condition, ...]
    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HunkReach:
    """A hunk of a script, and who reaches it: with the lines of base on base, with those of head on head."""

    hunk: Changed
    base: tuple[str, ...]
    head: tuple[str, ...]


class Executions:
    """For each line of scripts, who executes the statement that begins there. Jobs are traced when first needed."""

    def __init__(self, recorder: Recorder, jobs: Sequence[Job]) -> None:
        self._recorder = recorder
        self._jobs = jobs
        self._points: dict[Site, dict[str, None]] | None = None

    def points(self, site: Site) -> tuple[str, ...]:
        """Ids of the points that execute the statement which begins at ``site``."""
        if self._points is None:
            self._points = {}
            for job in self._jobs:
                for place in self._recorder.of_job(job):
                    self._points.setdefault(place, {})[job.point.id] = None
        return tuple(self._points.get(site, ()))


def reach_line(executions: Executions, script: Script, path: str, line: int) -> Reached:
    """Who reaches the statement that a line belongs to."""
    statement = statement_at(script, line)
    points = executions.points(Site(path, statement)) if statement is not None else ()
    return Reached(path, line, line, conditions_at(script, statement or line), points)


def reach_branches(executions: Executions, script: Script, path: str) -> list[Reached]:
    """Who reaches each branch of a script, in the order of the text."""
    found: list[Branch] = sorted(branches(script), key=lambda one: (one.line, -one.end))
    return [Reached(path, one.line, one.end, one.conditions, executions.points(Site(path, one.statement))) for one in found]


def reach_hunks(
    diff: Diff, paths: Iterable[str], base: Executions, head: Executions, scripts: dict[str, tuple[Script | None, Script | None]]
) -> list[HunkReach]:
    """For each hunk of the given scripts the points that reach it on both sides. ``scripts`` maps a path to its parsed sides."""
    found: list[HunkReach] = []
    for path in sorted(paths):
        before, after = scripts.get(path, (None, None))
        for hunk in diff.hunks(path):
            found.append(HunkReach(hunk, _any(base, before, hunk.old_path, hunk.base_lines), _any(head, after, path, hunk.head_lines)))
    return found


def _any(executions: Executions, script: Script | None, path: str, lines: range) -> tuple[str, ...]:
    points: dict[str, None] = {}
    if script is not None:
        written = script.text.split("\n")
        for line in lines:
            text = written[line - 1].strip() if line <= len(written) else ""
            if not text or text.startswith("#"):
                continue
            statement = statement_at(script, line)
            if statement is not None:
                points.update(dict.fromkeys(executions.points(Site(path, statement))))
    return tuple(points)
