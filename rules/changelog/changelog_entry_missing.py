"""A run changes and the changelog does not say so

What
The change gives the runs of a config key another image, model, search space, recipe or script, and no changelog entry that it adds
names the key. Where only labels of the row change, or a launcher that many keys share, it is a note.

Why
The changelog is what starts the sweep of a change: a key that it does not name keeps its old results under its new configuration.

Example
    # configs/nvidia-master.yaml: the image of toy-fp8-lab-vllm becomes v0.12.0
    # perf-changelog.yaml: nothing

Instead
    - config-keys:
        - toy-fp8-lab-vllm
      description:
        - "Update vLLM from v0.11.0 to v0.12.0"
      pr-link: https://github.com/lab/bench/pull/12
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.change.changelog_scope import added_entries
from reviewbot.change.lines import Diff
from reviewbot.change.unlogged import Effect, effects_by_key, selected_scenarios
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("changelog-entry-missing", Level.ERROR, frozenset({"bench", "runs", "change"}))


def check(context: Context) -> Iterator[Finding]:
    base = context.base
    if base is None or not context.changed or context.bench.changelog is None or base.bench.changelog is None:
        return
    effects = effects_by_key(base.bench.points, context.bench.points, base.runs, context.runs, context.changed)
    if not effects:
        return
    selected = selected_scenarios(added_entries(base.bench, context.bench), effects)
    diff = Diff(base.tree, context.tree, context.changed)
    shared: dict[str, list[Effect]] = {}
    for key in sorted(effects):
        effect = effects[key]
        if effect.scenarios <= selected.get(key, set()):
            continue
        if effect.labels_only and not effect.fields:
            for launcher in effect.elsewhere:
                shared.setdefault(launcher, []).append(effect)
            continue
        yield context.finding(
            RULE,
            f"{_what(effect, key in base.bench.masters.index)}, and no added entry of `{context.bench.changelog.path}` names `{key}`",
            _place(context, diff, effect),
            help="add an entry for it at the end of the changelog",
            touches=[point.id for point in (*effect.added, *effect.changed)],
            related=[(entry.site, "the last entry") for entry in context.bench.changelog.entries[-1:]],
            level=Level.NOTE if effect.labels_only else None,
            subject=key,
        )
    for launcher, some in sorted(shared.items()):
        first = diff.first(launcher)
        if first is None or first.side != "head":
            continue
        names = [f"`{effect.key}`" for effect in some]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield context.finding(
            RULE,
            f"runs of {', '.join(names[:3])}{more} change with this launcher, and no added changelog entry names "
            f"{'it' if len(names) == 1 else 'them'}",
            first.site,
            help="add an entry where the results change",
            touches=[point.id for effect in some for point in effect.changed],
            level=Level.NOTE,
            subject=f"shared {launcher}",
        )


def _what(effect: Effect, known: bool) -> str:
    if not known:
        return "the key is new"
    if "image" in effect.fields:
        old, new = effect.fields["image"]
        return f"the image becomes `{new}` (was `{old}`)"
    if effect.own:
        return f"`{min(effect.own)}` changes what runs"
    if effect.added:
        return f"{len(effect.added)} point{'s are' if len(effect.added) > 1 else ' is'} new"
    names = ", ".join(f"`{name}`" for name in sorted(effect.fields))
    return f"{names} change{'s' if len(effect.fields) == 1 else ''}" if names else "the recipe changes"


def _place(context: Context, diff: Diff, effect: Effect) -> Site:
    """The first line of the change that is the key's: in its entry, at one of its rows, in its recipe or script."""
    entry = context.bench.masters.index.get(effect.key)
    if entry is not None:
        for line in range(entry.site.line, entry.span.end_line + 1):
            if diff.added(Site(entry.path, line)) is not None:
                return Site(entry.path, line)
    for path in sorted(effect.own):
        first = diff.first(path)
        if first is not None and first.side == "head":
            return first.site
    site: Site = entry.site if entry is not None else effect.changed[0].site
    return site
