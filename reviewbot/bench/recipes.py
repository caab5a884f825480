"""srt-slurm recipes, whatever their schema: finding them, loading them as the tool would, asking for effective values."""

from __future__ import annotations

from collections.abc import Iterable

from reviewbot.bench import srt_v1, srt_v2
from reviewbot.bench.model import Recipe, RecipeError
from reviewbot.bench.srt_values import default
from reviewbot.bench.validate import RECIPE_SCHEMAS, check, ignored, version, versioned_names
from reviewbot.bench.variants import (
    Item,
    Variant,
    VariantError,
    expanded,
    split_selector,
)
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence, find, plain
from reviewbot.documents.positions import Span
from reviewbot.documents.yaml import YamlDocument, parse_yaml

__all__ = [
    "default_of",
    "depends_on_release",
    "effective",
    "load_argument",
    "load_recipe",
    "looks_like_recipe",
    "schema_of",
    "split_selector",
]

_BLOCKS = frozenset({"backend", "benchmark", "dynamo", "engine", "frontend", "health_check", "model", "resources", "roles", "slurm"})
_V1_KEYS = frozenset({"backend", "infra"})
_V2_KEYS = frozenset({"engine", "roles", "services", "host_setup", "post_eval"})


def looks_like_recipe(root: Node | None) -> bool:
    """Whether a document is a recipe or an override file, rather than any other YAML."""
    if not isinstance(root, Mapping):
        return False
    base = root.get("base")
    if base is not None:
        return isinstance(base, Mapping) and len(_BLOCKS.intersection(_names(base))) >= 2
    names = _names(root)
    return isinstance(root.get("model"), Mapping) and isinstance(root.get("resources"), Mapping) and len(_BLOCKS & names) >= 3


def _names(root: Mapping) -> set[object]:
    return {key for key, _ in root.items()}


def schema_of(root: Node | None) -> int:
    """1 or 2: by ``schema``, else by the keys that only one of them has, else 1."""
    sections = [node for node in (root, find(root, "base")) if isinstance(node, Mapping)]
    for section in sections:
        written = section.get("schema")
        if isinstance(written, Scalar) and isinstance(written.value, int) and not isinstance(written.value, bool):
            return 2 if written.value >= 2 else 1
    if isinstance(root, Mapping) and root.get("base") is not None:
        for key, entry in root.items():
            if isinstance(key, str) and key.startswith(("override_", "zip_override_")) and isinstance(entry.value, Mapping):
                sections.append(entry.value)
    names = set().union(*(_names(section) for section in sections)) if sections else set()
    return 2 if _V2_KEYS & names and not _V1_KEYS & names else 1


def load_argument(document: YamlDocument | Node, argument: str, **options: object) -> list[Recipe | RecipeError]:
    """:func:`load_recipe` with the selector of a ``-f`` argument (``path:selector``)."""
    try:
        selector = split_selector(argument)[1]
    except VariantError as error:
        return [_error("", error.span, error.message, error.key, "variant")]
    return load_recipe(document, selector, **options)  # type: ignore[arg-type]


def load_recipe(
    document: YamlDocument | Node,
    selector: str = "",
    *,
    sets: Iterable[str | tuple[str, object]] = (),
    unsets: Iterable[str] = (),
    tag: str | None = None,
    keep: bool = False,
    partial: bool = False,
) -> list[Recipe | RecipeError]:
    """The jobs that the tool makes of a file, in its order; errors stand in for those that do not load.

    ``selector`` is what follows the path (``base``, ``override_x``, ``zip_override_x``, ``zip_override_x[0]``, a pattern, or nothing
    for all variants without the base); on a plain file it is ignored, as the tool does. ``sets`` are ``key=value`` texts (value
    read as YAML) or pairs. ``tag`` is the tool's release: fields and checks of that release, of all releases where it is no
    release. With ``keep`` a variant that does not load is also given as a recipe, behind its errors. ``partial`` is for
    fragments that other blocks complete later: what is missing is no error.
    """
    root: Node | None = document if isinstance(document, (Scalar, Mapping, Sequence)) else document.root
    if not isinstance(root, Mapping):
        span = Span(1, 1, 1, 1) if root is None else root.span
        return [_error("", span, "the document is not a mapping", "", "variant")]
    number = schema_of(root)
    release = version(tag)
    if release is not None:
        if release[0] == 1:
            number = 1
        elif number == 1:
            release, tag = None, None  # what a release of schema 2 still loads of schema 1 cannot be told
    try:
        changes = tuple(_change(change) for change in sets)
    except ValueError as error:
        return [_error("", Span(1, 1, 1, 1), str(error), "", "variant")]
    found: list[Recipe | RecipeError] = []
    for problem in ignored(root, number):
        if problem.keyword != "ignored-key":
            found.append(_error("", problem.span, problem.message, problem.key, "schema"))
    for variant in expanded(root, selector, schema=number, sets=changes, unsets=tuple(unsets)):
        if isinstance(variant, VariantError):
            found.append(_error("", variant.span, variant.message, variant.key, "variant"))
        else:
            found.extend(_loaded(variant, number, tag, keep, partial))
    return found


