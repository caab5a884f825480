"""What comments and names say about a run, as claims that can be checked.

Only statements of a form that leaves no doubt become a claim; a sentence that compares, remembers, supposes or negates gives none.
Positions are offsets into the text that was read, so that a caller can map them to the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

# A sentence with one of these speaks of something else than the value beside it: another version, a supposition, a comparison.
_HEDGE = re.compile(
    r"\b(mirrors?|same|like|unlike|vs\.?|versus|instead|previous(ly)?|formerly|old|used to|was|were|had|sibling|other|others|than|"
    r"upstream|originally|copied|based on|except|if|when|unless|whenever|would|could|should|might|may|cannot|can't|fails?|failed|"
    r"hang|hangs|oom|ooms|crash(es)?|rejects?|rejected|bumps?|bumped|raised?|lowered?|reduced?|from|before|after|until|default(s)?|"
    r"e\.g|for example|instance|todo|fixme|not|never|no longer|without|either|or|up to|at least|at most|per|every|both)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:\.(?=\d)[^.!?;\n]+|\.(?=\w)[^.!?;\n]*)*[.!?;]?")
_ROLE = r"(?P<role>prefill|decode)"
_PARALLEL = r"(?:D?EP|TEP|TP|PP|DCP|PCP|DP)\s*=?\s*\d{1,9}|no-dp-attn|dp-attn"

_WORKERS = re.compile(r"(?<![\w.-])(?P<prefill>\d{1,9})\s?[pP]\s?(?P<decode>\d{1,9})\s?[dD](?![A-Za-z0-9])")
_ROLE_COUNT = re.compile(
    rf"(?<![\w.=@])(?P<count>\d{{1,9}})\s+{_ROLE}(?:\s+(?P<noun>workers?|engines?|nodes?))?"
    rf"(?:\s*[(@]?\s*(?P<parallel>(?:{_PARALLEL})(?:\s*/\s*(?:{_PARALLEL}))*)(?:\s+each)?\s*\)?)?",
)
_NODES_OF = re.compile(r"^\W*Nodes:")
_BARE_END = re.compile(r"\s*(?:$|[+,;.)(:/]|and\b)")
_ROLE_PARALLEL = re.compile(
    rf"(?:(?<![\w.])(?P<count>\d{{1,9}})\s?x\s+)?"
    rf"(?<![\w-])(?P<parallel>(?:DEP|TEP|TP)\s*=?\s*\d{{1,9}})\s+{_ROLE}\b(?!\s+nodes?)"
)
_TOTALS = re.compile(r"(?<![\w.])(?P<nodes>\d{1,9})\s+nodes?\s*/\s*(?P<gpus>\d{1,9})\s+GPUs?\b")
_CONCURRENCY = re.compile(r"(?<![\w-])conc(?:urrency)?\s?=\s?(?P<value>\d{1,9})(?![\w.-])")
_ONE_PARALLEL = re.compile(r"(?P<name>D?EP|TEP|TP|PP|DCP|PCP|DP)\s*=?\s*(?P<value>\d{1,9})|(?P<switch>no-dp-attn|dp-attn)")


@dataclass(frozen=True, slots=True)
class Claim:
    """``name`` is what is claimed (``workers``, ``tp``, ``ep``, ``pp``, ``dep``, ``tep``, ``dp``, ``dp-attn``, ``nodes``, ``gpus``,
    ``concurrency``), ``role`` of which server (``prefill``, ``decode`` or ``""`` for the whole run), ``value`` the number (1 and 0 for
    switches); ``start``/``end`` are offsets.
    ``short`` marks workers written as ``1P2D``, which some count in nodes."""

    name: str
    role: str
    value: int
    start: int
    end: int
    short: bool = False


def topology_claims(text: str) -> list[Claim]:
    """Claims about workers, parallelism, nodes, GPUs and concurrency in the prose of a comment."""
    claims: list[Claim] = []
    for start, sentence in sentences(text):
        if _HEDGE.search(sentence):
            continue
        for match in _WORKERS.finditer(sentence):
            for role in ("prefill", "decode"):
                claims.append(Claim("workers", role, int(match[role]), start + match.start(), start + match.end(), True))
        counts = list(_ROLE_COUNT.finditer(sentence))
        nodes = _NODES_OF.search(sentence) is not None
        both = len({match["role"] for match in counts}) > 1
        for match in counts:
            noun = match["noun"] or ""
            name = "nodes" if noun.startswith("node") or (nodes and not noun) else "workers"
            # A bare "1024 decode" may be followed by anything; beside a count of the other role it is one of workers.
            if noun or match["parallel"] or (both and _BARE_END.match(sentence, match.end())):
                claims.append(Claim(name, match["role"], int(match["count"]), start + match.start(), start + match.end()))
            claims.extend(_parallel(match, start))
        for match in _ROLE_PARALLEL.finditer(sentence):
            if match["count"]:
                claims.append(Claim("workers", match["role"], int(match["count"]), start + match.start(), start + match.end()))
            claims.extend(_parallel(match, start))
        for match in _TOTALS.finditer(sentence):
            claims.append(Claim("nodes", "", int(match["nodes"]), start + match.start(), start + match.end()))
            claims.append(Claim("gpus", "", int(match["gpus"]), start + match.start(), start + match.end()))
        for match in _CONCURRENCY.finditer(sentence):
            claims.append(Claim("concurrency", "", int(match["value"]), start + match.start(), start + match.end()))
    return claims


def _parallel(match: re.Match[str], start: int) -> Iterator[Claim]:
    if match["parallel"] is None:
        return
    offset = start + match.start("parallel")
    for one in _ONE_PARALLEL.finditer(match["parallel"]):
        place = (offset + one.start(), offset + one.end())
        if one["switch"]:
            yield Claim("dp-attn", match["role"], int(one["switch"] == "dp-attn"), *place)
        else:
            yield Claim(one["name"].lower(), match["role"], int(one["value"]), *place)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a comment with their offsets. A line break inside a sentence is a blank; a blank line ends it."""
    start = 0
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            joined = paragraph.replace("\n", " ")
            for match in _SENTENCE.finditer(joined):
                if match.group().strip():
                    yield start + match.start(), match.group()
        start += len(paragraph)


