"""InferenceX up to August 2026: masters with ``scenarios`` (or the older ``seq-len-configs``), expanded to sweep points.

The rows equal, field by field, those of the repository's own full sweep. An entry or a search-space row that cannot be expanded is a
problem with a place; the rest of the file is expanded all the same.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Hashable, Iterable
from collections.abc import Mapping as MappingType
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reviewbot.bench import policy as policies
from reviewbot.bench.fields import MAX_INTEGER, Fields, json_value
from reviewbot.bench.freeze import freeze
from reviewbot.bench.identity import PointIds
from reviewbot.bench.masters import MasterEntry
from reviewbot.bench.model import Point
from reviewbot.bench.policy import Policy
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.runners import Runners
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Site

FIXED = "fixed-seq-len"
AGENTIC = "agentic-coding"
CLUSTER = "cluster:"
SPECULATION = frozenset({"mtp", "draft_model", "none"})
OFFLOADING = frozenset({"none", "dram"})
OLD_OFFLOADING = frozenset({"none", "on", "off", "cpu", "ssd", "noprefix"})
MAX_POINTS = 100_000

_BYTES_PER_MIB = 1024 * 1024
_BYTES_PER_GB = 1_000_000_000

_ENTRY_FIELDS = frozenset(
    {
        "image",
        "model",
        "model-prefix",
        "precision",
        "framework",
        "runner",
        "multinode",
        "disagg",
        "router",
        "kv-p2p-transfer",
        "scenarios",
        "seq-len-configs",
    }
)
_FIXED_FIELDS = frozenset({"isl", "osl", "search-space"})
_AGENTIC_FIELDS = frozenset({"search-space", "dram-utilization"})
_CONC_FIELDS = frozenset({"conc-start", "conc-end", "conc-list"})
_TOPOLOGY_FIELDS = frozenset({"tp", "pp", "dcp-size", "pcp-size", "ep", "dp-attn"})
_SINGLE_FIELDS = _CONC_FIELDS | _TOPOLOGY_FIELDS | {"spec-decoding", "router"}
_MULTI_FIELDS = _CONC_FIELDS | {"spec-decoding", "router", "kv-p2p-transfer", "prefill", "decode"}
_OFFLOAD_FIELDS = frozenset({"kv-offloading", "kv-offload-backend"})
_WORKER_FIELDS = frozenset({"num-worker", "tp", "pp", "dcp-size", "pcp-size", "ep", "dp-attn", "hardware", "additional-settings"})


@dataclass(slots=True)
class _Shared:
    """What all rows of one entry have in common."""

    entry: MasterEntry
    head: dict[str, Any]
    sites: dict[str, Site]
    multinode: bool
    disagg: Any
    components: dict[str, Any]
    fields: Fields


def expand(entries: Iterable[MasterEntry], runners: Runners, policy: Policy = policies.CURRENT) -> tuple[list[Point], list[BenchProblem]]:
    """All points of ``entries`` in the order of the repository's full sweep, and what is wrong with the entries."""
    drafts: list[_Draft] = []
    problems: list[BenchProblem] = []
    for entry in entries:
        if entry.node is None:
            continue
        _expand_entry(entry, entry.node, runners, policy, drafts, problems)
        if len(drafts) > MAX_POINTS:
            message = f"more than {MAX_POINTS} points: the rest is not read"
            problems.append(BenchProblem("too-many-points", message, entry.site, entry.key_span, entry.key))
            del drafts[MAX_POINTS:]
            break
    _mark_evals([draft.row for draft in drafts], policy)
    ids = PointIds((draft.key, draft.row) for draft in drafts)
    points = [
        Point(identity, draft.key, draft.row, "prefill" in draft.row, draft.scenario, draft.master, draft.site, draft.sites)
        for identity, draft in zip(ids, drafts, strict=True)
    ]
    return points, problems


@dataclass(slots=True)
class _Draft:
    key: str
    row: dict[str, Any]
    scenario: str
    master: str
    site: Site
    sites: dict[str, Site]


