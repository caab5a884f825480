"""YAML documents with exact positions, comments, duplicate keys and problems; never an exception for what a file contains.

Nodes are built from libyaml's events; scalars are resolved as the consumer does: PyYAML's ``SafeLoader`` (YAML 1.1), or GitHub's
reader of workflows (YAML 1.2 core) with ``github=True``. A document that the consumer would refuse has a ``Problem``, and keeps what
could be read of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from reviewbot.documents.nodes import Entry, Key, Mapping, Node, Path, Scalar, Sequence
from reviewbot.documents.positions import Problem, Span
from reviewbot.documents.yaml_scalars import BINARY, MERGE, NULL, STR, VALUE, BadScalar, construct, resolve_core, resolve_pyyaml

if not yaml.__with_libyaml__:
    raise ImportError("reviewbot needs PyYAML built with libyaml (the wheels on PyPI are); this one is pure Python")
from yaml.cyaml import CParser  # type: ignore[attr-defined]

MAX_DEPTH = 100  # levels of nesting, aliases counted where they are used
MAX_EXPANDED = 100_000  # nodes that aliases stand for, altogether
MAX_NODES = 300_000  # scalars, and collections, of one file
MAX_PROBLEMS = 200  # of one file; more help nobody

_PREFIX = "tag:yaml.org,2002:"
_MAPPING_TAGS = {_PREFIX + "map", _PREFIX + "set"}
_SEQUENCE_TAGS = {_PREFIX + "seq", _PREFIX + "omap", _PREFIX + "pairs"}
_SCALAR_TAGS = {_PREFIX + name for name in ("str", "int", "float", "bool", "null", "timestamp", "binary")}
_MAP, _SEQ = _PREFIX + "map", _PREFIX + "seq"

# What libyaml's reader refuses, and the characters that the product keeps for itself.
_REFUSED = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_RESERVED = re.compile("[\U000f0000-\U000ffffd]")
_OTHER_BREAKS = re.compile("[\x85\u2028\u2029]")
_PROPERTIES = re.compile(r"(?:(?:!<[^>\n]*>|![^\s<]*|&[^\s,\[\]{}]*)(?:\s+|#[^\n]*\n)*){1,2}")


@dataclass(frozen=True, slots=True)
class YamlComment:
    """``text`` without the ``#`` and one following blank; ``own_line`` where nothing but blanks stands before it."""

    text: str
    span: Span
    own_line: bool


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that is written twice in one mapping: the second silently replaces the first. ``path`` is that of the key."""

    key: str
    first: Span
    second: Span
    path: Path


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive own-line comments of one column, and the entry (or sequence item) that follows.

    ``below`` is ``None`` where nothing follows, or what follows is indented less than the comments; ``adjacent`` where it stands on
    the very next line.
    """

    comments: tuple[YamlComment, ...]
    span: Span
    below: Entry | Node | None
    path: Path
    adjacent: bool


class YamlDocument:
    """A YAML file. ``root`` is its first document; ``lines`` are without line ends, ``text`` is as decoded (``raw`` of a node has
    ``\\n`` for every end of line)."""

    __slots__ = (
        "_blocks",
        "_comments",
        "_line_start",
        "_lines",
        "_paths",
        "_scalars",
        "_starts",
        "_trailing",
        "documents",
        "duplicates",
        "path",
        "problems",
        "text",
    )

    def __init__(
        self,
        path: str,
        text: str,
        documents: tuple[Node, ...],
        duplicates: tuple[Duplicate, ...],
        problems: tuple[Problem, ...],
        scalars: tuple[list[int], list[int], list[int]],
        line_start: _LineStarts,
    ) -> None:
        self.path = path
        self.text = text
        self.documents = documents
        self.duplicates = duplicates
        self.problems = problems
        self._scalars = scalars
        self._line_start = line_start
        self._lines: tuple[str, ...] | None = None
        self._comments: tuple[YamlComment, ...] | None = None
        self._paths: dict[int, Path] | None = None
        self._starts: dict[int, tuple[Entry | Node, Path]] | None = None
        self._blocks: tuple[Block, ...] | None = None
        self._trailing: tuple[tuple[YamlComment, Entry | Node | None, Path], ...] | None = None

    @property
    def root(self) -> Node | None:
        return self.documents[0] if self.documents else None

    @property
    def lines(self) -> tuple[str, ...]:
        if self._lines is None:
            self._lines = tuple(line.removesuffix("\r") for line in self.text.split("\n"))
        return self._lines

    @property
    def comments(self) -> tuple[YamlComment, ...]:
        if self._comments is None:
            self._comments = _find_comments(self._scalars, self._line_start)
        return self._comments


