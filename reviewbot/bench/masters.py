"""Masters: the files that map a config key to what is swept. Read once, with positions; how an entry expands is the adapter's matter."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Mapping as MappingType
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field

from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.nodes import Entry, Mapping, Node, Scalar
from reviewbot.documents.positions import Site, Span

_TOP = Span(1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class MasterEntry:
    """One config key of a master. ``span`` reaches from the key to the end of its value; ``node`` is ``None`` where it is no mapping."""

    key: str
    path: str
    deprecated: bool
    site: Site
    key_span: Span
    span: Span
    node: Mapping | None


@dataclass(frozen=True, slots=True)
class Master:
    path: str
    deprecated: bool
    entries: MappingType[str, MasterEntry]
    problems: tuple[BenchProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Masters:
    """All masters, active ones first. ``index`` finds the entry of a key, an active one before a deprecated one."""

    files: tuple[Master, ...] = ()
    index: MappingType[str, MasterEntry] = field(default_factory=dict)
    problems: tuple[BenchProblem, ...] = ()

    def active(self) -> Iterable[MasterEntry]:
        for master in self.files:
            if not master.deprecated:
                yield from master.entries.values()

    def keys(self, deprecated: bool = False) -> list[str]:
        """Keys in file order; with ``deprecated`` those of the deprecated masters too."""
        found: dict[str, None] = {}
        for master in self.files:
            if deprecated or not master.deprecated:
                found.update(dict.fromkeys(master.entries))
        return list(found)


def read_master(path: str, root: Node | None, deprecated: bool = False) -> Master:
    """Splits a master into entries. A document that is no mapping gives no entry and one problem."""
    problems: list[BenchProblem] = []
    if not isinstance(root, Mapping):
        span = _TOP if root is None else root.span
        problems.append(BenchProblem("wrong-type", "a master must be a mapping of config keys", Site(path, span.line), span))
        return Master(path, deprecated, {}, tuple(problems))
    entries: dict[str, MasterEntry] = {}
    for name, entry in root.index().items():
        key_span = entry.key.span
        site = Site(path, key_span.line)
        if not isinstance(name, str):
            problems.append(BenchProblem("wrong-type", f"the config key {name!r} must be a text", site, key_span, str(name)))
            continue
        if "*" in name or "?" in name:
            problems.append(BenchProblem("wildcard-key", f"the config key {name!r} must not hold a wildcard", site, key_span, name))
        node = entry.value if isinstance(entry.value, Mapping) else None
        if node is None:
            problems.append(BenchProblem("wrong-type", f"the entry {name!r} must be a mapping", site, key_span, name))
        entries[name] = MasterEntry(name, path, deprecated, site, key_span, _entry_span(entry), node)
    return Master(path, deprecated, entries, tuple(problems))


def join_masters(files: SequenceType[Master]) -> Masters:
    """All masters as one set; a key that two active masters hold is a problem (and the later one is not swept twice)."""
    ordered = tuple(sorted(files, key=lambda master: master.deprecated))
    index: dict[str, MasterEntry] = {}
    problems: list[BenchProblem] = []
    for master in ordered:
        problems.extend(master.problems)
        for key, entry in master.entries.items():
            other = index.setdefault(key, entry)
            if other is not entry and not entry.deprecated:
                message = f"the config key {key!r} is also in {other.path}, line {other.site.line}"
                problems.append(BenchProblem("duplicate-key", message, entry.site, entry.key_span, key))
    return Masters(ordered, index, tuple(problems))


@dataclass(frozen=True, slots=True)
class Mention:
    """A setting ``name=value`` of an entry that names a recipe; ``path`` is the value without a selector (``:override_x``)."""

    key: str
    name: str
    path: str
    selector: str
    site: Site
    span: Span
    deprecated: bool


RECIPE_SETTINGS = ("CONFIG_FILE", "EVAL_CONFIG_FILE")


def recipe_mentions(entry: MasterEntry) -> list[Mention]:
    """The recipes that an entry names in its settings, expanded or not, in the written order."""
    found: list[Mention] = []
    stack: list[Node] = [] if entry.node is None else [entry.node]
    seen: set[int] = set()  # what aliases share is looked at once
    while stack:
        node = stack.pop()
        if isinstance(node, Scalar):
            name, equals, value = node.value.partition("=") if isinstance(node.value, str) else ("", "", "")
            if equals and name in RECIPE_SETTINGS:
                path, _, selector = value.partition(":")
                found.append(Mention(entry.key, name, path, selector, Site(entry.path, node.span.line), node.span, entry.deprecated))
        elif id(node) not in seen:
            seen.add(id(node))
            stack.extend(reversed([item.value for _, item in node.items()] if isinstance(node, Mapping) else node.items))
    return found


def _entry_span(entry: Entry) -> Span:
    start, end = entry.key.span, entry.value.span
    if (end.end_line, end.end_column) < (start.end_line, start.end_column):  # an alias to an earlier anchor
        end = start
    return Span(start.line, start.column, end.end_line, end.end_column)
