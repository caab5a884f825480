"""Shell patterns: ``* ? [..]`` and the extended forms ``?() *() +() @() !()``.

A pattern is shell pattern text: what was quoted in the script is escaped with backslashes (``escape``). Values and patterns may hold
holes; an answer that depends on a hole's text is ``None``. All work is on strings; nothing here looks at files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Union

from reviewbot.trace.values import FIRST_HOLE, HOLE, Holes, is_known

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": " \\t\\n\\r\\f\\v",
    "blank": " \\t",
    "punct": "!-/:-@\\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": "\\x00-\\x1f\\x7f",
    "xdigit": "0-9A-Fa-f",
    "word": "a-zA-Z0-9_",
}
_HOLES = "\U000f0000-\U000ffffd"
_MAX_STATES = 3000


@dataclass(frozen=True, slots=True)
class _Char:
    """One character: ``accept`` is a regular expression of one character."""

    accept: str


@dataclass(frozen=True, slots=True)
class _Star:
    pass


@dataclass(frozen=True, slots=True)
class _Extended:
    kind: str
    choices: tuple[tuple[_Node, ...], ...]


_Node = Union[_Char, _Star, _Extended]
_ANY = _Char(f"[^{_HOLES}]")


def escape(text: str) -> str:
    """``text`` as a pattern that matches just it (what a quoted piece of a pattern means)."""
    return re.sub(r"([*?\[\]\\!+@()|^\-])", r"\\\1", text)


_MEANING = re.compile(r"[*?\[\]\\()]")


@lru_cache(maxsize=4096)
def plain(text: str) -> bool:
    """Whether a text that stands unquoted as a pattern has nothing that could mean anything else than itself."""
    return _MEANING.search(text) is None


@lru_cache(maxsize=4096)
def literal(pattern: str) -> str | None:
    """The only text that a pattern matches, ``None`` where it has wildcards."""
    out: list[str] = []
    at = 0
    while at < len(pattern):
        c = pattern[at]
        if c == "\\" and at + 1 < len(pattern):
            at += 1
            out.append(pattern[at])
        elif c in "*?[" or (c in "+@!" and pattern.startswith("(", at + 1)):
            return None
        else:
            out.append(c)
        at += 1
    return "".join(out)


def unescape(pattern: str) -> str:
    """The text that a pattern stands for when it is not used as one: backslash escapes resolved."""
    return re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL) if "\\" in pattern else pattern


@lru_cache(maxsize=4096)
def has_magic(pattern: str, extglob: bool = True) -> bool:
    """Whether a pattern can match anything but its own text."""
    if not any(c in pattern for c in "*?[" + ("(" if extglob else "")):
        return False
    return any(not isinstance(node, _Char) or len(_alphabet_literal(node.accept)) != 1 for node in _parse(pattern, extglob))


def _alphabet_literal(accept: str) -> str:
    """The one character that a literal's expression stands for, or a text of another length."""
    if len(accept) == 1:
        return accept
    return accept[1] if len(accept) == 2 and accept[0] == "\\" and accept not in ("\\w", "\\W", "\\s", "\\S", "\\d", "\\D") else accept


@lru_cache(maxsize=4096)
def _parse(pattern: str, extglob: bool) -> tuple[_Node, ...]:
    nodes, end = _sequence(pattern, 0, extglob, inside=False)
    assert end == len(pattern)
    return nodes


def _sequence(pattern: str, at: int, extglob: bool, inside: bool) -> tuple[tuple[_Node, ...], int]:
    nodes: list[_Node] = []
    while at < len(pattern):
        c = pattern[at]
        if inside and c in "|)":
            break
        if extglob and c in "?*+@!" and at + 1 < len(pattern) and pattern[at + 1] == "(":
            found = _extended(pattern, at)
            if found is not None:
                node, at = found
                nodes.append(node)
                continue
        if c == "*":
            if not (nodes and isinstance(nodes[-1], _Star)):
                nodes.append(_Star())
            at += 1
        elif c == "?":
            nodes.append(_ANY)
            at += 1
        elif c == "[":
            bracket = _bracket(pattern, at)
            if bracket is None:
                nodes.append(_Char(re.escape(c)))
                at += 1
            else:
                nodes.append(_Char(bracket[0]))
                at = bracket[1]
        elif c == "\\" and at + 1 < len(pattern):
            nodes.append(_Char(re.escape(pattern[at + 1])))
            at += 2
        else:
            nodes.append(_Char(re.escape(c)))
            at += 1
    return tuple(nodes), at


