"""The tool's cluster file (``srtslurm.yaml``), which launchers often write on the fly: aliases and defaults, with their lines.

The tool only warns about a cluster file that it cannot validate, and then runs as if there were none; so ``problems`` matter.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingABC
from dataclasses import dataclass, replace

from reviewbot.bench.model import Value
from reviewbot.bench.srt_values import (
    coerced,
    leaves,
    time_limit,
    value_of,
    values_below,
    whole,
)
from reviewbot.bench.validate import SchemaProblem, check
from reviewbot.bench.variants import Item, VariantError, item_of
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Span
from reviewbot.documents.yaml import YamlDocument, parse_yaml

SCHEMA = "srt-cluster"


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that is written more than once in one mapping; the last one counts."""

    key: str  # dotted path
    lines: tuple[int, ...]
    values: tuple[object, ...]  # plain scalars, ``None`` for blocks


@dataclass(frozen=True, slots=True)
class ClusterFile:
    """What a cluster file sets. Values that are not written are ``None``; ``problems`` are those that make the tool ignore the file."""

    model_paths: MappingABC[str, Value]
    containers: MappingABC[str, Value]
    default_mounts: MappingABC[str, Value]
    default_time_limit: Value | None  # value: seconds where it can be read, else as written
    gpus_per_node: Value | None
    health_attempts: Value | None  # of default_health_check; used only by recipes without a health_check block
    health_interval: Value | None
    default_account: Value | None
    default_partition: Value | None
    use_het_jobs: Value | None
    settings: MappingABC[str, Value]
    duplicates: tuple[Duplicate, ...]
    problems: tuple[SchemaProblem, ...]

    @property
    def ignored(self) -> bool:
        """Whether the tool would warn and run without this file."""
        return bool(self.problems)


def read_cluster_file(document: YamlDocument | Node | None, tag: str | None = None) -> ClusterFile:
    """The cluster file of a parsed document as release ``tag`` of the tool reads it; never raises, whatever it holds."""
    root: Node | None = document if document is None or isinstance(document, (Scalar, Mapping, Sequence)) else document.root
    problems: list[SchemaProblem] = []
    item = Item({}, None, None, Span(1, 1, 1, 1), "")
    if not isinstance(root, Mapping):
        span = item.key_span if root is None else root.span
        problems.append(SchemaProblem(span, "", "the cluster file is not a mapping", "type"))
    else:
        try:
            item = item_of(root, "")
            problems += check(item, SCHEMA, tag)
        except VariantError as error:
            problems.append(SchemaProblem(error.span, error.key, error.message, "variant"))
    at = item.at

    def number(*keys: str) -> Value | None:
        value = value_of(at(*keys), ".".join(keys))
        return None if value is None else coerced(value, whole(value.value))

    return ClusterFile(
        model_paths=values_below(at("model_paths"), "model_paths"),
        containers=values_below(at("containers"), "containers"),
        default_mounts=values_below(at("default_mounts"), "default_mounts"),
        default_time_limit=time_limit(at("default_time_limit"), "default_time_limit"),
        gpus_per_node=number("gpus_per_node"),
        health_attempts=number("default_health_check", "max_attempts"),
        health_interval=number("default_health_check", "interval_seconds"),
        default_account=value_of(at("default_account"), "default_account"),
        default_partition=value_of(at("default_partition"), "default_partition"),
        use_het_jobs=value_of(at("use_het_jobs"), "use_het_jobs"),
        settings=dict(leaves(item)),
        duplicates=tuple(_duplicates(root, "", 0)) if isinstance(root, Mapping) else (),
        problems=tuple(problems),
    )


def parse_cluster_file(data: bytes, path: str = "srtslurm.yaml", tag: str | None = None) -> ClusterFile:
    """:func:`read_cluster_file` of a text; a text that is no YAML has its syntax problem instead of schema problems."""
    document = parse_yaml(data, path)
    found = read_cluster_file(document, tag)
    fatal = tuple(SchemaProblem(problem.span, "", problem.message, problem.code) for problem in document.problems if problem.fatal)
    return replace(found, problems=fatal) if fatal else found


def _duplicates(node: Mapping, prefix: str, depth: int) -> list[Duplicate]:
    if depth > 20:
        return []
    found: list[Duplicate] = []
    seen: dict[object, list[tuple[int, object]]] = {}
    for entry in node.entries:
        if not isinstance(entry.key, Scalar):
            continue
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        seen.setdefault(entry.key.value, []).append((entry.key.span.line, value))
        if isinstance(entry.value, Mapping) and entry.alias is None:
            found += _duplicates(entry.value, f"{prefix}{entry.key.value}.", depth + 1)
    for key, places in seen.items():
        if len(places) > 1:
            found.append(Duplicate(f"{prefix}{key}", tuple(line for line, _ in places), tuple(value for _, value in places)))
    return sorted(found, key=lambda duplicate: duplicate.lines)
