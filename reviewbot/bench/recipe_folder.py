"""A folder of srt-slurm recipes without masters: every variant of every recipe file is a point without a launcher."""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingType

from reviewbot.bench.layout import Layout, select
from reviewbot.bench.model import Point
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.recipes import looks_like_recipe
from reviewbot.bench.source import Source
from reviewbot.bench.variants import VariantError, variants
from reviewbot.documents.nodes import Mapping
from reviewbot.documents.positions import Site

RECIPE = "recipe"

# Told without parsing: most YAML files of a repository are no recipes.
_ENGINE = re.compile(rb"^ {0,4}(?:backend|engine):", re.MULTILINE)
_SHAPE = re.compile(rb"^ {0,4}(?:resources|roles):", re.MULTILINE)
_GLOBS = ("**/*.yaml", "**/*.yml")


def detect(source: Source, given: MappingType[str, tuple[str, ...]]) -> Layout | None:
    """A tree with at least one recipe, told by its keys."""
    globs = given.get("recipes", _GLOBS)
    if not any(_recipe(source, path) is not None for path in select(source.paths, globs)):
        return None
    return Layout(recipes=globs, launchers=(), workflows=(), changelog="")


def _recipe(source: Source, path: str) -> Mapping | None:
    """The root of a file that is a recipe."""
    if path.startswith("."):
        return None
    data = source.read(path)
    if data is None or _ENGINE.search(data) is None or _SHAPE.search(data) is None:
        return None
    document = source.yaml(path)
    root = None if document is None else document.root
    return root if isinstance(root, Mapping) and looks_like_recipe(root) else None


def recipe_points(source: Source, layout: Layout) -> tuple[list[Point], list[BenchProblem]]:
    points: list[Point] = []
    problems: list[BenchProblem] = []
    for path in select(source.paths, layout.recipes):
        root = _recipe(source, path)
        if root is None:
            continue
        for variant in variants(root):
            if isinstance(variant, VariantError):
                problems.append(BenchProblem("variant", str(variant), Site(path, variant.span.line), variant.span, path))
                continue
            entry = root.entry(variant.name.partition("[")[0]) if variant.name else None
            line = root.span.line if entry is None else entry.key.span.line
            name = f"{path}:{variant.name}" if variant.name else path
            row = {"recipe": path, "variant": variant.name}
            points.append(Point(name, path, row, False, RECIPE, path, Site(path, line), {}))
    return points, problems