def _extended(pattern: str, at: int) -> tuple[_Node, int] | None:
    kind = pattern[at]
    choices: list[tuple[_Node, ...]] = []
    at += 2
    while True:
        nodes, at = _sequence(pattern, at, True, inside=True)
        choices.append(nodes)
        if at >= len(pattern):
            return None
        at += 1
        if pattern[at - 1] == ")":
            return _Extended(kind, tuple(choices)), at


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """The expression of a bracket that starts at ``at`` and the index behind it; ``None`` where it is not closed."""
    i = at + 1
    negated = i < len(pattern) and pattern[i] in "!^"
    if negated:
        i += 1
    items: list[str] = []
    first = True
    while True:
        if i >= len(pattern):
            return None
        c = pattern[i]
        if c == "]" and not first:
            break
        first = False
        if c == "[" and pattern[i + 1 : i + 2] == ":":
            close = pattern.find(":]", i + 2)
            name = pattern[i + 2 : close] if close > 0 else ""
            if name in CLASSES:
                items.append(CLASSES[name])
                i = close + 2
                continue
        if c == "\\" and i + 1 < len(pattern):
            i += 1
            c = pattern[i]
        i += 1
        if pattern[i : i + 1] == "-" and i + 1 < len(pattern) and pattern[i + 1] != "]":
            i += 1
            high = pattern[i]
            if high == "\\" and i + 1 < len(pattern):
                i += 1
                high = pattern[i]
            i += 1
            if c <= high:
                items.append(f"{_member(c)}-{_member(high)}")
        else:
            items.append(_member(c))
    body = "".join(items)
    if negated:
        return f"[^{body}{_HOLES}]", i + 1
    return (f"(?![{_HOLES}])[{body}]" if not body.isascii() else f"[{body}]") if body else "(?!)", i + 1


def _member(c: str) -> str:
    return "\\" + c if c in "\\]^-[&~|" else c


def _regex(nodes: tuple[_Node, ...]) -> str:
    parts: list[str] = []
    for index, node in enumerate(nodes):
        if isinstance(node, _Char):
            parts.append(node.accept)
        elif isinstance(node, _Star):
            parts.append("(?s:.*)")
        else:
            choices = "|".join(_regex(choice) for choice in node.choices)
            if node.kind == "!":
                rest = _regex(nodes[index + 1 :])
                parts.append(f"(?:(?!(?:{choices}){rest}\\Z)(?s:.*))" if rest else f"(?!(?:{choices})\\Z)(?s:.*)")
            else:
                parts.append(f"(?:{choices})" + {"@": "", "?": "?", "*": "*", "+": "+"}[node.kind])
    return "".join(parts)


@lru_cache(maxsize=4096)
def regex_of(pattern: str, extglob: bool = True, ignore_case: bool = False) -> re.Pattern[str]:
    """A compiled expression for ``fullmatch``. A hole in a value is matched by ``*`` and by itself only."""
    return re.compile(_regex(_parse(pattern, extglob)), re.IGNORECASE if ignore_case else 0)


def _awkward(nodes: tuple[_Node, ...]) -> bool:
    """Whether ``!()`` occurs in a place where the expression above is not exact (anything but alone or before plain text)."""
    for index, node in enumerate(nodes):
        if isinstance(node, _Extended):
            if any(_awkward(choice) for choice in node.choices):
                return True
            if node.kind == "!" and (index or len(nodes) > 1):
                return True
            if node.kind != "!" and any(_has_not(choice) for choice in node.choices):
                return True
    return False


def _has_not(nodes: tuple[_Node, ...]) -> bool:
    return any(isinstance(node, _Extended) and (node.kind == "!" or any(_has_not(c) for c in node.choices)) for node in nodes)


def _plain(pattern: str, extglob: bool) -> bool:
    return not (extglob and "!(" in pattern)