def _expand_entry(
    entry: MasterEntry, node: Mapping, runners: Runners, policy: Policy, drafts: list[_Draft], problems: list[BenchProblem]
) -> None:
    fields = Fields(node, entry.path, entry.key, "", problems)
    fields.unknown(_ENTRY_FIELDS)
    head: dict[str, Any] = {}
    sites: dict[str, Site] = {}
    for name in ("image", "model", "model-prefix", "precision", "framework", "runner"):
        head[name] = fields.text(name)
        _note(sites, fields, name)
    multinode = fields.boolean("multinode") is True
    disagg = fields.boolean("disagg")
    _note(sites, fields, "disagg", "multinode")
    if fields.failed:
        return
    if disagg and not multinode:
        fields.problem("disagg-single-node", "'disagg: true' needs 'multinode: true'", _span(fields, "disagg"), "disagg")
    components = _components(fields, sites)
    shared = _Shared(entry, head, sites, multinode, False if disagg is None else disagg, components, fields)
    scenarios = fields.node("scenarios")
    if scenarios is None and "seq-len-configs" in node.index():
        _fixed(shared, node, "seq-len-configs", "", policy, drafts)
        return
    found = fields.mapping_of("scenarios")
    if found is None:
        return
    inner = Fields(found, entry.path, entry.key, "scenarios", problems)
    inner.unknown((FIXED, AGENTIC))
    if not any(_items(found.get(name)) for name in (FIXED, AGENTIC)):
        inner.problem("missing-field", "at least one scenario must be given", _key_span(fields, "scenarios"))
    if FIXED in found.index():
        _fixed(shared, found, FIXED, "scenarios", policy, drafts)
    if AGENTIC in found.index():
        if policy.topology and not head["runner"].startswith(CLUSTER):
            message = f"an agentic config needs a {CLUSTER!r} runner label, not {head['runner']!r}"
            fields.problem("agentic-runner", message, _span(fields, "runner"), "runner")
        _agentic(shared, found, runners, policy, drafts)


def _fixed(shared: _Shared, parent: Mapping, name: str, prefix: str, policy: Policy, drafts: list[_Draft]) -> None:
    for config in _blocks(shared, parent, name, prefix):
        config.unknown(_FIXED_FIELDS)
        isl, osl = config.integer("isl", least=0), config.integer("osl", least=0)
        for row in _search_space(shared, config):
            if not isinstance(isl, int) or not isinstance(osl, int):
                break
            sites = dict(shared.sites)
            _note(sites, config, "isl", "osl")
            row.unknown(_MULTI_FIELDS if shared.multinode else _SINGLE_FIELDS)
            concs, conc_sites = _concurrencies(row, sites)
            topology = _topology(row, shared, policy, sites)
            speculation = _speculation(row, sites)
            components = {**shared.components, **_components(row, sites, shared)}
            if row.failed or topology is None:
                continue
            length = {"isl": isl, "osl": osl}
            name_ = f"{shared.head['model-prefix']}_{policy.lengths.get((isl, osl), f'{isl}_{osl}')}"
            tail = {"spec-decoding": speculation, "max-model-len": isl + osl + policy.margin, "exp-name": name_, "disagg": shared.disagg}
            if policy.evals != policies.NO_EVALS:
                tail["run-eval"] = False
            sites["max-model-len"] = sites["isl"]
            if shared.multinode:
                _add(shared, row, {**shared.head, **length, **topology, "conc": concs, **tail, **components}, FIXED, sites, drafts)
                continue
            for conc, site in zip(concs, conc_sites, strict=True):
                _add(
                    shared, row, {**shared.head, **length, **topology, "conc": conc, **tail, **components}, FIXED, _at(sites, site), drafts
                )