# --- keys ------------------------------------------------------------------------------------------------------------

# Names that cannot be ordinary words: an environment variable with an underscore, a flag or key with a dash or an underscore.
_KEY = r"[`'\"]?(?:--)?(?P<key>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z][a-z0-9]*(?:[-_][a-z0-9]+)+)[`'\"]?"
_ABSENT = re.compile(rf"^\s*[-*]?\s*No\s+(?:explicit\s+|need\s+for\s+|)(?:{_KEY})\s*(?P<end>[:;,.—–]|--|-\s|$)")
_INSTEAD = re.compile(
    r"^\s*[`'\"]?(?P<is>-?\d{1,9}(?:\.\d{1,9})?)[`'\"]?,?\s+(?:not|rather than|instead of)\s+"
    r"[`'\"]?(?P<other>-?\d{1,9}(?:\.\d{1,9})?)[`'\"]?(?![\w.%])"
)
_KEY_VALUE = re.compile(
    rf"(?<![\w/$.{{-]){_KEY}\s?(?:=|:\s)\s?"
    rf"[`'\"]?(?P<value>-?\d{{1,9}}(?:\.\d{{1,9}})?|true|false|none|null)[`'\"]?(?![\w.-]|\s?[/*x×])"
)


@dataclass(frozen=True, slots=True)
class KeyClaim:
    """A statement about one key: ``absent`` (it is not set), or that it has ``value``."""

    key: str
    value: str | None
    absent: bool
    start: int
    end: int


def absence_claims(text: str) -> list[KeyClaim]:
    """``No KEY: ...`` at the beginning of a sentence."""
    claims: list[KeyClaim] = []
    for start, sentence in sentences(text):
        match = _ABSENT.match(sentence)
        if match:
            claims.append(KeyClaim(match["key"], None, True, start + match.start("key"), start + match.end("key")))
    return claims


def value_claims(text: str) -> list[KeyClaim]:
    """``KEY=VALUE`` and ``KEY: VALUE`` in sentences that speak of what is, not of what was or could be."""
    claims: list[KeyClaim] = []
    for start, sentence in sentences(text):
        matches = list(_KEY_VALUE.finditer(sentence))
        if not matches or _HEDGE.search(sentence):
            continue
        for match in matches:
            claims.append(KeyClaim(match["key"], match["value"], False, start + match.start(), start + match.end()))
    return claims


@dataclass(frozen=True, slots=True)
class InsteadClaim:
    """``A, not B``: the value beside the comment is ``value`` and not ``other``."""

    value: str
    other: str
    start: int
    end: int


def instead_claims(text: str) -> list[InsteadClaim]:
    """``0.90, not 0.95`` at the beginning of a comment."""
    match = _INSTEAD.match(text)
    return [InsteadClaim(match["is"], match["other"], match.start("is"), match.end("other"))] if match else []


# --- arithmetic ------------------------------------------------------------------------------------------------------

