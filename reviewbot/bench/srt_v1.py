"""srt-slurm recipes of schema 1 (v1.0.x): the normalised view, and the checks across fields that the tool makes when it loads one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.bench.srt_values import (
    Reading,
    common,
    concurrencies,
    flag,
    value_of,
    values_below,
    whole_of,
)
from reviewbot.bench.validate import version
from reviewbot.bench.variants import Item

SCHEMA = "srt-recipe-v1"
ENGINES = ("sglang", "vllm", "trtllm", "mocker")

_MODES = {"prefill": "prefill", "decode": "decode", "agg": "aggregated"}
_NEWEST = (1, 0, 68)  # release that the checks are measured with
_MAX_SAMPLE_GAP = 3.0  # seconds
_CYCLE_GRACE = 1.0  # seconds
_OLD_TELEMETRY = ("provider", "container_image", "binary_path", "live_metrics", "node_exporter", "compaction_threads", "sync_interval_secs")


class Refusal(NamedTuple):
    """A check of the tool that fails: ``key`` is where the reader should look first."""

    key: str
    message: str


def engine_of(item: Item) -> str | None:
    """The backend's type: sglang where none is written, ``None`` where it is none that the tool has."""
    kind = item.at("backend", "type")
    if kind is None:
        return "sglang"
    return kind.value if isinstance(kind.value, str) and kind.value in ENGINES else None


class _Layout(NamedTuple):
    disaggregated: bool
    workers: dict[str, int]  # prefill, decode, agg; 0 where not written
    gpus: dict[str, int]  # a worker
    nodes: int  # without dedicated ones
    packed: bool  # prefill and decode share nodes (vLLM colocation)
    gpus_per_node: int