# --- matching where holes matter: a set of automaton states ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Automaton:
    """Epsilon-free by closure: ``moves[state]`` are (index of the character test, next state); ``jumps[state]`` are epsilon moves."""

    moves: tuple[tuple[tuple[int, int], ...], ...]
    jumps: tuple[tuple[int, ...], ...]
    tests: tuple[re.Pattern[str] | None, ...]  # None: any character
    final: int
    letters: str  # one character of every kind that the tests can tell apart


@lru_cache(maxsize=1024)
def _automaton(pattern: str, extglob: bool, ignore_case: bool) -> _Automaton:
    moves: list[list[tuple[int, int]]] = []
    jumps: list[list[int]] = []
    tests: list[re.Pattern[str] | None] = []
    letters: set[str] = set("aZ0_-/. \n\u00e9\x01")

    def state() -> int:
        moves.append([])
        jumps.append([])
        return len(moves) - 1

    def build(nodes: tuple[_Node, ...], here: int) -> int:
        for node in nodes:
            after = state()
            if isinstance(node, _Char):
                hole = HOLE.search(node.accept)
                if hole is not None and len(node.accept) <= 2:  # the pattern's own hole: any text
                    tests.append(None)
                    moves[here].append((len(tests) - 1, here))
                    jumps[here].append(after)
                else:
                    tests.append(re.compile(node.accept, re.IGNORECASE if ignore_case else 0))
                    moves[here].append((len(tests) - 1, after))
            elif isinstance(node, _Star):
                tests.append(None)
                moves[here].append((len(tests) - 1, here))
                jumps[here].append(after)
            else:
                if node.kind in "?*":
                    jumps[here].append(after)
                for choice in node.choices:
                    start = state()
                    jumps[here].append(start)
                    jumps[build(choice, start)].append(after)
                if node.kind in "*+":
                    jumps[after].append(here)
                    onward = state()
                    jumps[after].append(onward)
                    after = onward
            here = after
        return here

    final = build(_parse(pattern, extglob), state())
    for c in pattern:
        if not HOLE.match(c):
            letters.update((c, c.swapcase()[:1] or c))
            letters.update(chr(n) for n in (ord(c) - 1, ord(c) + 1) if 0 <= n < 0xD800)
    letters.update(chr(n) for n in range(32, 127))
    return _Automaton(tuple(map(tuple, moves)), tuple(map(tuple, jumps)), tuple(tests), final, "".join(sorted(letters)))


def _closure(automaton: _Automaton, states: set[int]) -> frozenset[int]:
    todo = list(states)
    seen = set(states)
    while todo:
        for after in automaton.jumps[todo.pop()]:
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return frozenset(seen)


def _step(automaton: _Automaton, states: frozenset[int], c: str) -> frozenset[int]:
    reached = set()
    for here in states:
        for test, after in automaton.moves[here]:
            accept = automaton.tests[test]
            if accept is None or accept.match(c):
                reached.add(after)
    return _closure(automaton, reached)


# How a hole's text is limited: (letters it may have or None, whether it may be empty).
_Kind = tuple[Union[str, None], bool]


def _kind(c: str, holes: Holes | None) -> _Kind:
    if holes is None:
        return None, True
    hole = holes.of(c)
    if hole.numeric:
        digits = "0123456789" if hole.witness is not None and hole.witness.isdigit() else "-0123456789"
        return digits, False
    return None, not hole.nonempty


def _run(value: str, pattern: str, extglob: bool, ignore_case: bool, holes: Holes | None) -> bool | None:
    """``matches`` for a value with holes, of which only their kinds count, and where they stand."""
    return _run_kinds(value, pattern, extglob, ignore_case, {c: _kind(c, holes) for c in dict.fromkeys(HOLE.findall(value))})


def _run_kinds(value: str, pattern: str, extglob: bool, ignore_case: bool, of: dict[str, _Kind]) -> bool | None:
    """As ``_run``; holes of one kind have one name, so that the answer is found again for others."""
    kinds: dict[_Kind, str] = {}
    names = {ord(c): kinds.setdefault(kind, chr(FIRST_HOLE + len(kinds))) for c, kind in of.items()}
    return _answer(value.translate(names), pattern, extglob, ignore_case, tuple((c, kind) for kind, c in kinds.items()))


