"""The parts of a shell's state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Statement
from reviewbot.trace.effects import Variable
from reviewbot.trace.files import LineOrigin


@dataclass(frozen=True, slots=True, eq=False)
class Array:
    """An array (``items`` by number, in order) or an associative array; never changed in place.

    ``open`` marks one that was filled from an unknown text: nobody knows how many items it has.
    """

    items: dict[int | str, str]
    associative: bool
    site: Site | None
    exported: bool = False
    open: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """``declare -n``."""

    target: str


Slot = Union[Variable, Array, Reference]


@dataclass(frozen=True, slots=True, eq=False)
class Definition:
    """A function and the file that it was defined in."""

    name: str
    body: Statement
    place: Place


@dataclass(frozen=True, slots=True)
class Place:
    """Where the text being evaluated stands: ``offset`` is added to its lines; ``fixed`` serves for texts without a file (``eval``)."""

    path: str
    offset: int = 0
    fixed: Site | None = None
    lines: tuple[str, ...] = ()
    shown: str = ""  # ``BASH_SOURCE``
    sites: dict[int, Site] = field(default_factory=dict, compare=False, repr=False)  # those that were asked for, by line


class Buffer:
    """Output that somebody collects."""

    __slots__ = ("chunks", "lines", "size")

    def __init__(self) -> None:
        self.chunks: list[str] = []
        self.lines: tuple[LineOrigin, ...] | None = None  # known where the whole output is one text with origins
        self.size = 0

    def write(self, text: str, lines: tuple[LineOrigin, ...] | None) -> None:
        self.lines = lines if not self.chunks else None
        self.chunks.append(text)
        self.size += len(text)

    def text(self) -> str:
        return self.chunks[0] if len(self.chunks) == 1 else "".join(self.chunks)


@dataclass(frozen=True, slots=True)
class FileSink:
    path: str


class Terminal:
    """Output that nobody collects."""

    __slots__ = ()


class Null:
    __slots__ = ()


class Source:
    """Input: a text that is read piece by piece."""

    __slots__ = ("lines", "position", "text")

    def __init__(self, text: str, lines: tuple[LineOrigin, ...] | None = None) -> None:
        self.text = text
        self.position = 0
        self.lines = lines

    def rest(self) -> str:
        text = self.text[self.position:] if self.position else self.text
        self.position = len(self.text)
        return text

    def until(self, delimiter: str) -> tuple[str, bool]:
        """The text up to the delimiter, and whether it was there."""
        at = self.text.find(delimiter, self.position)
        if at < 0:
            return self.rest(), False
        text = self.text[self.position:at]
        self.position = at + len(delimiter)
        return text, True


Stream = Union[Buffer, FileSink, Terminal, Null, Source]
TERMINAL = Terminal()
NULL = Null()
