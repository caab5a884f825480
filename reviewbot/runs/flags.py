"""From an argv to the flags of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reviewbot.catalog.engines import SWITCHES, canonical
from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Located


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag as written: ``name`` is canonical for the engine, ``spelling`` what stands in the argv; ``value`` is ``None`` for a
    switch."""

    name: str
    spelling: str
    value: str | None
    site: Site


def parse_flags(argv: Sequence[str], engine: str, site: Site) -> tuple[list[Flag], list[str]]:
    """The flags of ``argv`` (program words already cut off) in order, and the words that belong to none.

    A flag's values are the words up to the next flag: engines declare list flags (``--cuda-graph-bs 1 2 4``), and a negative number is
    a value.
    """
    switches = SWITCHES.get(engine, frozenset())
    flags: list[Flag] = []
    rest: list[str] = []
    position = 0
    while position < len(argv):
        word = argv[position]
        position += 1
        if not _is_flag(word):
            rest.append(word)
            continue
        place = word.site if isinstance(word, Located) else site
        spelling, equals, value = word.partition("=")
        name = canonical(engine, spelling.lstrip("-"))
        if equals:
            flags.append(Flag(name, spelling, value, place))
            continue
        values: list[str] = []
        if name not in switches:
            while position < len(argv) and not _is_flag(argv[position]):
                values.append(argv[position])
                position += 1
        flags.append(Flag(name, spelling, " ".join(values) if values else None, place))
    return flags, rest


def _is_flag(word: str) -> bool:
    if len(word) < 2 or word[0] != "-" or word == "--":
        return False
    return not (word[1].isdigit() or word[1] == ".")
