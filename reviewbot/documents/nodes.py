"""The tree of a YAML document with exact positions: what adapters and rules read.

Values are resolved as the consumer does (PyYAML, YAML 1.1: ``8:00:00`` is the number 28800, ``on`` is a boolean, ``2_063_837`` is an
integer); ``raw`` keeps what was written. Aliases share the node that they point to, and a merge key (``<<``) is expanded into
``Mapping.get`` but not into ``Mapping.entries``. Nodes are immutable by convention and compared by identity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Union

from reviewbot.documents.positions import Span

Key = Union[str, int]
Path = tuple[Key, ...]


class Scalar:
    """A scalar: ``value`` is ``None``, ``bool``, ``int``, ``float``, ``str`` or, for dates, the text as written.

    ``raw`` is the source text (quotes included), ``text`` the unquoted text, ``style`` one of ``"`` ``'`` ``|`` ``>`` or ``""``.
    """

    __slots__ = ("anchor", "raw", "span", "style", "tag", "text", "value")

    def __init__(self, value: object, text: str, raw: str, style: str, tag: str, span: Span, anchor: str | None = None) -> None:
        self.value = value
        self.text = text
        self.raw = raw
        self.style = style
        self.tag = tag
        self.span = span
        self.anchor = anchor


class Entry:
    """A key and its value as written, in a mapping. ``alias`` is the span of ``*name`` where the value is an alias."""

    __slots__ = ("alias", "key", "value")

    def __init__(self, key: Node, value: Node, alias: Span | None = None) -> None:
        self.key = key
        self.value = value
        self.alias = alias


class Mapping:
    """A mapping: ``entries`` in the written order, duplicates included; ``get``/``items`` see the last one, merged keys behind own ones.

    ``merges`` are the ``<<`` entries as written (not in ``entries``), ``merged`` the mappings they name, those that win first.
    """

    __slots__ = ("_index", "anchor", "entries", "flow", "merged", "merges", "span", "tag")

    def __init__(
        self, entries: list[Entry], merged: list[Mapping], span: Span, tag: str, flow: bool, anchor: str | None = None,
        merges: tuple[Entry, ...] = (),
    ) -> None:
        self.entries = entries
        self.merged = merged
        self.span = span
        self.tag = tag
        self.flow = flow
        self.anchor = anchor
        self.merges = merges
        self._index: dict[object, Entry] | None = None

    def index(self) -> dict[object, Entry]:
        """Key value -> entry that counts, own entries before merged ones."""
        if self._index is None:
            index: dict[object, Entry] = {}
            for other in reversed(self.merged):
                index.update(other.index())
            for entry in self.entries:
                if isinstance(entry.key, Scalar):
                    index[entry.key.value] = entry
            self._index = index
        return self._index

    def entry(self, key: object) -> Entry | None:
        return self.index().get(key)

    def get(self, key: object) -> Node | None:
        entry = self.index().get(key)
        return None if entry is None else entry.value

    def items(self) -> Iterator[tuple[object, Entry]]:
        yield from self.index().items()


class Sequence:
    """A sequence; ``aliases`` holds, by position, the span of ``*name`` where an item is an alias."""

    __slots__ = ("aliases", "anchor", "flow", "items", "span", "tag")

    def __init__(
        self, items: list[Node], span: Span, tag: str, flow: bool, anchor: str | None = None, aliases: dict[int, Span] | None = None
    ) -> None:
        self.items = items
        self.aliases = aliases or {}
        self.span = span
        self.tag = tag
        self.flow = flow
        self.anchor = anchor


Node = Union[Scalar, Mapping, Sequence]


def find(node: Node | None, *path: Key) -> Node | None:
    """The node at ``path`` below ``node``, or ``None``."""
    for key in path:
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, Sequence) and isinstance(key, int) and -len(node.items) <= key < len(node.items):
            node = node.items[key]
        else:
            return None
    return node


def plain(node: Node | None) -> object:
    """The plain Python value that the consumer's loader would give (``dict``, ``list``, scalars)."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return {key: plain(entry.value) for key, entry in node.items()}
