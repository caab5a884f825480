"""Replacements are put in exact places, and nothing else changes."""

from __future__ import annotations

import pytest

from reviewbot.engine.model import Replacement
from reviewbot.fix.splice import SpliceError, overlap, spliced


def at(line: int, column: int, end_line: int, end_column: int, text: str, path: str = "a") -> Replacement:
    return Replacement(path, line, column, end_line, end_column, text)


@pytest.mark.parametrize(
    ("before", "places", "after"),
    [
        (b"one two\n", [at(1, 5, 1, 8, "three")], b"one three\n"),
        (b"a\nb\nc\n", [at(2, 1, 3, 1, "")], b"a\nc\n"),
        (b"a\nb\n", [at(2, 2, 2, 2, " # x"), at(1, 1, 1, 2, "z")], b"z\nb # x\n"),
        (b"a\r\nb\r\n", [at(1, 2, 1, 2, "\nx")], b"a\r\nx\r\nb\r\n"),
        (b"a\r\nb\n", [at(1, 2, 1, 2, "\nx")], b"a\nx\r\nb\n"),  # line breaks of both kinds stay as they are
        (b"\xef\xbb\xbfab\n", [at(1, 1, 1, 2, "x")], b"\xef\xbb\xbfxb\n"),
        (b"\xff\xfe a\n", [at(1, 4, 1, 5, "b")], b"\xff\xfe b\n"),
        ("käse b\n".encode(), [at(1, 6, 1, 7, "c")], "käse c\n".encode()),
        (b"end", [at(1, 4, 1, 4, "\n")], b"end\n"),
    ],
)
def test_spliced(before: bytes, places: list[Replacement], after: bytes):
    assert spliced(before, places) == after


@pytest.mark.parametrize("place", [at(3, 1, 3, 1, "x"), at(1, 9, 1, 9, "x"), at(1, 0, 1, 1, "x"), at(2, 1, 1, 1, "x")])
def test_places_that_are_not_there(place: Replacement):
    with pytest.raises(SpliceError):
        spliced(b"one\ntwo", [place])


def test_overlap():
    assert overlap([at(1, 1, 1, 4, "")], [at(1, 3, 1, 5, "")])
    assert overlap([at(1, 2, 1, 2, "a")], [at(1, 2, 1, 2, "b")])
    assert not overlap([at(1, 1, 1, 4, "")], [at(1, 4, 1, 5, "")])
    assert not overlap([at(1, 1, 1, 4, "")], [at(1, 1, 1, 4, "", "b")])
