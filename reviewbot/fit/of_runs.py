"""The servers of effective runs as questions to the arithmetic: model and precision of the row, GPU of its runner, the engine's version by
the image, everything else by flags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from reviewbot.bench.model import Point
from reviewbot.catalog.engines import ENGINE_OF_FRAMEWORK
from reviewbot.catalog.gpus import Gpu, find_gpu
from reviewbot.catalog.images import window_of_image
from reviewbot.catalog.models import Checkpoint, Model, find_model
from reviewbot.catalog.names import names_of
from reviewbot.fit.claims import Subject
from reviewbot.fit.layout import ENGINES, Layout, Version, layout_of, parse_version
from reviewbot.fit.verdict import Report, fit
from reviewbot.runs.images import looks_like_image, tag_of
from reviewbot.runs.model import Run, Server

_RUNTIMES = ("ai-dynamo/",)  # images whose tag is the release of something around the engine


@dataclass(frozen=True, slots=True)
class Question:
    """What ``fit`` is asked about one server. ``earliest`` is the oldest release that the image can hold, ``layout.version`` the newest."""

    model: Model
    checkpoint: Checkpoint
    gpu: Gpu
    layout: Layout
    earliest: Version | None


def question_of(run: Run, server: Server, directories: tuple[Path, ...] = ()) -> Question | str:
    """The question about a server of a run, or why there is none. ``directories`` hold model files of a user."""
    if server.engine not in ENGINES:
        return f"the engine {server.engine!r} is not one that memory is known of" if server.engine else "the engine is not known"
    found = model_of(run, directories)
    if isinstance(found, str):
        return found
    gpu = gpu_of(run)
    if gpu is None:
        return f"the GPU of {run.runner!r} is not known"
    earliest, newest = _versions(server.engine, _image(run))
    layout = layout_of(server, run.point.row, version=newest, gpus_per_node=gpu.gpus_per_node)
    if layout is None:
        return "a size of the layout is not known"
    if layout.nodes is not None and server.gpus is not None and server.gpus < gpu.gpus_per_node and not server.workers:
        layout = replace(layout, nodes=None)
    return Question(*found, gpu, layout, earliest)


def fit_of(run: Run, server: Server) -> Report | None:
    """Whether the server of a run fits; ``None`` where a fact that decides it is missing. Equal layouts are worked out once.

    A constraint counts only where every release that the image can hold has it.
    """
    asked = question_of(run, server)
    return None if isinstance(asked, str) else answer(asked)


def answer(asked: Question) -> Report:
    """The report about a question."""
    report = fit(asked.model, asked.checkpoint, asked.layout, asked.gpu)
    if report.constraints and asked.earliest != asked.layout.version:
        before = fit(asked.model, asked.checkpoint, replace(asked.layout, version=asked.earliest), asked.gpu)
        shared = {one.rule for one in before.constraints}
        kept = tuple(one for one in report.constraints if one.rule in shared)
        if not kept:  # what memory alone says; the versions differ in nothing else that could refuse
            return replace(
                report, verdict="cannot-tell", constraints=(), reason="releases that the image can hold differ in what they refuse"
            )
        return replace(report, constraints=kept)
    return report


def fits(runs: Iterable[Run]) -> Iterator[tuple[Run, Server, Report]]:
    """Every server of the runs whose fit can be looked at."""
    for run in runs:
        for server, asked in questions(run):
            if isinstance(asked, Question):
                yield run, server, answer(asked)


_LAST: list[tuple[Run, tuple[tuple[Server, Question | str], ...]]] = []


def questions(run: Run) -> tuple[tuple[Server, Question | str], ...]:
    """The servers of a run with the question about each, or why there is none. Rules ask about one run in turn: the last is remembered."""
    if not _LAST or _LAST[0][0] is not run:
        _LAST[:] = [(run, tuple((server, question_of(run, server)) for server in run.servers))]
    return _LAST[0][1]


def model_of(run: Run, directories: tuple[Path, ...] = ()) -> tuple[Model, Checkpoint] | str:
    """Model and checkpoint of a run by its row (or by its recipe, where there is no master), or why they are not known."""
    row = run.point.row
    name, precision = row.get("model"), row.get("precision")
    recipe = run.recipe if name is None or precision is None else None
    if recipe is not None:
        repo = recipe.identity.get("model.repo") or recipe.model_path
        name = repo.value if name is None and repo is not None else name
        precision = recipe.precision.value if precision is None and recipe.precision is not None else precision
    if not isinstance(name, str) or not name:
        return "the model is not known"
    return _checkpoint(name, precision if isinstance(precision, str) else None, _vendor(run), directories)


def subject_of(point: Point) -> Subject | None:
    """What sentences about a point speak of, by its row alone; ``None`` where model, precision, GPU or engine are not known."""
    row = point.row
    name, precision, runner, framework = (row.get(field) for field in ("model", "precision", "runner", "framework"))
    gpu = _gpu(runner) if isinstance(runner, str) else None
    engine = ENGINE_OF_FRAMEWORK.get(framework) if isinstance(framework, str) else None
    if gpu is None or engine not in ENGINES or not isinstance(name, str):
        return None
    found = _checkpoint(name, precision if isinstance(precision, str) else None, gpu.vendor)
    return None if isinstance(found, str) else Subject(*found, gpu, engine)


@lru_cache(maxsize=1024)
def _checkpoint(name: str, precision: str | None, vendor: str | None, directories: tuple[Path, ...] = ()) -> tuple[Model, Checkpoint] | str:
    model = find_model(name, *directories)
    if model is None:
        return f"no facts about the model {name!r}"
    by_id = model.checkpoint_of(name)
    if by_id is None and precision is not None:
        by_id = model.checkpoint(precision)
        if precision.lower() == "fp4" and vendor == "amd" and by_id is not None and by_id.precision.startswith("nvfp4"):
            by_id = model.checkpoint("mxfp4") or by_id
    if by_id is None:
        return f"{model.name} is not known in {precision}"
    width = _width(precision)
    if width is not None and _width(by_id.precision) not in (None, width):
        return f"{name} is published in {by_id.precision}, the row says {precision}"
    return model, by_id


def _width(precision: str | None) -> int | None:
    """Bits of a precision; ``None`` where it is mixed, so that a row may name either part, or says nothing."""
    text = (precision or "").lower()
    if "4" in text and "8" in text:
        return None
    return 4 if "4" in text else 8 if "8" in text else 16 if "16" in text else None


def gpu_of(run: Run) -> Gpu | None:
    """The GPU that a run gets: by its runner label or runner, else by its recipe."""
    found = _gpu(run.runner) or _gpu(run.node)
    if found is None and run.recipe is not None and run.recipe.gpu_type is not None and isinstance(run.recipe.gpu_type.value, str):
        found = _gpu(run.recipe.gpu_type.value)
    return found


def _vendor(run: Run) -> str | None:
    gpu = gpu_of(run)
    return gpu.vendor if gpu is not None else None


@lru_cache(maxsize=1024)
def _gpu(text: str) -> Gpu | None:
    return find_gpu(text) if text else None


def _image(run: Run) -> str | None:
    value = run.image.value if run.image is not None else None
    if value is not None and looks_like_image(value):
        return value
    row = run.point.row.get("image")
    return row if isinstance(row, str) and looks_like_image(row) else None


@lru_cache(maxsize=1024)
def _versions(engine: str, image: str | None) -> tuple[Version | None, Version | None]:
    """The oldest and the newest release of the engine that an image can hold; ``None`` where they are not known, which counts as newest."""
    if image is None:
        return None, None
    names = names_of(engine)
    window = window_of_image(image, engine)
    tag = tag_of(image) or ""
    # a build of a day may hold what came after the release that it names; a runtime's tag is its own release
    plain = re.match(r"v?\d+\.\d+\.\d+", tag) and not re.search(r"-\d{8}", tag) and not any(one in image for one in _RUNTIMES)
    if plain and (window is not None or engine == "atom"):
        version = parse_version(tag)
        return version, version
    if window is not None and names is not None:
        return parse_version(names.versions[window.first]), parse_version(names.versions[window.last])
    return None, None
