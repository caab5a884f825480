"""Shell patterns: matching, trimming and replacing on values that may hold holes.

A pattern is a text in which a backslash makes the next character literal. Wildcards of one character never match a hole (nobody
knows how long it is); ``*`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from reviewbot.trace.values import HOLE, is_known

_SPECIAL = re.compile(r"[\\*?\[\]()|!@+]")
_MEANING = re.compile(r"[*?\[\]\\()]")
_HOLES = "\U000f0000-\U000ffffd"
_CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s", "blank": r" \t",
    "punct": re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), "xdigit": "0-9a-fA-F", "word": "a-zA-Z0-9_", "cntrl": r"\x00-\x1f\x7f",
}


@lru_cache(maxsize=4096)
def plain(text: str) -> bool:
    """Whether a text that stands unquoted as a pattern has nothing that could mean anything else than itself."""
    return _MEANING.search(text) is None


def escape(text: str) -> str:
    """``text`` as a pattern that matches only itself."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _class(pattern: str, start: int) -> tuple[str, int] | None:
    """The regular expression of the bracket expression at ``start`` and the index behind it; ``None`` where it is not closed."""
    index = start + 1
    negated = index < len(pattern) and pattern[index] in "!^"
    if negated:
        index += 1
    pieces: list[str] = []
    first = True
    while index < len(pattern):
        char = pattern[index]
        if char == "]" and not first:
            body = "".join(pieces)
            if negated:
                return f"[^{body}{_HOLES}]", index + 1
            return f"[{body}]", index + 1
        first = False
        if char == "[" and pattern.startswith("[:", index):
            end = pattern.find(":]", index)
            name = pattern[index + 2:end] if end > 0 else ""
            if name in _CLASSES:
                pieces.append(_CLASSES[name])
                index = end + 2
                continue
        if char == "\\" and index + 1 < len(pattern):
            index += 1
            char = pattern[index]
            pieces.append(re.escape(char))
        elif char == "-" and pieces and index + 1 < len(pattern) and pattern[index + 1] != "]":
            pieces.append("-")
        else:
            pieces.append(re.escape(char))
        index += 1
    return None


def _translate(pattern: str, index: int, nested: bool) -> tuple[str, int]:
    out: list[str] = []
    length = len(pattern)
    while index < length:
        char = pattern[index]
        if nested and char in "|)":
            break
        if char == "\\" and index + 1 < length:
            out.append(re.escape(pattern[index + 1]))
            index += 2
            continue
        if char in "?*+@!" and index + 1 < length and pattern[index + 1] == "(":
            arms: list[str] = []
            position = index + 2
            while True:
                arm, position = _translate(pattern, position, True)
                arms.append(arm)
                if position < length and pattern[position] == "|":
                    position += 1
                    continue
                break
            if position < length:  # the closing parenthesis
                body = "|".join(arms)
                out.append({"?": f"(?:{body})?", "*": f"(?:{body})*", "+": f"(?:{body})+", "@": f"(?:{body})",
                            "!": f"(?!(?:{body})\\Z).*"}[char])
                index = position + 1
                continue
        if char == "*":
            if not out or out[-1] != ".*":
                out.append(".*")
            index += 1
        elif char == "?":
            out.append(f"[^{_HOLES}]")
            index += 1
        elif char == "[":
            found = _class(pattern, index)
            if found is None:
                out.append("\\[")
                index += 1
            else:
                out.append(found[0])
                index = found[1]
        else:
            out.append(re.escape(char))
            index += 1
    return "".join(out), index


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> re.Pattern[str] | None:
    """The regular expression of a pattern; ``None`` where it makes none (an empty range)."""
    try:
        return re.compile(_translate(pattern, 0, False)[0], re.DOTALL)
    except (re.error, RecursionError):
        return None


@lru_cache(maxsize=4096)
def literal(pattern: str) -> str | None:
    """The only text that a pattern matches, ``None`` where it has wildcards."""
    out: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            index += 1
            out.append(pattern[index])
        elif char in "*?[" or (char in "+@!" and pattern.startswith("(", index + 1)):
            return None
        else:
            out.append(char)
        index += 1
    return "".join(out)