@lru_cache(maxsize=8192)
def _answer(value: str, pattern: str, extglob: bool, ignore_case: bool, known: tuple[tuple[str, _Kind], ...]) -> bool | None:
    kinds = dict(known)
    automaton = _automaton(pattern, extglob, ignore_case)
    current = {_closure(automaton, {0})}
    for c in value:
        if c not in kinds:
            current = {_step(automaton, states, c) for states in current}
            continue
        letters, empty = kinds[c]
        reached: set[frozenset[int]] = set()
        todo = list(current)
        while todo:
            states = todo.pop()
            for letter in letters or automaton.letters:
                after = _step(automaton, states, letter)
                if after not in reached:
                    reached.add(after)
                    todo.append(after)
            if len(reached) > _MAX_STATES:
                return None
        current = reached | current if empty else reached
    answers = {automaton.final in states for states in current}
    return answers.pop() if len(answers) == 1 else None


def _slow(pattern: str, value: str) -> bool:
    """Whether an engine that goes back may take too long: every star is a loop inside the loops of those before it."""
    stars = pattern.count("*")
    return (stars > 3 and len(value) > 40) or (stars > 1 and len(value) > 5_000)


def matches(value: str, pattern: str, holes: Holes | None = None, *, extglob: bool = True, ignore_case: bool = False) -> bool | None:
    """Whether the whole ``value`` matches ``pattern``; ``None`` where that depends on a hole (or on nested ``!()``).

    ``holes`` tells which holes are numbers or not empty; without it each is any text.
    """
    if not ignore_case and is_known(value) and is_known(pattern):
        only = literal(pattern)
        if only is not None:
            return only == value
    if not _plain(pattern, extglob) and _awkward(_parse(pattern, extglob)):
        return None
    if is_known(pattern):
        if is_known(value):
            if _slow(pattern, value) and _plain(pattern, extglob):
                return _answer(value, pattern, extglob, ignore_case, ())
            return regex_of(pattern, extglob, ignore_case).fullmatch(value) is not None
        if not _plain(pattern, extglob):
            return None
        return _run(value, pattern, extglob, ignore_case, holes)
    if not ignore_case and _plain(pattern, extglob) and regex_of(pattern, extglob).fullmatch(value):
        return True
    if not _plain(pattern, extglob):
        return None
    answer = _run(value, pattern, extglob, ignore_case, holes)
    return False if answer is False else None


def _cuts(value: str, order: Iterator[int], holes: Holes | None) -> Iterator[tuple[int, bool]]:
    """Places where ``value`` can be cut: (index, whether the cut lies inside the hole that starts at the index)."""
    previous: int | None = None
    for at in order:
        if previous is not None and HOLE.match(value[min(previous, at)]):
            yield min(previous, at), True
        yield at, False
        previous = at


def _remove(value: str, pattern: str, longest: bool, prefix: bool, holes: Holes | None, extglob: bool) -> str | None:
    known = is_known(value)
    size = len(value)
    ascending = longest != prefix
    for at, inside in _cuts(value, iter(range(size + 1) if ascending else range(size, -1, -1)), holes):
        if inside:
            piece = value[: at + 1] if prefix else value[at:]
            if not is_known(pattern) or not _plain(pattern, extglob):
                return None
            kinds: dict[str, _Kind] = {c: _kind(c, holes) for c in set(HOLE.findall(piece))}
            cut = value[at]
            kinds[cut] = (kinds[cut][0], True)
            if _run_kinds(piece, pattern, extglob, False, kinds) is not False:
                return None
            continue
        answer = matches(value[:at] if prefix else value[at:], pattern, None if known else holes, extglob=extglob)
        if answer is None:
            return None
        if answer:
            return value[at:] if prefix else value[:at]
    return value


def remove_prefix(value: str, pattern: str, longest: bool, holes: Holes | None = None, *, extglob: bool = True) -> str | None:
    """``${x#pattern}`` (``##`` where ``longest``); ``None`` where the result depends on a hole."""
    return _remove(value, pattern, longest, True, holes, extglob)


def remove_suffix(value: str, pattern: str, longest: bool, holes: Holes | None = None, *, extglob: bool = True) -> str | None:
    """``${x%pattern}`` (``%%`` where ``longest``); ``None`` where the result depends on a hole."""
    return _remove(value, pattern, longest, False, holes, extglob)


