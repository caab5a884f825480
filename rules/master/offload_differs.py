"""A row and its run disagree about KV offloading

What
`kv-offloading` of a row says that the KV cache has no second tier in host memory, and a server of the run has one; or it says `dram` and
no server has any.

Why
Offloading is published with the result: readers compare curves with and without it. A row without it also gets no budget of host memory.

Example
    kv-offloading: none
    # recipe, TensorRT-LLM
    kv_cache_config: {host_cache_size: 137438953472, enable_block_reuse: true}

Instead
    kv-offloading: dram
    kv-offload-backend: {name: native, version: "1.3.0rc24"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site, last_site, setting_site
from reviewbot.runs.model import Run, Server, Setting

RULE = Rule("offload-differs", Level.ERROR, scope="run")

_HOST = re.compile(r"host_cache_size['\"]?\s*[:=]\s*['\"]?(?P<bytes>\d+)")
_NO_REUSE = re.compile(r"enable_block_reuse['\"]?\s*[:=]\s*[Ff]alse")
_CONNECTOR = re.compile(r"\w*OffloadingConnector|LMCache\w*Connector\w*|SimpleCPUOffload\w*")
_ANY = re.compile(r"offload|lmcache|mooncake|hicache|hierarchical|host[-_]cache|flexkv|kvbm|hisparse|nixl_store", re.IGNORECASE)
_ENGINES = frozenset({"vllm", "sglang", "trtllm"})


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.point.scenario != "agentic-coding" or not run.servers or run.outcome not in ("submit", "script"):
            continue
        said = str(run.point.row.get("kv-offloading") or "none")
        tiers = [(server, *tier) for server in run.servers if (tier := _tier(server)) is not None]
        if said == "none" and tiers:
            server, name, setting = tiers[0]
            yield _finding(
                context, run, f"the row says that there is no KV offloading, {_who(run, server)} has `{name}`", last_site(setting), name,
                "write `kv-offloading: dram` and the backend, or take the tier out of the run",
            )  # fmt: skip
        elif said == "dram" and not tiers and all(_none_at_all(server) for server in run.servers):
            yield _finding(
                context, run, "the row says `kv-offloading: dram`, no server of the run has a tier in host memory", run.servers[0].site,
                "dram",
                "write `kv-offloading: none`, or switch the tier on",
            )  # fmt: skip


def _who(run: Run, server: Server) -> str:
    return "the server" if len(run.servers) == 1 else f"the {server.role} server"


def _tier(server: Server) -> tuple[str, Setting] | None:
    """The setting that gives a server a tier in host memory beyond doubt."""
    flags = server.flags
    if server.engine == "sglang":
        switch = flags.get("enable-hierarchical-cache")
        off = flags.get("disable-radix-cache")
        if switch is not None and switch.value == "true" and (off is None or off.value == "false"):
            return "enable-hierarchical-cache", switch
    elif server.engine == "trtllm":
        for name, setting in flags.items():
            text = f"{name}: {setting.value}" if setting.value is not None and name.startswith("kv-cache-config") else ""
            found = _HOST.search(text.replace("-", "_"))
            if found is not None and int(found["bytes"]) > 0 and not _NO_REUSE.search(text):
                return f"host_cache_size: {found['bytes']}", setting
    elif server.engine == "vllm":
        transfer = flags.get("kv-transfer-config")
        connector = _CONNECTOR.search(transfer.value) if transfer is not None and transfer.value else None
        if transfer is not None and connector is not None:
            return connector[0], transfer
    return None


def _none_at_all(server: Server) -> bool:
    """Whether everything of a server is known and nothing of it has to do with offloading."""
    if server.engine not in _ENGINES or any(setting.value is None for setting in server.flags.values()):
        return False
    texts = [*(f"{name} {setting.value}" for name, setting in server.flags.items()), *server.env, *server.argv]
    return "config" not in server.flags and not any(_ANY.search(text) for text in texts)


def _finding(context: Context, run: Run, message: str, site: Site | None, subject: str, help: str) -> Finding:
    point = run.point
    if "kv-offloading" in point.sites:
        place = field_site(point, "kv-offloading")
    else:
        place = setting_site(point, (run.recipe_path or "\n").rpartition("/")[2])
    return context.finding(
        RULE,
        message,
        place,
        help=help,
        touches=[run],
        related=[(site, "in the run")] if site is not None else [],
        structure=f"{point.key}.kv-offloading",
        subject=subject,
    )
