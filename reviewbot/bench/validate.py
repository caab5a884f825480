"""Documents against the JSON Schemas in ``schemas/``: typed problems with places and plain words.

A schema's property may carry ``x-since`` and ``x-until`` (first and last release that knows the field) and ``x-branch`` (known to a
branch only). Asked for a release, a field outside its range is unknown; asked for none, a field of any version is known.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jsonschema_rs

from reviewbot.bench.variants import (
    Item,
    VariantError,
    expanded,
    ignored_keys,
    instance,
    item_of,
)
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Span

SCHEMAS = Path(__file__).parent.parent / "schemas"
RECIPE_SCHEMAS = {1: "srt-recipe-v1", 2: "srt-recipe-v2"}

_TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
_SHOWN = 80  # characters of a value in a message
_LISTED = 20  # known keys that a message lists all


class SchemaProblem(NamedTuple):
    """One violation: ``key`` is the dotted path, ``keyword`` the schema keyword, or ``ignored-key`` or ``variant``."""

    span: Span
    key: str
    message: str
    keyword: str


class _Rooted(Protocol):
    @property
    def root(self) -> Node | None: ...


def version(tag: str | None) -> tuple[int, int, int] | None:
    """``v1.0.29`` as numbers; ``None`` for a branch, a commit or nothing."""
    match = _TAG.fullmatch(tag or "")
    return None if match is None else (int(match[1]), int(match[2]), int(match[3]))


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema document ``name`` (without ``.schema.json``). Raises ``FileNotFoundError``."""
    loaded: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=256)
def _schema_at(name: str, at: tuple[int, int, int] | None) -> dict[str, Any]:
    whole = schema(name)
    if at is None:
        return whole
    cut = _cut(whole, at)
    assert isinstance(cut, dict)
    return cut


def _cut(part: Any, at: tuple[int, int, int]) -> Any:
    if isinstance(part, list):
        return [_cut(item, at) for item in part]
    if not isinstance(part, dict):
        return part
    found = {}
    for key, value in part.items():
        if key == "properties" and isinstance(value, dict):
            found[key] = {name: _cut(item, at) for name, item in value.items() if known_at(item, at)}
        else:
            found[key] = _cut(value, at)
    return found


def known_at(field: Any, at: tuple[int, int, int]) -> bool:
    """Whether release ``at`` knows a property with this schema."""
    if not isinstance(field, dict):
        return True
    since, until = version(field.get("x-since")), version(field.get("x-until"))
    return not ("x-branch" in field or (since is not None and at < since) or (until is not None and at > until))


@cache
def versioned_names(name: str) -> frozenset[str]:
    """The keys of a schema that not all releases know."""
    found: set[str] = set()
    parts: list[Any] = [schema(name)]
    while parts:
        part = parts.pop()
        if isinstance(part, list):
            parts.extend(part)
        elif isinstance(part, dict):
            parts.extend(part.values())
            fields = part.get("properties")
            for key, field in fields.items() if isinstance(fields, dict) else ():
                if isinstance(field, dict) and not {"x-since", "x-until", "x-branch"}.isdisjoint(field):
                    found.add(key)
    return frozenset(found)


@lru_cache(maxsize=256)
def _validator(name: str, at: tuple[int, int, int] | None) -> Any:
    return jsonschema_rs.validator_for(_schema_at(name, at))


@cache
def _versioned(name: str) -> bool:
    return '"x-since"' in json.dumps(schema(name))


def check(item: Item, name: str, tag: str | None = None) -> list[SchemaProblem]:
    """The problems of a tree against schema ``name`` as of release ``tag``."""
    at = version(tag) if _versioned(name) else None
    value = instance(item)
    checker = _validator(name, at)
    if checker.is_valid(value):
        return []
    found: dict[SchemaProblem, None] = {}
    for error in checker.iter_errors(value):
        for problem in _problems(error, item, name, at):
            found[problem] = None
    return sorted(found, key=lambda problem: (problem.span, problem.key, problem.message))


