"""A change adds a recipe that nothing uses

What
A recipe file is new, and no master names it: neither an active nor a retired one.

Why
A point that was meant to be swept is not. Recipes that were there before are left alone, since retired ones are kept on purpose.

Example
    # added: recipes/disagg-gb300-c388.yaml, and no row with CONFIG_FILE=recipes/disagg-gb300-c388.yaml

Instead
    additional-settings:
      - "CONFIG_FILE=recipes/disagg-gb300-c388.yaml"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.recipes import looks_like_recipe
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("orphan-recipe", Level.NOTE, frozenset({"bench", "runs", "change"}))


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    added = sorted(context.changed & set(context.bench.recipe_files) - set(context.base.bench.recipe_files))
    if not added:
        return
    used = {run.recipe_path for run in context.runs}
    mentions = [mention.path for mention in context.bench.mentions]
    named = {path.rpartition("/")[2] for path in mentions}
    for path in added:
        folder, _, file = path.rpartition("/")
        if path in used or file in named:
            continue
        document = context.bench.yaml_document(path)
        if document is None or not looks_like_recipe(document.root):
            continue
        beside = [mention for mention in mentions if mention.rpartition("/")[0].endswith(folder.rpartition("/")[2])]
        yield context.finding(
            RULE,
            f"`{file}` is new, and no master names it",
            Site(path, 1),
            help="add the row, or leave the recipe out" + (f"; rows name recipes of its folder, such as `{beside[0]}`" if beside else ""),
            subject=path,
        )
