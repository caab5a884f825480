"""The registry of formats: how a repository of each kind is recognised and read.

A new format is a new ``Adapter`` in ``ADAPTERS`` and nothing else. An adapter recognises a *format* by markers in the tree (paths and
keys), never a repository by its name; the first that recognises the tree reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reviewbot.bench import inferencex, recipe_folder
from reviewbot.bench.layout import Layout, select
from reviewbot.bench.masters import Master, Masters, join_masters, read_master
from reviewbot.bench.model import Point
from reviewbot.bench.policy import CURRENT, read_policy
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.runners import Runners, read_runners
from reviewbot.bench.source import Source
from reviewbot.documents.nodes import Mapping as MappingNode

Given = Mapping[str, tuple[str, ...]]
Prepare = Callable[[Mapping[str, Any], bool, bool, bool], Mapping[str, Any]]


def _as_is(row: Mapping[str, Any], eval_only: bool, separate: bool, fingerprint: bool) -> Mapping[str, Any]:
    return row


@dataclass(frozen=True, slots=True)
class Declared:
    """What an adapter read. ``prepare`` makes of a point's row the row that a workflow's matrix holds (for an eval job or not, evals
    being separate jobs or not, with a fingerprint or not); ``evaluated`` gives the places of the rows that a sweep evaluates;
    ``launched`` is false where points have no launcher."""

    masters: Masters = field(default_factory=Masters)
    runners: Runners = field(default_factory=Runners)
    points: Sequence[Point] = ()
    problems: Sequence[BenchProblem] = ()
    deprecated: Callable[[], tuple[Master, ...]] = tuple
    prepare: Prepare = _as_is
    evaluated: Callable[[Sequence[Mapping[str, Any]]], set[int]] = lambda rows: set()
    launched: bool = True


@dataclass(frozen=True, slots=True)
class Adapter:
    """``detect`` gives the layout of a tree of this format (``None``: another format), ``load`` reads it.

    ``detect`` also gets the fields of the layout that settings give, which show the way and win over what it finds.
    """

    name: str
    detect: Callable[[Source, Given], Layout | None]
    load: Callable[[Source, Layout], Declared]


# --- InferenceX up to August 2026 ------------------------------------------------------------------------------------

_FOLDERS = ("configs", ".github/configs")
_GENERATOR = ("utils/matrix_logic/generate_sweep_configs.py", "utils/matrix_logic/validation.py")
_LATER = ("infx/matrix/", "inferencex-e2e/")


def _detect_inferencex(source: Source, given: Given) -> Layout | None:
    if "masters" in given:
        return Layout(generator=_GENERATOR)
    for folder in _FOLDERS:
        globs = (f"{folder}/*-master.yaml",)
        if any(_is_master(source, path) for path in select(source.paths, globs)):
            return Layout(
                masters=globs,
                deprecated=(f"{folder}/deprecated/*-master.yaml",),
                runners=(f"{folder}/runners.yaml",),
                generator=_GENERATOR,
            )
    return None


def _is_master(source: Source, path: str) -> bool:
    document = source.yaml(path)
    root = None if document is None else document.root
    if not isinstance(root, MappingNode) or (
        document is not None and any(problem.fatal or problem.code == "yaml-syntax" for problem in document.problems)
    ):
        return True  # a broken master is still one: its name says so
    return any(
        isinstance(entry.value, MappingNode) and ("scenarios" in entry.value.index() or "seq-len-configs" in entry.value.index())
        for _, entry in root.items()
    )


def _load_inferencex(source: Source, layout: Layout) -> Declared:
    def read(globs: Sequence[str], deprecated: bool) -> tuple[Master, ...]:
        found = []
        for path in select(source.paths, globs):
            document = source.yaml(path)
            if document is not None and (document.root is not None or not document.problems):
                found.append(read_master(path, document.root, deprecated))
        return tuple(found)

    masters = join_masters(read(layout.masters, False))
    runners = Runners()
    for path in select(source.paths, layout.runners)[:1]:
        document = source.yaml(path)
        if document is not None and (document.root is not None or not document.problems):
            runners = read_runners(path, document.root)
    texts = [source.text(path) or "" for path in layout.generator if source.tree.is_file(path)]
    policy = read_policy(*texts[:2]) if texts else CURRENT
    points, problems = inferencex.expand(masters.active(), runners, policy)
    problems = [problem for problem in problems if not source.cut_short(problem.site.path)]
    if any(path.startswith(_LATER) for path in source.paths):
        problems = [problem for problem in problems if problem.code != "unknown-field"]  # fields of a later format
    return Declared(
        masters,
        runners,
        points,
        problems,
        lambda: read(layout.deprecated, True),
        inferencex.workflow_row,
        lambda rows: inferencex.evaluated(rows, policy),
    )


# --- a folder of recipes alone -------------------------------------------------------------------------------------


def _load_folder(source: Source, layout: Layout) -> Declared:
    points, problems = recipe_folder.recipe_points(source, layout)
    return Declared(points=points, problems=problems, launched=False)


ADAPTERS: tuple[Adapter, ...] = (
    Adapter("inferencex-2026-08", _detect_inferencex, _load_inferencex),
    Adapter("srt-slurm-recipes", recipe_folder.detect, _load_folder),
)
