"""A retired model or scenario is still swept

What
The list of models (`MODELS.md`) says that a model has no active scenario, does not name this one, or that lengths are deprecated for all
models, and an entry of an active master still runs it.

Why
Retired work takes the cluster's hours, and its results are shown beside those of what is maintained; or the list is wrong.

Example
    | Toy | `toy` | 2026-01-01 | None (retired 2026-06-20) | |   # MODELS.md
    toy-fp8-lab-vllm:                                            # configs/nvidia-master.yaml

Instead
    Move the entry to `configs/deprecated/`, or list the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reviewbot.bench.model import Point
from reviewbot.bench.model_list import PATHS, read_model_list
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site

RULE = Rule("retired-still-active", Level.WARNING, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    path = next((path for path in PATHS if context.tree.is_file(path)), "")
    listed = read_model_list(context.lines(path)) if path else None
    if listed is None:
        return
    retired: dict[tuple[object, object], int] = dict(listed.retired_lengths.items())
    for key, points in context.bench.by_key.items():
        model = listed.models.get(str(points[0].row.get("model-prefix", "")))
        if model is not None and model.retired:
            said = Site(path, model.line)
            yield _finding(context, points, "model-prefix", f"`{key}` is swept, and its model is retired", said, model.active)
        groups: dict[tuple[str, tuple[object, object]], list[Point]] = {}
        for point in points:
            pair = (point.row.get("isl"), point.row.get("osl")) if point.scenario == "fixed-seq-len" else (0, 0)
            groups.setdefault((point.scenario, pair), []).append(point)
        for (scenario, pair), some in groups.items():
            what = scenario if pair == (0, 0) else _short(pair)
            if pair in retired:
                said = Site(path, retired[pair])
                why = "which is deprecated for all models"
                yield _finding(context, some, "isl", f"`{key}` sweeps {what}, {why}", said, f"{what} is deprecated for all models")
            elif model is not None and not model.retired and not model.runs(scenario, what):
                said = Site(path, model.line)
                yield _finding(context, some, "isl", f"`{key}` sweeps {what}, which is not active for its model", said, model.active)


def _short(lengths: tuple[object, object]) -> str:
    return "".join(f"{number // 1024}k" if isinstance(number, int) and number % 1024 == 0 else str(number) for number in lengths)


def _finding(context: Context, points: Sequence[Point], field: str, message: str, said: Site, text: str) -> Finding:
    return context.finding(
        RULE,
        message,
        field_site(points[0], field),
        help="move it to the deprecated masters, or correct the list of models",
        touches=[point.id for point in points],
        related=[(said, f"says: {text if len(text) <= 80 else text[:79] + '…'}")],
        structure=points[0].key,
        subject=message,
    )