def _agentic(shared: _Shared, parent: Mapping, runners: Runners, policy: Policy, drafts: list[_Draft]) -> None:
    prefix = shared.head["model-prefix"]
    for config in _blocks(shared, parent, AGENTIC, "scenarios"):
        config.unknown(_AGENTIC_FIELDS | ({"duration", "trace-source", "hash-ids"} if policy.offloading else frozenset()))
        duration: Any = policy.duration
        if policy.offloading and config.node("duration") is not None:
            duration = config.integer("duration", least=0)
        utilization = _utilization(config)
        for row in _search_space(shared, config):
            sites = dict(shared.sites)
            _note(sites, config, "duration")
            allowed = (_MULTI_FIELDS if shared.multinode else _SINGLE_FIELDS | {"kv-p2p-transfer"}) | _OFFLOAD_FIELDS
            row.unknown(allowed | ({"offloading"} if policy.offloading else frozenset()))
            concs, conc_sites = _concurrencies(row, sites)
            topology = _topology(row, shared, policy, sites)
            speculation = _speculation(row, sites)
            components = {**shared.components, **_components(row, sites, shared)}
            offload, suffix, old_suffix = _offload(row, shared, policy, sites)
            if not row.failed and topology is not None and not policy.offloading:
                budget = _budget(row, topology, offload, utilization, runners, shared, policy)
                if budget is not None:
                    offload["total-cpu-dram-gb"] = budget
                source = config.site("dram-utilization")
                if source is not None and budget:
                    sites["total-cpu-dram-gb"] = source
            if row.failed or topology is None:
                continue
            base: dict[str, Any] = {**shared.head, **topology, "duration": duration, "scenario-type": AGENTIC, **offload, **components}
            if shared.multinode or not policy.offloading:
                base["spec-decoding"] = speculation
            if shared.multinode:
                base["disagg"] = shared.disagg
                tag = "" if offload.get("kv-offloading", "none") == "none" else f"_{suffix}"
                workers = f"{_worker(topology['prefill'], 'p', policy)}_{_worker(topology['decode'], 'd', policy)}"
                for batch, text, site in _batches(concs, conc_sites, policy.batch):
                    name = f"{prefix}_{workers}_conc{text}{tag}"
                    _add(shared, row, {**base, "conc": batch, "exp-name": name}, AGENTIC, _at(sites, site), drafts)
                continue
            for conc, site in zip(concs, conc_sites, strict=True):
                name = f"{prefix}_tp{topology['tp']}_conc{conc}_{old_suffix or suffix}"
                if not policy.offloading and speculation != "none":
                    name += f"_spec-{speculation}"
                _add(shared, row, {**base, "conc": conc, "exp-name": name}, AGENTIC, _at(sites, site), drafts)


def _add(shared: _Shared, row: Fields, values: dict[str, Any], scenario: str, sites: dict[str, Site], drafts: list[_Draft]) -> None:
    drafts.append(_Draft(shared.entry.key, values, scenario, shared.entry.path, Site(row.path, row.mapping.span.line), sites))


# --- parts of a row ------------------------------------------------------------------------------------------------


def _blocks(shared: _Shared, parent: Mapping, name: str, prefix: str) -> Iterable[Fields]:
    """The items of a scenario, as mappings."""
    outer = Fields(parent, shared.entry.path, shared.entry.key, prefix, shared.fields.problems)
    items = outer.sequence_of(name, required=False)
    for index, item in enumerate(items.items if items is not None else ()):
        place = f"{outer.dotted(name)}[{index}]"
        if isinstance(item, Mapping):
            yield Fields(item, outer.path, outer.key, place, outer.problems)
        else:
            _not_a_mapping(outer, place, item)


def _search_space(shared: _Shared, config: Fields) -> Iterable[Fields]:
    rows = config.sequence_of("search-space")
    for index, item in enumerate(rows.items if rows is not None else ()):
        place = f"{config.dotted('search-space')}[{index}]"
        if isinstance(item, Mapping):
            yield Fields(item, config.path, config.key, place, config.problems)
        else:
            _not_a_mapping(config, place, item)


def _not_a_mapping(fields: Fields, place: str, item: Node) -> None:
    fields.problems.append(
        BenchProblem("wrong-type", f"{place} must be a mapping", Site(fields.path, item.span.line), item.span, fields.key, place)
    )


