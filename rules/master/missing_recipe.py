"""A row names a recipe that does not exist

What
The recipe file that a row names is neither in the repository nor in the checkout that the launcher makes. Where the files of that checkout are not
known (no `--upstream`), a recipe is reported, as a warning, if the launcher copies its folder from the repository and it is not among the files there.

Why
`srtctl` has nothing to submit: the point fails after it waited for its runner.

Example
    additional-settings:
      - "CONFIG_FILE=recipes/vllm/some-model/removed.yaml"

Instead
Name a recipe that the launcher copies into its checkout, or add the file.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import setting_site
from reviewbot.runs.overlays import not_copied
from reviewbot.trace.settings import TraceSettings

RULE = Rule("missing-recipe", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        missing = run.missing
        if missing is not None and missing.path.endswith((".yaml", ".yml")):
            yield context.finding(
                RULE,
                f"the recipe `{missing.name}` does not exist where {run.launcher} looks for it",
                setting_site(run.point, missing.name),
                help="name a recipe that the launcher copies into its checkout, or add the file",
                touches=[run],
                related=[(missing.site, f"`{missing.program}` needs it here")],
                structure=run.key,
                subject=missing.name,
            )
    yield from _not_copied(context)


def _not_copied(context: Context) -> Iterator[Finding]:
    workspace = TraceSettings().workspace
    for run in context.runs:
        found = not_copied(run, context.tree, workspace)
        if found is None:
            continue
        yield context.finding(
            RULE,
            f"the recipe `{found.recipe}` is not among the files of {found.folder} that {run.launcher} copies into its checkout",
            setting_site(run.point, found.recipe),
            help=f"add the file, or name another recipe; if {found.checkout or 'the checkout'} has it, name a clone with --upstream",
            touches=[run],
            related=[(found.site, "copied here")],
            structure=run.key,
            subject=found.recipe,
            level=Level.WARNING,
        )
