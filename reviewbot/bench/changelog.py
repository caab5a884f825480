"""The performance changelog: what each entry claims to have changed, with the place of every sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from reviewbot.bench.fields import Fields
from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Site, Span

SCENARIO_TYPES = ("fixed-seq-len", "agentic-coding")
_FIELDS = frozenset(
    {"config-keys", "description", "pr-link", "evals-only", "all-evals", "append-only", "eval-min-prefill-ep", "scenario-type"}
)
_TOP = Span(1, 1, 1, 2)


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text of an entry and where it stands (quotes included)."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ChangelogEntry:
    """One entry. ``keys`` are config keys or patterns with ``*``; ``scenarios`` is empty where the entry is not restricted.

    ``span`` is the whole entry as written; ``index`` counts from 0.
    """

    index: int
    site: Site
    span: Span
    keys: tuple[Text, ...]
    description: tuple[Text, ...]
    pr_link: Text | None
    scenarios: tuple[Text, ...] = ()
    evals_only: bool = False
    all_evals: bool = False
    append_only: bool = False
    min_prefill_ep: int | None = None

    def matches(self, key: str) -> bool:
        return any(matches(pattern.text, key) for pattern in self.keys)


@dataclass(frozen=True, slots=True)
class Changelog:
    path: str
    entries: tuple[ChangelogEntry, ...]
    problems: tuple[BenchProblem, ...] = ()


def matches(pattern: str, key: str) -> bool:
    """Whether a config key of the changelog names ``key``: ``*`` stands for any text, everything else for itself."""
    if "*" not in pattern:
        return pattern == key
    parts = pattern.split("*")
    if len(key) < sum(map(len, parts)) or not key.startswith(parts[0]) or not key.endswith(parts[-1]):
        return False
    place = len(parts[0])
    for part in parts[1:-1]:
        found = key.find(part, place, len(key) - len(parts[-1]))
        if found < 0:
            return False
        place = found + len(part)
    return True


def resolve(entry: ChangelogEntry, keys: Iterable[str]) -> tuple[list[str], list[Text]]:
    """The config keys that an entry selects, in the order of the entry, and the patterns that select none."""
    known = list(keys)
    found: dict[str, None] = {}
    lost: list[Text] = []
    for pattern in entry.keys:
        mine = [key for key in known if matches(pattern.text, key)]
        found.update(dict.fromkeys(mine))
        if not mine:
            lost.append(pattern)
    return list(found), lost


def read_changelog(path: str, root: Node | None) -> Changelog:
    """Reads a changelog; what is not an entry is a problem, and the other entries are read all the same."""
    problems: list[BenchProblem] = []
    if root is None or (isinstance(root, Scalar) and root.value is None):
        return Changelog(path, ())
    if not isinstance(root, Sequence):
        problems.append(BenchProblem("wrong-type", "the changelog must be a list of entries", Site(path, root.span.line), _TOP))
        return Changelog(path, (), tuple(problems))
    entries: list[ChangelogEntry] = []
    for index, item in enumerate(root.items):
        if isinstance(item, Mapping):
            entries.append(_entry(path, index, item, problems))
        else:
            problems.append(BenchProblem("wrong-type", "an entry must be a mapping", Site(path, item.span.line), item.span))
    return Changelog(path, tuple(entries), tuple(problems))


def _entry(path: str, index: int, node: Mapping, problems: list[BenchProblem]) -> ChangelogEntry:
    fields = Fields(node, path, "", f"[{index}]", problems)
    fields.unknown(_FIELDS)
    link = fields.text("pr-link")
    link_node = fields.node("pr-link")
    least = fields.integer("eval-min-prefill-ep", required=False, least=1)
    entry = ChangelogEntry(
        index,
        Site(path, node.span.line),
        node.span,
        _texts(fields, "config-keys", required=True),
        _texts(fields, "description", required=True),
        Text(link, link_node.span) if link is not None and link_node is not None else None,
        _texts(fields, "scenario-type", required=False),
        fields.boolean("evals-only") is True,
        fields.boolean("all-evals") is True,
        fields.boolean("append-only") is True,
        least if isinstance(least, int) else None,
    )
    for scenario in entry.scenarios:
        if scenario.text not in SCENARIO_TYPES:
            fields.problem("unknown-value", f"{scenario.text!r} is not a scenario type", scenario.span, "scenario-type")
    if entry.append_only and (entry.evals_only or entry.all_evals or entry.min_prefill_ep is not None):
        fields.problem("append-only-evals", "'append-only' cannot be combined with eval fields", Span(*node.span[:2], *node.span[:2]))
    return entry


def _texts(fields: Fields, name: str, required: bool) -> tuple[Text, ...]:
    items = fields.sequence_of(name, required)
    if items is None:
        return ()
    found: list[Text] = []
    for index, item in enumerate(items.items):
        if isinstance(item, Scalar) and isinstance(item.value, str):
            found.append(Text(item.value, item.span))
        else:
            fields.fail("wrong-type", f"{name}[{index}] must be a text", item.span, f"{name}[{index}]")
    if not items.items:
        fields.fail("missing-field", f"{name!r} must not be empty", items.span, name)
    return tuple(found)


_LINK = re.compile(r"(https://[\w.-]+/[\w.-]+/[\w.-]+/pull/)\d{1,9}\Z")


def link_base(changelog: Changelog) -> str | None:
    """What stands in front of the number in most links (``https://github.com/OWNER/NAME/pull/``); ``None`` where no entry has one."""
    links = (_LINK.match(entry.pr_link.text.strip()) for entry in changelog.entries if entry.pr_link is not None)
    found = Counter(match[1] for match in links if match is not None)
    return found.most_common(1)[0][0] if found else None
