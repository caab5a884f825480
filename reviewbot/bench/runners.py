"""The runner list: which self-hosted runners answer to a label, and what the hosts of a label have."""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from dataclasses import dataclass, field

from reviewbot.bench.fields import Fields
from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Site, Span

_TOP = Span(1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class Label:
    """A scheduling label and the runners that carry it, in the written order; ``sites`` has one place a runner."""

    name: str
    nodes: tuple[str, ...]
    site: Site
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True)
class Hardware:
    """What one host of a label has: memory for KV offload in MiB, and GPUs."""

    label: str
    cpu_dram_mib: int
    gpus_per_node: int
    site: Site


@dataclass(frozen=True, slots=True)
class Runners:
    """``path`` is empty where the repository has no runner list."""

    path: str = ""
    labels: MappingType[str, Label] = field(default_factory=dict)
    hardware: MappingType[str, Hardware] = field(default_factory=dict)
    problems: tuple[BenchProblem, ...] = ()

    def nodes(self, label: str) -> tuple[str, ...]:
        found = self.labels.get(label)
        return () if found is None else found.nodes

    def is_node(self, name: str) -> bool:
        return any(name in label.nodes for label in self.labels.values())


def read_runners(path: str, root: Node | None) -> Runners:
    """Reads a runner list, in the form with ``labels``/``hardware`` or the older flat one (label to list of runners)."""
    problems: list[BenchProblem] = []
    if not isinstance(root, Mapping):
        span = _TOP if root is None else root.span
        problems.append(BenchProblem("wrong-type", "the runner list must be a mapping", Site(path, span.line), span))
        return Runners(path, problems=tuple(problems))
    top = Fields(root, path, "", "", problems)
    labelled = isinstance(root.get("labels"), Mapping) or "hardware" in root.index()
    hardware: dict[str, Hardware] = {}
    if labelled:
        top.unknown(("labels", "hardware"))
        section = top.mapping_of("labels")
        facts = top.mapping_of("hardware", required=False)
        if facts is not None:
            hardware = _hardware(path, facts, problems)
    else:
        section = root
    labels = {} if section is None else _labels(path, section, problems)
    return Runners(path, labels, hardware, tuple(problems))


def _labels(path: str, section: Mapping, problems: list[BenchProblem]) -> dict[str, Label]:
    labels: dict[str, Label] = {}
    for name, entry in section.index().items():
        site = Site(path, entry.key.span.line)
        key = str(name)
        if not isinstance(entry.value, Sequence) or not entry.value.items:
            problems.append(BenchProblem("wrong-type", f"the label {key!r} must be a list of runners", site, entry.key.span, key))
            continue
        nodes: list[str] = []
        sites: list[Site] = []
        for item in entry.value.items:
            if isinstance(item, Scalar) and isinstance(item.value, str) and item.value:
                nodes.append(item.value)
                sites.append(Site(path, item.span.line))
            else:
                problems.append(
                    BenchProblem("wrong-type", f"a runner of {key!r} must be a text", Site(path, item.span.line), item.span, key)
                )
        labels[key] = Label(key, tuple(nodes), site, tuple(sites))
    return labels


def _hardware(path: str, section: Mapping, problems: list[BenchProblem]) -> dict[str, Hardware]:
    hardware: dict[str, Hardware] = {}
    for name, entry in section.index().items():
        key = str(name)
        site = Site(path, entry.key.span.line)
        if not isinstance(entry.value, Mapping):
            problems.append(BenchProblem("wrong-type", f"the hardware of {key!r} must be a mapping", site, entry.key.span, key))
            continue
        fields = Fields(entry.value, path, key, "hardware", problems)
        fields.unknown(("available-cpu-dram-mib", "gpus-per-node"))
        dram = fields.integer("available-cpu-dram-mib", least=1)
        gpus = fields.integer("gpus-per-node", least=1)
        if isinstance(dram, int) and isinstance(gpus, int):
            hardware[key] = Hardware(key, dram, gpus, site)
    return hardware
