"""A role has settings and no workers

What
A recipe sets flags or environment variables for a role (`prefill`, `decode`, `aggregated`) that starts no worker.

Why
Nothing reads them. Most often the recipe was made from a disaggregated one, and the settings that were meant for the workers that do run
stand in the wrong block.

Example
    resources: {agg_nodes: 1, agg_workers: 1}
    backend:
      decode_environment: {NCCL_DEBUG: "WARN"}

Instead
    backend:
      aggregated_environment: {NCCL_DEBUG: "WARN"}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model import Role
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import own, uses

RULE = Rule("role-without-workers", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        running = [role for role in use.recipe.roles.values() if not _idle(role)]
        if not running:
            continue
        for role in use.recipe.roles.values():
            settings = [*role.args.values(), *role.env.values()]
            if not settings or not _idle(role):
                continue
            first = min(settings, key=lambda value: value.line)
            site = use.written(first)
            if site is None or not own(context, site):
                continue
            what = " and ".join(word for word, there in (("flags", role.args), ("variables", role.env)) if there)
            yield context.finding(
                RULE,
                f"{what} are set for {role.name}, but the recipe starts no {role.name} worker",
                site,
                help=f"move them to {' or '.join(one.name for one in running)}, or take them out",
                touches=use.runs,
                structure=first.key,
                subject=role.name,
            )


def _idle(role: Role) -> bool:
    if role.workers is not None:
        return bool(role.workers.value == 0)
    return role.nodes is None and role.gpus is None
