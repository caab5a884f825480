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

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.documents.positions import Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import uses

RULE = Rule("sibling-settings-differ", Level.NOTE, frozenset({"bench", "documents", "runs", "change"}), guess=True)

_LEAST, _SHARE, _SHOWN = 3, 0.75, 4


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
        for side in group:
            if side.path in changed and len(group) > _LEAST:
                yield from _lacking(context, side, group, _removed(context, side) if side.path in before else None)


def _sides(context: Context, path: str) -> Iterator[_Side]:
    recipes = context.bench.recipes(path)
    if len(recipes) != 1 or not isinstance(recipes[0], Recipe):
        return
    for role in recipes[0].roles.values():
        spread = tuple(name in role.args and role.args[name].value not in (False, 1) for name in _LAYOUT)
        for flags, settings in ((True, role.args), (False, role.env)):
            if settings:
                yield _Side(
                    path, role, flags, {name.replace("_", "-") if flags else name: value for name, value in settings.items()}, spread
                )


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


def _lacking(context: Context, side: _Side, group: list[_Side], removed: frozenset[str] | None) -> Iterator[Finding]:
    assert context.changed is not None
    others = [other for other in group if other.path != side.path]
    settled = [other for other in others if other.path not in context.changed]
    others = settled if len(settled) >= _LEAST else others  # what was there before says what is usual
    counts = Counter(name for other in others for name in other.settings)
    missing = [
        name
        for name, count in counts.most_common()
        if name not in side.settings and count >= _LEAST and count >= _SHARE * len(others) and (removed is None or name in removed)
    ]
    if not missing:
        return
    example = next(other.path for other in others if missing[0] in other.settings).rpartition("/")[2]
    shown = ", ".join(f"`{name}`" for name in missing[:_SHOWN]) + (f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "")
    lines = [value.line for value in side.settings.values()]
    have = counts[missing[0]]
    runs = [run for use in uses(context) if use.path == side.path for run in use.runs]
    yield context.finding(
        RULE,
        f"{side.role.name} has no {shown}; {have} of {len(others)} siblings of this layout do, such as {example}",
        Span(min(lines), 1, max(lines), 1000),
        path=side.path,
        help="add it, or say why this one goes without",
        touches=runs,
        structure=f"{side.role.name}.{'flags' if side.flags else 'env'}",
        subject=" ".join(missing),
    )
