"""A variable of a role is overruled by the recipe's own environment

What
A variable stands in a role's environment and, with another value, in the recipe's `environment` block.

Why
The block for everything is applied after the role's and wins. The role's value looks like the exception and is never used.

Example
    environment:
      SGLANG_LOG_LEVEL: "info"
    backend:
      decode_environment:
        SGLANG_LOG_LEVEL: "debug"

Instead
    backend:
      prefill_environment:
        SGLANG_LOG_LEVEL: "info"
      decode_environment:
        SGLANG_LOG_LEVEL: "debug"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import own, uses

RULE = Rule("environment-set-twice", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        for role in use.recipe.roles.values():
            for name in role.env.keys() & use.recipe.environment.keys():
                mine, all_of_it = role.env[name], use.recipe.environment[name]
                site, other = use.site(mine), use.site(all_of_it)
                if str(mine.value) == str(all_of_it.value) or not own(context, site) or site is None:
                    continue
                yield context.finding(
                    RULE,
                    f"`{name}` is {mine.value} for {role.name} here, but {role.name} gets {all_of_it.value}: "
                    "the recipe's `environment` block is applied last",
                    site,
                    help="set it in the roles' own blocks only",
                    touches=use.runs,
                    related=[Related(other, f"`{name}` is {all_of_it.value}, for every role")] if other is not None else [],
                    structure=mine.key,
                    subject=f"{name}: {mine.value} / {all_of_it.value}",
                )
