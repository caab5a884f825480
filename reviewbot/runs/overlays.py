"""Recipes that a launcher lays over a checkout whose own files are not known."""

from __future__ import annotations

from dataclasses import dataclass

from reviewbot.documents.positions import Site
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Checkout, Copy
from reviewbot.tree import Tree


@dataclass(frozen=True, slots=True)
class NotCopied:
    """A recipe that is not among the files of ``folder`` (in the repository), which the launcher copies to the recipe's place at ``site``."""

    recipe: str
    folder: str
    checkout: str
    site: Site


def not_copied(run: Run, tree: Tree, workspace: str) -> NotCopied | None:
    """Whether a run submits a recipe out of a folder that its launcher copies from the repository, while the repository has no such file.

    The checkout below may have it; that nobody copied it is then still worth a look. ``None`` where the recipe is known.
    """
    if run.outcome != "submit" or run.text is not None or run.recipe_argument is None:
        return None
    recipe = run.recipe_argument.partition(":")[0]
    parent = recipe.rpartition("/")[0]
    if "/" not in parent:
        return None  # the root of all recipes: what else lies there is the checkout's business
    checkout = ""
    for effect in run.effects:
        if isinstance(effect, Checkout):
            checkout = f"{effect.url}@{effect.ref or 'HEAD'}"
        if not isinstance(effect, Copy) or not effect.source.startswith(workspace + "/"):
            continue
        below = _below(parent, effect.target)
        if below is None:
            continue
        folder = "/".join(part for part in (effect.source[len(workspace) + 1 :].rstrip("/"), below) if part)
        if tree.is_dir(folder) and not tree.is_file(f"{folder}/{recipe.rpartition('/')[2]}"):
            return NotCopied(recipe, folder, checkout, effect.site)
    return None


def _below(parent: str, target: str) -> str | None:
    """The rest of ``parent`` below the directory that ``target`` (absolute) is, where its end is one of the parents' beginnings."""
    parts = parent.split("/")
    for count in range(len(parts), 0, -1):
        if target.rstrip("/").endswith("/" + "/".join(parts[:count])):
            return "/".join(parts[count:])
    return None