def validate(document: _Rooted | Node, schema_name: str, tag: str | None = None) -> list[SchemaProblem]:
    """The problems of a document against a schema of ``schemas/``, each once, in the order of the text.

    A recipe is checked variant by variant as the tool resolves it; a variant that cannot be made is a problem ``variant``, a key
    of an override file that nothing reads a problem ``ignored-key``. An empty document has the problem ``type``.
    """
    root: Node | None = document if isinstance(document, (Scalar, Mapping, Sequence)) else document.root
    if root is None:
        return [SchemaProblem(Span(1, 1, 1, 1), "", "the document is empty", "type")]
    found: dict[SchemaProblem, None] = {}
    versions = {value: key for key, value in RECIPE_SCHEMAS.items()}
    if isinstance(root, Mapping) and schema_name in versions:
        number = versions[schema_name]
        for variant in expanded(root, schema=number):
            if isinstance(variant, VariantError):
                found[SchemaProblem(variant.span, variant.key, variant.message, "variant")] = None
                continue
            for problem in check(variant.item, schema_name, tag):
                found[problem] = None
        for problem in ignored(root, number):
            found[problem] = None
    else:
        try:
            item = item_of(root, "")
        except VariantError as error:
            return [SchemaProblem(error.span, error.key, error.message, "variant")]
        for problem in check(item, schema_name, tag):
            found[problem] = None
    return sorted(found, key=lambda problem: (problem.span, problem.key, problem.message))


def ignored(root: Mapping, number: int) -> list[SchemaProblem]:
    """Top-level keys of an override file that no variant is made of: schema 1 ignores them silently, schema 2 refuses them."""
    found = []
    for key, span in ignored_keys(root, frozenset({"schema"}) if number == 2 else frozenset()):
        guess = _variant_guess(key)
        hint = f"; did you mean `{guess}`?" if guess else ""
        if number == 2:
            message = f"unknown key `{key}`: an override file has only schema, base, override_* and zip_override_*{hint}"
            found.append(SchemaProblem(span, key, message, "additionalProperties"))
        else:
            message = f"`{key}` is ignored: beside `base`, only override_* and zip_override_* are read{hint}"
            found.append(SchemaProblem(span, key, message, "ignored-key"))
    return found


def _variant_guess(key: str) -> str:
    normal = key.replace("-", "_")
    for prefix in ("zip_override_", "override_"):
        head, tail = normal[: len(prefix)], normal[len(prefix) :]
        for length in (len(prefix) - 1, len(prefix), len(prefix) + 1):
            head, tail = normal[:length], normal[length:]
            if head.endswith("_") and tail and difflib.SequenceMatcher(None, head, prefix).ratio() > 0.8:
                return prefix + tail
    return ""


def _problems(error: Any, item: Item, name: str, at: tuple[int, int, int] | None) -> Iterator[SchemaProblem]:
    path = list(error.instance_path)
    where = list(error.schema_path)
    keyword = str(where[-1]) if where else "schema"
    part = _walk(_schema_at(name, at), where[:-1])
    if keyword == "additionalProperties" and isinstance(part, dict):
        whole = _walk(schema(name), where[:-1])
        for key in error.kind.unexpected:
            span = _key_place(item, path, key)
            yield SchemaProblem(span, _dotted([*path, key]), _unknown(path, key, part, whole, at), keyword)
        return
    if keyword == "required":
        missing = str(error.kind.property)
        yield SchemaProblem(_place(item, path, key=True), _dotted([*path, missing]), f"{_subject(path)} lacks `{missing}`", keyword)
        return
    if keyword == "propertyNames" or "propertyNames" in where:
        keys = [key for key in _children_keys(item, path) if not isinstance(key, str)]
        shown = ", ".join(f"`{key}`" for key in keys) or "a key"
        span = _key_place(item, path, json_name(keys[0])) if keys else _place(item, path, key=True)
        yield SchemaProblem(
            span, _dotted(path), f"{_subject(path)} has the key {shown}, which is not allowed as a key here", "propertyNames"
        )
        return
    words = _words(part)
    if words:
        node = _node(item, path)
        message = f"{_subject(path)} must be {words}, not {_shown(error.instance, node)}{_hint(words, error.instance, node)}"
    else:
        message = f"{_subject(path)}: {_plain_message(error.message)}"
    yield SchemaProblem(_place(item, path, key=False), _dotted(path), message, keyword)


def json_name(key: object) -> str:
    return key if isinstance(key, str) else f"\x00{key}"