def _concurrencies(row: Fields, sites: dict[str, Site]) -> tuple[list[int], list[Site]]:
    """The concurrencies of a search-space row and the line that each stands in: a list, or a range that doubles up to its end."""
    listed = row.node("conc-list")
    has_range = row.node("conc-start") is not None and row.node("conc-end") is not None
    _note(sites, row, "conc-list", "conc-start", "conc-end")
    if isinstance(listed, Sequence) and listed.items:
        if has_range:
            row.problem("conc-twice", "give 'conc-list' or 'conc-start' and 'conc-end', not both", _key_span(row, "conc-list"), "conc-list")
        values: list[int] = []
        places: list[Site] = []
        for index, item in enumerate(listed.items):
            value = item.value if isinstance(item, Scalar) else None
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_INTEGER:
                values.append(value)
                places.append(Site(row.path, item.span.line))
            else:
                row.fail("wrong-concurrency", "a concurrency must be a positive integer", item.span, f"conc-list[{index}]")
        if places:
            sites["conc"] = places[0]
        return values, places
    if listed is not None and not isinstance(listed, Sequence) and not (isinstance(listed, Scalar) and listed.value is None):
        row.fail("wrong-type", "'conc-list' must be a list", _key_span(row, "conc-list"), "conc-list")
        return [], []
    start, end = row.integer("conc-start", required=False, least=1), row.integer("conc-end", required=False, least=1)
    if not isinstance(start, int) or not isinstance(end, int):
        if not row.failed:
            row.fail("no-concurrency", "give 'conc-list', or both 'conc-start' and 'conc-end'", _start(row.mapping))
        return [], []
    if start > end:
        row.fail("wrong-concurrency", f"'conc-start' ({start}) is above 'conc-end' ({end})", _span(row, "conc-start"), "conc-start")
        return [], []
    values = [start]
    while values[-1] < end:
        values.append(min(values[-1] * 2, end))
    site = row.site("conc-start") or Site(row.path, row.mapping.span.line)
    sites["conc"] = site
    last = row.site("conc-end") or site
    return values, [last if value == end else site for value in values]


def _topology(row: Fields, shared: _Shared, policy: Policy, sites: dict[str, Site]) -> dict[str, Any] | None:
    """``tp`` and its companions, or ``prefill`` and ``decode``."""
    if shared.multinode:
        workers: dict[str, Any] = {}
        for role in ("prefill", "decode"):
            node = row.mapping_of(role)
            if node is None:
                continue
            fields = Fields(node, row.path, row.key, row.dotted(role), row.problems)
            workers[role] = _worker_values(fields, role, policy, sites)
            row.failed = row.failed or fields.failed
        if len(workers) == 2 and bool(workers["prefill"].get("hardware")) != bool(workers["decode"].get("hardware")):
            row.problem("hardware-pair", "give 'hardware' for both 'prefill' and 'decode', or for neither", _start(row.mapping))
        return workers if len(workers) == 2 else None
    if "prefill" in row.mapping.index() or "decode" in row.mapping.index():
        row.problem("single-node-workers", "'prefill' and 'decode' need 'multinode: true'", _start(row.mapping))
    values: dict[str, Any] = {"tp": row.integer("tp", least=1, lax=True)}
    for name in ("pp", "dcp-size", "pcp-size"):
        value = row.integer(name, required=False, least=1)
        if policy.topology:
            values[name] = 1 if value is None else value
    ep = row.integer("ep", required=False, lax=True)
    attention = row.boolean("dp-attn")
    values["ep"] = 1 if ep is None else ep
    values["dp-attn"] = False if attention is None else attention
    _note(sites, row, *_TOPOLOGY_FIELDS)
    _check_dcp(row, values)
    return values


def _worker_values(fields: Fields, role: str, policy: Policy, sites: dict[str, Site]) -> dict[str, Any]:
    fields.unknown(_WORKER_FIELDS)
    fields.integer("num-worker", least=0, lax=True)
    fields.integer("tp", least=1, lax=True)
    fields.integer("ep", least=1, lax=True)
    for size in ("pp", "dcp-size", "pcp-size"):
        fields.integer(size, required=False, least=1)
    if fields.boolean("dp-attn") is None and not fields.failed:
        fields.fail("missing-field", "the field 'dp-attn' is missing", _start(fields.mapping), "dp-attn")
    fields.text("hardware", required=False)
    settings = fields.sequence_of("additional-settings", required=False)
    for index, item in enumerate(settings.items if settings is not None else ()):
        place = f"additional-settings[{index}]"
        if isinstance(item, Scalar) and isinstance(item.value, str):
            sites[f"{role}.{place}"] = Site(fields.path, item.span.line)
        else:
            fields.fail("wrong-type", f"{place} must be a text", item.span, place)
    for name in fields.mapping.index():
        site = fields.site(name) if isinstance(name, str) else None
        if site is not None:
            sites[f"{role}.{name}"] = site
    values: dict[str, Any] = json_value(fields.mapping)
    if policy.topology:
        for size in ("pp", "dcp-size", "pcp-size"):
            values.setdefault(size, 1)
    sites[role] = Site(fields.path, fields.mapping.span.line)
    _check_dcp(fields, values)
    return values


