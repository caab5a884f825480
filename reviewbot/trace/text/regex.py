"""POSIX regular expressions (GNU dialect) and a plain part of Perl's, on Python's engine, exactly or not at all.

``compile_regex`` refuses (``None``) every pattern whose meaning is not certain. Where Python's leftmost-first rule could differ from
POSIX's leftmost-longest one (alternation, repeated groups), the extent of a match is computed from the syntax tree; ``Undecided`` is
raised where a group's extent would matter too. Patterns of single characters and simple repetitions need none of that: there the
greedy match is the longest.

Holes: ``.*`` passes over them, nothing else matches them. A hole is taken to stand for text without a line end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, Union

from reviewbot.trace.text.patterns import CLASSES
from reviewbot.trace.values import HOLE, is_known

Kind = Literal["bre", "ere", "pcre", "sed-bre", "sed-ere"]

_HOLES = "\U000f0000-\U000ffffd"
_CLASSES = {name: members for name, members in CLASSES.items() if name != "word"}  # which only patterns have
_ESCAPED_SETS = {
    "w": "[A-Za-z0-9_]",
    "W": f"[^A-Za-z0-9_{_HOLES}]",
    "s": "[ \\t\\n\\r\\f\\v]",
    "S": f"[^ \\t\\n\\r\\f\\v{_HOLES}]",
    "d": "[0-9]",
    "D": f"[^0-9{_HOLES}]",
    "h": "[ \\t]",
}
_MAX_REPEAT = 255
_MAX_PATTERN = 4000


class Undecided(Exception):
    """The result depends on something that is not known (a hole, a rule that this engine does not follow)."""


@dataclass(frozen=True, slots=True)
class _Set:
    accept: str
    dot: bool = False


@dataclass(frozen=True, slots=True)
class _Cat:
    items: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Alt:
    choices: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Rep:
    item: _Node
    low: int
    high: int | None
    suffix: str = ""  # "?" for Perl's lazy form


@dataclass(frozen=True, slots=True)
class _Group:
    number: int  # 0: not captured
    item: _Node


@dataclass(frozen=True, slots=True)
class _Back:
    number: int


@dataclass(frozen=True, slots=True)
class _Anchor:
    kind: str  # ^ $ b B < >


@dataclass(frozen=True, slots=True)
class _Look:
    opening: str
    item: _Node


@dataclass(frozen=True, slots=True)
class _Keep:
    pass


_Node = Union[_Set, _Cat, _Alt, _Rep, _Group, _Back, _Anchor, _Look, _Keep]
_DOT = _Set(f"[^{_HOLES}]", True)


class _Refused(Exception):
    pass


class _Parser:
    def __init__(self, pattern: str, kind: str) -> None:
        self.text = pattern
        self.at = 0
        self.sed = kind.startswith("sed-")
        self.kind = kind.removeprefix("sed-")
        self.bre = self.kind == "bre"
        self.perl = self.kind == "pcre"
        self.groups = 0
        self.closed: set[int] = set()
        self.depth = 0

    def parse(self) -> _Node:
        node = self.alternatives()
        if self.at != len(self.text):
            raise _Refused
        return node

    def alternatives(self) -> _Node:
        bar = "\\|" if self.bre else "|"
        choices = [self.sequence()]
        while self.text.startswith(bar, self.at):
            self.at += len(bar)
            choices.append(self.sequence())
        return choices[0] if len(choices) == 1 else _Alt(tuple(choices))

    def ends(self) -> bool:
        if self.at >= len(self.text):
            return True
        if self.bre:
            return self.text.startswith("\\|", self.at) or (self.depth > 0 and self.text.startswith("\\)", self.at))
        return self.text[self.at] == "|" or (self.depth > 0 and self.text[self.at] == ")")

    def sequence(self) -> _Node:
        items: list[_Node] = []
        while not self.ends():
            item = self.atom(first=not items or (isinstance(items[-1], _Anchor) and items[-1].kind == "^"))
            item = self.repeats(item)
            items.append(item)
        return items[0] if len(items) == 1 else _Cat(tuple(items))

    def repeats(self, item: _Node) -> _Node:
        if self.bre and isinstance(item, _Anchor) and item.kind == "^" and self.text.startswith("*", self.at):
            return item  # a star that follows is plain text
        while self.at < len(self.text):
            low_high = self.repeat_operator()
            if low_high is None:
                return item
            if isinstance(item, (_Anchor, _Look, _Keep)):
                raise _Refused
            suffix = ""
            if self.perl and self.at < len(self.text):
                if self.text[self.at] == "?":
                    suffix = "?"
                    self.at += 1
                elif self.text[self.at] in "+*":
                    raise _Refused
            elif isinstance(item, _Rep):
                raise _Refused  # versions of GNU's library differ
            item = _Rep(item, *low_high, suffix)
        return item

    def repeat_operator(self) -> tuple[int, int | None] | None:
        text, at = self.text, self.at
        c = text[at]
        if c == "*":
            self.at += 1
            return 0, None
        if self.bre:
            if c != "\\" or at + 1 >= len(text) or text[at + 1] not in "+?{":
                return None
            c = text[at + 1]
            self.at += 2
        elif c in "+?{":
            self.at += 1
        else:
            return None
        if c == "+":
            return 1, None
        if c == "?":
            return 0, 1
        close = text.find("\\}" if self.bre else "}", self.at)
        found = re.fullmatch(r"(\d*)(,?)(\d*)", text[self.at : close]) if close >= 0 else None
        if found is None or not (found[1] or found[3]):
            raise _Refused
        if self.perl and not found[1]:
            raise _Refused
        self.at = close + (2 if self.bre else 1)
        low = int(found[1] or 0)
        high = int(found[3]) if found[3] else None if found[2] else low
        if low > _MAX_REPEAT or (high is not None and (high > _MAX_REPEAT or high < low)):
            raise _Refused
        return low, high

    def atom(self, first: bool) -> _Node:
        text = self.text
        c = text[self.at]
        self.at += 1
        if c == ".":
            return _DOT
        if c == "[":
            return self.bracket()
        if c == "\\":
            return self.escape(first)
        if c == "^":
            if not self.bre or first:
                return _Anchor("^")
            return _Set("\\^")
        if c == "$":
            if not self.bre or self.ends():
                return _Anchor("$")
            return _Set("\\$")
        if self.bre:
            return _Set(re.escape(c))
        if c in "*+?{":
            raise _Refused
        if c == "(":
            return self.group()
        if c == ")":
            if self.perl or self.depth == 0:
                raise _Refused
        return _Set(re.escape(c))

    def group(self) -> _Node:
        text = self.text
        opening = ""
        if self.perl and text.startswith("?", self.at):
            for form in ("?:", "?=", "?!", "?<=", "?<!"):
                if text.startswith(form, self.at):
                    opening = form
                    self.at += len(form)
                    break
            else:
                raise _Refused
        elif self.perl and text.startswith("*", self.at):
            raise _Refused
        number = 0
        if not opening:
            self.groups += 1
            number = self.groups
        self.depth += 1
        if self.depth > 20:
            raise _Refused
        item = self.alternatives()
        self.depth -= 1
        close = "\\)" if self.bre else ")"
        if not text.startswith(close, self.at):
            raise _Refused
        self.at += len(close)
        self.closed.add(number)
        return _Look(opening, item) if opening and opening != "?:" else _Group(number, item)

    def escape(self, first: bool) -> _Node:
        if self.at >= len(self.text):
            raise _Refused
        c = self.text[self.at]
        self.at += 1
        if self.bre:
            if c == "(":
                return self.group()
            if c in "{+?":
                raise _Refused  # nothing to repeat
            if c in ")}|":
                raise _Refused
        if c in "123456789":
            if int(c) not in self.closed:
                raise _Refused
            return _Back(int(c))
        if c in "wWsS" or (self.perl and c in "dDh"):
            return _Set(_ESCAPED_SETS[c])
        if c in "bB" or (c in "<>" and not self.perl):
            return _Anchor(c)
        if c == "K" and self.perl and self.depth == 0:
            return _Keep()
        if c == "n" and (self.sed or self.perl):
            return _Set("\\n")
        if c in "tfvr" and (self.sed or self.perl):
            return _Set("\\" + c)
        if c.isalnum() or not c.isascii() or c in "`'\n":
            raise _Refused
        return _Set(re.escape(c))

    def bracket(self) -> _Node:
        text = self.text
        negated = text.startswith("^", self.at)
        if negated:
            self.at += 1
        items: list[str] = []
        first = True
        while True:
            if self.at >= len(text):
                raise _Refused
            c = text[self.at]
            if c == "]" and not first:
                self.at += 1
                break
            first = False
            if c == "[" and text[self.at + 1 : self.at + 2] in (":", ".", "="):
                close = text.find(":]", self.at + 2)
                name = text[self.at + 2 : close] if close > 0 else ""
                if text[self.at + 1] != ":" or name not in _CLASSES:
                    raise _Refused
                items.append(_CLASSES[name])
                self.at = close + 2
                if text.startswith("-", self.at) and not text.startswith("-]", self.at):
                    raise _Refused
                continue
            low = self.member()
            if low is None:
                items.append(self.perl_set)
                continue
            if text.startswith("-", self.at) and self.at + 1 < len(text) and text[self.at + 1] != "]":
                self.at += 1
                if text[self.at] == "[" and text[self.at + 1 : self.at + 2] in (":", ".", "="):
                    raise _Refused
                high = self.member()
                if high is None or high < low:
                    raise _Refused
                items.append(f"{_member(low)}-{_member(high)}")
            else:
                items.append(_member(low))
        body = "".join(items)
        if any(HOLE.match(c) for c in body):
            raise _Refused
        return _Set(f"[^{body}{_HOLES}]" if negated else f"[{body}]")

    perl_set = ""

    def member(self) -> str | None:
        """One member of a bracket; ``None`` where it was one of Perl's sets (then in ``perl_set``)."""
        c = self.text[self.at]
        self.at += 1
        if c != "\\":
            return c
        following = self.text[self.at : self.at + 1]
        if self.sed and following in ("n", "t", "f", "v", "r"):
            self.at += 1
            return {"n": "\n", "t": "\t", "f": "\f", "v": "\v", "r": "\r"}[following]
        if self.sed and (following.isalnum() and following in "adoxc"):
            raise _Refused
        if self.perl:
            self.at += 1
            if following in ("w", "s", "d", "h"):
                self.perl_set = _ESCAPED_SETS[following][1:-1]
                return None
            if following in ("n", "t", "f", "v", "r"):
                return {"n": "\n", "t": "\t", "f": "\f", "v": "\v", "r": "\r"}[following]
            if not following or following.isalnum():
                raise _Refused
            return following
        return c


