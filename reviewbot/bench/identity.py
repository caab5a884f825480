"""Readable, stable and unique names of points.

A name is the config key and the fields that tell a point from its siblings: sequence lengths, topology, speculation, offload and
concurrency. Where that is not enough, the colliding points alone get more (recipe, concurrencies, a digest of the row), so that
the order of the master never matters.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_LENGTHS = {(1024, 1024): "1k1k", (8192, 1024): "8k1k", (1024, 8192): "1k8k"}
_MARKS = ("run-eval", "eval-conc")  # depend on the siblings
_RECIPE_SETTINGS = ("CONFIG_FILE=",)


class PointIds:
    """The ids of (key, row) pairs, in their order."""

    def __init__(self, points: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        rows = list(points)
        labels = [point_labels(row) for _, row in rows]
        for more in (_recipe, _concurrencies, _digest):
            groups: dict[tuple[str, str], list[int]] = {}
            for index, (key, _) in enumerate(rows):
                groups.setdefault((key, ",".join(labels[index])), []).append(index)
            clashes = [indices for indices in groups.values() if len(indices) > 1]
            if not clashes:
                break
            for indices in clashes:
                added = [more(rows[index][1]) for index in indices]
                if len(set(added)) > 1:
                    for index, label in zip(indices, added, strict=True):
                        labels[index] = [*labels[index], *([label] if label else [])]
        self._ids = _numbered(f"{key}[{','.join(labels[index])}]" for index, (key, _) in enumerate(rows))

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)


def point_labels(row: Mapping[str, Any]) -> list[str]:
    """The short labels of a row: ``8k1k``, ``tp8ep8dpa``, ``p1xtp8``, ``mtp``, ``dram-lmcache``, ``conc16``."""
    labels: list[str] = []
    if "isl" in row:
        labels.append(_LENGTHS.get((row["isl"], row["osl"]), f"{row['isl']}x{row['osl']}"))
    if "prefill" in row:
        for role in ("prefill", "decode"):
            labels.append(f"{role[0]}{row[role].get('num-worker')}x{_sizes(row[role])}")
    elif "tp" in row:
        labels.append(_sizes(row))
    if row.get("spec-decoding", "none") != "none":
        labels.append(str(row["spec-decoding"]))
    mode = row.get("kv-offloading", row.get("offloading", "none"))
    if mode != "none":
        backend = row.get("kv-offload-backend")
        labels.append(f"{mode}-{backend.get('name')}" if isinstance(backend, dict) else str(mode))
    if "prefill" not in row or "isl" not in row:
        labels.append(_concurrencies(row))
    return labels


def _sizes(worker: Mapping[str, Any]) -> str:
    text = f"tp{worker.get('tp')}"
    for name, short in (("pp", "pp"), ("dcp-size", "dcp"), ("pcp-size", "pcp"), ("ep", "ep")):
        if worker.get(name, 1) != 1:
            text += f"{short}{worker[name]}"
    return text + ("dpa" if worker.get("dp-attn") else "")


def _recipe(row: Mapping[str, Any]) -> str:
    for role in ("prefill", "decode"):
        worker = row.get(role)
        settings = worker.get("additional-settings") if isinstance(worker, dict) else None
        for setting in settings or ():
            for name in _RECIPE_SETTINGS:
                if isinstance(setting, str) and setting.startswith(name):
                    path, _, selector = setting[len(name) :].rpartition("/")[2].partition(":")
                    return path.removesuffix(".yaml") + (f":{selector}" if selector else "")
    return ""


def _concurrencies(row: Mapping[str, Any]) -> str:
    conc = row.get("conc")
    return "conc" + ("x".join(map(str, conc)) if isinstance(conc, list) else str(conc))


def _digest(row: Mapping[str, Any]) -> str:
    own = {name: value for name, value in row.items() if name not in _MARKS}
    return hashlib.sha256(json.dumps(own, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()[:6]


def _numbered(ids: Iterable[str]) -> list[str]:
    seen: Counter[str] = Counter()
    result: list[str] = []
    for identity in ids:
        seen[identity] += 1
        result.append(identity if seen[identity] == 1 else f"{identity}#{seen[identity]}")
    return result