def _check_dcp(fields: Fields, values: MappingType[str, Any]) -> None:
    tp, dcp = values.get("tp"), values.get("dcp-size")
    if isinstance(tp, int) and isinstance(dcp, int) and dcp > 0 and tp % dcp:
        fields.problem("dcp-divides-tp", f"'tp' ({tp}) must be divisible by 'dcp-size' ({dcp})", _span(fields, "dcp-size"), "dcp-size")


def _speculation(row: Fields, sites: dict[str, Site]) -> str:
    _note(sites, row, "spec-decoding")
    return row.choice("spec-decoding", SPECULATION, "none") or "none"


def _components(fields: Fields, sites: dict[str, Site], shared: _Shared | None = None) -> dict[str, Any]:
    """``router`` and ``kv-p2p-transfer`` of an entry or, with ``shared``, of a row of it."""
    values: dict[str, Any] = {}
    for name in ("router", "kv-p2p-transfer"):
        node = fields.node(name)
        if node is None or (isinstance(node, Scalar) and node.value is None):
            continue
        if shared is not None and name in shared.components:
            fields.problem("two-scopes", f"{name!r} is given for the whole config and for a row", _key_span(fields, name), name)
        if name == "router":
            _check_component(fields, name, version=True)
        else:
            fields.text(name)
        values[name] = json_value(node)
        _note(sites, fields, name)
    return values


def _check_component(fields: Fields, name: str, version: bool) -> None:
    node = fields.mapping_of(name)
    if node is None:
        return
    inner = Fields(node, fields.path, fields.key, fields.dotted(name), fields.problems)
    inner.unknown(("name", "version"))
    inner.text("name")
    text = inner.text("version", required=version)
    if text is not None and text.startswith("image:"):
        inner.problem("image-as-version", "a version must be the component's own, not an image", _span(inner, "version"), "version")
    fields.failed = fields.failed or inner.failed


def _offload(row: Fields, shared: _Shared, policy: Policy, sites: dict[str, Site]) -> tuple[dict[str, Any], str, str]:
    """The offload fields of an agentic row, their part of the experiment name, and the older form of it."""
    _note(sites, row, "kv-offloading", "kv-offload-backend", "offloading")
    if policy.offloading:
        mode = row.text("offloading", required=False) or "none"
        return ({} if shared.multinode else {"offloading": mode}), "", f"offload{mode}"
    if not shared.multinode and row.node("kv-offloading") is None:
        row.fail("missing-field", "the field 'kv-offloading' is missing", _start(row.mapping), "kv-offloading")
    mode = row.choice("kv-offloading", OFFLOADING, "none") or "none"
    values: dict[str, Any] = {"kv-offloading": mode}
    backend = row.node("kv-offload-backend")
    given = backend is not None and not (isinstance(backend, Scalar) and backend.value is None)
    if given:
        _check_component(row, "kv-offload-backend", version=False)
        values["kv-offload-backend"] = json_value(backend)
    if mode == "none":
        if given:
            row.problem(
                "backend-without-offload",
                "'kv-offload-backend' needs 'kv-offloading: dram'",
                _key_span(row, "kv-offload-backend"),
                "kv-offload-backend",
            )
        return values, "kvnone", ""
    if not given and not row.failed:
        row.fail("missing-field", f"'kv-offloading: {mode}' needs 'kv-offload-backend'", _start(row.mapping), "kv-offload-backend")
    found = values.get("kv-offload-backend")
    return values, f"kv{mode}-{found.get('name') if isinstance(found, dict) else found}", ""


def _utilization(config: Fields) -> Decimal | None:
    node = config.node("dram-utilization")
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return None
    value = node.value if isinstance(node, Scalar) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        config.problem(
            "out-of-range", "'dram-utilization' must be above 0 and at most 1", _key_span(config, "dram-utilization"), "dram-utilization"
        )
        return None
    return Decimal(str(value))