def _member(c: str) -> str:
    return "\\" + c if c in "\\]^-[&~|" else c


_WORD = "[A-Za-z0-9_]"
_ANCHORS = {
    "^": "\\A",
    "$": "\\Z",
    "b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    "B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
    "<": f"(?<!{_WORD})(?={_WORD})",
    ">": f"(?<={_WORD})(?!{_WORD})",
}


def _emit(node: _Node) -> str:
    if isinstance(node, _Set):
        return node.accept
    if isinstance(node, _Cat):
        return "".join(f"(?:{_emit(item)})" if isinstance(item, _Alt) else _emit(item) for item in node.items)
    if isinstance(node, _Alt):
        return "|".join(_emit(choice) for choice in node.choices)
    if isinstance(node, _Rep):
        if isinstance(node.item, _Set) and node.item.dot and node.low == 0 and node.high is None:
            return "(?s:.*" + node.suffix + ")"
        inner = _emit(node.item)
        if not isinstance(node.item, (_Set, _Group)) or inner.startswith("(?<"):
            inner = f"(?:{inner})"
        times = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high))
        if times is None:
            times = f"{{{node.low},{'' if node.high is None else node.high}}}"
        return inner + times + node.suffix
    if isinstance(node, _Group):
        return ("(" if node.number else "(?:") + _emit(node.item) + ")"
    if isinstance(node, _Back):
        return f"(?:\\{node.number})"
    if isinstance(node, _Anchor):
        return _ANCHORS[node.kind]
    if isinstance(node, _Look):
        return f"({node.opening}{_emit(node.item)})"
    return "()"


