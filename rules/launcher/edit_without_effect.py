"""A launcher's edit of a recipe matches no line of it

What
A `sed -i 's/.../key: value/'` of a launcher is meant to set a key of the recipe, matches nothing in the recipe of a run, and the recipe
goes on with another value: the key stands there at another depth, or spelt otherwise. Where the recipe does not have the key at all, or
the key is the job's name, it is a note.

Why
The edit looks as if it held for every recipe. The job that goes without it fails for the very reason that the edit was written for.

Example
    # launcher
    sed -i 's/^  max_attempts: [0-9]*/  max_attempts: 720/' "$CONFIG_PATH"
    # recipe
    base:
      health_check:
        max_attempts: 360

Instead
    sed -i -E 's/^( +)max_attempts: [0-9]+/\\1max_attempts: 720/' "$CONFIG_PATH"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import own
from reviewbot.runs.model import Run
from reviewbot.runs.servers import layers_of
from reviewbot.trace.effects import EditCommand
from reviewbot.trace.values import is_known

RULE = Rule("edit-without-effect", Level.WARNING, scope="run")

_SUBSTITUTE = re.compile(
    r"\As(?P<end>[/|#,@!])(?P<pattern>(?:\\.|(?!(?P=end)).)*)(?P=end)(?P<text>(?:\\.|(?!(?P=end)).)*)(?P=end)[gIi0-9]*\Z"
)
_PAIR = re.compile(r"\s*(?P<key>[\w-]+):\s+(?P<value>\S.*?)\s*\Z")


@dataclass(frozen=True, slots=True)
class _Wish:
    key: str
    value: str


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.outcome != "submit" or run.text is None or run.recipe_argument is None:
            continue
        file = "/" + run.recipe_argument.partition(":")[0].rpartition("/")[2]
        for effect in run.effects:
            if not isinstance(effect, EditCommand) or any(effect.changed) or not effect.certain or not effect.files:
                continue
            wish = _wish(effect.program) if all(("/" + name).endswith(file) for name in effect.files) else None
            if wish is not None:
                yield from _unmet(context, run, effect, wish)


def _wish(program: str) -> _Wish | None:
    found = _SUBSTITUTE.match(program.strip())
    if found is None or not is_known(found["text"]) or re.search(r"\\[0-9]|&", found["text"]):
        return None
    pair = _PAIR.match(found["text"].replace("\\/", "/"))
    return _Wish(pair["key"], pair["value"]) if pair is not None and pair["key"] in found["pattern"] else None


def _unmet(context: Context, run: Run, effect: EditCommand, wish: _Wish) -> Iterator[Finding]:
    assert run.text is not None
    stands = re.compile(rf"[\s\"'-]*{re.escape(wish.key)}[\"']?\s*:\s*(?P<value>[^#]*?)\s*(?:#.*)?\Z")
    lines = [(number, match["value"]) for number, line in enumerate(run.text.text.split("\n"), 1) if (match := stands.match(line))]
    if any(value.strip("\"'") == wish.value.strip("\"'") for _, value in lines):
        return
    recipe = run.recipe_path or run.recipe_argument or ""
    name = recipe.partition(":")[0].rpartition("/")[2]
    if not lines:
        what = f"the recipe has no line for it to match, and the default of `{wish.key}` stays"
        help = f"add the key where it is not there, or write `{wish.key}` into the recipe"
    else:
        value = lines[0][1]
        what = f"it matches no line of `{name}`, which keeps `{wish.key}: {value}`"
        help = "let the pattern match the line at any depth"
    layers = layers_of(run.text, lines[0][0]) if lines else ()
    yield context.finding(
        RULE,
        f"this is to set `{wish.key}{'' if wish.key == 'name' else f': {wish.value}'}`, but {what}",
        effect.site,
        help=help,
        touches=[run],
        related=[Related(layers[0].site, "stays as it is")] if layers and own(context, layers[0].site) else [],
        structure=wish.key,
        subject=f"{wish.key} {name if lines else '(absent)'}",
        level=None if lines and wish.key != "name" else Level.NOTE,
    )
