"""A selector chooses among variants that a recipe does not have

What
A row names a variant of a recipe (`recipe.yaml:override_low`), and the file has no `base` block: it is one plain recipe.

Why
The tool ignores the selector with a warning in its log. All rows that look different run the same recipe.

Example
    # recipes/toy.yaml has no base
    - "CONFIG_FILE=recipes/toy.yaml:override_low"

Instead
    - "CONFIG_FILE=recipes/toy-low.yaml"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.nodes import Mapping
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import setting_site
from reviewbot.engine.recipes import own
from reviewbot.runs.build import document_of
from reviewbot.runs.servers import layers_of

RULE = Rule("ignored-selector", Level.WARNING, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        argument = run.recipe_argument
        if run.outcome != "submit" or run.text is None or argument is None or ":" not in argument:
            continue
        path, _, selector = argument.rpartition(":")
        root = document_of(run.text.text).root
        if not isinstance(root, Mapping) or root.get("base") is not None or not selector:
            continue
        layers = layers_of(run.text, 1)
        related = [Related(layers[0].site, "the recipe has no `base`")] if layers and own(context, layers[0].site) else []
        yield context.finding(
            RULE,
            f"`:{selector}` chooses nothing: `{path.rpartition('/')[2]}` is a plain recipe without variants",
            setting_site(run.point, argument.rpartition("/")[2]),
            help="take the selector out, or write the variants",
            touches=[run],
            related=related,
            structure=f"{run.point.key}.recipe",
            subject=argument,
        )