def _nodes(node: _Node) -> Iterable[_Node]:
    yield node
    for child in (
        node.items
        if isinstance(node, _Cat)
        else node.choices
        if isinstance(node, _Alt)
        else (node.item,)
        if isinstance(node, (_Rep, _Group, _Look))
        else ()
    ):
        yield from _nodes(child)


_single: dict[str, re.Pattern[str]] = {}
_State = tuple[int, bool]


def _ends(node: _Node, text: str, states: set[_State], flags: int) -> set[_State]:
    """Where ``node`` can end when it starts at each of ``states``: (index, whether the way depends on a hole). Backreferences and
    Perl's assertions are taken to match anything (nothing): the result is then too large, never too small."""
    if isinstance(node, _Cat):
        for item in node.items:
            if not states:
                break
            states = _ends(item, text, states, flags)
        return states
    if isinstance(node, _Alt):
        return set().union(*(_ends(choice, text, states, flags) for choice in node.choices))
    if isinstance(node, _Group):
        return _ends(node.item, text, states, flags)
    if isinstance(node, _Rep):
        for _ in range(node.low):
            states = _ends(node.item, text, states, flags)
        reached, fresh, count = set(states), states, node.low
        while fresh and (node.high is None or count < node.high):
            fresh = _ends(node.item, text, fresh, flags) - reached
            reached |= fresh
            count += 1
        return reached
    if isinstance(node, (_Look, _Keep)):
        return states
    if isinstance(node, _Back):
        return {(end, True) for start, _ in states for end in range(start, len(text) + 1)}
    reached = set()
    for at, touched in list(states):
        while True:  # a hole may be empty: also try behind it
            if isinstance(node, _Set):
                if at < len(text):
                    if HOLE.match(text[at]):
                        reached.add((at, True))
                        reached.add((at + 1, True))
                    elif _accepts(node.accept, text[at], flags):
                        reached.add((at + 1, touched))
            else:
                answer = _anchored(node.kind, text, at)
                if answer is not False:
                    reached.add((at, touched or answer is None))
            if at < len(text) and HOLE.match(text[at]):
                at, touched = at + 1, True
                continue
            break
    return reached


