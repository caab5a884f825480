"""srt-slurm recipes of schema 2: the normalised view, and the checks across fields that the tool makes when it loads one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.bench.srt_v1 import Refusal
from reviewbot.bench.srt_values import (
    EMPTY,
    Reading,
    coerced,
    common,
    flag,
    value_of,
    values_below,
    whole,
    whole_of,
)
from reviewbot.bench.variants import Item
from reviewbot.documents.nodes import Sequence

SCHEMA = "srt-recipe-v2"

_COLOCATE = "colocate"
_INFRA = frozenset({"etcd", "nats", "mooncake-master"})  # they share one node where they ask for a dedicated one
_PLACES = {"frontend": ("head", "first_decode", "dedicated"), "benchmark": ("head", "last_decode", "dedicated")}
_SOURCES = ("git", "pypi", "wheel")


def _engine_name(item: Item | None) -> str | None:
    if item is None:
        return None
    value = item.value if item.children is None else (item.at("type") or EMPTY).value
    return value if isinstance(value, str) else None


def engine_of(item: Item) -> str | None:
    """The engine of the recipe: the one at the top, else the one that all roles name, else ``None``."""
    top = _engine_name(item.at("engine"))
    if top is not None:
        return top
    named = {_engine_name(role.at("engine")) for role in _roles(item).values()}
    return named.pop() if len(named) == 1 else None


def _roles(item: Item) -> dict[str, Item]:
    roles = item.at("roles")
    if roles is None or roles.children is None:
        return {}
    return {str(name): role for name, role in roles.children.items() if role.children is not None}


def _service_blocks(item: Item) -> list[tuple[dict[str, Any], Item]]:
    services = item.at("services")
    if services is None or not isinstance(services.value, list):
        return []
    return [(block, services) for block in services.value if isinstance(block, dict)]


def _services(item: Item) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for position, (block, services) in enumerate(_service_blocks(item)):
        node = services.node
        inner = node.items[position] if isinstance(node, Sequence) and position < len(node.items) else None
        span = services.span if inner is None else inner.span
        name = block.get("name")
        key = name if isinstance(name, str) else f"[{position}]"
        found[key] = Value(block, f"services[{position}]", span.line, span.column, inner, services.operation)
    return found


def _gpus(role: Item, per_node: int | None) -> int | None:
    explicit = role.at("gpus")
    if explicit is not None and explicit.value is not None:
        return whole(explicit.value)
    nodes, workers = (role.at("nodes") or EMPTY).value, whole((role.at("workers") or EMPTY).value)
    if nodes == _COLOCATE or per_node is None:
        return None
    count = whole(nodes)
    return count * per_node // workers if count and workers else per_node


def _worker_nodes(item: Item, engine: str | None, reading: Reading) -> tuple[int | None, bool]:
    """Nodes of roles and services, and whether prefill and decode are packed on common nodes."""
    per_node = reading.whole("resources.gpus_per_node")
    total = 0
    roles = _roles(item)
    for name, role in roles.items():
        nodes = role.at("nodes")
        if nodes is None or nodes.value is None:
            total += 1 if name == "agg" else 0
            continue
        if nodes.value == _COLOCATE:
            continue
        count = whole(nodes.value)
        if count is None:
            return None, False
        total += count
    packed = False
    if engine == "vllm" and reading.flag("engine.allow_prefill_decode_colocation") and per_node:
        needs = {name: (_gpus(role, per_node), whole((role.at("workers") or EMPTY).value) or 0) for name, role in roles.items()}
        both = all(needs.get(name, (None, 0))[1] > 0 for name in ("prefill", "decode"))
        sizes = [None if gpus is None else gpus * workers for gpus, workers in needs.values()]
        known = [size for size in sizes if size is not None]
        if both and len(known) == len(sizes):
            needed = sum(known)
            if needed <= per_node or reading.flag("engine.allow_prefill_decode_colocation_across_nodes"):
                packed, total = True, -(-needed // per_node)
    for block, _ in _service_blocks(item):
        if flag(block.get("enabled", True)) is not False and block.get("nodes") is not None:
            count = whole(block["nodes"])
            if count is None:
                return None, packed
            total += count
    return total, packed


def _dedicated(item: Item, reading: Reading) -> int:
    wanted = sum(reading.text(f"{block}.placement.node") == "dedicated" for block in _PLACES)
    for block, _ in _service_blocks(item):
        placement = block.get("placement")
        infra = block.get("type", "generic") in _INFRA or block.get("name") in _INFRA
        if infra and isinstance(placement, dict) and placement.get("node") == "dedicated" and flag(block.get("enabled", True)) is not False:
            wanted += 1
            break
    return min(wanted, 1) if reading.flag("benchmark.colocate_with_frontend") else wanted


def _role(name: str, item: Item, engine: str | None, per_node: int | None, packed: bool) -> Role:
    key = f"roles.{name}"
    nodes_item = item.at("nodes")
    colocated = (nodes_item is not None and nodes_item.value == _COLOCATE) or (packed and name == "decode")
    nodes = value_of(nodes_item, f"{key}.nodes")
    if nodes is not None:
        nodes = coerced(nodes, 0 if nodes.value == _COLOCATE else whole(nodes.value))
    return Role(
        name=name,
        engine=_engine_name(item.at("engine")) or engine,
        nodes=nodes,
        workers=whole_of(item.at("workers"), f"{key}.workers"),
        gpus=whole_of(item.at("gpus"), f"{key}.gpus"),
        colocated=colocated,
        args=values_below(item.at("args"), f"{key}.args"),
        env=values_below(item.at("env"), f"{key}.env"),
        gpus_per_worker=_gpus(item, per_node),
        container=value_of(item.at("container"), f"{key}.container"),
    )


def normalise(item: Item, variant: str, tag: str | None = None) -> Recipe:
    """The recipe of a variant; never raises, whatever the values are."""
    engine = engine_of(item)
    reading = Reading(item, SCHEMA, engine, tag)
    nodes, packed = _worker_nodes(item, engine, reading)
    dedicated = _dedicated(item, reading)
    per_node = reading.whole("resources.gpus_per_node")
    return Recipe(
        schema=2,
        variant=variant,
        engine=engine,
        roles={name: _role(name, role, engine, per_node, packed) for name, role in _roles(item).items()},
        total_nodes=None if nodes is None else nodes + dedicated,
        services=_services(item),
        dedicated_nodes=dedicated,
        **common(item),
    )


def refusals(item: Item, tag: str | None = None) -> Iterator[Refusal]:
    """The documented checks across fields; to be asked only about a variant that the schema accepts."""
    reading = Reading(item, SCHEMA, engine_of(item), tag)
    roles = _roles(item)
    own = [name for name, role in roles.items() if _engine_name(role.at("engine")) is not None]
    if _engine_name(item.at("engine")) is not None:
        for name in own:
            yield Refusal(f"roles.{name}.engine", "an engine stands at the top and on a role; keep one form")
    elif own:
        for name in roles:
            if name not in own:
                yield Refusal(f"roles.{name}", f"`roles.{name}` has no engine: without an engine at the top every role needs its own")
    elif roles:
        yield Refusal("roles", "no engine is written, neither at the top nor on the roles; schema 2 has no default engine")
    source = item.at("dynamo", "source")
    if source is not None and source.children is not None:
        chosen = [key for key in _SOURCES if reading.written(f"dynamo.source.{key}")]
        if "git" not in chosen and reading.written("dynamo.source.rev"):
            chosen.insert(0, "git")  # a revision alone is one of the upstream repository
        if len(chosen) != 1:
            yield Refusal("dynamo.source", f"dynamo.source needs exactly one of git, pypi and wheel, not {', '.join(chosen) or 'none'}")
    for block, places in _PLACES.items():
        place = reading.text(f"{block}.placement.node")
        if place is not None and place not in places:
            yield Refusal(f"{block}.placement.node", f"{block}.placement.node must be one of {', '.join(places)}, not `{place}`")
    if "agg" in roles and ("prefill" in roles or "decode" in roles):
        yield Refusal("roles.agg", "a job is either aggregated (agg) or disaggregated (prefill and decode), not both")
    for name, role in roles.items():
        nodes = role.at("nodes")
        if nodes is not None and nodes.value == _COLOCATE and not reading.written(f"roles.{name}.gpus"):
            yield Refusal(f"roles.{name}.nodes", f"`roles.{name}` is colocated: its gpus must be written")
