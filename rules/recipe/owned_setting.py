"""A recipe sets what the tool sets itself

What
A recipe gives a worker a flag or a variable that `srtctl` computes for every process (the model's path, the ports of its side channels),
and overwrites.

Why
The written value is never used, and the reader looks for a reason in the wrong place.

Example
    backend:
      type: vllm
      decode_environment:
        VLLM_NIXL_SIDE_CHANNEL_PORT: "5600"

Instead
    backend:
      type: vllm
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import own, uses

RULE = Rule("owned-setting", Level.WARNING, frozenset({"runs", "change"}), scope="run")

# What the tool takes out of the settings of a role, or writes over, whatever the release.
_FLAGS = {"sglang": frozenset({"model-path"})}
_VARIABLES = {"vllm": frozenset({"VLLM_NIXL_SIDE_CHANNEL_PORT", "DYN_VLLM_KV_EVENT_PORT"})}


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        for role in use.recipe.roles.values():
            engine = role.engine or ""
            variables = _VARIABLES.get(engine, frozenset())
            found = [(key.replace("_", "-"), value) for key, value in role.args.items() if key.replace("_", "-") in _FLAGS.get(engine, ())]
            found += [(key, value) for key, value in {**role.env, **use.recipe.environment}.items() if key in variables]
            for name, value in found:
                site = use.site(value)
                if (
                    value.value is None
                    or (name == "model-path" and str(value.value).strip("/") == "model")
                    or site is None
                    or not own(context, site)
                ):
                    continue
                yield context.finding(
                    RULE,
                    f"`{name}` is set to {value.value} for {role.name}, but the tool sets it for every process and wins",
                    site,
                    help="take it out",
                    touches=use.runs,
                    structure=value.key,
                    subject=name,
                )
