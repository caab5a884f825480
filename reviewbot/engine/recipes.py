"""Recipes as rules look at them: each once, with the runs that use it, the servers it starts, and the places its values stand at."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from reviewbot.bench.model import Recipe, RecipeError, Value
from reviewbot.bench.recipes import load_recipe
from reviewbot.catalog.images import tells_release, window_of_image
from reviewbot.catalog.names import Names, Window, names_of
from reviewbot.catalog.srt_slurm import releases_of
from reviewbot.documents.nodes import Mapping, Node
from reviewbot.documents.positions import Site, Span
from reviewbot.engine.model import Replacement
from reviewbot.runs.images import looks_like_image
from reviewbot.runs.model import Layer, Run, Server
from reviewbot.runs.servers import layers_of, recipe_servers
from reviewbot.trace.effects import Checkout
from reviewbot.trace.files import FileText, LineOrigin

if TYPE_CHECKING:
    from reviewbot.engine.context import Context


_NAME = re.compile(r"name:\s*(?P<name>\"[^\"]*\"|'[^']*'|[^#]*?)\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class Use:
    """One variant of a recipe as it is submitted, and the runs that submit it.

    ``path`` is the recipe's file in the repository (``""`` where it comes from elsewhere or is written by the launcher), ``image`` the
    container image where its reference is known. Without runs it is a file that a change brings and nothing uses yet.
    """

    recipe: Recipe
    text: FileText
    servers: tuple[Server, ...]
    path: str
    image: str | None
    runs: tuple[Run, ...]

    def layers(self, line: int) -> tuple[Layer, ...]:
        """The history of a line of the submitted text."""
        return layers_of(self.text, line)

    def site(self, value: Value | int) -> Site | None:
        """The place that decided a value (or line): in the recipe, or in the launcher where it rewrites or writes that line."""
        layers = self.layers(value if isinstance(value, int) else value.line)
        return layers[-1].site if layers else None

    def written(self, value: Value | int) -> Site | None:
        """The place that a value (or line) is written at: in the recipe where it comes from there."""
        layers = self.layers(value if isinstance(value, int) else value.line)
        return layers[0].site if layers else None

    @property
    def name(self) -> str | None:
        """The recipe's name as its file has it: launchers put their own in its place."""
        value = self.recipe.name
        if value is None or not isinstance(value.value, str):
            return None
        layers = self.layers(value.line)
        written = _NAME.match(layers[0].value) if len(layers) > 1 else None
        return written["name"].strip("\"'") if written is not None else value.value

    @property
    def multiple(self) -> bool:
        """Whether the recipe is a variant of a file with several."""
        return bool(self.recipe.variant)


_USES: WeakKeyDictionary[Context, tuple[Use, ...]] = WeakKeyDictionary()


def uses(context: Context) -> tuple[Use, ...]:
    """The recipes that runs submit, and those that the change touches and no run submits."""
    found = _USES.get(context)
    if found is None:
        found = _USES[context] = tuple(_uses(context))
    return found


_VARIANTS: WeakKeyDictionary[Context, dict[str, tuple[Recipe | RecipeError, ...]]] = WeakKeyDictionary()


def written_variants(context: Context, path: str) -> tuple[Recipe | RecipeError, ...]:
    """The variants of a recipe as its file has them, whoever submits it; loaded once."""
    known = _VARIANTS.setdefault(context, {})
    if path not in known:
        known[path] = tuple(load_recipe(context.documents.yaml(path)))
    return known[path]


@dataclass(frozen=True, slots=True)
class Started:
    """A server with the runs that start it: of a recipe (``use``) or of a script."""

    server: Server
    use: Use | None
    runs: tuple[Run, ...]


def started(context: Context) -> Iterator[Started]:
    """Every server: those of a recipe once, those of a script for each run."""
    for use in uses(context):
        for server in use.servers:
            yield Started(server, use, use.runs)
    for run in context.runs:
        if run.recipe is None:
            for server in run.servers:
                yield Started(server, None, (run,))


def _uses(context: Context) -> Iterator[Use]:
    groups: dict[tuple[int, int, str | None], list[Run]] = {}
    for run in context.runs:
        if run.recipe is not None and run.text is not None and run.outcome == "submit":
            groups.setdefault((id(run.recipe), id(run.text.text), image_of(run)), []).append(run)
    for (_, _, image), runs in groups.items():
        first = runs[0]
        assert first.recipe is not None and first.text is not None
        yield Use(first.recipe, first.text, first.servers, _path(first), image, tuple(runs))
    yield from brought(context)


def brought(context: Context) -> Iterator[Use]:
    """The recipes that the change touches and no run submits."""
    if not context.changed:
        return
    submitted = {run.recipe_path for run in context.every_run if run.variants == 1 and run.recipe_path is not None}
    for path in sorted(context.changed & set(context.bench.recipe_files) - submitted):
        text = _file_text(path, "\n".join(context.lines(path)))
        for recipe in context.bench.recipes(path):
            if isinstance(recipe, Recipe):
                container = recipe.container.value if recipe.container is not None else None
                image = container if isinstance(container, str) and looks_like_image(container) else None
                yield Use(recipe, text, recipe_servers(recipe, text), path, image, ())


