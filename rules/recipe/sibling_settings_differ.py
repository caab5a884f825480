"""A recipe lacks a setting that its siblings have

What
A flag or variable that nearly all recipes of the same folder, role and layout have is missing in a recipe that a change adds, or a change
takes it out of one recipe only.

Why
Recipes of one folder are points of one curve. A setting that one of them lacks is most often forgotten, and bends the curve; where it is
wanted, a comment helps the next reader.

Example
    # nine siblings
    decode: {max-num-seqs: 512, max-num-batched-tokens: 512}
    # this one
    decode: {max-num-seqs: 512}

Instead
    decode: {max-num-seqs: 512, max-num-batched-tokens: 512}
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.documents.positions import Site, Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule

RULE = Rule("sibling-settings-differ", Level.NOTE, frozenset({"bench", "documents", "runs", "change"}), guess=True)

_LEAST, _SHARE = 3, 0.75
_MOST = 2  # a recipe that lacks more is another kind of recipe


@dataclass(frozen=True, slots=True)
class _Side:
    path: str
    role: Role
    flags: bool
    settings: Mapping[str, Value]
    shape: tuple[object, ...]


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    files = frozenset(context.bench.recipe_files)
    changed = context.changed & files
    before = frozenset(context.base.bench.recipe_files)
    folders = {path.rpartition("/")[0] for path in changed}
    sides: dict[tuple[object, ...], list[_Side]] = {}
    for path in sorted(files):
        folder = path.rpartition("/")[0]
        if folder in folders:
            for side in _sides(context, path):
                sides.setdefault((folder, side.role.name, side.role.engine, side.flags, side.shape), []).append(side)
    for group in sides.values():
        lacking: dict[tuple[str, ...], list[tuple[_Side, list[_Side]]]] = {}
        for side in group:
            if side.path in changed and len(group) > _LEAST:
                others = _witnesses(context, side, group)
                missing = _missing(side, others, _removed(context, side) if side.path in before else None)
                if 0 < len(missing) <= _MOST:
                    lacking.setdefault(missing, []).append((side, others))
        for missing, found in lacking.items():
            yield _finding(context, missing, found)


def _sides(context: Context, path: str) -> Iterator[_Side]:
    recipes = context.bench.recipes(path)
    if len(recipes) != 1 or not isinstance(recipes[0], Recipe):
        return
    recipe = recipes[0]
    gpu = _FAMILY.match(str(recipe.gpu_type.value)) if recipe.gpu_type is not None else None
    for role in recipe.roles.values():
        spread = (gpu[0] if gpu is not None else "", *(name in role.args and role.args[name].value not in (False, 1) for name in _LAYOUT))
        for flags, settings in ((True, role.args), (False, role.env)):
            if settings:
                yield _Side(
                    path, role, flags, {name.replace("_", "-") if flags else name: value for name, value in settings.items()}, spread
                )


_FAMILY = re.compile(r"[a-z]+")  # gb200 and gb300 are set up alike, b200 is not
_LAYOUT = (
    "data-parallel-size",
    "enable-dp-attention",
    "enable_attention_dp",
    "pipeline-parallel-size",
    "speculative-config",
    "speculative-algorithm",
    "speculative_config",
)


def _removed(context: Context, side: _Side) -> frozenset[str]:
    """What the file had before the change, for the same role."""
    assert context.base is not None
    for recipe in context.base.bench.recipes(side.path):
        role = recipe.roles.get(side.role.name) if isinstance(recipe, Recipe) else None
        if role is not None:
            names = role.args if side.flags else role.env
            return frozenset(name.replace("_", "-") if side.flags else name for name in names) - side.settings.keys()
    return frozenset()


def _witnesses(context: Context, side: _Side, group: list[_Side]) -> list[_Side]:
    """The siblings that say what is usual: those that were there before, where there are enough."""
    assert context.changed is not None
    others = [other for other in group if other.path != side.path]
    settled = [other for other in others if other.path not in context.changed]
    return settled if len(settled) >= _LEAST else others


def _missing(side: _Side, others: list[_Side], removed: frozenset[str] | None) -> tuple[str, ...]:
    counts = Counter(name for other in others for name in other.settings)
    return tuple(
        name
        for name, count in sorted(counts.items())
        if name not in side.settings and count >= _LEAST and count >= _SHARE * len(others) and (removed is None or name in removed)
    )


def _finding(context: Context, missing: tuple[str, ...], found: list[tuple[_Side, list[_Side]]]) -> Finding:
    side, others = found[0]
    example = next(other.path for other in others if missing[0] in other.settings).rpartition("/")[2]
    have = sum(missing[0] in other.settings for other in others)
    lines = [value.line for value in side.settings.values()]
    paths = {one.path for one, _ in found}
    return context.finding(
        RULE,
        f"{side.role.name} has no {' and no '.join(f'`{name}`' for name in missing)}; "
        f"{have} of {len(others)} siblings of this layout do, such as {example}",
        Span(min(lines), 1, max(lines), 1000),
        path=side.path,
        help="add it, or say why this one goes without",
        touches=[run for run in context.runs if run.recipe_path in paths],
        related=[Related(Site(one.path, min(value.line for value in one.settings.values())), "the same here") for one, _ in found[1:]],
        structure=f"{side.role.name}.{'flags' if side.flags else 'env'}",
        subject=" ".join(missing),
    )
