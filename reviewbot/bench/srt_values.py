"""Reading values out of a variant as srt-slurm does: its coercions, its defaults, its spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviewbot.bench.model import Value
from reviewbot.bench.validate import known_at, schema, version
from reviewbot.bench.variants import Item
from reviewbot.documents.nodes import Sequence
from reviewbot.documents.positions import Span

_TRUE = frozenset({"t", "T", "true", "True", "TRUE", "on", "On", "ON", "y", "Y", "yes", "Yes", "YES", "1"})
_FALSE = frozenset({"f", "F", "false", "False", "FALSE", "off", "Off", "OFF", "n", "N", "no", "No", "NO", "0"})
_TEXTS = {
    "name": "name",
    "model_path": "model.path",
    "container": "model.container",
    "precision": "model.precision",
    "gpu_type": "resources.gpu_type",
    "frontend": "frontend.type",
    "benchmark_type": "benchmark.type",
    "benchmark_command": "benchmark.command",
    "setup_script": "setup_script",
    "extra_mounts": "extra_mount",
}
_WHOLES = {
    "gpus_per_node": "resources.gpus_per_node",
    "isl": "benchmark.isl",
    "osl": "benchmark.osl",
    "health_attempts": "health_check.max_attempts",
    "health_interval": "health_check.interval_seconds",
}
_MAPPINGS = {
    "environment": "environment",
    "benchmark_env": "benchmark.env",
    "container_mounts": "container_mounts",
    "srun_options": "srun_options",
    "frontend_env": "frontend.env",
    "frontend_args": "frontend.args",
}
_TIME = re.compile(r"(?:(?P<days>\d{1,6})-(?P<hours>\d{1,6})(?::(?P<minutes>\d{1,6})(?::(?P<seconds>\d{1,6}))?)?)$")


def plain_item(item: Item) -> Any:
    """The plain value of a tree."""
    if item.children is None:
        return item.value
    return {key: plain_item(child) for key, child in item.children.items()}


def value_of(item: Item | None, key: str) -> Value | None:
    """The item as a :class:`Value`; a mapping's value is a plain ``dict``. Null counts as not written."""
    if item is None or (item.children is None and item.value is None):
        return None
    return _value(item, key)


def _value(item: Item, key: str) -> Value:
    span = item.key_span if item.children is not None or isinstance(item.node, Sequence) else item.span
    return Value(plain_item(item), key, span.line, span.column, item.node, item.operation)


def values_below(item: Item | None, key: str) -> dict[str, Value]:
    """The entries of a mapping, one level deep, nulls included."""
    if item is None or item.children is None:
        return {}
    return {str(name): _value(child, f"{key}.{name}") for name, child in item.children.items()}


