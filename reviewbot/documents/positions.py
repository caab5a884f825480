"""Places in files: what every layer uses to say *where*.

Lines and columns count from 1, in characters of the decoded text; an end column is exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Site(NamedTuple):
    """A line of a file: the smallest piece of provenance."""

    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Span(NamedTuple):
    """A range of text; ``end_line``/``end_column`` point behind the last character."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with a document itself: bad bytes, bad syntax, a limit that was hit.

    ``code`` is a stable word (``invalid-utf8``, ``yaml-syntax``, ``shell-syntax``, ``too-large`` ...), ``message`` a
    sentence for people. ``fatal`` says that nothing could be read from the document.
    """

    code: str
    message: str
    span: Span
    fatal: bool = False
