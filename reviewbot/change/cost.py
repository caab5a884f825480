"""GPU-hours that the sweep of a change may take at most, from node counts, GPUs and time limits, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from reviewbot.bench.changelog import ChangelogEntry, resolve
from reviewbot.bench.model import Point
from reviewbot.change.impact import Impact
from reviewbot.runs.build import cluster_of
from reviewbot.runs.model import Run
from reviewbot.runs.parity import server_gpus
from reviewbot.trace.effects import Exec, Submit

_SCENARIOS = ("fixed-seq-len", "agentic-coding")
_DURATION = re.compile(r"(?:(?P<days>\d+)-)?(?P<rest>\d+(?::\d+){0,2})\Z")


@dataclass(frozen=True, slots=True)
class PointCost:
    """GPUs and time limit (seconds) of one job of a point, and how many jobs it gets (an eval is one more). ``None``: not known."""

    point: str
    key: str
    gpus: int | None
    seconds: int | None
    jobs: int
    evals: int

    @property
    def gpu_hours(self) -> float | None:
        """At most, all jobs together."""
        if self.gpus is None or self.seconds is None:
            return None
        return self.gpus * self.seconds / 3600 * (self.jobs + self.evals)


@dataclass(frozen=True, slots=True)
class Cost:
    points: tuple[PointCost, ...]

    @property
    def gpu_hours(self) -> float:
        """Of the points whose cost is known."""
        return sum(one.gpu_hours or 0.0 for one in self.points)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Ids of the points whose cost is not known."""
        return tuple(one.point for one in self.points if one.gpu_hours is None)


def swept(found: Impact, entries: Sequence[ChangelogEntry], bench: Any) -> list[tuple[Point, bool, bool]]:
    """The points that the change's sweep runs, each with whether it is measured and whether it is evaluated.

    Added changelog entries select them; without one, the new and changed points are taken.
    """
    evaluated: frozenset[str] = bench.evaluated
    if not entries:
        return [(point, True, point.id in evaluated) for point in found.touched()]
    added = {point.id for point in found.added}
    chosen: dict[str, tuple[Point, bool, bool]] = {}
    keys = list(bench.by_key)
    for entry in entries:
        scenarios = {text.text for text in entry.scenarios} or set(_SCENARIOS)
        for key in resolve(entry, keys)[0]:
            for point in bench.by_key[key]:
                if point.scenario not in scenarios or (entry.append_only and point.id not in added):
                    continue
                measured = not (entry.evals_only or entry.all_evals)
                evals = not entry.append_only and (point.id in evaluated or entry.all_evals) and _wide_enough(point, entry)
                _, had_measured, had_evals = chosen.get(point.id, (point, False, False))
                chosen[point.id] = (point, measured or had_measured, evals or had_evals)
    return [one for one in chosen.values() if one[1] or one[2]]


def _wide_enough(point: Point, entry: ChangelogEntry) -> bool:
    prefill = point.row.get("prefill")
    if entry.min_prefill_ep is None or not isinstance(prefill, dict):
        return True
    ep = prefill.get("ep", 1)
    return not isinstance(ep, int) or ep >= entry.min_prefill_ep


def cost(points: Iterable[tuple[Point, bool, bool]], runs: Iterable[Run]) -> Cost:
    """What the points cost on the launcher that asks for most of each."""
    by_point: dict[str, list[Run]] = {}
    for run in runs:
        by_point.setdefault(run.point.id, []).append(run)
    found: list[PointCost] = []
    for point, measured, evals in points:
        some = [run for run in by_point.get(point.id, []) if run.outcome != "refused"]
        gpus = [number for run in some if (number := gpus_of(run)) is not None]
        limits = [number for run in some if (number := time_limit_of(run)) is not None]
        found.append(
            PointCost(point.id, point.key, max(gpus, default=_row_gpus(point)), max(limits, default=None), int(measured), int(evals))
        )
    return Cost(tuple(found))


def gpus_of(run: Run) -> int | None:
    """The GPUs that a job of the run occupies: whole nodes where the recipe tells them, else those of its servers, else of its row."""
    recipe = run.recipe
    if recipe is not None and recipe.total_nodes is not None:
        each = recipe.gpus_per_node.value if recipe.gpus_per_node is not None else None
        if each is None and run.cluster is not None:
            default = cluster_of(run.cluster.text).gpus_per_node
            each = default.value if default is not None else None
        if isinstance(each, int):
            return recipe.total_nodes * each
    if run.outcome == "submit" and run.servers:
        total = server_gpus(run.servers)
        if total is not None:
            return total
    return _row_gpus(run.point)


def _row_gpus(point: Point) -> int | None:
    row = point.row
    roles = [row[name] for name in ("prefill", "decode") if isinstance(row.get(name), dict)]
    total = 0
    for role in roles or [row]:
        workers = role.get("num-worker", 1) if roles else 1
        sizes = [role.get("tp"), role.get("pp", 1), role.get("pcp-size", 1), workers]
        if not all(isinstance(size, int) for size in sizes):
            return None
        total += sizes[0] * sizes[1] * sizes[2] * sizes[3]
    return total or None


def time_limit_of(run: Run) -> int | None:
    """Seconds that the scheduler gives a job of the run."""
    recipe = run.recipe
    if recipe is not None and recipe.time_limit is not None and isinstance(recipe.time_limit.value, int):
        return recipe.time_limit.value
    if run.cluster is not None:
        default = cluster_of(run.cluster.text).default_time_limit
        if default is not None and isinstance(default.value, int):
            return default.value
    for effect in run.effects:
        if isinstance(effect, (Exec, Submit)) and effect.argv and effect.argv[0].rsplit("/", 1)[-1] in ("salloc", "sbatch", "srun"):
            for place, word in enumerate(effect.argv):
                text = (
                    word.partition("=")[2]
                    if word.startswith("--time=")
                    else effect.argv[place + 1]
                    if word in ("--time", "-t") and place + 1 < len(effect.argv)
                    else ""
                )
                if text and (limit := slurm_seconds(text)) is not None:
                    return limit
    return None


def slurm_seconds(text: str) -> int | None:
    """A time of Slurm: ``180`` (minutes), ``MM:SS``, ``HH:MM:SS``, ``D-HH[:MM[:SS]]``."""
    match = _DURATION.match(text.strip())
    if match is None:
        return None
    parts = [int(part) for part in match["rest"].split(":")]
    if match["days"] is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
        return int(match["days"]) * 86_400 + hours * 3600 + minutes * 60 + seconds
    if len(parts) == 1:
        return parts[0] * 60
    if len(parts) == 2:
        return parts[0] * 60 + parts[1]
    return parts[0] * 3600 + parts[1] * 60 + parts[2]
