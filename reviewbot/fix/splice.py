"""Text put in exact places: nothing beside them is written anew."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reviewbot.engine.model import Replacement

BOM = b"\xef\xbb\xbf"


class SpliceError(Exception):
    """A place that the file does not have; the message says which."""


def spliced(data: bytes, replacements: Sequence[Replacement]) -> bytes:
    """The content with ``replacements`` (of one file, not overlapping) applied. Bytes outside of them stay as they are.

    A file whose lines end with CR LF gets these in what is put in, too. Raises ``SpliceError``.
    """
    mark = BOM if data.startswith(BOM) else b""
    text = data[len(mark) :].decode("utf-8", "surrogateescape")
    starts = [0]
    for index, character in enumerate(text):
        if character == "\n":
            starts.append(index + 1)
    windows = "\r\n" in text and text.count("\r\n") == text.count("\n")
    pieces: list[str] = []
    position = 0
    for one in sorted(replacements, key=lambda one: (one.line, one.column, one.end_line, one.end_column)):
        start, end = _offset(text, starts, one.line, one.column), _offset(text, starts, one.end_line, one.end_column)
        if start < position or end < start:
            raise SpliceError(f"{one.path}:{one.line}: the places overlap")
        pieces.extend((text[position:start], one.text.replace("\n", "\r\n") if windows else one.text))
        position = end
    pieces.append(text[position:])
    return mark + "".join(pieces).encode("utf-8", "surrogateescape")


def _offset(text: str, starts: Sequence[int], line: int, column: int) -> int:
    if not 1 <= line <= len(starts) or column < 1:
        raise SpliceError(f"there is no line {line}, column {column}")
    end = starts[line] - 1 if line < len(starts) else len(text)
    offset = starts[line - 1] + column - 1
    if offset > end:
        raise SpliceError(f"line {line} has no column {column}")
    return offset


def overlap(one: Iterable[Replacement], other: Iterable[Replacement]) -> bool:
    """Whether two sets of replacements touch a common place; two insertions at one place do."""
    theirs = list(other)
    return any(_meet(a, b) for a in one for b in theirs)


def _meet(one: Replacement, other: Replacement) -> bool:
    if one.path != other.path:
        return False
    a, b = (one.line, one.column), (one.end_line, one.end_column)
    c, d = (other.line, other.column), (other.end_line, other.end_column)
    return a == c or (a < d and c < b)