@lru_cache(maxsize=4096)
def _ends(pattern: str) -> tuple[str, str, bool]:
    """Known text at the beginning and the end of a pattern, and whether nothing but text and ``*`` is in it."""
    pieces: list[str] = [""]
    simple = True
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern):
            index += 1
            pieces[-1] += pattern[index]
        elif char in "*?[" or (char in "+@!" and pattern.startswith("(", index + 1)):
            simple = simple and char == "*" and not pattern.startswith("(", index + 1)
            if char != "*" or not simple:
                return pieces[0] if len(pieces) else "", "", False
            pieces.append("")
        else:
            pieces[-1] += char
        index += 1
    return pieces[0], pieces[-1], simple


def matches(pattern: str, value: str) -> bool | None:
    """Whether the whole value matches; ``None`` where holes leave it open. Knowledge about single holes is the caller's."""
    if is_known(value) and is_known(pattern):
        only = literal(pattern)
        if only is not None:
            return only == value
        regex = compiled(pattern)
        return regex is not None and regex.fullmatch(value) is not None
    only = literal(pattern)
    if only is not None and only == value:
        return True
    head, tail, simple = _ends(pattern)
    if simple and is_known(pattern):
        regex = compiled(pattern)
        if regex is not None and regex.fullmatch(value) is not None:
            return True
    if _differ(head, HOLE.split(value, 1)[0], only is None, is_known(value)):
        return False
    if simple and _differ(tail[::-1], HOLE.split(value)[-1][::-1], only is None, is_known(value)):
        return False
    return None


def _differ(wanted: str, known: str, wanted_open: bool, known_whole: bool) -> bool:
    wanted = HOLE.split(wanted, 1)[0]
    size = min(len(wanted), len(known))
    return wanted[:size] != known[:size]


def trim(value: str, pattern: str, suffix: bool, longest: bool) -> str:
    """``${value#pattern}`` and its three relatives."""
    only = literal(pattern)
    if only is not None:
        if suffix:
            return value[:len(value) - len(only)] if only and value.endswith(only) else value
        return value[len(only):] if value.startswith(only) else value
    if not suffix and pattern[0] == "*":
        text = literal(pattern[1:])
        if text:
            at = value.rfind(text) if longest else value.find(text)
            return value if at < 0 else value[at + len(text):]
    if suffix and pattern[-1] == "*" and not pattern.endswith("\\*"):
        text = literal(pattern[:-1])
        if text:
            at = value.find(text) if longest else value.rfind(text)
            return value if at < 0 else value[:at]
    regex = compiled(pattern)
    if regex is None:
        return value
    size = len(value)
    if suffix:
        starts = range(size + 1) if longest else range(size, -1, -1)
        for start in starts:
            if regex.fullmatch(value, start):
                return value[:start]
        return value
    for end in (range(size, -1, -1) if longest else range(size + 1)):
        if regex.fullmatch(value, 0, end):
            return value[end:]
    return value


def replace(value: str, pattern: str, replacement: str, every: bool, anchor: str = "") -> str:
    """``${value/pattern/replacement}``: ``anchor`` is ``#`` or ``%``."""
    if not pattern:
        return replacement + value if anchor == "#" else value + replacement if anchor == "%" else value
    only = literal(pattern)
    if only is not None:
        if anchor == "#":
            return replacement + value[len(only):] if value.startswith(only) else value
        if anchor == "%":
            return value[:len(value) - len(only)] + replacement if value.endswith(only) else value
        return value.replace(only, replacement) if every else value.replace(only, replacement, 1)
    regex = compiled(pattern)
    if regex is None:
        return value
    put: Callable[[re.Match[str]], str] = lambda _: replacement  # noqa: E731
    if anchor == "#":
        found = regex.match(value)
        return replacement + value[found.end():] if found else value
    if anchor == "%":
        for start in range(len(value) + 1):
            if regex.fullmatch(value, start):
                return value[:start] + replacement
        return value
    if not every:
        return regex.sub(put, value, count=1)
    out: list[str] = []
    position = 0
    for found in regex.finditer(value):
        if found.end() > found.start():
            out += (value[position:found.start()], replacement)
            position = found.end()
    out.append(value[position:])
    return "".join(out)
