"""A folder of srt-slurm recipes without masters: every variant of every recipe file is a point without a launcher."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.layout import Layout, select
from reviewbot.bench.model import Point
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.source import Source
from reviewbot.documents.nodes import Mapping, Node, Sequence
from reviewbot.documents.positions import Site

RECIPE = "recipe"
MAX_VARIANTS = 1000

_MARK = re.compile(rb"^(?:\s\s?(?:\s\s)?)?(?:backend|engine):", re.MULTILINE)
_SHAPE = re.compile(rb"^(?:\s\s?(?:\s\s)?)?(?:resources|roles):", re.MULTILINE)
_GLOBS = ("**/*.yaml", "**/*.yml")


def detect(source: Source, settings: Layout | None) -> Layout | None:
    """Recipes are recognised by their keys: an engine (``backend`` or ``engine``) beside ``resources`` or ``roles``."""
    if settings is not None and (settings.recipes or settings.adapter):
        return settings if settings.adapter or select(source.paths, settings.recipes) else None
    candidates = [path for path in select(source.paths, _GLOBS) if not path.startswith(".")]
    if not any(is_recipe_text(source.read(path) or b"") for path in candidates):
        return None
    return Layout(recipes=_GLOBS, launchers=(), workflows=(), changelog="")


def is_recipe_text(data: bytes) -> bool:
    """Whether a file looks like a recipe, told without parsing it."""
    return _MARK.search(data) is not None and _SHAPE.search(data) is not None


def recipe_points(source: Source, layout: Layout) -> tuple[list[Point], list[BenchProblem]]:
    points: list[Point] = []
    problems: list[BenchProblem] = []
    for path in select(source.paths, layout.recipes):
        if path.startswith(".") or not is_recipe_text(source.read(path) or b""):
            continue
        document = source.yaml(path)
        root = None if document is None else document.root
        if not isinstance(root, Mapping):
            continue
        for count, (variant, line) in enumerate(variant_names(root)):
            if count >= MAX_VARIANTS:
                problems.append(BenchProblem("too-many-variants", f"more than {MAX_VARIANTS} variants", Site(path, line), root.span, path))
                break
            name = f"{path}:{variant}" if variant else path
            row = {"recipe": path, "variant": variant}
            points.append(Point(name, path, row, False, RECIPE, path, Site(path, line), {}))
    return points, problems


def variant_names(root: Mapping) -> Iterator[tuple[str, int]]:
    """The selectors of a recipe file and their lines: one empty selector for a plain file."""
    if "base" not in root.index():
        yield "", root.span.line
        return
    found = False
    for name, entry in root.items():
        line = entry.key.span.line
        if not isinstance(name, str):
            continue
        if name.startswith("override_"):
            found = True
            yield name, line
        elif name.startswith("zip_override_"):
            found = True
            for index in range(max(_lengths(entry.value), default=1)):
                yield f"{name}[{index}]", line
    if not found:
        yield "base", root.span.line


def _lengths(node: Node) -> Iterator[int]:
    stack = [node]
    seen: set[int] = set()  # an alias is looked at once
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            stack.extend(entry.value for _, entry in item.items())
        elif isinstance(item, Sequence):
            yield len(item.items)
