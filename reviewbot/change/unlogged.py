"""What a change does to the runs of each config key, coarsely: enough to say whether the changelog has to speak of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reviewbot.bench.changelog import ChangelogEntry, resolve
from reviewbot.bench.model import Point
from reviewbot.change.impact import matched, plain_row
from reviewbot.runs.model import Run

# Fields of a row that name or describe a run. Where a recipe decides what runs, all but the image, the model and the runner do.
_LABELS = frozenset(
    {"precision", "model-prefix", "exp-name", "framework", "router", "kv-offload-backend", "disagg", "max-model-len", "evals-only"}
)
_NAMES = ("image", "model", "runner")
_OF_RECIPES = frozenset(_NAMES)
SCENARIOS = ("fixed-seq-len", "agentic-coding")


@dataclass(slots=True)
class Effect:
    """What a change does to a key. ``own``: files of its runs alone (recipe, script) that the change touches; ``fields``: of its rows."""

    key: str
    scenarios: set[str] = field(default_factory=set)
    added: list[Point] = field(default_factory=list)
    changed: list[Point] = field(default_factory=list)
    own: set[str] = field(default_factory=set)
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    labels_only: bool = True
    elsewhere: set[str] = field(default_factory=set)  # launchers of runs that change though no file of their own and no row does


def effects_by_key(
    base_points: Sequence[Point], head_points: Sequence[Point], base_runs: Iterable[Run], head_runs: Iterable[Run], changed: Collection[str]
) -> dict[str, Effect]:
    """Config key of head to what changes there; keys that run as before are not in it. A removed point is no change."""
    pairs, added, removed = matched(base_points, head_points)
    before, after = _by_point(base_runs), _by_point(head_runs)
    gone = {place: point for point in removed if (place := _recipe_place(point, before)) is not None}
    renamed = [(gone.pop(place), point) for point in added if (place := _recipe_place(point, after)) in gone and place is not None]
    added = tuple(point for point in added if all(point is not new for _, new in renamed))
    pairs = [*pairs, *renamed]
    found: dict[str, Effect] = {}
    for point in added:
        effect = found.setdefault(point.key, Effect(point.key))
        effect.added.append(point)
        effect.scenarios.add(point.scenario)
        effect.labels_only = False
    for old, new in pairs:
        fields = _differences(plain_row(old.row), plain_row(new.row))
        places = {(run.launcher, run.node): run for run in before.get(old.id, ())}
        runs = [(places[run.launcher, run.node], run) for run in after.get(new.id, ()) if (run.launcher, run.node) in places]
        differing = [(one, two) for one, two in runs if one.digest != two.digest]
        if not fields and not differing:
            continue
        own = {path for _, run in differing for path in (run.recipe_path, run.script) if path is not None and path in changed}
        effect = found.setdefault(new.key, Effect(new.key))
        effect.changed.append(new)
        effect.scenarios.add(new.scenario)
        effect.fields.update(fields)
        effect.own |= own
        decided_by_recipe = any(run.recipe_argument is not None for _, run in runs)
        told = {name for name in fields if (name in _OF_RECIPES if decided_by_recipe else name not in _LABELS)}
        other_recipe = any(one.recipe_argument != two.recipe_argument for one, two in runs)
        if told or own or other_recipe:
            effect.labels_only = False
        elif not fields:
            effect.elsewhere.update(run.launcher for _, run in differing)
    return found


def selected_scenarios(entries: Iterable[ChangelogEntry], keys: Iterable[str]) -> dict[str, set[str]]:
    """Config key to the scenarios that entries select."""
    known = list(keys)
    selected: dict[str, set[str]] = {}
    for entry in entries:
        for key in resolve(entry, known)[0]:
            selected.setdefault(key, set()).update({text.text for text in entry.scenarios} or SCENARIOS)
    return selected


def _recipe_place(point: Point, runs: Mapping[str, list[Run]]) -> object:
    """What a recipe makes of a point, whatever the labels of its row; ``None`` where no recipe decides."""
    recipes = tuple((run.launcher, run.node, run.recipe_argument) for run in runs.get(point.id, ()) if run.recipe_argument is not None)
    return (point.key, point.scenario, repr(point.row.get("conc")), *(point.row.get(name) for name in _NAMES), recipes) if recipes else None


def _by_point(runs: Iterable[Run]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.point.id, []).append(run)
    return found


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {name: (old.get(name), new.get(name)) for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