def _accepts(accept: str, c: str, flags: int) -> bool:
    key = accept if not flags else "i" + accept
    compiled = _single.get(key)
    if compiled is None:
        compiled = _single[key] = re.compile(accept, flags)
        if len(_single) > 5000:
            _single.clear()
    return compiled.match(c) is not None


def _anchored(kind: str, text: str, at: int) -> bool | None:
    if kind == "^":
        return True if at == 0 else None if not HOLE.sub("", text[:at]) else False
    if kind == "$":
        return True if at == len(text) else None if not HOLE.sub("", text[at:]) else False
    before = text[at - 1] if at else ""
    after = text[at] if at < len(text) else ""
    if HOLE.match(before) or HOLE.match(after):
        return None
    left = bool(before) and re.match(_WORD, before) is not None
    right = bool(after) and re.match(_WORD, after) is not None
    return {"b": left != right, "B": left == right, "<": not left and right, ">": left and not right}[kind]


@dataclass(frozen=True, slots=True)
class Match:
    start: int
    end: int
    groups: re.Match[str]


class Regex:
    """A compiled expression. ``groups`` is the number of captured groups."""

    def __init__(self, tree: _Node, groups: int, perl: bool, ignore_case: bool) -> None:
        self._tree = tree
        self._flags = re.IGNORECASE if ignore_case else 0
        self.groups = groups
        self.pattern = re.compile(_emit(tree), self._flags)
        nodes = list(_nodes(tree))
        self._perl = perl
        self._looks = any(isinstance(n, (_Look, _Back)) for n in nodes)
        self._words = any(isinstance(n, _Anchor) and n.kind in "bB<>" for n in nodes)
        self._backs = any(isinstance(n, _Back) for n in nodes)
        repeated = any(isinstance(n, _Rep) and not _one_character(n.item) for n in nodes)
        alternation = any(isinstance(n, _Alt) for n in nodes)
        self._unsure = not perl and (repeated or alternation or self._backs)
        # Groups: with repeated groups, or alternatives of which one is the start of another, their extent is not computed.
        self._unsure_groups = (
            not perl
            and groups > 0
            and (
                self._backs
                or any(isinstance(n, _Rep) and any(isinstance(m, _Group) and m.number for m in _nodes(n.item)) for n in nodes)
                or any(isinstance(n, _Rep) and not _one_character(n.item) for n in nodes)
                or any(isinstance(n, _Alt) and not _prefix_free(n) for n in nodes)
            )
        )
        keep = 0
        if isinstance(tree, _Cat):
            before = 0
            for item in tree.items:
                if isinstance(item, _Keep):
                    keep = before + 1
                before += sum(isinstance(n, _Keep) or (isinstance(n, _Group) and n.number > 0) for n in _nodes(item))
        elif isinstance(tree, _Keep):
            keep = 1
        self._keep = keep
        self._head = _without_tail(tree)

    def search(self, text: str, at: int = 0, need_groups: bool = False) -> Match | None:
        """The leftmost-longest match at or behind ``at``, in a text without holes (or where ``touches`` said no).

        Raises ``Undecided``.
        """
        found = self.pattern.search(text, at)
        if found is None:
            return None
        start, end = found.span()
        if self._unsure:
            if need_groups and self._unsure_groups:
                raise Undecided
            if self._backs:
                raise Undecided
            longest = max(e for e, _ in _ends(self._tree, text, {(start, False)}, self._flags))
            if longest != end and need_groups:
                raise Undecided
            end = longest
        elif self._keep:
            start = found.start(self._keep)
        return Match(start, end, found)

    def touches(self, text: str) -> bool:
        """Whether a match could depend on a hole of ``text``: begin in it, end in it, pass over it, or be decided by it.

        A last ``.*`` that runs to the end of the line over holes does not count.
        """
        if is_known(text):
            return False
        if self._looks:
            return True
        tree = self._head if self._head is not None else self._tree
        return any(touched for _, touched in self._reach(tree, text))

    def _reach(self, tree: _Node, text: str) -> set[_State]:
        starts: set[_State] = {(at, False) for at in range(len(text) + 1)}
        starts.update((found.start(), True) for found in HOLE.finditer(text))
        return _ends(tree, text, starts, self._flags)

    def test(self, text: str) -> bool | None:
        """Whether there is a match anywhere in ``text``; ``None`` where a hole decides."""
        if is_known(text):
            return self.pattern.search(text) is not None
        if not self._looks and not self._words and self.pattern.search(text) is not None:
            return True
        reached = self._reach(self._tree, text)
        if not reached:
            return False
        if not self._looks and any(not touched for _, touched in reached):
            return True
        return None


