"""An engine value does nothing, or becomes something else

What
A value of an engine's settings that the tool does not pass on as written. For vLLM and SGLang, `false` and null give no flag at all, so
that a switch that is on by default stays on; a mapping becomes Python's way to print it, which is no JSON.

Why
The recipe says that a feature is off, the engine runs with it; or the engine ends over a value that it cannot read.

Example
    vllm_config:
      decode:
        enable-prefix-caching: false
        compilation-config: {cudagraph_mode: FULL}

Instead
    vllm_config:
      decode:
        no-enable-prefix-caching: true
        compilation-config: '{"cudagraph_mode": "FULL"}'

Fix
`false` becomes the opposite switch of vLLM.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from reviewbot.bench.model import Role, Value
from reviewbot.catalog.engines import canonical
from reviewbot.documents.nodes import Scalar
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.recipes import Use, engine_window, own, uses

RULE = Rule("value-without-effect", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        for role in use.recipe.roles.values():
            if role.engine not in ("vllm", "sglang"):
                continue
            for key, value in role.args.items():
                if value.value is False:
                    yield from _off(context, use, role, key, value)
                elif isinstance(value.value, dict) or (
                    isinstance(value.value, list) and any(isinstance(item, (dict, list)) for item in value.value)
                ):
                    yield from _mapping(context, use, role, key, value)


def _off(context: Context, use: Use, role: Role, key: str, value: Value) -> Iterator[Finding]:
    assert role.engine is not None
    found = engine_window(role.engine, use.image)
    name = canonical(role.engine, key.replace("_", "-"))
    site = use.site(value)
    if found is None or site is None or not own(context, site):
        return
    names, window, settled = found
    if not names.on_by_default(name, window):
        return  # off is what it is anyway
    where = names.describe(window) if settled else f"every {role.engine} release"
    yield context.finding(
        RULE,
        f"`{key}: false` gives no flag, and {where} has `{name}` on by default: it stays on",
        site,
        help=f"write `no-{name}: true`" if role.engine == "vllm" else "take it out, or use the flag that switches it off",
        touches=use.runs,
        fix=_opposite(context, use, key, name, value) if role.engine == "vllm" else None,
        structure=value.key,
        subject=key,
    )


def _opposite(context: Context, use: Use, key: str, name: str, value: Value) -> Fix | None:
    site = use.written(value)
    node = value.node
    if site is None or not isinstance(node, Scalar) or len(use.layers(value.line)) != 1:
        return None
    lines = context.lines(site.path)
    line = lines[site.line - 1] if site.line <= len(lines) else ""
    start, end = line.find(key), node.span.end_column
    if start < 0 or node.span.line != value.line or line[node.span.column - 1 : end - 1] != node.raw:
        return None
    return Fix(f"write `no-{name}: true`", (Replacement(site.path, site.line, start + 1, site.line, end, f"no-{name}: true"),), safe=False)


def _mapping(context: Context, use: Use, role: Role, key: str, value: Value) -> Iterator[Finding]:
    site = use.site(value)
    if site is None or not own(context, site):
        return
    what = "a mapping" if isinstance(value.value, dict) else "a list of lists or mappings"
    yield context.finding(
        RULE,
        f"`{key}` of {role.name} is {what}: {role.engine} gets Python's way to print it, `{str(value.value)[:60]}`, which is no JSON",
        site,
        help=f"write it as a text: '{json.dumps(value.value, default=str)[:120]}'",
        touches=use.runs,
        structure=value.key,
        subject=key,
        level=Level.ERROR,
    )
