"""What a sentence of a changelog says about configurations: images, lists and ranges of concurrencies, parallelism, commits, keys.

Like the claims of comments: a sentence that speaks of what was, or of something else, gives none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OTHER = re.compile(
    r"\b(?:instead of|rather than|unlike|previous(?:ly)?|formerly|was|were|had|than|revert(?:s|ed)?|drop(?:s|ped|ping)?|"
    r"remov(?:e[sd]?|ing)|"
    r"not|no longer|never|without|exclud(?:e[sd]?|ing)|skip(?:s|ped)?|replac(?:e[sd]?|ing)|mirror(?:s|ed|ing)?|same as|"
    r"match(?:es|ing)?|sibling|"
    r"follows?|following|like|based on|comparable|compared|vs\.?|versus|unchanged|retir(?:e[sd]?|ing)|delet(?:e[sd]?|ing)|"
    r"mov(?:e[sd]?|ing)|"
    r"only (?:at|for)|failed|fails?|OOMs?|crash(?:es|ed)?|baseline|upstream|existing|original(?:ly)?|if|when|up from|down from)\b",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"(?<![\w./#-])(?:[\w.-]{2,100}[/#]){1,4}[\w.-]{2,100}:(?P<tag>[A-Za-z0-9][\w.-]{2,120})(?![\w/:])")
_LIST = re.compile(r"(?P<before>[^\[\].;]{0,60})\[(?P<values>\d{1,6}(?:\s*,\s*\d{1,6}){1,60})\]")
_RANGE = re.compile(
    r"(?P<before>[^().;]{0,60})\(?\bconc(?:urrenc(?:y|ies))?\s+(?P<low>\d{1,6})\s?(?:-|–|to|\.\.)\s?(?P<high>\d{1,6})(?![\d.%])"
)
_CONCURRENCY = re.compile(r"\bconc(?:urrenc(?:y|ies))?\b", re.IGNORECASE)
_PARALLEL = re.compile(r"(?<![\w.-])(?P<name>DEP|TEP|TP|EP)-?(?P<value>\d{1,3})(?![\w.])")
_COMMIT = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{40}(?![0-9A-Za-z])")


@dataclass(frozen=True, slots=True)
class Said:
    """``kind``: ``image``, ``list``, ``range``, ``parallel``, ``commit``. ``numbers`` are those of lists, ranges and parallelism;
    ``groups`` the parallelism (``("dep", 8)``) that a list or range is said to be of, ``attention`` whether of data-parallel attention.
    Offsets are those of the whole text."""

    kind: str
    text: str
    start: int
    end: int
    numbers: tuple[int, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    attention: bool = False


def said(text: str) -> list[Said]:
    """What a description says of the state after the change."""
    return [claim for start, sentence in _sentences(text) for claim in _sentence(start, sentence)]


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for end in re.finditer(r"[.;]\s+|\n", text):
        yield start, text[start : end.start()]
        start = end.end()
    yield start, text[start:]


def _sentence(start: int, sentence: str) -> Iterator[Said]:
    for match in _COMMIT.finditer(sentence):
        yield Said("commit", match.group(), start + match.start(), start + match.end())
    if _OTHER.search(sentence):
        return
    for match in _IMAGE.finditer(sentence):
        before, behind = sentence[: match.start()].rstrip(" `'\""), sentence[match.end() :].lstrip(" `'\"")
        if not re.search(r"\bfrom$", before, re.IGNORECASE) and not re.match(r"(?:to\b|->|→|=>)", behind):
            name = match.group().rstrip(".")
            yield Said("image", name, start + match.start(), start + match.start() + len(name))
    for match in _LIST.finditer(sentence):
        behind = sentence[match.end() :].lstrip(" `'\"")
        groups = _groups(match["before"])
        about = _CONCURRENCY.search(match["before"]) is not None or (groups and _CONCURRENCY.search(sentence) is not None)
        if about and not re.match(r"(?:to\b|->|→|=>)", behind) and not re.search(r"\bfrom\W*$", match["before"]):
            values = tuple(int(value) for value in match["values"].split(","))
            place = (start + match.start("values") - 1, start + match.end())
            yield Said("list", sentence[place[0] - start : place[1] - start], *place, values, groups, _attention(match["before"]))
    for match in _RANGE.finditer(sentence):
        place = (start + match.start("low"), start + match.end("high"))
        bounds = (int(match["low"]), int(match["high"]))
        yield Said("range", f"{bounds[0]}-{bounds[1]}", *place, bounds, _groups(match["before"]), _attention(match["before"]))
    for match in _PARALLEL.finditer(sentence):
        value = int(match["value"])
        yield Said("parallel", match.group(), start + match.start(), start + match.end(), (value,), ((match["name"].lower(), value),))


def _groups(before: str) -> tuple[tuple[str, int], ...]:
    """The parallelism that is named last in front of a list: that of one group, else none."""
    found = [(match["name"].lower(), int(match["value"])) for match in _PARALLEL.finditer(before.rpartition("]")[2])]
    return tuple(found[-1:])


def _attention(before: str) -> bool:
    return re.search(r"\b(?:dp-?attn|DPA|DP attention)\b", before, re.IGNORECASE) is not None
