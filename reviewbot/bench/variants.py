"""How a recipe file becomes the variants that the tool would submit: base and overrides, zips, sweeps, ``--set``.

A variant is a tree of :class:`Item`, immutable by convention; every leaf keeps the node it was written in and the operation that
put it there, so that a value can always be traced to its line.
"""

from __future__ import annotations

import fnmatch
import itertools
import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence, plain
from reviewbot.documents.positions import Span

MAX_ITEMS = 50_000  # leaves and mappings of one variant; aliases of aliases grow without bound
MAX_DEPTH = 100
MAX_VARIANTS = 4_096

_START = Span(1, 1, 1, 1)
_SELECTOR = re.compile(r"base|override_\S+|zip_override_[\w-]+(?:\[\d+\])?")
_ZIP_INDEX = re.compile(r"(zip_override_[\w-]+)\[(\d+)\]")


class VariantError(Exception):
    """Why a file gives no variants; ``span`` is the place that has to change."""

    def __init__(self, message: str, span: Span, key: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.key = key


class Item:
    """A mapping (``children``) or a leaf (``value``: a scalar or a plain list) of a variant.

    ``key_span`` is the place of the key, ``node`` where the value was written (``None`` for ``--set`` and made-up names).
    """

    __slots__ = ("children", "key_span", "node", "operation", "value")

    def __init__(self, children: dict[object, Item] | None, value: object, node: Node | None, key_span: Span, operation: str) -> None:
        self.children = children
        self.value = value
        self.node = node
        self.key_span = key_span
        self.operation = operation

    @property
    def span(self) -> Span:
        """Where the value is written, or its key where it is written nowhere."""
        return self.key_span if self.node is None else self.node.span

    def at(self, *keys: object) -> Item | None:
        """The item below ``keys``, or ``None``."""
        item: Item = self
        for key in keys:
            following = None if item.children is None else item.children.get(key)
            if following is None:
                return None
            item = following
        return item


class Variant(NamedTuple):
    """One job: ``name`` as a selector spells it (``""`` for a plain file), ``parameters`` those of a top-level sweep."""

    name: str
    item: Item


def split_selector(argument: str) -> tuple[str, str]:
    """``path`` and ``selector`` (``""`` where there is none) of a ``-f`` argument, split at the last colon.

    Raises :class:`VariantError` where the tool refuses the selector.
    """
    if ":" not in argument:
        return argument, ""
    path, selector = argument.rsplit(":", 1)
    if not path.strip():
        raise VariantError("the argument names no file before the selector", _START)
    if not (_SELECTOR.fullmatch(selector) or "*" in selector or "?" in selector):
        raise VariantError(
            f"invalid selector `{selector}`: it must be base, override_<name>, zip_override_<name>, zip_override_<name>[N] or a pattern",
            _START,
        )
    return path, selector


def item_of(node: Node, operation: str, key_span: Span | None = None) -> Item:
    """The tree of a document node. Raises :class:`VariantError` where it is too large or too deep."""
    budget = [MAX_ITEMS]
    return _item(node, operation, key_span or node.span, budget, 0)


def _item(node: Node, operation: str, key_span: Span, budget: list[int], depth: int) -> Item:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise VariantError("the document is too large or too deep to be a recipe", node.span)
    if isinstance(node, Mapping):
        children: dict[object, Item] = {}
        for key, entry in node.items():
            children[key] = _item(entry.value, operation, entry.key.span, budget, depth + 1)
        return Item(children, None, node, key_span, operation)
    if isinstance(node, Sequence):
        _charge(node, budget, depth)
        return Item(None, plain(node), node, key_span, operation)
    return Item(None, node.value, node, key_span, operation)


def _charge(node: Node, budget: list[int], depth: int) -> None:
    budget[0] -= 1
    if budget[0] < 0 or depth > MAX_DEPTH:
        raise VariantError("the document is too large or too deep to be a recipe", node.span)
    if isinstance(node, Sequence):
        for item in node.items:
            _charge(item, budget, depth + 1)
    elif isinstance(node, Mapping):
        for entry in node.index().values():
            _charge(entry.value, budget, depth + 1)


def merge(base: Item, override: Item) -> Item:
    """``override`` over ``base``: mappings merge, everything else replaces, null deletes the key."""
    assert base.children is not None and override.children is not None
    children = dict(base.children)
    for key, item in override.children.items():
        if item.children is None:
            if item.value is None:
                children.pop(key, None)
            else:
                children[key] = item
            continue
        before = children.get(key)
        children[key] = item if before is None or before.children is None else merge(before, item)
    return Item(children, None, override.node, override.key_span, override.operation)


def variants(root: Mapping, selector: str = "") -> Iterator[Variant | VariantError]:
    """The variants that ``selector`` picks, in the tool's order; an error stands in for variants that cannot be made.

    A file without ``base`` is one variant, whatever the selector (the tool only warns about it).
    """
    base_entry = root.entry("base")
    if base_entry is None:
        try:
            item = item_of(root, "")
        except VariantError as error:
            yield error
            return
        yield Variant("", item)
        return
    try:
        base = _section(root, "base", "base")
        keys = _selected(root, selector)
    except VariantError as error:
        yield error
        return
    made = 0
    for key, index in keys:
        try:
            if key == "base":
                found = [Variant("base", base)]
            elif key.startswith("zip_override_"):
                found = _zipped(root, key, base)
                if index is not None:
                    if index >= len(found):
                        raise VariantError(f"index [{index}] is out of range: `{key}` has {len(found)} variants", _key_span(root, key), key)
                    found = [found[index]]
            else:
                found = [_overridden(root, key, base)]
        except VariantError as error:
            yield error
            continue
        for variant in found:
            made += 1
            if made > MAX_VARIANTS:
                yield VariantError(f"more than {MAX_VARIANTS} variants", _key_span(root, key), key)
                return
            yield variant


def ignored_keys(root: Mapping, allowed: frozenset[str] = frozenset()) -> list[tuple[str, Span]]:
    """Top-level keys of an override file that the tool reads nothing from."""
    if root.entry("base") is None:
        return []
    found = []
    for key, entry in root.items():
        name = str(key)
        if name == "base" or name in allowed or name.startswith(("override_", "zip_override_")):
            continue
        found.append((name, entry.key.span))
    return found


def _key_span(root: Mapping, key: str) -> Span:
    entry = root.entry(key)
    return root.span if entry is None else entry.key.span


def _section(root: Mapping, key: str, operation: str) -> Item:
    entry = root.entry(key)
    assert entry is not None
    if not isinstance(entry.value, Mapping):
        raise VariantError(f"`{key}` must be a mapping", entry.key.span, key)
    return item_of(entry.value, operation, entry.key.span)


def _selected(root: Mapping, selector: str) -> list[tuple[str, int | None]]:
    names = [key for key, _ in root.items() if isinstance(key, str)]
    overrides = sorted(key for key in names if key.startswith("override_"))
    zips = sorted(key for key in names if key.startswith("zip_override_"))
    if not selector:
        return [(key, None) for key in overrides + zips]
    indexed = _ZIP_INDEX.fullmatch(selector)
    if indexed:
        wanted, index = indexed.group(1), int(indexed.group(2)[:9])
        if wanted not in zips:
            raise VariantError(f"no `{wanted}` in the file; {_available(overrides, zips)}", root.span, selector)
        return [(wanted, index)]
    if selector == "base":
        return [("base", None)]
    if "*" in selector or "?" in selector:
        matched = [key for key in sorted(overrides + zips) if fnmatch.fnmatch(key, selector)]
        if not matched:
            raise VariantError(f"no variant matches `{selector}`; {_available(overrides, zips)}", root.span, selector)
        return [(key, None) for key in matched]
    if selector not in names:
        raise VariantError(f"no `{selector}` in the file; {_available(overrides, zips)}", root.span, selector)
    return [(selector, None)]


def _available(overrides: list[str], zips: list[str]) -> str:
    found = overrides + [f"{key}[i]" for key in zips]
    return "there are " + ", ".join(found[:20]) if found else "there are no variants"


def _overridden(root: Mapping, key: str, base: Item) -> Variant:
    override = _section(root, key, key)
    assert override.children is not None
    merged = merge(base, override)
    if "name" not in override.children:
        suffix = key[len("override_") :]
        _rename(merged, f"{_base_name(base)}_{suffix}", override.key_span, key)
    return Variant(key, merged)


def _zipped(root: Mapping, key: str, base: Item) -> list[Variant]:
    zipped = _section(root, key, key)
    assert zipped.children is not None
    lengths = list(_list_lengths(zipped))
    if not lengths:
        raise VariantError(f"`{key}` has no list: there is nothing to zip", zipped.key_span, key)
    for count, item in lengths:
        if count == 0:
            raise VariantError(f"`{key}` has an empty list: there is nothing to zip", item.key_span, key)
    longer = [(count, item) for count, item in lengths if count != 1]
    number = longer[0][0] if longer else 1
    for count, item in longer:
        if count != number:
            raise VariantError(
                f"`{key}` zips lists of {number} and {count} items; all must have the same length or one item", item.key_span, key
            )
    if number > MAX_VARIANTS:
        raise VariantError(f"more than {MAX_VARIANTS} variants", zipped.key_span, key)
    name = zipped.children.get("name")
    named = name is not None and isinstance(name.node, Sequence)
    found = []
    for index in range(number):
        operation = f"{key}[{index}]"
        merged = merge(base, _slice(zipped, index, operation))
        if not named:
            _rename(merged, f"{_base_name(base)}_{key[len('zip_override_') :]}_{index}", zipped.key_span, operation)
        found.append(Variant(operation, merged))
    return found


def _list_lengths(item: Item) -> Iterator[tuple[int, Item]]:
    assert item.children is not None
    for child in item.children.values():
        if child.children is not None:
            yield from _list_lengths(child)
        elif isinstance(child.node, Sequence):
            yield len(child.node.items), child


def _slice(item: Item, index: int, operation: str) -> Item:
    assert item.children is not None
    children: dict[object, Item] = {}
    for key, child in item.children.items():
        if child.children is not None:
            children[key] = _slice(child, index, operation)
        elif isinstance(child.node, Sequence):
            items = child.node.items
            children[key] = item_of(items[0 if len(items) == 1 else index], operation, child.key_span)
        else:
            children[key] = Item(None, child.value, child.node, child.key_span, operation)
    return Item(children, None, item.node, item.key_span, operation)


def _base_name(base: Item) -> str:
    name = base.at("name")
    if name is None:
        return "unnamed"
    return str(name.value) if name.children is None else "?"


def _rename(item: Item, name: str, span: Span, operation: str) -> None:
    assert item.children is not None
    item.children["name"] = Item(None, name, None, span, operation)


def swept(variant: Variant) -> list[Variant | VariantError]:
    """The jobs of a top-level ``sweep``: the full product of its lists, ``{name}`` replaced in every text; else the variant itself."""
    assert variant.item.children is not None
    sweep = variant.item.children.get("sweep")
    if sweep is None:
        return [variant]
    if sweep.children is None:
        return [VariantError("`sweep` must be a mapping of names to lists", sweep.key_span, "sweep")]
    names: list[str] = []
    axes: list[list[object]] = []
    total = 1
    for key, axis in sweep.children.items():
        values = axis.value
        if isinstance(values, str):
            values = list(values)  # the tool iterates what it is given, so a text is a list of characters
        if axis.children is not None:
            values = list(axis.children)
        if not isinstance(values, list):
            return [VariantError(f"`sweep.{key}` must be a list", axis.key_span, f"sweep.{key}")]
        names.append(str(key))
        axes.append(values)
        total *= len(values)
        if total > MAX_VARIANTS:
            return [VariantError(f"the sweep has more than {MAX_VARIANTS} jobs", sweep.key_span, "sweep")]
    rest = {key: child for key, child in variant.item.children.items() if key != "sweep"}
    bare = Item(rest, None, variant.item.node, variant.item.key_span, variant.item.operation)
    name_item = bare.at("name")
    base_name = "" if name_item is None else str(name_item.value)
    found: list[Variant | VariantError] = []
    for number, values in enumerate(itertools.product(*axes)):
        operation = f"sweep[{number}]"
        parameters = dict(zip(names, values))
        item = _substitute(bare, parameters, operation)
        if name_item is not None:
            text = "_".join(f"{key}{value}" for key, value in parameters.items())
            assert item.children is not None
            item.children["name"] = Item(None, f"{base_name}_{text}", name_item.node, name_item.key_span, operation)
        prefix = f"{variant.name}/" if variant.name else ""
        found.append(Variant(prefix + operation, item))
    return found


def _substitute(item: Item, parameters: dict[str, object], operation: str) -> Item:
    if item.children is not None:
        children = {key: _substitute(child, parameters, operation) for key, child in item.children.items()}
        return Item(children, None, item.node, item.key_span, item.operation)
    value = substituted(item.value, parameters)
    return item if value is item.value else Item(None, value, item.node, item.key_span, operation)


def substituted(value: object, parameters: dict[str, object]) -> object:
    """``{name}`` replaced in a text, in every text of a list or mapping; ``value`` itself where nothing is replaced."""
    if isinstance(value, str):
        text = value
        for name, replacement in parameters.items():
            placeholder = "{" + name + "}"
            if placeholder not in text:
                continue
            if isinstance(replacement, list):
                if text == placeholder:
                    return replacement
                text = text.replace(placeholder, ",".join(str(item) for item in replacement))
            else:
                text = text.replace(placeholder, str(replacement))
        return value if text == value else text
    if isinstance(value, list):
        items = [substituted(item, parameters) for item in value]
        return value if all(new is old for new, old in zip(items, value)) else items
    if isinstance(value, dict):
        return {key: substituted(item, parameters) for key, item in value.items()}
    return value


def with_changes(item: Item, sets: tuple[tuple[str, object], ...], unsets: tuple[str, ...]) -> Item:
    """``--set KEY=VALUE`` (values already read as YAML) and ``--unset KEY`` by dotted path, in that order."""
    for key, value in sets:
        item = _put(item, key.split("."), _made(value), key)
    for key in unsets:
        item = _drop(item, key.split("."))
    return item


def _made(value: object) -> Item:
    if isinstance(value, dict):
        return Item({key: _made(item) for key, item in value.items()}, None, None, _START, "--set")
    return Item(None, value, None, _START, "--set")


def _put(item: Item, keys: list[str], leaf: Item, path: str) -> Item:
    children = dict(item.children or {})
    if len(keys) == 1:
        children[keys[0]] = leaf
    else:
        before = children.get(keys[0])
        if before is None or (before.children is None and before.value is None):
            before = Item({}, None, None, _START, "--set")
        elif before.children is None:
            raise VariantError(f"--set {path}: `{keys[0]}` is not a mapping", before.key_span, path)
        children[keys[0]] = _put(before, keys[1:], leaf, path)
    return Item(children, None, item.node, item.key_span, item.operation)


def _drop(item: Item, keys: list[str]) -> Item:
    if item.children is None or keys[0] not in item.children:
        return item
    children = dict(item.children)
    if len(keys) == 1:
        del children[keys[0]]
    else:
        children[keys[0]] = _drop(children[keys[0]], keys[1:])
    return Item(children, None, item.node, item.key_span, item.operation)


def instance(item: Item) -> object:
    """What a JSON Schema validator may see of a variant; see :func:`json_value`."""
    if item.children is not None:
        return {json_key(key): instance(child) for key, child in item.children.items()}
    if isinstance(item.node, Scalar) and item.node.tag.endswith(":timestamp") and item.value == item.node.value:
        return {"\x00": "a date"}
    return json_value(item.value)


def json_key(key: object) -> str:
    """A mapping key for a validator; one that is no text starts with NUL, which no schema allows."""
    return key if isinstance(key, str) else f"\x00{key}"


def json_value(value: object) -> object:
    """A plain value without what JSON lacks: odd keys, NaN and infinity (as a mapping no typed field takes), huge integers."""
    if isinstance(value, dict):
        return {json_key(key): json_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"\x00": str(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53:
        return 2**53 if value > 0 else -(2**53)
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    return str(value)


def expanded(
    root: Mapping,
    selector: str = "",
    *,
    schema: int = 1,
    sets: tuple[tuple[str, object], ...] = (),
    unsets: tuple[str, ...] = (),
) -> Iterator[Variant | VariantError]:
    """Every job of a file as the tool hands it to its schema: variants, changes of the command line, sweeps; ``lock`` removed.

    In schema 1 only a plain file may sweep; in a variant ``sweep`` stays a key, which the schema refuses.
    """
    plain_file = root.entry("base") is None
    for variant in variants(root, selector):
        if isinstance(variant, VariantError):
            yield variant
            continue
        item = variant.item
        assert item.children is not None
        if plain_file and "lock" in item.children:
            item = _drop(item, ["lock"])
        entry = root.entry("schema")
        if not plain_file and schema == 2 and entry is not None and item.children is not None and "schema" not in item.children:
            children = {"schema": item_of(entry.value, "", entry.key.span), **item.children}
            item = Item(children, None, item.node, item.key_span, item.operation)
        try:
            item = with_changes(item, sets, unsets)
        except VariantError as error:
            yield error
            continue
        if plain_file or schema == 2:
            yield from swept(Variant(variant.name, item))
        else:
            yield Variant(variant.name, item)
