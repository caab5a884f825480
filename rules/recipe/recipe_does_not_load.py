"""The tool that a launcher checks out refuses a recipe

What
The recipe, as the launcher submits it, does not load in the release of srt-slurm that the launcher checks out: a key that this release
does not know (yet, or any more), a value of the wrong type, a selector that names no variant, fields that exclude each other. Where a
launcher takes a commit between two releases, both have to refuse it; of a fork or a branch only what no release accepts and no fork can
have added is reported.

Why
`srtctl apply` ends at once, and the point has no result.

Example
    # launcher: git checkout v1.0.53
    # recipe
    benchmark:
      aiperf_server_metrics: true

Instead
    benchmark:
      type: custom
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reviewbot.bench.model import Recipe, RecipeError
from reviewbot.bench.recipes import depends_on_release, load_recipe, looks_like_recipe
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import setting_site
from reviewbot.engine.recipes import Tool, own, tool_of
from reviewbot.runs.build import document_of, recipe_variants
from reviewbot.runs.model import Run
from reviewbot.runs.servers import layers_of
from reviewbot.trace.effects import Submit

RULE = Rule("recipe-does-not-load", Level.ERROR, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    groups: dict[tuple[object, ...], tuple[Submit, Tool | None, list[Run]]] = {}
    for run in context.runs:
        if run.outcome != "submit" or run.text is None:
            continue
        submit = next((effect for effect in run.effects if isinstance(effect, Submit)), None)
        if submit is None or submit.tool != "srtctl" or submit.text is None or submit.recipe is None:
            continue
        tool = tool_of(run)
        releases = tool.releases if tool is not None else ()
        key = (submit.text.text, submit.recipe, submit.sets, submit.unsets, releases, tool is None or tool.upstream)
        groups.setdefault(key, (submit, tool, []))[2].append(run)
    for submit, tool, runs in groups.values():
        for error in _errors(submit, tool):
            yield _finding(context, submit, tool, error, runs)
    yield from _brought(context)


def _brought(context: Context) -> Iterator[Finding]:
    """Recipes that the change touches and no run submits: which release will load them is not known, so only what none takes is told."""
    if not context.changed:
        return
    submitted = {run.recipe_path for run in context.every_run}
    for path in sorted(context.changed & set(context.bench.recipe_files) - submitted):
        document = context.bench.yaml_document(path)
        if document is None or not looks_like_recipe(document.root):
            continue
        for error in load_recipe(document, partial=True):
            if not isinstance(error, RecipeError) or error.kind == "check":
                continue
            if error.message.startswith("unknown key") and "did you mean" not in error.message:
                continue  # a fork or a release to come may know it
            yield context.finding(
                RULE,
                f"no known release of srt-slurm loads the recipe: {error.message}",
                Site(path, error.line),
                help="correct it",
                structure=error.key or error.variant,
                subject=f"{error.variant} {error.message}",
                level=Level.WARNING,
            )


def _errors(submit: Submit, tool: Tool | None) -> list[RecipeError]:
    """What every release refuses that the checkout can be. A branch or a fork may know more keys, and check less."""
    loads = [_loaded(submit, release) for release in (tool.releases if tool is not None and tool.releases else (None,))]
    if not all(loads):
        return []
    last = loads[-1]
    if tool is not None and not tool.releases and (not tool.upstream or tool.ref not in (None, "main")):
        return [error for error in last if not error.message.startswith("unknown key") and error.kind != "check"]
    return last


def _loaded(submit: Submit, release: str | None) -> list[RecipeError]:
    assert submit.text is not None and submit.recipe is not None
    selector = submit.recipe.rpartition(":")[2] if ":" in submit.recipe else ""
    found: Sequence[Recipe | RecipeError] = recipe_variants(submit.text.text, selector, submit.sets, submit.unsets)
    if release is not None and any(isinstance(one, RecipeError) or depends_on_release(one) for one in found):
        found = load_recipe(document_of(submit.text.text), selector, sets=submit.sets, unsets=submit.unsets, tag=release)
    return [one for one in found if isinstance(one, RecipeError)]


def _finding(context: Context, submit: Submit, tool: Tool | None, error: RecipeError, runs: list[Run]) -> Finding:
    assert submit.text is not None
    layers = layers_of(submit.text, error.line)
    site: Site | None = layers[-1].site if layers else None
    related: list[Related] = []
    if tool is not None:
        release = f", which is {' or '.join(tool.releases)}" if tool.releases and tool.ref not in tool.releases else ""
        related.append(Related(tool.site, f"the launcher checks out `{tool.ref or 'the default branch'}`{release}"))
    who = f"srt-slurm {tool.releases[-1]}" if tool is not None and tool.releases else "srt-slurm"
    absent = error.kind == "variant" and error.message.startswith("no ")  # the row asks for what is not there
    if absent or not own(context, site):
        if own(context, site) and site is not None and not absent:
            related.insert(0, Related(site, "here in the recipe"))
        at = setting_site(runs[0].point, (submit.recipe or "").rpartition("/")[2] or "CONFIG_FILE")
        place = f" ({site.path.rpartition(':')[2]}:{site.line})" if site is not None and not own(context, site) else ""
    else:
        assert site is not None
        at, place = site, ""
    return context.finding(
        RULE,
        f"{who} does not load the recipe: {error.message}{place}",
        at,
        help="write the recipe for that release, or let the launcher check out another one",
        touches=runs,
        related=related,
        structure=error.key or error.variant,
        subject=f"{error.variant} {error.message}",
    )
