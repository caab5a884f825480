"""Values of the symbolic shell: text in which an unknown piece is a *hole*.

A value is a plain ``str``. A hole is one private-use character (U+F0000 and up) that stands for text nobody can know
without running the script: a job id, ``date``, the output of a Python helper. All string operations of the shell
(concatenation, ``%%``, globbing on the known part, ``sed``) therefore work on values as they are, and whether a value is fully
known is one scan. Text that comes from files has such characters replaced on the way in, so no file can forge a hole.

Equality of holes is identity: the same hole twice is the same unknown text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reviewbot.documents.positions import Site

FIRST_HOLE = 0xF0000
LAST_HOLE = 0xFFFFD
HOLE = re.compile("[\U000f0000-\U000ffffd]")


@dataclass(frozen=True, slots=True)
class Hole:
    """What is known about an unknown piece of text.

    ``label`` names it for people (``output of date +%Y%m%d``). ``choices`` are the values it can have where they are known (they
    may hold holes themselves): the result of an assignment on a path that cannot be decided. ``witness`` is a text of the right
    form (a job id ``12345``) that text commands may compute with, so that the hole survives ``grep -oP``, ``sed`` and ``cut``;
    it must never reach arithmetic. ``nonempty`` and ``numeric`` decide ``-n``, ``-z`` and number tests.
    """

    label: str
    site: Site | None
    nonempty: bool = False
    numeric: bool = False
    witness: str | None = None
    choices: tuple[str, ...] | None = None


def is_known(value: str) -> bool:
    """Whether a value has no hole."""
    return value.isascii() or HOLE.search(value) is None


class Holes:
    """The holes of one trace: hands out characters, tells what they stand for."""

    def __init__(self) -> None:
        self._holes: list[Hole] = []

    def new(self, hole: Hole) -> str:
        """A fresh character for ``hole``.

        Raises ``OverflowError`` when a trace asks for more than 65,534 of them.
        """
        code = FIRST_HOLE + len(self._holes)
        if code > LAST_HOLE:
            raise OverflowError("too many unknown values in one trace")
        self._holes.append(hole)
        return chr(code)

    def of(self, character: str) -> Hole:
        return self._holes[ord(character) - FIRST_HOLE]

    def __len__(self) -> int:
        return len(self._holes)


def without_forged_holes(text: str) -> str:
    """``text`` with private-use characters of the hole range replaced by U+FFFD."""
    return text if text.isascii() else HOLE.sub("\ufffd", text)