def _path(run: Run) -> str:
    """The file of the repository that most of the text comes from: the first line that has one."""
    assert run.text is not None
    if run.recipe_path is not None:
        return run.recipe_path
    return next((origin.site.path for origin in run.text.origins if origin.site is not None), "")


@lru_cache(maxsize=1024)
def _file_text(path: str, text: str) -> FileText:
    count = len(text.split("\n"))
    return FileText(text, tuple(LineOrigin(Site(path, line)) for line in range(1, count + 1)))


@lru_cache(maxsize=4096)
def _is_reference(text: str) -> bool:
    return looks_like_image(text)


def image_of(run: Run) -> str | None:
    """The image reference that a run's container has: the recipe's or the script's own, else the row's where an alias stands for it."""
    value = run.image.value if run.image is not None else None
    if value is not None and _is_reference(value):
        return value
    row = run.point.row.get("image")
    return row if isinstance(row, str) and _is_reference(row) else None


def concurrencies(run: Run) -> tuple[int, ...]:
    """The concurrencies that the client of a run has: the recipe's where its own client reads them, else the row's."""
    recipe = run.recipe
    if (
        recipe is not None
        and recipe.benchmark_type is not None
        and recipe.benchmark_type.value == "sa-bench"
        and recipe.concurrencies is not None
    ):
        written = recipe.concurrencies.value
        return written if isinstance(written, tuple) else ()
    row = run.point.row.get("conc")
    numbers = row if isinstance(row, (list, tuple)) else (row,)
    return tuple(number for number in numbers if isinstance(number, int) and not isinstance(number, bool))


def own(context: Context, site: Site | None) -> bool:
    """Whether a place is in the repository itself, and not in what a launcher checks out."""
    return site is not None and ":" not in site.path and bool(context.lines(site.path))


# --- releases --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tool:
    """The srt-slurm that a launcher checks out: its address, ref and place, and the releases that it can behave like (none: not known)."""

    url: str
    ref: str | None
    site: Site
    releases: tuple[str, ...]

    @property
    def upstream(self) -> bool:
        """Whether it is the tool's own repository and not a fork."""
        return "nvidia/srt-slurm" in self.url.lower()


def tool_of(run: Run) -> Tool | None:
    """The srt-slurm checkout of a run, the last one into its folder; ``None`` where there is none or it is not certain."""
    last: Checkout | None = None
    for effect in run.effects:
        if isinstance(effect, Checkout) and "srt-slurm" in effect.url:
            last = effect
    if last is None or not last.certain:
        return None
    upstream = "nvidia/srt-slurm" in last.url.lower()
    return Tool(last.url, last.ref, last.site, releases_of(last.ref) if upstream and last.ref else ())


@lru_cache(maxsize=4096)
def engine_window(engine: str, image: str | None) -> tuple[Names, Window, bool] | None:
    """The names of an engine, the releases that the image can hold, and whether these are known (else all releases).

    ``None`` for an engine that the catalog does not hold, and for a release of it that was not read.
    """
    names = names_of(engine)
    if names is None:
        return None
    window = window_of_image(image, engine) if image is not None else None
    if window is not None:
        return names, window, True
    return None if image is not None and tells_release(image, engine) else (names, names.anywhere, False)


# --- fixes -----------------------------------------------------------------------------------------------------------


def replaced(context: Context, site: Site, old: str, new: str) -> Replacement | None:
    """The replacement of the only ``old`` in a line; ``None`` where it stands there not once or twice."""
    lines = context.lines(site.path)
    line = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
    if line.count(old) != 1:
        return None
    column = line.index(old) + 1
    return Replacement(site.path, site.line, column, site.line, column + len(old), new)


def word_span(context: Context, site: Site, word: str) -> Span | None:
    """The span of ``word`` in a line, where it stands there."""
    lines = context.lines(site.path)
    line = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
    column = line.find(word) + 1
    return Span(site.line, column, site.line, column + len(word)) if column else None


def beside_resources(root: Mapping) -> Span:
    """The block of a recipe that limits stand beside, for what is not written at all: that of the resources."""
    base = root.get("base")
    for section in (root, base) if isinstance(base, Mapping) else (root,):
        for name in ("resources", "model", "name"):
            entry = section.entry(name)
            if entry is not None:
                return Span(entry.key.span.line, entry.key.span.column, _last_line(entry.value), 1000)
    return root.span


def _last_line(node: Node) -> int:
    if isinstance(node, Mapping) and node.entries:
        return max(_last_line(entry.value) for entry in node.entries)
    return node.span.end_line if node.span.end_column > 1 else node.span.end_line - 1