def _change(change: str | tuple[str, object]) -> tuple[str, object]:
    if not isinstance(change, str):
        return change
    key, equals, text = change.partition("=")
    if not equals or not key:
        raise ValueError(f"--set {change}: expected KEY=VALUE")
    return key, plain(parse_yaml(text.encode(), "--set").root) if text else ""


def _loaded(variant: Variant, number: int, tag: str | None, keep: bool, partial: bool) -> list[Recipe | RecipeError]:
    adapter = srt_v1 if number == 1 else srt_v2
    errors: list[Recipe | RecipeError] = [
        _error(variant.name, problem.span, problem.message, problem.key, "schema")
        for problem in check(variant.item, RECIPE_SCHEMAS[number], tag)
        if not (partial and problem.keyword == "required")
    ]
    if not errors:
        for refusal in adapter.refusals(variant.item, tag):
            errors.append(_error(variant.name, _refused(variant.item, refusal.key), refusal.message, refusal.key, "check"))
    if errors and not keep:
        return errors
    return [*errors, adapter.normalise(variant.item, variant.name, tag)]


def _refused(item: Item, key: str) -> Span:
    """The place of ``key``, or of the innermost block around it that is written."""
    span = item.key_span
    words = key.split(".")
    while words:
        following = None
        for length in range(1, len(words) + 1):  # a key may itself have dots
            following = item.at(".".join(words[:length]))
            if following is not None:
                words = words[length:]
                break
        if following is None:
            return span
        item, span = following, following.key_span
    return item.span if item.children is None and not isinstance(item.node, Sequence) else span


def _error(variant: str, span: Span, message: str, key: str, kind: str) -> RecipeError:
    return RecipeError(variant, message, span.line, span.column, key, kind)


# Blocks and values that releases judge differently beyond their keys.
_JUDGED = frozenset({"telemetry", "profiling", "observability", "het_jobs", "headless"})


def depends_on_release(recipe: Recipe) -> bool:
    """Whether some release may refuse a recipe that loads where no release is asked for."""
    if recipe.frontend is not None and recipe.frontend.value in ("vllm", "trtllm_serve"):
        return True
    words = versioned_names(RECIPE_SCHEMAS[recipe.schema]) | _JUDGED
    return recipe.schema != 1 or any(not words.isdisjoint(key.split(".")) for key in recipe.settings)


def default_of(recipe: Recipe, key: str, tag: str | None = None) -> object:
    """The tool's default of the dotted ``key`` for a recipe's schema and engine (of release ``tag``), or ``None``."""
    return default(RECIPE_SCHEMAS[recipe.schema], key, recipe.engine, tag)


def effective(recipe: Recipe, key: str, tag: str | None = None) -> tuple[object, bool]:
    """The value of the dotted ``key`` and whether it is the tool's default rather than written.

    The value of a block is that of its written leaves; ``None`` where a key has neither a value nor a default.
    """
    written = recipe.settings.get(key)
    if written is not None:
        return written.value, False
    prefix = key + "."
    block = {name[len(prefix) :]: value.value for name, value in recipe.settings.items() if name.startswith(prefix)}
    if block:
        return block, False
    return default_of(recipe, key, tag), True
