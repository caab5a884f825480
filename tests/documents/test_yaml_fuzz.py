"""Against PyYAML itself: the same values where it loads, a problem where it does not, and never an exception."""

from __future__ import annotations

import datetime
import re

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reviewbot.documents.nodes import plain
from reviewbot.documents.yaml import comment_blocks, node_at, parse_yaml, path_of, trailing_comments

# Problems of documents that PyYAML loads all the same.
_HARMLESS = {"utf-16", "too-deep", "alias-bomb", "recursive-alias"}
_SEEDS = (
    "a: &x {b: 1, c: [2, 3]}\nd:\n  <<: *x\n  b: 4\n",
    "list:\n  - tp: 8   # comment\n    conc: [4, 8, 0x10, 0o7, 017, 1_000, 1:30, 1.5e+3, .5, -.inf]\n  - ~\n",
    'text: |+\n  keep # not a comment\n\n # comment\nfolded: >-\n  a\n  b\nq: "x \\u00e9\\n"\n',
    "? complex\n: value\non: yes\n'on': no\n2024-01-02: 2024-01-02 10:00:00\n=: <<\n",
    "---\na: 1\n...\n---\n- !!str 5\n- ! 6\n- *a\n",
    "- &a [x, *b, &b y]\n- <<: [*a, {c: 1}]\n- {a, b: , ? c}\n",
)
_ALPHABET = "ab01:-_.,#&*!|>'\"%@`?[]{}<=~+eExXn \n\n\t  \r\u00e9\u2028"


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(_SEEDS))
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 6)))
        text = text[:start] + draw(st.text(_ALPHABET, max_size=4)) + text[end:]
    return text


def _undated(value: object) -> object:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return "date"
    if isinstance(value, dict):
        return {_undated(key): _undated(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_undated(item) for item in value]
    return value


def _dated(value: object) -> object:
    pattern = yaml.constructor.SafeConstructor.timestamp_regexp
    if isinstance(value, str) and pattern.match(value):
        return "date"
    if isinstance(value, dict):
        return {_dated(key): _dated(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_dated(item) for item in value]
    return value


def _check(data: bytes) -> None:
    document = parse_yaml(data)
    for block in comment_blocks(document):
        assert block.comments
    trailing_comments(document)
    for line in range(1, len(document.lines) + 2):
        node = node_at(document, line)
        assert node is None or path_of(document, node) is not None
    for problem in document.problems:
        assert 1 <= problem.span.line <= len(document.lines) + 1
        assert problem.span.column >= 1
    codes = {problem.code for problem in document.problems}
    try:
        expected = list(yaml.load_all(data, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, IndexError, KeyError, AttributeError, TypeError, RecursionError):
        # PyYAML counts a document as read before it fails on a later one; either way something must be said.
        assert document.problems
        return
    if codes & _HARMLESS or re.search(rb"!!(set|omap|pairs|binary|timestamp)", data) or re.search(b"[\xf3]", data):
        return
    assert not codes, document.problems
    got = [plain(root) for root in document.documents]
    # A quoted date is text to both: compare with all that looks like a date set aside.
    assert repr([_dated(item) for item in got]) == repr([_dated(_undated(item)) for item in expected])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_mutated())
@example("a: &x 1\nb: &x 2\nc: *x\n")
@example("{a: 1, <<: {a: 2, b: 3}}")
@example("&a : *a")
@example("a: x\r\n  y\r\r\nb: 'q\r\n  # no\r\n  r' # yes\r\n")
@example("a: 1:99\nb: 190:20:30\nc: 0_8\nd: +1\ne: -0b11\nf: 1e5\ng: 1.e+5")
def test_mutated_documents_load_as_pyyaml_loads_them(text: str) -> None:
    _check(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300, deadline=None)
@given(st.text(_ALPHABET, max_size=30))
def test_texts_of_indicators_load_as_pyyaml_loads_them(text: str) -> None:
    _check(text.encode())


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60))
@example(b"\xff\xfea\x00")
@example(b"\xfe\xff\x00")
@example(b"\x00\x00\xfe\xff")
@example(b"\xef\xbb")
def test_bytes_never_raise(data: bytes) -> None:
    document = parse_yaml(data, "x.yaml", github=True)
    assert document.path == "x.yaml"
    parse_yaml(data)
    comment_blocks(document)


@pytest.mark.parametrize("seed", _SEEDS)
def test_seeds_agree_with_pyyaml(seed: str) -> None:
    _check(seed.encode())
