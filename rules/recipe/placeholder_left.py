"""A placeholder is submitted

What
A value of the recipe, as the launcher submits it, still has a placeholder such as `__MODEL__` or `<IMAGE>`: nothing replaced it.

Why
The tool takes the placeholder for the value: a container or a file of that name does not exist.

Example
    model:
      container: "__IMAGE__"

Instead
    # launcher, before it submits
    sed -i "s#__IMAGE__#${IMAGE}#" "$CONFIG_FILE"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import setting_site
from reviewbot.engine.recipes import own, uses

RULE = Rule("placeholder-left", Level.ERROR, frozenset({"runs", "change"}), scope="run")

_PLACEHOLDER = re.compile(
    r"__[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*__|<[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+>|(?<![A-Za-z0-9])(?:REPLACE_ME|CHANGE_?ME|FIXME|TBD)(?![A-Za-z0-9])"
)
_MAGIC = frozenset({"__FILE__", "__LINE__", "__DATE__"})


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        if not use.runs:
            continue  # a launcher to come may fill it
        for key, value in use.recipe.settings.items():
            text = (
                value.value
                if isinstance(value.value, str)
                else " ".join(map(str, value.value))
                if isinstance(value.value, (list, tuple))
                else ""
            )
            if "_" not in text and "<" not in text and "TBD" not in text and "FIXME" not in text:
                continue
            found = _PLACEHOLDER.search(text)
            if found is None or found.group() in _MAGIC or key.startswith("benchmark.command"):
                continue
            site = use.site(value)
            yield context.finding(
                RULE,
                f"`{key}` is submitted as `{text[:80]}`: nothing replaces `{found.group()}`",
                site if site is not None and own(context, site) else setting_site(use.runs[0].point, "CONFIG_FILE"),
                help="let the launcher fill it in before it submits, or write the value",
                touches=use.runs,
                structure=key,
                subject=found.group(),
            )