def _budget(
    row: Fields,
    topology: MappingType[str, Any],
    offload: MappingType[str, Any],
    utilization: Decimal | None,
    runners: Runners,
    shared: _Shared,
    policy: Policy,
) -> int | None:
    """Host memory for KV offload, in GB: the part of a node's memory that matches the part of its GPUs in use.

    ``None`` where rows of this kind carry no budget; the row fails where it cannot be computed.
    """
    if shared.multinode and not policy.multinode_budget:
        return None
    if offload.get("kv-offloading") != "dram":
        return 0
    where = _span(row, "kv-offloading")
    label = shared.head["runner"]
    hardware = runners.hardware.get(label)
    if utilization is None:
        row.fail("missing-field", "'kv-offloading: dram' needs 'dram-utilization' beside the search space", where, "kv-offloading")
        return None
    if hardware is None:
        row.fail("no-hardware", f"the runner list has no hardware for {label!r}, which 'kv-offloading: dram' needs", where, "kv-offloading")
        return None
    worker = topology["prefill"] if shared.multinode else topology
    sizes = [worker.get("tp", 1), worker.get("pp", 1), worker.get("pcp-size", 1)]
    if not all(isinstance(size, int) for size in sizes):
        row.fail("wrong-type", "'tp' must be an integer where memory is offloaded", where, "tp")
        return None
    gpus = sizes[0] * sizes[1] * sizes[2]
    node = hardware.gpus_per_node
    if shared.multinode:
        if (gpus > node and gpus % node) or (gpus <= node and node % gpus):
            row.fail("uneven-node", f"a prefill worker of {gpus} GPUs does not fill nodes of {node} GPUs evenly", where, "prefill")
            return None
        gpus = min(gpus, node)
    elif gpus > node:
        row.fail("too-many-gpus", f"the row needs {gpus} GPUs, a node of {label!r} has {node}", where, "tp")
        return None
    usable = Decimal(min(hardware.cpu_dram_mib, policy.dram_cap_mib)) * _BYTES_PER_MIB * utilization
    return int(usable * gpus / node / _BYTES_PER_GB)


def _batches(concs: list[int], sites: list[Site], size: int | None) -> Iterable[tuple[Any, str, Site]]:
    """The concurrencies of the rows of a multi-node agentic search-space row, with their text in the name."""
    for start in range(0, len(concs), size or 1):
        part = concs[start : start + (size or 1)]
        yield (part[0] if size is None else part), "x".join(map(str, part)), sites[start]


def _worker(worker: MappingType[str, Any], role: str, policy: Policy) -> str:
    text = f"{role}{worker['num-worker']}x{worker['tp']}"
    if policy.worker_tags:
        if worker.get("ep", 1) != 1:
            text += f"ep{worker['ep']}"
        if worker.get("dp-attn"):
            text += "dpa"
    return text


# --- evals ---------------------------------------------------------------------------------------------------------


_GROUP = ("model", "runner", "framework", "precision")


