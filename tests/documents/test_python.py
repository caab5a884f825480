from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.documents.positions import Span
from reviewbot.documents.python import ArgparseFlag, EnvironmentRead, parse_python

TEXT = '''\
"""Module."""
import os
import os as system
from os import environ as e, getenv

ENV = os.environ


class Reader:
    """Doc."""

    async def read(self, path, *rest, key=None, **more):
        def inner(x, /, y):
            return "é", f"a{path}b"
        return os.environ["TOKEN"]


def main():
    parser.add_argument("--tensor-parallel-size", "-tp", type=int, default=8, help="GPUs")
    parser.add_argument("-c", "--conc", dest="concurrency", action="append", required=True, choices=[1, 2])
    parser.add_argument("model", type=pathlib.Path, default=DEFAULT)
    parser.add_argument(name)
    os.environ.get("PORT", "8000")
    getenv("A", default=None)
    system.getenv("B")
    e["C"], ENV["D"]
    ENV.pop("E"), ENV.pop("F", "")
    "G" in os.environ
    os.environ["WRITTEN"] = "1"
    os.environ.get(name)
    other["NOT"], other.get("NOT")
    del os.environ["H"]
'''


def test_functions_flags_and_environment() -> None:
    document = parse_python(TEXT.encode(), "x.py")
    assert document.problems == () and document.tree is not None
    assert [(function.name, function.line, function.parameters) for function in document.functions] == [
        ("Reader.read", 12, ("self", "path", "rest", "key", "more")),
        ("Reader.read.inner", 13, ("x", "y")),
        ("main", 18, ()),
    ]
    assert document.functions[0].end_line == 15
    assert document.flags == (
        ArgparseFlag(("--tensor-parallel-size", "-tp"), "tensor_parallel_size", 19, None, "int", 8, True, False, None, "GPUs"),
        ArgparseFlag(("-c", "--conc"), "concurrency", 20, "append", None, None, False, True, (1, 2), None),
        ArgparseFlag(("model",), "model", 21, None, "pathlib.Path", None, True, True, None, None),
    )
    assert document.environment == (
        EnvironmentRead("TOKEN", 15, True),
        EnvironmentRead("PORT", 23, False, "8000"),
        EnvironmentRead("A", 24, False),
        EnvironmentRead("B", 25, False),
        EnvironmentRead("C", 26, True),
        EnvironmentRead("D", 26, True),
        EnvironmentRead("E", 27, True),
        EnvironmentRead("F", 27, False, ""),
        EnvironmentRead("G", 28, False),
    )


def test_strings() -> None:
    document = parse_python(TEXT.encode())
    strings = {string.value: string for string in document.strings}
    assert strings["Module."].docstring and strings["Doc."].docstring and not strings["TOKEN"].docstring
    assert strings["é"].span == Span(14, 20, 14, 23)
    assert strings["a"].span == strings["b"].span == Span(14, 25, 14, 36)
    assert strings["TOKEN"].span == Span(15, 27, 15, 34)


@pytest.mark.parametrize(
    ("data", "code", "line", "fatal"),
    [
        (b"x = 1\ny = (\n", "python-syntax", 2, True),
        (b"x\n\0", "python-syntax", 2, True),
        (b"x = 1\n# \xff\n", "invalid-utf8", 2, False),
        (b"# coding: nope\nx = 1\n", "invalid-utf8", 1, False),
        (b"-" * 200_000 + b"1", "too-deep", 1, True),
        (b"x = " + b"9" * 10_000, "python-syntax", 1, True),
        (b"(" * 1000, "python-syntax", 1, True),
        (b"if x:\n\tpass\n        pass\n", "python-syntax", 3, True),
    ],
)
def test_problems(data: bytes, code: str, line: int, fatal: bool) -> None:
    document = parse_python(data)
    assert [(problem.code, problem.span.line, problem.fatal) for problem in document.problems] == [(code, line, fatal)]
    assert (document.tree is None) is fatal


def test_encodings_and_line_ends() -> None:
    assert parse_python("# coding: latin-1\nx = 'é'\n".encode("latin-1")).strings[0].value == "é"
    assert parse_python(b"\xef\xbb\xbfx = 'a'\r\ny = 'b'\r").strings[1].span.line == 2
    assert parse_python(b"").problems == ()
    assert parse_python(b"x = '\\d'\n").problems == ()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(TEXT)), st.integers(0, 20), st.binary(max_size=6))
def test_mutated_files_never_raise(start: int, length: int, inserted: bytes) -> None:
    data = TEXT.encode()
    document = parse_python(data[:start] + inserted + data[start + length :])
    assert document.tree is not None or document.problems