def _one_character(node: _Node) -> bool:
    return (
        isinstance(node, _Set)
        or (isinstance(node, _Group) and not node.number and isinstance(node.item, _Set))
        or (isinstance(node, _Rep) and _one_character(node.item) and (node.low <= 1 and node.high in (None, 1)))
    )


def _literal(node: _Node) -> tuple[str, ...] | None:
    items = node.items if isinstance(node, _Cat) else (node,)
    if all(isinstance(item, _Set) and not item.accept.startswith("[") for item in items):
        return tuple(item.accept for item in items if isinstance(item, _Set))
    return None


def _prefix_free(node: _Alt) -> bool:
    texts = [_literal(choice) for choice in node.choices]
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            if one is None or other is None or one[: len(other)] == other or other[: len(one)] == one:
                return False
    return True


def _without_tail(tree: _Node) -> _Node | None:
    """The tree without a last ``.*`` (and ``$``); ``None`` where it does not end so."""
    if not isinstance(tree, _Cat):
        return None
    items = list(tree.items)
    if items and items[-1] == _Anchor("$"):
        items.pop()
    if not items:
        return None
    last = items.pop()
    if isinstance(last, _Group):
        last = last.item
    if isinstance(last, _Rep) and isinstance(last.item, _Set) and last.item.dot and last.low == 0 and last.high is None and not last.suffix:
        return _Cat(tuple(items))
    return None


# --- patterns that Python's engine may take for ever over -----------------------------------------------------------------

_SAMPLES = "".join(map(chr, range(32, 127))) + "\t\n\u00e9"
_MANY = 16  # repetitions from which the number of ways to match may explode


def _may_explode(node: _Node) -> bool:
    """Whether a repetition can match one text in more and more ways: over a body that is ambiguous with itself."""
    return any(isinstance(one, _Rep) and (one.high is None or one.high > _MANY) and _ambiguous(one.item) for one in _nodes(node))