def trim(value: str, pattern: str, suffix: bool, longest: bool, holes: Holes | None = None) -> str | None:
    """``${value#pattern}`` and its three relatives; ``None`` where the result depends on a hole."""
    if is_known(value) and is_known(pattern):
        only = literal(pattern)
        if only is not None:
            return (value.removesuffix(only) if suffix else value.removeprefix(only)) if only else value
        if suffix and pattern[-1] == "*" and not pattern.endswith("\\*"):
            text = literal(pattern[:-1])
            if text:
                at = value.find(text) if longest else value.rfind(text)
                return value if at < 0 else value[:at]
        if not suffix and pattern[0] == "*" and not pattern.startswith("*("):
            text = literal(pattern[1:])
            if text:
                at = value.rfind(text) if longest else value.find(text)
                return value if at < 0 else value[at + len(text) :]
    return _remove(value, pattern, longest, not suffix, holes, True)


def replace(
    value: str,
    pattern: str,
    replacement: str,
    mode: str = "first",
    holes: Holes | None = None,
    *,
    extglob: bool = True,
    ignore_case: bool = False,
) -> str | None:
    """``${x/pattern/replacement}``: ``mode`` is ``first``, ``all`` (``//``), ``prefix`` (``/#``) or ``suffix`` (``/%``).

    An empty pattern replaces nothing, except that an anchored one adds ``replacement`` at its end. ``None`` where it depends on a hole.
    """
    if not pattern:
        return {"prefix": replacement + value, "suffix": value + replacement}.get(mode, value)
    if is_known(value) and is_known(pattern) and not ignore_case:
        only = literal(pattern)
        if only is not None:
            if mode in ("first", "all"):
                return value.replace(only, replacement) if mode == "all" else value.replace(only, replacement, 1)
            if mode == "prefix":
                return replacement + value[len(only) :] if value.startswith(only) else value
            return value[: len(value) - len(only)] + replacement if value.endswith(only) else value
    nodes = _parse(pattern, extglob)
    if not is_known(pattern) or _has_not(nodes):
        return None
    if _slow(pattern, value):
        return None
    expression = regex_of(pattern, extglob, ignore_case)
    if not is_known(value):
        return _replace_single(value, nodes, expression, replacement, mode, holes)
    simple = not any(isinstance(node, _Extended) for node in nodes)
    if not value and expression.fullmatch(""):
        return None
    if mode == "prefix":
        end = _longest(expression, value, 0, simple)
        return value if end is None else replacement + value[end:]
    if mode == "suffix":
        for start in range(len(value) + 1):
            if expression.fullmatch(value, start):
                return value[:start] + replacement
        return value
    if not simple and expression.fullmatch(""):
        return None  # versions of bash differ in what an empty match replaces
    pieces: list[str] = []
    at = 0
    while at < len(value):
        end = _longest(expression, value, at, simple)
        if end is None or end == at:
            pieces.append(value[at])
            at += 1
            continue
        pieces.append(replacement)
        at = end
        if mode == "first":
            break
    return "".join(pieces) + value[at:]


def _longest(expression: re.Pattern[str], value: str, start: int, simple: bool) -> int | None:
    found = expression.match(value, start)
    if found is None or simple:
        return None if found is None else found.end()
    return next(end for end in range(len(value), start - 1, -1) if expression.fullmatch(value, start, end))


def _replace_single(
    value: str, nodes: tuple[_Node, ...], expression: re.Pattern[str], replacement: str, mode: str, holes: Holes | None
) -> str | None:
    """Patterns of one character, where no hole can hold a character that matches."""
    if len(nodes) != 1 or not isinstance(nodes[0], _Char) or mode not in ("first", "all"):
        return None
    for c in set(HOLE.findall(value)):
        letters, _ = _kind(c, holes)
        if letters is None or any(expression.fullmatch(letter) for letter in letters):
            # ``/`` of the first match only is still known where that match stands before every hole.
            first = expression.search(value)
            hole = HOLE.search(value)
            if mode == "first" and first is not None and hole is not None and first.start() < hole.start():
                break
            return None
    return expression.sub(lambda _: replacement, value, count=1 if mode == "first" else 0)
