"""Settings of a KV-cache tier stand beside a switch that keeps it off

What
A server has settings of a second tier for its KV cache (SGLang's `hicache-*`, TensorRT-LLM's `host_cache_size`, `LMCACHE_*` variables)
and not the switch that puts the tier to use: `enable-hierarchical-cache`, reuse of blocks, a connector.

Why
The run is published as one with offloading, or looks like one, and keeps nothing outside of the GPU.

Example
    aggregated:
      hicache-ratio: 2
      disable-radix-cache: true

Instead
    aggregated:
      hicache-ratio: 2
      enable-hierarchical-cache: true
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import own, started
from reviewbot.runs.model import Server, Setting

RULE = Rule("offload-without-effect", Level.WARNING, frozenset({"runs", "change"}), scope="run")

_CONNECTORS = ("kv-transfer-config", "kv-offloading-backend", "kv-connector")


def check(context: Context) -> Iterator[Finding]:
    for one in started(context):
        for name, setting, message, other in _idle(one.server):
            site = setting.layers[-1].site if setting.layers else None
            if site is None or not own(context, site):
                continue
            related = [Related(other.layers[-1].site, "this keeps it off")] if other is not None and other.layers else []
            yield context.finding(
                RULE,
                f"`{name}` is set for {one.server.role}, but {message}",
                site,
                help="switch the tier on, or take its settings out",
                touches=one.runs,
                related=[item for item in related if own(context, item.site)],
                structure=f"{one.server.role}.{name}",
                subject=message,
                level=Level.NOTE
                if one.server.engine == "trtllm"
                else Level.WARNING,  # whether the blocks are of use otherwise is not known
            )


def _idle(server: Server) -> Iterator[tuple[str, Setting, str, Setting | None]]:
    flags = server.flags
    if server.engine == "sglang":
        switch = flags.get("enable-hierarchical-cache")
        radix = flags.get("disable-radix-cache")
        if switch is not None and switch.value == "true" and radix is not None and radix.value == "true":
            yield "enable-hierarchical-cache", switch, "`disable-radix-cache` leaves no cache that could have a second tier", radix
        first = _first(flags, re.compile(r"hicache-(?!io-backend)"))
        if first is not None and switch is None and "enable-hisparse" not in flags and "enable-unified-memory" not in flags:
            yield first[0], first[1], "`enable-hierarchical-cache` is not", None
    elif server.engine == "trtllm":
        config = flags.get("kv-cache-config")
        text = config.value if config is not None else None
        if (
            config is not None
            and text is not None
            and _number(text, "host_cache_size") > 0
            and re.search(r"enable_block_reuse['\"]?\s*:\s*[Ff]alse", text)
        ):
            yield "kv_cache_config.host_cache_size", config, "`enable_block_reuse: false` never reads a block again", config
    elif server.engine == "vllm":
        found = _first(server.env, re.compile(r"LMCACHE_"))
        connectors = [flags[name] for name in _CONNECTORS if name in flags]
        if found is not None and not connectors and server.argv:  # a recipe names its connector elsewhere
            yield found[0], found[1], "no connector uses LMCache", None


def _first(settings: Mapping[str, Setting], pattern: re.Pattern[str]) -> tuple[str, Setting] | None:
    return next(
        ((name, setting) for name, setting in settings.items() if pattern.match(name) and setting.value not in (None, "false")), None
    )


def _number(text: str, key: str) -> int:
    match = re.search(rf"{key}['\"]?\s*:\s*(\d+)", text)
    return int(match[1]) if match else 0
