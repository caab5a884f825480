"""Settings of a repository: ``.reviewbot.yaml`` at its root.

Every key is optional. An unknown key is refused with the nearest known one, so that a typing error never passes for a setting.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAME = ".reviewbot.yaml"
LEVELS = ("off", "note", "warning", "error")
FAIL_LEVELS = ("note", "warning", "error", "never")

KeyPath = tuple[Any, ...]


class SettingsError(Exception):
    """Settings that cannot be used; ``line`` counts from 1."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path = path
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Layout:
    """Globs of the files of a repository; an empty tuple stands for the profile's own."""

    masters: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    recipes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """``levels``: rule -> ``off``, ``note``, ``warning`` or ``error``. ``upstreams``: ``OWNER/NAME`` -> path as written (relative to the
    repository). ``opaque_helpers``: path of a program -> keys that it may touch. ``lines`` tells where a key was written, by key path."""

    levels: Mapping[str, str] = field(default_factory=dict)
    fail_on: str = "error"
    exclude: tuple[str, ...] = ()
    upstreams: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None
    layout: Layout = Layout()
    opaque_helpers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    path: str = NAME
    lines: Mapping[KeyPath, int] = field(default_factory=dict)


def parse_settings(data: bytes, path: str = NAME) -> Settings:
    """The settings in a YAML text. Raises ``SettingsError``."""
    import yaml

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(path, data[: error.start].count(b"\n") + 1, "not UTF-8") from None
    loader = yaml.CSafeLoader(text)
    try:
        root = loader.get_single_node()
        lines: dict[KeyPath, int] = {(): 1}
        if root is None:
            return Settings(path=path)
        _collect(root, (), lines, path, 0)
        raw = loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise SettingsError(path, mark.line + 1 if mark else 1, f"not YAML: {getattr(error, 'problem', None) or error}") from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(path, 1, f"not readable: {error}") from None
    finally:
        loader.dispose()
    if raw is None:
        return Settings(path=path)
    _validate(raw, lines, path)
    layout = {name: tuple(globs) for name, globs in raw.get("layout", {}).items()}
    return Settings(
        levels=raw.get("rules", {}),
        fail_on=raw.get("fail-on", "error"),
        exclude=tuple(raw.get("exclude", ())),
        upstreams=raw.get("upstreams", {}),
        profile=raw.get("profile"),
        layout=Layout(**layout),
        opaque_helpers={name: tuple(keys) for name, keys in raw.get("opaque-helpers", {}).items()},
        policy=raw.get("policy", {}),
        path=path,
        lines=lines,
    )


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of the settings."""
    schema: dict[str, Any] = json.loads((Path(__file__).parent / "schemas" / "settings.schema.json").read_text("utf-8"))
    return schema


def _collect(node: Any, at: KeyPath, lines: dict[KeyPath, int], path: str, depth: int) -> None:
    """Note the line of every key and item, and refuse what the loader would hide: duplicate keys and ``off`` read as a boolean."""
    import yaml

    if depth > 20 or len(lines) > 20_000:  # aliases of aliases grow without bound
        raise SettingsError(path, node.start_mark.line + 1, "too deep or too large")
    if isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            name = key.value if isinstance(key, yaml.ScalarNode) else "?"
            if name in seen:
                raise SettingsError(path, key.start_mark.line + 1, f"the key {name!r} is written twice")
            seen.add(name)
            inner = (*at, name)
            lines[inner] = key.start_mark.line + 1
            if at == ("rules",) and isinstance(value, yaml.ScalarNode):
                value.tag = "tag:yaml.org,2002:str"  # YAML 1.1 reads off as false
            _collect(value, inner, lines, path, depth + 1)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            inner = (*at, number)
            lines[inner] = item.start_mark.line + 1
            _collect(item, inner, lines, path, depth + 1)


def _validate(raw: Any, lines: Mapping[KeyPath, int], path: str) -> None:
    import jsonschema_rs

    schema = settings_schema()
    if not isinstance(raw, dict):
        raise SettingsError(path, 1, "settings must be a mapping")
    _refuse_unknown(raw, schema, (), lines, path)
    errors = [(lines.get(tuple(error.instance_path), 1), error.message) for error in jsonschema_rs.validator_for(schema).iter_errors(raw)]
    if errors:
        raise SettingsError(path, *min(errors))


def _refuse_unknown(raw: dict[Any, Any], schema: Mapping[str, Any], at: KeyPath, lines: Mapping[KeyPath, int], path: str) -> None:
    known = schema.get("properties", {})
    for key, value in raw.items():
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
            advice = f"; the nearest is {close[0]!r}" if close else f"; known are {', '.join(known)}"
            raise SettingsError(path, lines.get((*at, str(key)), 1), f"unknown key {'.'.join(map(str, (*at, key)))!r}{advice}")
        if isinstance(value, dict) and known[key].get("additionalProperties") is False:
            _refuse_unknown(value, known[key], (*at, key), lines, path)