def _ambiguous(body: _Node) -> bool:
    while isinstance(body, _Group):
        body = body.item
    if isinstance(body, _Set):
        return False
    if _nullable(body) or (isinstance(body, _Rep) and body.low != body.high):
        return True
    for one in _nodes(body):
        if isinstance(one, _Alt):
            seen: set[str] = set()
            for choice in one.choices:
                first = _edge(choice, 0)
                if first & seen:
                    return True
                seen |= first
    varies = any(isinstance(one, _Rep) and one.low != one.high for one in _nodes(body))
    return varies and bool(_edge(body, -1) & _edge(body, 0))


def _nullable(node: _Node) -> bool:
    if isinstance(node, _Set):
        return False
    if isinstance(node, _Cat):
        return all(map(_nullable, node.items))
    if isinstance(node, _Alt):
        return any(map(_nullable, node.choices))
    if isinstance(node, _Rep):
        return node.low == 0 or _nullable(node.item)
    return _nullable(node.item) if isinstance(node, _Group) else True


def _edge(node: _Node, end: int) -> set[str]:
    """The characters, out of samples, that a match can begin (``end`` 0) or end with (-1)."""
    if isinstance(node, _Set):
        return set(_accepted(node.accept))
    if isinstance(node, _Alt):
        return set().union(*(_edge(choice, end) for choice in node.choices))
    if isinstance(node, (_Rep, _Group)):
        return _edge(node.item, end)
    found: set[str] = set()
    for item in (node.items if end == 0 else node.items[::-1]) if isinstance(node, _Cat) else ():
        found |= _edge(item, end)
        if not _nullable(item):
            break
    return found | (set(_SAMPLES) if isinstance(node, _Back) else set())


@lru_cache(maxsize=1000)
def _accepted(accept: str) -> str:
    pattern = re.compile(accept, re.DOTALL)
    return "".join(c for c in _SAMPLES if pattern.fullmatch(c))


@lru_cache(maxsize=2048)
def compile_regex(
    pattern: str, kind: Kind, ignore_case: bool = False, fixed: bool = False, word: bool = False, line: bool = False
) -> Regex | None:
    """``pattern`` in a dialect: ``bre`` and ``ere`` as GNU grep and bash read them, ``sed-bre``/``sed-ere`` with sed's ``\\n`` and ``\\t``,
    ``pcre`` (grep -P). ``fixed``: a plain text; ``word``/``line``: it must be a whole word or line (grep -w, -x).

    ``None`` where it is no such pattern or is not understood.
    """
    if len(pattern) > _MAX_PATTERN or not is_known(pattern):
        return None
    parser = _Parser(pattern, kind)
    try:
        tree: _Node = _Cat(tuple(_Set(re.escape(c)) for c in pattern)) if fixed else parser.parse()
    except (_Refused, RecursionError):
        return None
    if any(isinstance(n, _Keep) for n in _nodes(tree)):
        top = tree.items if isinstance(tree, _Cat) else (tree,)
        if sum(isinstance(n, _Keep) for n in _nodes(tree)) > 1 or not any(isinstance(n, _Keep) for n in top):
            return None
        if any(isinstance(n, _Back) for n in _nodes(tree)):
            return None
    if any(isinstance(n, _Back) for n in _nodes(tree)) and any(isinstance(n, _Alt) for n in _nodes(tree)):
        return None
    if _may_explode(tree):
        return None
    if word:
        # grep -w tries shorter matches where the longest is no word; only a match that cannot be shortened is the same.
        tree = _Cat((_Look(f"?<!{_WORD}", _Cat(())), _Group(0, tree), _Look(f"?!{_WORD}", _Cat(()))))
    elif line:
        tree = _Cat((_Anchor("^"), _Group(0, tree), _Anchor("$")))
    try:
        return Regex(tree, parser.groups, parser.perl or fixed, ignore_case)
    except (re.error, RecursionError, OverflowError):
        return None


def translate(pattern: str, kind: Literal["bre", "ere", "pcre"], ignore_case: bool = False) -> re.Pattern[str] | None:
    """The expression for Python's engine, ``None`` where it is not understood. Whether it matches is exact; the extent of a match is
    where the pattern has no alternation and no repeated groups (use ``compile_regex`` where that matters)."""
    regex = compile_regex(pattern, kind, ignore_case)
    return None if regex is None else regex.pattern