def _layout(reading: Reading) -> _Layout | None:
    """Nodes and GPUs as the tool computes them; ``None`` where a number cannot be read."""
    numbers: dict[str, int | None] = {}
    for role in ("prefill", "decode", "agg"):
        for name in (f"{role}_nodes", f"{role}_workers", f"gpus_per_{role}"):
            numbers[name] = None
            if reading.written(f"resources.{name}"):
                numbers[name] = reading.whole(f"resources.{name}")
                if numbers[name] is None:
                    return None
    per_node = reading.whole("resources.gpus_per_node")
    if per_node is None:
        return None
    workers = {role: numbers[f"{role}_workers"] or 0 for role in ("prefill", "decode", "agg")}
    gpus: dict[str, int] = {}
    for role in ("prefill", "decode", "agg"):
        explicit, nodes = numbers[f"gpus_per_{role}"], numbers[f"{role}_nodes"]
        if explicit is not None:
            gpus[role] = explicit
        elif nodes and workers[role]:
            gpus[role] = (nodes * per_node) // workers[role]
        elif role == "decode" and nodes == 0 and workers[role]:
            gpus[role] = gpus["prefill"]
        else:
            gpus[role] = per_node
    disaggregated = numbers["prefill_nodes"] is not None or numbers["decode_nodes"] is not None
    if disaggregated:
        total = (numbers["prefill_nodes"] or 0) + (numbers["decode_nodes"] or 0)
    else:
        total = numbers["agg_nodes"] or 1
    packed = False
    if reading.engine == "vllm" and reading.flag("backend.allow_prefill_decode_colocation"):
        needed = sum(workers[role] * gpus[role] for role in workers)
        fits = needed <= per_node or reading.flag("backend.allow_prefill_decode_colocation_across_nodes")
        if workers["prefill"] > 0 and workers["decode"] > 0 and per_node > 0 and fits:
            packed = True
            total = -(-needed // per_node)
    return _Layout(disaggregated, workers, gpus, total, packed, per_node)


def _dedicated(reading: Reading) -> int:
    wanted = sum(
        reading.flag(key) for key in ("infra.etcd_nats_dedicated_node", "frontend.dedicated_node", "benchmark.client_dedicated_node")
    )
    if not wanted:
        return 0
    # Before v1.0.62 etcd and NATS were the only ones; the default of the key below is unknown there.
    shared = reading.raw("benchmark.colocate_with_frontend")
    return 1 if shared is None or flag(shared) is True else wanted


def normalise(item: Item, variant: str, tag: str | None = None) -> Recipe:
    """The recipe of a variant; never raises, whatever the values are."""
    engine = engine_of(item)
    reading = Reading(item, SCHEMA, engine, tag)
    layout = _layout(reading)
    dedicated = _dedicated(reading)
    total = None if layout is None else layout.nodes + dedicated
    if layout is not None and layout.disaggregated and reading.flag("resources.het_jobs"):
        dedicated = int(reading.flag("infra.etcd_nats_dedicated_node"))
        total = (reading.whole("resources.prefill_nodes") or 0) + (reading.whole("resources.decode_nodes") or 0) + dedicated
    roles = {}
    for name in ("prefill", "decode", "agg"):
        role = _role(item, name, engine, layout)
        if role is not None:
            roles[name] = role
    return Recipe(
        schema=1,
        variant=variant,
        engine=engine,
        roles=roles,
        total_nodes=total,
        services=_services(item),
        dedicated_nodes=dedicated,
        **common(item),
    )


def _services(item: Item) -> dict[str, Value]:
    """The services that schema 1 spells otherwise: the Mooncake master."""
    value = value_of(item.at("backend", "mooncake_kv_store"), "backend.mooncake_kv_store")
    return {} if value is None else {"mooncake-master": value}


def _role(item: Item, name: str, engine: str | None, layout: _Layout | None) -> Role | None:
    mode = _MODES[name]
    keys = (f"resources.{name}_nodes", f"resources.{name}_workers", f"resources.gpus_per_{name}")
    nodes, workers, gpus = (whole_of(item.at(*key.split(".")), key) for key in keys)
    env = values_below(item.at("backend", f"{mode}_environment"), f"backend.{mode}_environment")
    args = values_below(item.at("backend", f"{engine}_config", mode), f"backend.{engine}_config.{mode}")
    if nodes is None and workers is None and gpus is None and not env and not args:
        return None
    colocated = False
    if name == "decode":
        shares = nodes is not None and nodes.value == 0 and workers is not None and bool(workers.value)
        colocated = shares or (layout is not None and layout.packed)
    per_worker = None if layout is None else layout.gpus[name]
    return Role(name, engine, nodes, workers, gpus, colocated, args, env, per_worker)


def refusals(item: Item, tag: str | None = None) -> Iterator[Refusal]:
    """The checks across fields that fail when the tool's release ``tag`` loads the variant.

    Where ``tag`` is no release, the checks are those of the newest one without what an older one with the same fields accepts.
    To be asked only about a variant that the schema accepts.
    """
    reading = Reading(item, SCHEMA, engine_of(item), tag)
    known = version(tag)
    release = known or _NEWEST
    yield from _dynamo(reading)
    if known is not None or reading.written("backend.dp_launch_mode"):  # the default changed in v1.0.68
        yield from _per_node(reading, release)
    layout = _layout(reading)
    if layout is None:
        return
    yield from _profiling(reading, layout, release)
    yield from _observability(reading, release)
    yield from _telemetry(reading, release)
    yield from _mooncake(reading, layout)
    yield from _heterogeneous(reading, layout, release)
    yield from _placement(reading, release)
    yield from _trtllm_frontend(reading, layout, release)
    yield from _vllm_frontend(reading, layout, known)


def _dynamo(reading: Reading) -> Iterator[Refusal]:
    chosen = [key for key in ("hash", "wheel") if reading.written(f"dynamo.{key}")]
    if reading.flag("dynamo.top_of_tree"):
        chosen.append("top_of_tree")
    if len(chosen) > 1:
        yield Refusal(f"dynamo.{chosen[0]}", f"dynamo has more than one source: {', '.join(chosen)}; keep one")
    wheel = reading.text("dynamo.wheel")
    if wheel is not None:
        if not wheel.strip():
            yield Refusal("dynamo.wheel", "dynamo.wheel must be a package version, not an empty text")
        elif wheel.endswith(".whl") or "/" in wheel:
            yield Refusal("dynamo.wheel", "dynamo.wheel must be a package version such as 1.2.0, not a file name")
    if reading.raw("dynamo.cargo_patches") and not reading.written("dynamo.hash"):
        yield Refusal("dynamo.cargo_patches", "dynamo.cargo_patches needs a build from source: set dynamo.hash")
    for key, allowed in (("request_plane", ("nats", "tcp", "http")), ("event_plane", ("nats", "zmq"))):
        plane = reading.text(f"dynamo.{key}") if reading.written(f"dynamo.{key}") else None
        if plane is not None and plane not in allowed:
            yield Refusal(f"dynamo.{key}", f"dynamo.{key} must be one of {', '.join(allowed)}, not `{plane}`")


def _mode_config(reading: Reading, mode: str) -> dict[object, object]:
    value = reading.raw(f"backend.{reading.engine}_config.{mode}")
    return value if isinstance(value, dict) else {}


def _dashed(key: object) -> str:
    return str(key).replace("_", "-")


def _per_node(reading: Reading, release: tuple[int, int, int]) -> Iterator[Refusal]:
    if reading.engine != "vllm" or release < (1, 0, 34) or reading.text("backend.dp_launch_mode") != "per_node":
        return
    for mode in _MODES.values():
        config = _mode_config(reading, mode)
        if not any(_dashed(key) == "data-parallel-size" and value is not None for key, value in config.items()):
            continue
        for written in config:
            if _dashed(written) == "headless":
                yield Refusal(
                    f"backend.vllm_config.{mode}.{written}",
                    "headless cannot be set with dp_launch_mode per_node: the tool derives the headless ranks itself",
                )


def _profiling(reading: Reading, layout: _Layout, release: tuple[int, int, int]) -> Iterator[Refusal]:
    kind = reading.text("profiling.type")
    if kind in (None, "none"):
        return
    if kind == "torch" and reading.engine == "trtllm":
        yield Refusal("profiling.type", "torch profiling is not supported with trtllm; use nsys")
    if kind == "nsys-time":
        for key in ("delay_secs", "duration_secs"):
            if not reading.written(f"profiling.{key}"):
                yield Refusal("profiling.type", f"profiling type nsys-time needs profiling.{key}")
        return
    present = {mode: reading.written(f"profiling.{mode}") for mode in _MODES.values()}
    if layout.disaggregated:
        if present["aggregated"]:
            yield Refusal("profiling.aggregated", "a disaggregated job is profiled by prefill and decode; aggregated is not allowed")
        for mode in ("prefill", "decode"):
            if not present[mode]:
                yield Refusal("profiling.type", f"profiling of a disaggregated job needs profiling.{mode}")
            if layout.workers[mode] <= 0:
                yield Refusal("profiling.type", f"profiling of a disaggregated job needs resources.{mode}_workers above 0")
    else:
        for mode in ("prefill", "decode"):
            if present[mode]:
                yield Refusal(f"profiling.{mode}", f"an aggregated job is profiled by profiling.aggregated; {mode} is not allowed")
        if not present["aggregated"]:
            yield Refusal("profiling.type", "profiling of an aggregated job needs profiling.aggregated")
        if layout.workers["agg"] <= 0:
            yield Refusal("profiling.type", "profiling of an aggregated job needs resources.agg_workers above 0")
    if kind == "nsys" and reading.engine == "vllm" and release >= (1, 0, 20):
        for mode in _MODES.values():
            for written in _mode_config(reading, mode):
                if _dashed(written).startswith("profiler-config"):
                    yield Refusal(f"backend.vllm_config.{mode}.{written}", f"{written} is derived from the profiling block; remove it")


def _safe_path(text: str | None) -> bool:
    if not text or text.startswith(("/", "~")):
        return False
    parts = PurePosixPath(text).parts
    return bool(parts) and ".." not in parts


def _exporter(reading: Reading, key: str) -> Iterator[Refusal]:
    if not reading.text(f"{key}.container_image"):
        yield Refusal(f"{key}.container_image", f"{key}.container_image must not be empty")
    port = reading.whole(f"{key}.port")
    if port is None or not 1 <= port <= 65535:
        yield Refusal(f"{key}.port", f"{key}.port must be in 1..65535")


def _observability(reading: Reading, release: tuple[int, int, int]) -> Iterator[Refusal]:
    top = "observability.tachometer"
    if release < (1, 0, 59) or not reading.flag(f"{top}.enabled"):
        return
    if not reading.flag("observability.enabled"):
        yield Refusal(f"{top}.enabled", f"{top} needs observability.enabled: true")
    power = reading.flag("telemetry.enabled")
    if power and reading.written(f"{top}.dcgm_exporter"):
        yield Refusal(
            f"{top}.dcgm_exporter", "the DCGM exporter is shared: configure it under telemetry, not under observability.tachometer"
        )
    if power and reading.text(f"{top}.storage_subdir") == reading.text("telemetry.storage_subdir"):
        yield Refusal(f"{top}.storage_subdir", f"{top}.storage_subdir and telemetry.storage_subdir must differ")
    for name in ("dcgm_exporter", "node_exporter"):
        if reading.written(f"{top}.{name}"):
            yield from _exporter(reading, f"{top}.{name}")
    if not reading.text(f"{top}.binary_path"):
        yield Refusal(f"{top}.binary_path", f"{top}.binary_path must not be empty")
    frequency = reading.number(f"{top}.default_frequency")
    if frequency is not None and frequency <= 0:
        yield Refusal(f"{top}.default_frequency", f"{top}.default_frequency must be above 0")
    for name in ("sync_interval_secs", "compaction_threads"):
        value = reading.whole(f"{top}.{name}")
        if value is not None and value < 0:
            yield Refusal(f"{top}.{name}", f"{top}.{name} must not be below 0")
    if not _safe_path(reading.text(f"{top}.storage_subdir")):
        yield Refusal(f"{top}.storage_subdir", f"{top}.storage_subdir must be a relative path without ..")


def _telemetry(reading: Reading, release: tuple[int, int, int]) -> Iterator[Refusal]:
    if not reading.flag("telemetry.enabled"):
        return
    if release >= (1, 0, 59):
        # With no release asked for, a block with keys of the older collector is not measured by the newer rules.
        if not any(reading.at(f"telemetry.{key}") for key in _OLD_TELEMETRY):
            yield from _power(reading)
        return
    provider = reading.text("telemetry.provider") or "scraper"
    if provider == "dcgm-power" and release >= (1, 0, 47):
        yield from _power(reading)
    elif provider not in ("scraper", "SCRAPER"):
        yield Refusal("telemetry.provider", f"telemetry.provider `{provider}` is not known in this release")
    else:
        yield from _scraper(reading, release)


def _scraper(reading: Reading, release: tuple[int, int, int]) -> Iterator[Refusal]:
    needed = ["dcgm_exporter", "node_exporter"] if release >= (1, 0, 55) else ["container_image", "dcgm_exporter", "node_exporter"]
    for name in needed:
        if not reading.raw(f"telemetry.{name}"):
            yield Refusal("telemetry.enabled", f"telemetry needs telemetry.{name}")
    period = reading.number("telemetry.default_frequency")
    if period is not None and period <= 0:
        yield Refusal("telemetry.default_frequency", "telemetry.default_frequency must be above 0")
    for name in ("sync_interval_secs", "compaction_threads"):
        value = reading.whole(f"telemetry.{name}")
        if value is not None and value < 0:
            yield Refusal(f"telemetry.{name}", f"telemetry.{name} must not be below 0")


def _power(reading: Reading) -> Iterator[Refusal]:
    if not reading.written("telemetry.dcgm_exporter"):
        yield Refusal("telemetry.enabled", "telemetry needs telemetry.dcgm_exporter")
    else:
        yield from _exporter(reading, "telemetry.dcgm_exporter")
    for name in ("default_frequency", "startup_timeout_seconds", "request_timeout_seconds"):
        value = reading.number(f"telemetry.{name}")
        if value is None or not math.isfinite(value) or value <= 0:
            yield Refusal(f"telemetry.{name}", f"telemetry.{name} must be above 0")
    period = reading.number("telemetry.default_frequency") or 0.0
    if period > _MAX_SAMPLE_GAP:
        yield Refusal(
            "telemetry.default_frequency", f"telemetry.default_frequency is a period in seconds and must not exceed {_MAX_SAMPLE_GAP:g}"
        )
    join = reading.number("telemetry.collector_join_timeout_seconds")
    request = reading.number("telemetry.request_timeout_seconds") or 0.0
    if join is not None and join <= 2 * (2 * request + _CYCLE_GRACE):
        yield Refusal(
            "telemetry.collector_join_timeout_seconds",
            "telemetry.collector_join_timeout_seconds must exceed two collector cycles, 2 x (2 x request_timeout_seconds + 1)",
        )
    if not _safe_path(reading.text("telemetry.storage_subdir")):
        yield Refusal("telemetry.storage_subdir", "telemetry.storage_subdir must be a relative path without ..")
    if reading.text("benchmark.type") != "sa-bench":
        yield Refusal("benchmark.type", "telemetry needs benchmark.type: sa-bench")
    if reading.text("benchmark.client_placement") != "head":
        yield Refusal("benchmark.client_placement", "telemetry needs benchmark.client_placement: head")
    if reading.flag("infra.etcd_nats_dedicated_node"):
        yield Refusal("infra.etcd_nats_dedicated_node", "telemetry needs infra.etcd_nats_dedicated_node: false")
    written = concurrencies(value_of(reading.at("benchmark.concurrencies"), "benchmark.concurrencies"))
    levels = written.value if written is not None else ()
    if not isinstance(levels, tuple) or not levels or len(set(levels)) != len(levels) or min(levels) <= 0:
        yield Refusal("benchmark.concurrencies", "telemetry needs benchmark.concurrencies: different numbers above 0")


def _mooncake(reading: Reading, layout: _Layout) -> Iterator[Refusal]:
    if not reading.written("backend.mooncake_kv_store") or not layout.disaggregated:
        return
    configs = [_mode_config(reading, mode) for mode in ("prefill", "decode")]
    if reading.engine == "sglang":
        if not any(
            config.get(key) == "mooncake"
            for config in configs
            for key in ("disaggregation-transfer-backend", "disaggregation_transfer_backend")
        ):
            yield Refusal(
                "backend.mooncake_kv_store",
                "mooncake_kv_store is set, but neither prefill nor decode has `disaggregation-transfer-backend: mooncake`",
            )
    elif reading.engine == "vllm":
        written = [config.get(key) for config in configs for key in ("kv-transfer-config", "kv_transfer_config")]
        if not any(isinstance(value, str) and "mooncake" in value.lower() for value in written):
            yield Refusal(
                "backend.mooncake_kv_store",
                "mooncake_kv_store is set, but neither prefill nor decode has a kv-transfer-config text with a Mooncake connector",
            )


def _heterogeneous(reading: Reading, layout: _Layout, release: tuple[int, int, int]) -> Iterator[Refusal]:
    key = "resources.het_jobs"
    if not reading.flag(key):
        return
    if not layout.disaggregated:
        yield Refusal(key, "het_jobs needs a disaggregated job: prefill_nodes and decode_nodes")
    elif min(reading.whole("resources.prefill_nodes") or 0, reading.whole("resources.decode_nodes") or 0) < 1:
        yield Refusal(key, "het_jobs needs at least one prefill and one decode node")
    if reading.engine != "sglang":
        yield Refusal(key, f"het_jobs is supported with sglang only, not with {reading.engine}")
    if release >= (1, 0, 62) and (reading.flag("frontend.dedicated_node") or reading.flag("benchmark.client_dedicated_node")):
        yield Refusal(key, "het_jobs does not go together with a dedicated frontend or client node")


def _placement(reading: Reading, release: tuple[int, int, int]) -> Iterator[Refusal]:
    if release < (1, 0, 62):
        return
    for wanted, placed in (
        ("frontend.dedicated_node", "frontend.orchestrator_placement"),
        ("benchmark.client_dedicated_node", "benchmark.client_placement"),
    ):
        if reading.flag(wanted) and reading.text(placed) != "head":
            yield Refusal(placed, f"{wanted} needs {placed}: head; otherwise the reserved node is never used")


def _one_frontend(reading: Reading, kind: str) -> Iterator[Refusal]:
    engine = {"trtllm_serve": "trtllm"}.get(kind, kind)
    if reading.engine != engine:
        yield Refusal("frontend.type", f"frontend type {kind} needs backend type {engine}, not {reading.engine}")
    if reading.flag("frontend.enable_multiple_frontends"):
        yield Refusal("frontend.type", f"frontend type {kind} has one endpoint: set frontend.enable_multiple_frontends: false")


def _trtllm_frontend(reading: Reading, layout: _Layout, release: tuple[int, int, int]) -> Iterator[Refusal]:
    if release < (1, 0, 9) or reading.text("frontend.type") != "trtllm_serve":
        return
    yield from _one_frontend(reading, "trtllm_serve")
    if not layout.disaggregated and layout.workers["agg"] != 1:
        yield Refusal("frontend.type", "frontend type trtllm_serve with an aggregated job needs resources.agg_workers: 1")


def _vllm_frontend(reading: Reading, layout: _Layout, release: tuple[int, int, int] | None) -> Iterator[Refusal]:
    if reading.text("frontend.type") != "vllm" or (release is not None and release < (1, 0, 37)):
        return
    yield from _one_frontend(reading, "vllm")
    workers = layout.workers["agg"]
    if layout.disaggregated:
        yield Refusal("frontend.type", "frontend type vllm is for aggregated jobs only")
    elif workers < 1:
        yield Refusal("frontend.type", "frontend type vllm needs resources.agg_workers of at least 1")
    elif release is None:
        return  # up to v1.0.48 several workers on one node, from v1.0.49 on one worker on several nodes
    elif release >= (1, 0, 49) and workers != 1:
        yield Refusal("frontend.type", f"frontend type vllm needs exactly one aggregated worker, not {workers}")
    elif release < (1, 0, 49) and (reading.whole("resources.agg_nodes") or 1) != 1:
        yield Refusal("resources.agg_nodes", "frontend type vllm supports single-node aggregated jobs only in this release")