def _plain_message(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."


def _walk(part: Any, path: list[Any]) -> Any:
    for key in path:
        try:
            part = part[key]
        except (KeyError, IndexError, TypeError):
            return None
    return part


def _words(part: Any) -> str:
    return str(part.get("x-words", "")) if isinstance(part, dict) else ""


def _unknown(path: list[Any], key: str, part: dict[str, Any], whole: Any, at: tuple[int, int, int] | None) -> str:
    name = _dotted([*path, key])
    if key.startswith("\x00"):
        return f"`{name}` is not a key that is allowed here: keys must be text"
    field = whole.get("properties", {}).get(key) if isinstance(whole, dict) else None
    if field is not None and at is not None:
        release = "v" + ".".join(map(str, at))
        if "x-branch" in field:
            return f"unknown key `{name}` in {release}: it is known in {field['x-branch']}"
        since, until = field.get("x-since"), field.get("x-until")
        if since is not None and at < (version(since) or at):
            return f"unknown key `{name}` in {release}: it is known from {since} on"
        return f"unknown key `{name}` in {release}: it was last known in {until}"
    known = list(part.get("properties", {}))
    near = difflib.get_close_matches(key, known, 1, 0.7) or [name for name in known if len(key) > 2 and name.startswith(key)]
    if near:
        return f"unknown key `{name}`; did you mean `{near[0]}`?"
    if len(known) > _LISTED:
        similar = difflib.get_close_matches(key, known, 5, 0.4)
        return f"unknown key `{name}`" + (f"; the most similar of {len(known)} known ones are {', '.join(similar)}" if similar else "")
    return f"unknown key `{name}`; known here: {', '.join(sorted(known))}"


def _subject(path: list[Any]) -> str:
    return f"`{_dotted(path)}`" if path else "the document"


def _dotted(path: list[Any]) -> str:
    text = ""
    for key in path:
        if isinstance(key, int):
            text += f"[{key}]"
        else:
            text += f".{key}" if text else str(key)
    return text.replace("\x00", "")


def _shown(value: Any, node: Node | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        written = f" (written {node.raw})" if isinstance(node, Scalar) and node.raw not in ("true", "false") else ""
        return ("true" if value else "false") + written
    if isinstance(value, dict):
        if set(value) == {"\x00"}:
            return str(value["\x00"])
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return f'the text "{value if len(value) <= _SHOWN else value[: _SHOWN - 3] + "..."}"'
    if isinstance(node, Scalar) and node.raw != str(value) and len(node.raw) <= _SHOWN:
        return f"the number {value} (written {node.raw})"
    return f"the number {value}"


def _hint(words: str, value: Any, node: Node | None) -> str:
    if words == "text" and isinstance(value, (int, float)) and isinstance(node, Scalar):
        return "; put it in quotes"
    return ""


def _child(item: Item, key: Any) -> Item | None:
    if item.children is None:
        return None
    found = item.children.get(key)
    if found is None and isinstance(key, str) and key.startswith("\x00"):
        for other, child in item.children.items():
            if not isinstance(other, str) and json_name(other) == key:
                return child
    return found


def _node_child(node: Node | None, key: Any) -> tuple[Node | None, Span | None]:
    if isinstance(node, Sequence) and isinstance(key, int) and key < len(node.items):
        return node.items[key], node.items[key].span
    if isinstance(node, Mapping):
        for other, entry in node.items():
            if json_name(other) == key:
                return entry.value, entry.key.span
    return None, None


def _resolve(item: Item, path: list[Any]) -> tuple[Item | None, Node | None, Span]:
    """The item at ``path`` (``None`` below a leaf), its node, and the place of its key."""
    span = item.key_span
    for position, key in enumerate(path):
        following = _child(item, key)
        if following is None:
            node = item.node
            for rest in path[position:]:
                child, place = _node_child(node, rest)
                if place is None:
                    break
                node, span = child, place
            return None, node, span
        item, span = following, following.key_span
    return item, item.node, span


def _node(item: Item, path: list[Any]) -> Node | None:
    return _resolve(item, path)[1]


def _place(item: Item, path: list[Any], *, key: bool) -> Span:
    _, node, span = _resolve(item, path)
    return span if key or node is None or not isinstance(node, Scalar) else node.span


def _key_place(item: Item, path: list[Any], key: str) -> Span:
    return _resolve(item, [*path, key])[2]


def _children_keys(item: Item, path: list[Any]) -> list[object]:
    found, node, _ = _resolve(item, path)
    if found is not None and found.children is not None:
        return list(found.children)
    return [key for key, _ in node.items()] if isinstance(node, Mapping) else []