class _LineStarts:
    """Character index -> line and column, counted from 1, where ``\\n`` alone ends a line (as editors and git count)."""

    __slots__ = ("_starts", "read", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.read = len(text)  # how far the parser came
        self._starts: list[int] | None = None

    def place(self, index: int) -> tuple[int, int]:
        if self._starts is None:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        line = bisect_right(self._starts, index)
        return line, index - self._starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        return Span(*self.place(start), *self.place(end))


def _decode(data: bytes, problems: list[Problem]) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = data.decode("utf-16", "replace")
        problems.append(Problem("utf-16", "the file is UTF-16; write it as UTF-8", Span(1, 1, 1, 1)))
    else:
        if data.startswith(b"\xef\xbb\xbf"):
            data = data[3:]
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8", "replace")
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
            problems.append(
                Problem("invalid-utf8", f"byte 0x{data[error.start]:02x} is not valid UTF-8", Span(line, column, line, column + 1))
            )
            text = data.decode("utf-8", "replace")
    if not text.isascii() or not text.isprintable():
        refused = _REFUSED.search(text)
        if refused is not None:
            index = refused.start()
            line, column = text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)
            name = "a NUL character" if refused.group() == "\0" else f"the character U+{ord(refused.group()):04X}"
            problems.append(Problem("control-character", f"{name} is not allowed in YAML", Span(line, column, line, column + 1)))
            text = _REFUSED.sub("\ufffd", text)
        if not text.isascii():
            text = _RESERVED.sub("\ufffd", text)
    return text


def parse_yaml(data: bytes, path: str = "", *, github: bool = False) -> YamlDocument:
    """The document of a file's content; everything wrong with it is in ``problems``."""
    problems: list[Problem] = []
    text = _decode(data, problems)
    # libyaml's character counts are wrong behind CR LF; line and column do not change with this.
    normal = text.replace("\r\n", "\n").replace("\r", "\x85") if "\r" in text else text
    builder = _Builder(normal, problems, resolve_core if github else resolve_pyyaml)
    builder.run()
    return YamlDocument(
        path, text, tuple(builder.documents), tuple(builder.duplicates), tuple(builder.problems), builder.scalars, builder.starts
    )


@dataclass(slots=True)
class _Frame:
    """An open collection and the state of the one around it."""

    mapping: bool
    line: int
    column: int
    tag: str
    flow: bool
    anchor: str | None
    children: list[Any]  # entries or items
    key: Node | None = None
    size: int = 1  # nodes with aliases expanded
    height: int = 1
    merges: list[Entry] | None = None
    aliases: dict[int, Span] | None = None