_UNITS = {"s": 1, "sec": 1, "seconds": 1, "min": 60, "minutes": 60, "m": 60, "h": 3600, "hours": 3600, "": 1}
_TERM = r"\d{1,9}(?:\.\d{1,9})?\s?(?:seconds|minutes|hours|sec|min|s|m|h)?"
_ARITHMETIC = re.compile(
    rf"(?<![\w.*/+×-])(?P<left>{_TERM}(?:\s?[x×*/]\s?{_TERM})+)\s?(?P<sign>=)\s?(?P<right>\d{{1,9}}(?:\.\d{{1,9}})?)\s?(?P<unit>seconds|minutes|hours|sec|min|s|m|h|x|%|K|k|M|G|GB|GiB)?(?![\w.×*/+-])"
)
_GOES_ON = re.compile(r"\s*(?:[+*/×]|[-x]\s*\d)")
_FACTORS = 16  # a longer product is no calculation of a person
_FACTOR = re.compile(r"(?P<sign>[x×*/])?\s?(?P<number>\d{1,9}(?:\.\d{1,9})?)\s?(?P<unit>seconds|minutes|hours|sec|min|s|m|h)?")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``left = right`` in a comment: ``result`` is what the left side is, in the unit of the right one; ``stated`` what the
    comment says."""

    text: str
    result: Fraction
    stated: Fraction
    factors: tuple[Fraction, ...]
    start: int
    end: int

    @property
    def holds(self) -> bool:
        """Whether it is right, to the precision with which the right side is written."""
        return abs(self.result - self.stated) <= Fraction(1, 2) * _last_place(self.text.rpartition("=")[2])


def arithmetic(text: str) -> list[Arithmetic]:
    """Products and quotients that a comment spells out, such as ``360x10s=3600s`` and ``8*2/8 = 2``."""
    found: list[Arithmetic] = []
    for match in _ARITHMETIC.finditer(text):
        unit = match["unit"] or ""
        if unit not in _UNITS or _part_of_more(text, match):
            continue
        value = Fraction(1)
        factors: list[Fraction] = []
        timed = 0
        for factor in _FACTOR.finditer(match["left"]):
            number = Fraction(factor["number"]) * _UNITS[factor["unit"] or ""]
            timed += bool(factor["unit"])
            if factor["sign"] == "/":
                if not number:
                    break
                value /= number
            else:
                value *= number
            factors.append(Fraction(factor["number"]))
        else:
            if len(factors) > _FACTORS:
                continue
            if timed > 1 or (timed == 1) != (unit != ""):
                continue  # units that do not match are prose, not arithmetic
            result, stated = value / _UNITS[unit], Fraction(match["right"])
            found.append(Arithmetic(match.group(), result, stated, tuple(factors), match.start(), match.end()))
    return found


def _part_of_more(text: str, match: re.Match[str]) -> bool:
    """Whether a calculation goes on before or behind what was matched: ``n * 2 * 3 = 12``, ``2 * 3 = 5 + 1``."""
    before = text[max(0, match.start() - 8) : match.start()].rstrip()
    return before.endswith(("*", "/", "+", "-", "×", " x", "x(", "(")) or _GOES_ON.match(text, match.end()) is not None


def _last_place(text: str) -> Fraction:
    digits = re.search(r"\d{1,9}(?:\.(\d{1,9}))?", text)
    decimals = len(digits[1]) if digits and digits[1] else 0
    return Fraction(1, 10**decimals)


# --- names -----------------------------------------------------------------------------------------------------------

_NAME_TOKEN = re.compile(r"(?P<parallel>(?:(?:tp|dep|tep|ep|pp|dcp|pcp|dp)\d{1,9})+)$")
_NAME_SIDE = re.compile(r"(?P<side>ctx|gen)(?P<workers>\d{1,9})(?P<parallel>(?:(?:tp|dep|tep|ep|pp|dcp|pcp|dp)\d{1,9})+)$")
_NAME_PART = re.compile(r"(?P<name>tp|dep|tep|ep|pp|dcp|pcp|dp)(?P<value>\d{1,9})")


@dataclass(frozen=True, slots=True)
class NameClaims:
    """What a file or recipe name says: workers of both roles, parallel groups in the order written, concurrencies."""

    workers: tuple[int, int] | None
    groups: tuple[tuple[tuple[str, int], ...], ...]
    concurrencies: tuple[int, ...]


def name_claims(name: str) -> NameClaims:
    """The claims in a name such as ``disagg-b200-1p2d-tp4-dep8-c16`` or ``ctx1dep2_gen13tp4_c78`` (without directory and ending)."""
    workers: tuple[int, int] | None = None
    groups: list[tuple[tuple[str, int], ...]] = []
    concurrencies: list[int] = []
    sides: dict[str, tuple[int, tuple[tuple[str, int], ...]]] = {}
    for token in re.split(r"[-_.]", name.lower()):
        pair = re.fullmatch(r"(\d{1,9})p(\d{1,9})d", token)
        concurrency = re.fullmatch(r"c(?:onc)?(\d{1,9})", token)
        if pair:
            workers = (int(pair[1]), int(pair[2]))
        elif concurrency:
            concurrencies.append(int(concurrency[1]))
        elif (side := _NAME_SIDE.match(token)) is not None:
            sides[side["side"]] = (
                int(side["workers"]),
                tuple((part["name"], int(part["value"])) for part in _NAME_PART.finditer(side["parallel"])),
            )
        elif _NAME_TOKEN.match(token):
            groups.append(tuple((part["name"], int(part["value"])) for part in _NAME_PART.finditer(token)))
    if workers is None and not groups and len(sides) == 2:
        workers = (sides["ctx"][0], sides["gen"][0])
        groups = [sides["ctx"][1], sides["gen"][1]]
    return NameClaims(workers, tuple(groups), tuple(concurrencies))
