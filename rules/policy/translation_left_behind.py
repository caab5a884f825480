"""A page changes and its translation does not

What
The change touches one of two pages that are translations of each other (`MODELS.md` and `MODELS_zh.md`) and not the other. `policy:
{translations: [_zh]}` holds the endings of translated pages.

Why
Readers of the other language go by what was true before.

Example
    MODELS.md is changed, MODELS_zh.md is not

Instead
    both are changed
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.change.lines import Diff
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.policy import policy

RULE = Rule("translation-left-behind", Level.NOTE, frozenset({"bench", "change"}))


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or not context.changed:
        return
    diff = Diff(context.base.tree, context.tree, context.changed)
    for ending in map(str, policy(context.settings, "translations")):
        for path in sorted(context.changed):
            stem = path.removesuffix(".md")
            if stem == path or not context.tree.is_file(path):
                continue
            other = f"{stem.removesuffix(ending)}.md" if stem.endswith(ending) else f"{stem}{ending}.md"
            first = diff.first(path)
            if other in context.changed or not context.tree.is_file(other) or first is None or first.side != "head":
                continue
            yield context.finding(
                RULE, f"`{path}` changes, and `{other}` does not", first.site, help=f"change `{other}` as well, where it says the same",
                subject=other,
            )  # fmt: skip