class _Builder:
    def __init__(self, text: str, problems: list[Problem], resolve: Callable[[str], tuple[str, object]]) -> None:
        self.text = text
        self.problems = problems
        self.resolve = resolve
        self.documents: list[Node] = []
        self.duplicates: list[Duplicate] = []
        self.scalars: tuple[list[int], list[int], list[int]] = ([], [], [])  # first index, end index, index of the value's text
        self.starts = _LineStarts(text)
        self.odd = _OTHER_BREAKS.search(text) is not None
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Node | None, int, int]] = {}
        self.expanded = 0
        self.bomb = False
        self.opened = 0
        self.end = (1, 1)  # end of the last leaf
        self.start_of_last = (1, 1)

    # --- problems ---

    def problem(self, code: str, message: str, span: Span) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(code, message, span))

    def too_large(self, line: int) -> _Stop:
        self.problems.append(
            Problem("too-large", f"more than {MAX_NODES} values; the rest of the file is not read", Span(line, 1, line, 1))
        )
        return _Stop()

    def span_of(self, start: Any, end: Any) -> Span:
        if self.odd:
            return self.starts.span(start.index, end.index)
        return Span(start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    # --- events ---

    def run(self) -> None:
        try:
            parser = CParser(self.text)
            self._events(parser.get_event)
        except yaml.YAMLError as error:
            self._syntax(error)
            self._abandon()

    def _abandon(self) -> None:
        """Close what is open: the part before an error is kept."""
        while self.stack:
            frame = self.stack[-1]
            if frame.mapping and frame.key is not None:
                frame.children.append(Entry(frame.key, self._null(Span(*self.end, *self.end))))
                frame.key = None
            self._close(self.end)

    def _null(self, span: Span) -> Scalar:
        return Scalar(None, "", "", "", NULL, span)

    def _events(self, get_event: Callable[[], Any]) -> None:
        text = self.text
        stack = self.stack
        odd = self.odd
        place = self.starts.place
        resolve = self.resolve
        cache: dict[str, tuple[str, object]] = {}
        first_indexes, end_indexes, body_indexes = self.scalars
        while True:
            event = get_event()
            kind = type(event)
            if kind is ScalarEvent:
                start, end = event.start_mark, event.end_mark
                first, last = start.index, end.index
                if len(first_indexes) >= MAX_NODES:
                    raise self.too_large(start.line + 1)
                value_text = event.value
                style = event.style or ""
                anchor = event.anchor
                tag = event.tag
                if odd:
                    line, column = place(first)
                    end_line, end_column = place(last)
                else:
                    line, column, end_line, end_column = start.line + 1, start.column + 1, end.line + 1, end.column + 1
                if anchor is not None or tag is not None:
                    found = _PROPERTIES.match(text, first, last)
                    if found is not None and found.end() > first:
                        first = found.end()
                        line, column = place(first)
                if style == "|" or style == ">":
                    body = text.find("\n", first, last)
                    body_indexes.append(body if body >= 0 else last)
                    first_indexes.append(first)
                    end_indexes.append(last)
                    last = first + len(text[first:last].rstrip())
                    end_line, end_column = place(last)
                    raw = text[first:last]
                else:
                    first_indexes.append(first)
                    end_indexes.append(last)
                    body_indexes.append(first)
                    raw = text[first:last]
                span = Span(line, column, end_line, end_column)
                value: object
                if tag is None or tag == "!":
                    if style == "\0" or not event.implicit[0]:
                        tag, value = STR, value_text
                    else:
                        known = cache.get(value_text)
                        if known is None:
                            try:
                                known = resolve(value_text)
                                cache[value_text] = known
                            except BadScalar as error:
                                self.problem("bad-value", str(error), span)
                                known = (STR, value_text)
                        tag, value = known
                        if tag == MERGE or tag == VALUE:
                            frame = stack[-1] if stack else None
                            if frame is None or not frame.mapping or frame.key is not None:
                                self.problem("bad-value", f"PyYAML cannot load a plain {value_text}; put it in quotes", span)
                                tag = STR
                            elif tag == VALUE:
                                tag = STR
                else:
                    value = self._tagged(tag, value_text, span)
                node = Scalar(value, value_text, raw, style, tag, span, anchor)
                self.end = (end_line, end_column)
                if anchor is not None:
                    self._anchor(anchor, span)
                    self.anchors[anchor] = (node, 1, 1)
                if not stack:
                    self.documents.append(node)
                    continue
                frame = stack[-1]
                if not frame.mapping:
                    frame.children.append(node)
                elif frame.key is None:
                    frame.key = node
                else:
                    self._entry(frame, node, None)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                self._open(event, kind is MappingStartEvent)
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                if stack[-1].flow:
                    mark = event.end_mark
                    self.end = place(mark.index) if odd else (mark.line + 1, mark.column + 1)
                self._close(self.end)
            elif kind is AliasEvent:
                self._alias(event)
            elif kind is DocumentStartEvent:
                self.anchors.clear()
            elif kind is StreamEndEvent or event is None:
                return
            elif kind is DocumentEndEvent:
                pass

    def _entry(self, frame: _Frame, node: Node, alias: Span | None) -> None:
        key = frame.key
        frame.key = None
        if key.__class__ is Scalar:
            if key.tag == MERGE:
                if frame.merges is None:
                    frame.merges = []
                frame.merges.append(Entry(key, node, alias))
                return
        else:
            assert key is not None
            self.problem("complex-key", "a sequence or mapping is used as a key; no loader here accepts it", key.span)
        frame.children.append(Entry(key, node, alias))

    def _tagged(self, tag: str, text: str, span: Span) -> object:
        if tag in _MAPPING_TAGS or tag in _SEQUENCE_TAGS:
            self.problem("bad-value", f"the tag {_short(tag)} does not fit a scalar", span)
            return text
        if tag not in _SCALAR_TAGS:
            self.problem("unknown-tag", f"the tag {_short(tag)} is not one that a safe loader accepts here", span)
            return text
        if tag == BINARY:
            return text
        try:
            return construct(tag, text)
        except BadScalar as error:
            self.problem("bad-value", str(error), span)
            return text

    def _anchor(self, name: str, span: Span) -> None:
        if name in self.anchors:
            self.problem("duplicate-anchor", f"the anchor &{name} is defined twice in one document", span)

    def _open(self, event: Any, mapping: bool) -> None:
        start = event.start_mark
        index = start.index
        line, column = self.starts.place(index) if self.odd else (start.line + 1, start.column + 1)
        if event.anchor is not None or event.tag is not None:
            found = _PROPERTIES.match(self.text, index)
            if found is not None:
                line, column = self.starts.place(found.end())
        self.opened += 1
        if self.opened > MAX_NODES:
            raise self.too_large(line)
        if len(self.stack) >= MAX_DEPTH:
            self.problem(
                "too-deep", f"nested over {MAX_DEPTH} levels; the rest of the file is not read", Span(line, column, line, column + 1)
            )
            raise _Stop
        tag = event.tag
        if tag is None or tag == "!":
            tag = _MAP if mapping else _SEQ
        elif tag not in (_MAPPING_TAGS if mapping else _SEQUENCE_TAGS):
            span = Span(line, column, line, column + 1)
            if tag in _SCALAR_TAGS or tag in _MAPPING_TAGS or tag in _SEQUENCE_TAGS:
                self.problem("bad-value", f"the tag {_short(tag)} does not fit a {'mapping' if mapping else 'sequence'}", span)
            else:
                self.problem("unknown-tag", f"the tag {_short(tag)} is not one that a safe loader accepts here", span)
        if event.anchor is not None:
            self._anchor(event.anchor, Span(line, column, line, column + 1))
            self.anchors[event.anchor] = (None, 0, 0)
        self.stack.append(_Frame(mapping, line, column, tag, bool(event.flow_style), event.anchor, []))

    def _close(self, end: tuple[int, int]) -> None:
        frame = self.stack.pop()
        if frame.line > end[0] or (frame.line == end[0] and frame.column > end[1]):
            end = (frame.line, frame.column)
        span = Span(frame.line, frame.column, *end)
        size = frame.size + len(frame.children)
        node: Node
        if frame.mapping:
            merged = self._merged(frame.merges) if frame.merges else []
            node = Mapping(frame.children, merged, span, frame.tag, frame.flow, frame.anchor, tuple(frame.merges or ()))
            if len(frame.children) > 1:
                own = {entry.key.value for entry in frame.children if entry.key.__class__ is Scalar}
                if len(own) != len(frame.children):
                    self._find_duplicates(frame.children)
        else:
            node = Sequence(frame.children, span, frame.tag, frame.flow, frame.anchor, frame.aliases)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (node, size, frame.height)
        if not self.stack:
            self.documents.append(node)
            return
        self._attach(node, size, frame.height)

    def _attach(self, node: Node, size: int, height: int, alias: Span | None = None) -> None:
        frame = self.stack[-1]
        frame.size += size
        if height >= frame.height:
            frame.height = height + 1
        if not frame.mapping:
            if alias is not None:
                if frame.aliases is None:
                    frame.aliases = {}
                frame.aliases[len(frame.children)] = alias
            frame.children.append(node)
        elif frame.key is None:
            frame.key = node
        else:
            self._entry(frame, node, alias)

    def _merged(self, merges: list[Entry]) -> list[Mapping]:
        """The mappings of the merge keys, those that win first (of two merge keys the later, of one list the earlier)."""
        merged: list[Mapping] = []
        for entry in reversed(merges):
            values = entry.value.items if isinstance(entry.value, Sequence) else [entry.value]
            for value in values:
                if isinstance(value, Mapping):
                    merged.append(value)
                else:
                    self.problem("bad-value", "a merge key needs a mapping, or a list of mappings", value.span)
        return merged

    def _alias(self, event: Any) -> None:
        span = self.span_of(event.start_mark, event.end_mark)
        self.end = (span.end_line, span.end_column)
        name = event.anchor
        node, size, height = self.anchors.get(name, (None, -1, 0))
        if node is None:
            if size < 0:
                self.problem("undefined-alias", f"there is no anchor &{name} before this alias", span)
            else:
                self.problem("recursive-alias", f"the alias *{name} stands inside of its own anchor", span)
            node, size, height = self._null(span), 1, 0
        elif len(self.stack) + height > MAX_DEPTH:
            self.problem("too-deep", f"with the alias *{name} the document is nested over {MAX_DEPTH} levels", span)
            node, size, height = self._null(span), 1, 0
        self.expanded += size
        if self.expanded > MAX_EXPANDED and size > 1:
            if not self.bomb:
                self.bomb = True
                self.problem("alias-bomb", f"aliases stand for more than {MAX_EXPANDED} nodes; the rest of them is not followed", span)
            node, size, height = self._null(span), 1, 0
        if not self.stack:
            self.documents.append(node)
        else:
            self._attach(node, size, height if not isinstance(node, Scalar) else 0, span)

    def _path(self) -> Path:
        keys: list[Key] = []
        for frame in self.stack:
            if frame.mapping:
                keys.append(_key(frame.key) if frame.key is not None else "?")
            else:
                keys.append(len(frame.children))
        return tuple(keys)

    def _find_duplicates(self, entries: list[Entry]) -> None:
        seen: dict[object, Entry] = {}
        above: Path | None = None
        for entry in entries:
            if isinstance(entry.key, Scalar):
                first = seen.setdefault(entry.key.value, entry)
                if first is not entry:
                    above = self._path() if above is None else above
                    self.duplicates.append(Duplicate(entry.key.text, first.key.span, entry.key.span, (*above, _key(entry.key))))

    # --- syntax errors ---

    def _syntax(self, error: yaml.YAMLError) -> None:
        if isinstance(error, _Stop):
            self.starts.read = max(self.scalars[1], default=0)
            return
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        context = getattr(error, "context", None)
        mark: Any = getattr(error, "problem_mark", None)
        context_mark: Any = getattr(error, "context_mark", None)
        index = min(mark.index, len(self.text)) if mark is not None else 0
        self.starts.read = index
        line, column = self.starts.place(index)
        message = f"{context}: {problem}" if context else str(problem)
        rest = self.text[index : index + 1]
        opened = context_mark is not None and context is not None
        code = "yaml-syntax"
        first, last = (self.scalars[0][-1], self.scalars[1][-1]) if self.scalars[0] else (0, 0)
        quoted = self.text[first : first + 1] in ("'", '"') and first < last
        if "nesting depth" in str(problem):
            code, message = "too-deep", f"nested over {MAX_DEPTH} levels"
        elif opened and "quoted scalar" in str(context) and "end of" in str(problem):
            line, column = self.starts.place(context_mark.index)
            message = "the quote that opens here is never closed"
        elif opened and "parsing a flow" in str(context):
            at = line
            line, column = self.starts.place(context_mark.index)
            bracket = self.text[context_mark.index : context_mark.index + 1]
            message = f"the {bracket} that opens here is not closed (noticed on line {at}: {problem})"
        elif rest == "\t":
            message = "a tab is used for indentation; YAML allows blanks only"
        elif rest and rest in "@`%" and "cannot start" in str(problem):
            message = f"a value cannot begin with {rest}; put it in quotes"
        elif quoted and "\n" in self.text[first:last]:
            at = line
            line, column = self.starts.place(first)
            message = (
                f"the quoted text that opens here runs on to line {self.starts.place(last)[0]}; is a quote missing? (line {at}: {problem})"
            )
        elif quoted and index == last and "expected" in str(problem):
            message = f"something follows the closing quote ({problem})"
        elif "mapping values are not allowed" in str(problem):
            message = "a colon where no key can stand: a value with ': ' needs quotes, or the indentation is wrong"
        elif opened and "simple key" in str(context):
            line, column = self.starts.place(context_mark.index)
            message = "a key without a colon, or a line with wrong indentation"
        self.problems.append(Problem(code, message, Span(line, column, line, column + 1), not (self.documents or self.stack)))


class _Stop(yaml.YAMLError):
    """Reading ends here; the problem is already recorded."""


def _short(tag: str) -> str:
    return "!!" + tag[len(_PREFIX) :] if tag.startswith(_PREFIX) else tag


def _key(key: Node) -> Key:
    if isinstance(key, Scalar):
        return key.value if isinstance(key.value, int) and not isinstance(key.value, bool) else key.text
    return "?"


# --- comments ------------------------------------------------------------------------------------------------------


def _find_comments(scalars: tuple[list[int], list[int], list[int]], starts: _LineStarts) -> tuple[YamlComment, ...]:
    """Every ``#`` that is not inside of a scalar opens a comment (the header of a block scalar is outside of it).

    Behind the place where reading ended nothing tells a comment from a text, so there are none.
    """
    text = starts.text[: starts.read]
    firsts, ends, bodies = scalars
    comments = []
    position = text.find("#")
    while position >= 0:
        at = bisect_right(firsts, position) - 1
        if at >= 0 and bodies[at] <= position < ends[at]:
            position = text.find("#", ends[at])
            continue
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        content = text[position + 1 : stop]
        line, column = starts.place(position)
        own = not text[position - column + 1 : position].strip()
        comments.append(YamlComment(content.removeprefix(" "), Span(line, column, line, column + 1 + len(content)), own))
        position = text.find("#", stop)
    return tuple(comments)


# --- places --------------------------------------------------------------------------------------------------------


def _index(document: YamlDocument) -> dict[int, Path]:
    """Paths by identity of nodes, and what starts on each line; a shared node has the path of its anchor."""
    if document._paths is not None:
        return document._paths
    paths: dict[int, Path] = {}
    starts: dict[int, tuple[Entry | Node, Path]] = {}
    many = len(document.documents) > 1
    for number, root in enumerate(document.documents):
        pending: list[tuple[Node, Path]] = [(root, (number,) if many else ())]
        while pending:
            node, path = pending.pop()
            if id(node) in paths:
                continue
            paths[id(node)] = path
            if isinstance(node, Mapping):
                children: list[tuple[Node, Path]] = []
                for entry in (*node.merges, *node.entries):
                    below = (*path, _key(entry.key))
                    paths.setdefault(id(entry.key), below)
                    starts.setdefault(entry.key.span.line, (entry, below))
                    children.append((entry.value, below))
                pending.extend(reversed(children))
            elif isinstance(node, Sequence):
                children = [(item, (*path, position)) for position, item in enumerate(node.items)]
                for position, (item, below) in enumerate(children):
                    alias = node.aliases.get(position)
                    if alias is not None:
                        starts.setdefault(alias.line, (item, below))
                    elif not isinstance(item, Mapping) or item.flow:
                        starts.setdefault(item.span.line, (item, below))
                pending.extend(reversed(children))
            elif not path or (many and len(path) == 1):
                starts.setdefault(node.span.line, (node, path))
    document._paths, document._starts = paths, starts
    return paths


def path_of(document: YamlDocument, node: Node) -> Path | None:
    """The structural path of a node (of a key: that of its value); begins with the number of the document where there are several."""
    return _index(document).get(id(node))


def _at(document: YamlDocument, line: int) -> tuple[Entry | Node, Path] | None:
    _index(document)
    assert document._starts is not None
    return document._starts.get(line)


def entry_at(document: YamlDocument, line: int) -> tuple[Entry | Node, Path] | None:
    """The entry, or the item of a sequence, that starts first on ``line``, with its path."""
    return _at(document, line)


def node_at(document: YamlDocument, line: int) -> Node | None:
    """The node that ``line`` belongs to: the value of the entry (or the item) that starts there, or the scalar that runs over it."""
    found = _at(document, line)
    if found is not None:
        return found[0].value if isinstance(found[0], Entry) else found[0]
    assert document._starts is not None
    for above in range(line - 1, 0, -1):
        found = document._starts.get(above)
        if found is not None:
            node = found[0].value if isinstance(found[0], Entry) else found[0]
            while isinstance(node, Sequence) and node.items:
                node = node.items[-1]
            return node if node.span.line <= line <= node.span.end_line else None
    return None


def comment_blocks(document: YamlDocument) -> tuple[Block, ...]:
    """Own-line comments, grouped where they follow each other in one column, with what stands directly below."""
    if document._blocks is not None:
        return document._blocks
    groups: list[list[YamlComment]] = []
    for comment in document.comments:
        if not comment.own_line:
            continue
        if groups and groups[-1][-1].span.line + 1 == comment.span.line and groups[-1][-1].span.column == comment.span.column:
            groups[-1].append(comment)
        else:
            groups.append([comment])
    if groups:
        _index(document)
    started = sorted(document._starts or ())
    blocks = []
    for group in groups:
        last = group[-1].span.line
        span = Span(group[0].span.line, group[0].span.column, group[-1].span.end_line, max(comment.span.end_column for comment in group))
        at = bisect_right(started, last)
        found = _at(document, started[at]) if at < len(started) else None
        if found is not None:
            first = found[0].key if isinstance(found[0], Entry) else found[0]
            if first.span.column < span.column:
                found = None
        if found is None:
            blocks.append(Block(tuple(group), span, None, (), False))
        else:
            blocks.append(Block(tuple(group), span, found[0], found[1], started[at] == last + 1))
    document._blocks = tuple(blocks)
    return document._blocks


def trailing_comments(document: YamlDocument) -> tuple[tuple[YamlComment, Entry | Node | None, Path], ...]:
    """Comments behind something on their line, with the entry (or item) that starts there and its path."""
    if document._trailing is None:
        found = []
        for comment in document.comments:
            if not comment.own_line:
                at = _at(document, comment.span.line)
                found.append((comment, at[0] if at else None, at[1] if at else ()))
        document._trailing = tuple(found)
    return document._trailing