def leaves(item: Item, prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Every scalar and list leaf by dotted path."""
    if item.children is None:
        yield prefix, _value(item, prefix)
        return
    for name, child in item.children.items():
        yield from leaves(child, f"{prefix}.{name}" if prefix else str(name))


def whole(value: object) -> int | None:
    """A whole number as the tool reads it: fractions are cut off, texts of digits are numbers, truth values are none."""
    if isinstance(value, bool):
        return None
    try:
        return int(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


def number(value: object) -> float | None:
    """A number as the tool reads it."""
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


def flag(value: object) -> bool | None:
    """A truth value as the tool reads it (``"yes"``, ``1`` and ``on`` included)."""
    if isinstance(value, str):
        return True if value in _TRUE else False if value in _FALSE else None
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return bool(value)
    return None


def coerced(value: Value | None, result: object) -> Value | None:
    """``value`` with ``result`` for its value; as it is where ``result`` is ``None``."""
    if value is None or result is None or (result == value.value and type(result) is type(value.value)):
        return value
    return Value(result, value.key, value.line, value.column, value.node, value.operation)


def whole_of(item: Item | None, key: str) -> Value | None:
    value = value_of(item, key)
    return value if value is None else coerced(value, whole(value.value))


def concurrencies(value: Value | None) -> Value | None:
    """``[4, 8]`` and ``"4x8"`` as ``(4, 8)``; what cannot be read stays as written."""
    if value is None:
        return None
    written = value.value
    parts: list[Any]
    if isinstance(written, list):
        parts = written
    elif isinstance(written, str):
        parts = written.split("x")
    else:
        return value
    numbers = [whole(part) for part in parts]
    if not numbers or any(part is None for part in numbers):
        return value
    return coerced(value, tuple(part for part in numbers if part is not None))


def seconds(text: object) -> int | None:
    """A Slurm time limit in seconds (``MM``, ``MM:SS``, ``HH:MM:SS``, ``D-HH[:MM[:SS]]``); ``None`` where it is none."""
    if not isinstance(text, str):
        return None
    written = text.strip()
    match = _TIME.fullmatch(written)
    if match:
        days, hours, minutes, rest = (int(part or 0) for part in match.group("days", "hours", "minutes", "seconds"))
        return ((days * 24 + hours) * 60 + minutes) * 60 + rest
    if not re.fullmatch(r"\d{1,9}(?::\d{1,9}){0,2}", written):
        return None
    parts = [int(part) for part in written.split(":")]
    if len(parts) == 1:
        return parts[0] * 60
    if len(parts) == 2:
        return parts[0] * 60 + parts[1]
    return (parts[0] * 60 + parts[1]) * 60 + parts[2]


def time_limit(item: Item | None, key: str) -> Value | None:
    value = value_of(item, key)
    return value if value is None else coerced(value, seconds(value.value))


def default(name: str, key: str, engine: str | None, tag: str | None = None) -> object:
    """The tool's default of the dotted ``key`` in schema ``name``, or ``None``; of a case block (backend) for ``engine``."""
    at = version(tag)
    document = schema(name)
    part: Any = document
    for word in key.split("."):
        part = _property(document, part, word, engine)
        if part is None or (at is not None and not known_at(part, at)):
            return None
    changed = part.get("x-default-before", {}) if at is not None else {}
    for release, value in changed.items():
        before = version(release)
        if at is not None and before is not None and at < before:
            return value
    return part.get("default")


def _property(document: dict[str, Any], part: Any, word: str, engine: str | None) -> Any:
    part = _followed(document, part)
    cases = part.get("x-cases")
    if cases is not None:
        chosen = engine or cases.get("default")
        if chosen is None:
            return None
        part = document["$defs"].get(cases.get("prefix", "") + chosen, {})
    known = part.get("properties", {})
    if word in known:
        return known[word]
    beyond = part.get("additionalProperties")
    return beyond if isinstance(beyond, dict) else None


def _followed(document: dict[str, Any], part: Any) -> Any:
    while isinstance(part, dict) and "$ref" in part:
        part = document["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    return part if isinstance(part, dict) else {}


EMPTY = Item({}, None, None, Span(1, 1, 1, 1), "")


def common(item: Item) -> dict[str, Any]:
    """The fields of a :class:`Recipe` that both schemas write in the same place."""
    at = item.at
    found: dict[str, Any] = {"settings": dict(leaves(item))}
    for field, key in _TEXTS.items():
        found[field] = value_of(at(*key.split(".")), key)
    for field, key in _WHOLES.items():
        found[field] = whole_of(at(*key.split(".")), key)
    for field, key in _MAPPINGS.items():
        found[field] = values_below(at(*key.split(".")), key)
    found["concurrencies"] = concurrencies(value_of(at("benchmark", "concurrencies"), "benchmark.concurrencies"))
    found["time_limit"] = time_limit(at("slurm", "time_limit"), "slurm.time_limit")
    identity = at("identity")
    written = {} if identity is None or identity.children is None else dict(leaves(identity, "identity"))
    found["identity"] = {key[len("identity.") :]: value for key, value in written.items()}
    return found


class Reading:
    """Typed look-ups in a variant, with the tool's defaults."""

    __slots__ = ("engine", "item", "name", "tag")

    def __init__(self, item: Item, name: str, engine: str | None, tag: str | None) -> None:
        self.item = item
        self.name = name
        self.engine = engine
        self.tag = tag

    def at(self, key: str) -> Item | None:
        return self.item.at(*key.split("."))

    def raw(self, key: str) -> object:
        """The plain value, else the default."""
        item = self.at(key)
        return default(self.name, key, self.engine, self.tag) if item is None else plain_item(item)

    def written(self, key: str) -> bool:
        """Written, and not null."""
        item = self.at(key)
        return item is not None and (item.children is not None or item.value is not None)

    def whole(self, key: str) -> int | None:
        return whole(self.raw(key))

    def number(self, key: str) -> float | None:
        return number(self.raw(key))

    def flag(self, key: str) -> bool:
        return flag(self.raw(key)) is True

    def text(self, key: str) -> str | None:
        value = self.raw(key)
        return value if isinstance(value, str) else None