def _mark_evals(rows: list[dict[str, Any]], policy: Policy) -> None:
    """Marks the rows that the sweep evaluates as well: the selection looks at all rows together."""
    if policy.evals == policies.NO_EVALS:
        return
    marked: set[int] = set()
    concs: dict[int, int] = {}
    single: dict[Hashable, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
    multi: dict[Hashable, list[tuple[int, list[int]]]] = defaultdict(list)
    for index, row in enumerate(rows if policy.evals != policies.EVALS_ON_REQUEST else ()):
        if (row.get("isl"), row.get("osl")) != policy.eval_lengths:
            continue
        eligible = eligible_concurrencies(row, policy.min_eval_conc)
        if not eligible:
            continue
        if "prefill" not in row:
            single[tuple(row[name] for name in (*_GROUP, "spec-decoding", "dp-attn"))].append((index, row))
        elif policy.evals == policies.EVALS_BY_TOPOLOGY:
            multi[topology_key(row)].append((index, eligible))
        elif policy.evals == policies.EVALS_BY_ATTENTION:
            kinds = (row["prefill"].get("dp-attn"), row["decode"].get("dp-attn"))
            multi[tuple(row[name] for name in (*_GROUP, "spec-decoding")) + kinds].append((index, eligible))
    for group in single.values():
        marked.update(_by_concurrency(group))
    for candidates in multi.values():
        best, eligible = max(candidates, key=lambda candidate: candidate[1][-1])
        marked.add(best)
        concs[best] = eligible[len(eligible) // 2] if policy.median else eligible[-1]
    for index, row in enumerate(rows):
        if "scenario-type" in row and not policy.agentic_marks:
            continue
        row["run-eval"] = index in marked
        if index in concs:
            row["eval-conc"] = concs[index]


def eligible_concurrencies(row: MappingType[str, Any], least: int) -> list[int]:
    """The concurrencies of a row at which an eval may run, ascending."""
    conc = row["conc"]
    return sorted(value for value in (conc if isinstance(conc, list) else [conc]) if value >= least)


def _by_concurrency(group: list[tuple[int, dict[str, Any]]]) -> Iterable[int]:
    values = sorted({row["conc"] for _, row in group})
    targets = {values[-1], values[len(values) // 2]}
    return [index for index, row in group if row["conc"] in targets]


_POINT_FIELDS = frozenset({"conc", "run-eval", "eval-only", "eval-conc", "eval-all-concs", "exp-name"})


def topology_key(row: MappingType[str, Any]) -> Hashable:
    """What two rows share that differ in their concurrency alone."""
    return frozenset((name, freeze(value)) for name, value in row.items() if name not in _POINT_FIELDS)


def evaluated(rows: SequenceType[MappingType[str, Any]], policy: Policy = policies.CURRENT) -> set[int]:
    """The places of the rows that get an eval job: the marked ones, and the agentic ones of highest concurrency.

    Single-node agentic rows are grouped by model, runner, framework and precision, multi-node ones by topology.
    """
    found = {index for index, row in enumerate(rows) if row.get("run-eval") is True}
    if not policy.agentic_marks:
        return found
    groups: dict[Hashable, list[tuple[int, int]]] = defaultdict(list)
    for index, row in enumerate(rows):
        if "scenario-type" not in row:
            continue
        if "prefill" not in row:
            groups[tuple(row[name] for name in _GROUP)].append((row["conc"], index))
            continue
        eligible = eligible_concurrencies(row, policy.min_eval_conc)
        if eligible:
            groups[topology_key(row)].append((eligible[-1], index))
    found.update(max(group, key=lambda item: item[0])[1] for group in groups.values())
    return found


def workflow_row(row: MappingType[str, Any], eval_only: bool, separate: bool, fingerprint: bool) -> dict[str, Any]:
    """The row as the sweep's workflow holds it in its matrix: what is added to, and taken from, the generator's row.

    ``separate`` says that evals are jobs of their own, so that other rows do not carry the mark.
    """
    result = dict(row)
    if eval_only:
        result.update({"run-eval": True, "eval-only": True})
        if "prefill" in row and "eval-conc" not in row:
            result["eval-conc"] = max(row["conc"]) if isinstance(row["conc"], list) else row["conc"]
    elif separate:
        result.pop("eval-conc", None)
        if "scenario-type" in row:
            result.pop("run-eval", None)
        else:
            result["run-eval"] = False
        if fingerprint:
            result["recipe-fingerprint"] = recipe_fingerprint(result)
    for role in ("prefill", "decode"):
        if role in result:
            result[role] = {"additional-settings": [], **result[role]}
    return result


def recipe_fingerprint(row: MappingType[str, Any]) -> str:
    """SHA-256 of a row's canonical JSON without its concurrency and name: the identity that result files carry."""
    named = {name: value for name, value in row.items() if name not in ("conc", "exp-name", "recipe-fingerprint")}
    return hashlib.sha256(json.dumps(named, sort_keys=True, separators=(",", ":")).encode("utf-8")).hexdigest()


# --- places --------------------------------------------------------------------------------------------------------


def _note(sites: dict[str, Site], fields: Fields, *names: str) -> None:
    for name in names:
        site = fields.site(name)
        if site is not None:
            sites[name] = site


def _at(sites: dict[str, Site], conc: Site) -> dict[str, Site]:
    return sites if sites.get("conc") == conc else {**sites, "conc": conc}


def _span(fields: Fields, name: str) -> Any:
    node = fields.node(name)
    return node.span if isinstance(node, Scalar) else _key_span(fields, name)


def _key_span(fields: Fields, name: str) -> Any:
    entry = fields.entry(name)
    return _start(fields.mapping) if entry is None else entry.key.span


def _start(mapping: Mapping) -> Any:
    span = mapping.span
    return span._replace(end_line=span.line, end_column=span.column + 1)


def _items(node: Node | None) -> bool:
    return isinstance(node, Sequence) and bool(node.items)
