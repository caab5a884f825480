from __future__ import annotations

import subprocess
import sys
import time

import pytest

from reviewbot.documents.nodes import Entry, Mapping, Node, Scalar, Sequence, find, plain
from reviewbot.documents.positions import Span
from reviewbot.documents.yaml import (
    MAX_EXPANDED,
    YamlDocument,
    comment_blocks,
    entry_at,
    node_at,
    parse_yaml,
    path_of,
    trailing_comments,
)
from reviewbot.documents.yaml_versions import yaml12_differences


def at(document: YamlDocument, *path: str | int) -> Node:
    node = find(document.root, *path)
    assert node is not None
    return node


def codes(data: bytes) -> list[tuple[str, int, int]]:
    return [(problem.code, problem.span.line, problem.span.column) for problem in parse_yaml(data).problems]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8:00:00", 28800),
        ("2_063_837", 2063837),
        ("017", 15),
        ("0o17", "0o17"),
        ("0x1F", 31),
        ("0b101", 5),
        ("08", "08"),
        ("1e3", "1e3"),
        ("1.5e+3", 1500.0),
        ("1:30.5", 90.5),
        ("on", True),
        ("Off", False),
        ("y", "y"),
        ("~", None),
        ("", None),
        ("null", None),
        ("2024-01-02", "2024-01-02"),
        ("'on'", "on"),
        ('"5"', "5"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("! 5", 5),
        ("! '5'", 5),
        ("-1_0", -10),
    ],
)
def test_scalars_are_resolved_as_pyyaml_does(written: str, value: object) -> None:
    document = parse_yaml(f"a: {written}\n".encode())
    assert document.problems == ()
    got = plain(document.root)
    assert got == {"a": value}
    assert type(at(document, "a").value) is type(value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("8:00:00", "8:00:00"),
        ("2_0", "2_0"),
        ("017", 17),
        ("0o17", 15),
        ("1e3", 1000.0),
        ("on", "on"),
        ("yes", "yes"),
        ("TRUE", True),
        ("<<", "<<"),
        ("2024-01-02", "2024-01-02"),
        (".5", 0.5),
        ("~", None),
        ("=", "="),
    ],
)
def test_scalars_are_resolved_as_github_does(written: str, value: object) -> None:
    document = parse_yaml(f"on: {written}\n".encode(), github=True)
    assert document.problems == ()
    assert plain(document.root) == {"on": value}


def test_places_of_scalars() -> None:
    text = 'é: "x y"  # c\nkey: &a !!str\n  plain\nblock: |+  # h\n  one\n\n  two\n\n# after\nflow: [a,\n  b]\nlast: *a\n'
    document = parse_yaml(text.encode())
    assert document.problems == ()
    assert at(document, "é").span == Span(1, 4, 1, 9)
    assert at(document, "key").span == Span(3, 3, 3, 8)
    block = at(document, "block")
    assert isinstance(block, Scalar)
    assert (block.style, block.value, block.span) == ("|", "one\n\ntwo\n\n", Span(4, 8, 7, 6))
    assert block.raw == "|+  # h\n  one\n\n  two"
    assert at(document, "flow").span == Span(10, 7, 11, 5)
    assert at(document, "flow", 1).span == Span(11, 3, 11, 4)
    assert at(document, "last") is at(document, "key")
    assert isinstance(document.root, Mapping)
    entry = document.root.entry("last")
    assert entry is not None and entry.alias == Span(12, 7, 12, 9)
    assert document.root.span == Span(1, 1, 12, 9)
    for value in ("é", "key", "flow"):
        span = at(document, value).span
        if span.line == span.end_line:
            node = at(document, value)
            assert isinstance(node, Scalar)
            assert document.lines[span.line - 1][span.column - 1 : span.end_column - 1] == node.raw


def test_other_line_breaks_of_yaml_do_not_shift_lines() -> None:
    document = parse_yaml('a: "x\u2028y"\nb: 1\r\nc: "p\x85q"\nd: 2\n'.encode())
    assert [at(document, key).span.line for key in "abcd"] == [1, 2, 3, 4]
    assert at(document, "d").span == Span(4, 4, 4, 5)
    assert document.lines[1] == "b: 1"


def test_merge_keys() -> None:
    document = parse_yaml(b"x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 3\nw:\n  <<: *x\n  <<: *y\n")
    assert document.problems == () and document.duplicates == ()
    assert plain(at(document, "z")) == {"b": 1, "c": 2, "a": 3}
    assert plain(at(document, "w")) == {"a": 1, "b": 2, "c": 2}
    node = at(document, "z")
    assert isinstance(node, Mapping)
    assert [entry.key.text for entry in node.entries if isinstance(entry.key, Scalar)] == ["a"]
    assert [entry.key.span.line for entry in node.merges] == [4]
    assert node.merged == [at(document, "x"), at(document, "y")]


def test_duplicates_are_told_with_both_places() -> None:
    document = parse_yaml(b"list:\n- a: 1\n  b: 2\n  'a': 3\n1: x\n1: y\nTrue: z\n")
    assert [(found.key, found.first.line, found.second.line, found.path) for found in document.duplicates] == [
        ("a", 2, 4, ("list", 0, "a")),
        ("1", 5, 6, (1,)),
        ("True", 5, 7, ("True",)),
    ]
    assert plain(document.root) == {"list": [{"a": 3, "b": 2}], 1: "z"}


def test_comments() -> None:
    text = (
        "# one\n#two\n\na: 'x # no' # yes\nb: |  # header\n  # text\n # end\nc: x#y\nd: [1, # in\n  2]\n"
        'e: !<tag:yaml.org,2002:str> z\nf: !!str #tagged\n  g\r\nh: "a\n  # no\n  b"   #  three \n'
    )
    document = parse_yaml(text.encode())
    assert [(comment.text, comment.span.line, comment.span.column, comment.own_line) for comment in document.comments] == [
        ("one", 1, 1, True),
        ("two", 2, 1, True),
        ("yes", 4, 13, False),
        ("header", 5, 7, False),
        ("end", 7, 2, True),
        ("in", 9, 8, False),
        ("tagged", 12, 10, False),
        (" three ", 16, 8, False),
    ]
    assert document.comments[0].span == Span(1, 1, 1, 6)
    assert document.problems == ()


def test_there_are_no_comments_behind_an_error() -> None:
    document = parse_yaml(b"a: 1 # one\nb: @x\nc: 'x # y'\n")
    assert [comment.text for comment in document.comments] == ["one"]


def test_comment_blocks_and_trailing_comments() -> None:
    text = (
        "# head\n# of file\n\n# about a\na:\n  # about b\n  b: 1  # behind b\n  list:\n  # about item\n  - x: 1  # behind x\n  - y  # behind y\n"
        "    # deeper than what follows\nz: 1\n# end\n"
    )
    document = parse_yaml(text.encode())
    blocks = comment_blocks(document)
    assert [(len(block.comments), block.span.line, block.path, block.adjacent) for block in blocks] == [
        (2, 1, ("a",), False),
        (1, 4, ("a",), True),
        (1, 6, ("a", "b"), True),
        (1, 9, ("a", "list", 0, "x"), True),
        (1, 12, (), False),
        (1, 14, (), False),
    ]
    assert isinstance(blocks[2].below, Entry) and blocks[4].below is None and blocks[5].below is None
    assert [(comment.text, path) for comment, _, path in trailing_comments(document)] == [
        ("behind b", ("a", "b")),
        ("behind x", ("a", "list", 0, "x")),
        ("behind y", ("a", "list", 1)),
    ]


def test_nodes_by_line_and_paths_by_node() -> None:
    document = parse_yaml(b"a:\n  run: |\n    one\n\n    two\n  list: [1,\n    2]\n\nb: &b\n- *c\n".replace(b"*c", b"c") + b"d: *b\n")
    script = at(document, "a", "run")
    for line in (2, 3, 4, 5):
        assert node_at(document, line) is script
    assert path_of(document, script) == ("a", "run")
    assert node_at(document, 7) is at(document, "a", "list", 1)
    assert node_at(document, 8) is None and node_at(document, 99) is None
    assert path_of(document, at(document, "d")) == ("b",)
    assert path_of(document, Scalar(1, "1", "1", "", "", Span(1, 1, 1, 1))) is None
    entry = entry_at(document, 11)
    assert entry is not None and entry[1] == ("d",)
    several = parse_yaml(b"a: 1\n---\n- b\n")
    second = several.documents[1]
    assert isinstance(second, Sequence) and path_of(several, second.items[0]) == (1, 0)


def test_several_documents_and_none() -> None:
    document = parse_yaml(b"a: 1\n---\n- 2\n...\n")
    assert [plain(root) for root in document.documents] == [{"a": 1}, [2]]
    assert plain(document.root) == {"a": 1}
    for data in (b"", b"# only\n", b"\xef\xbb\xbf", b"\n\n"):
        document = parse_yaml(data)
        assert document.root is None and document.problems == () and document.documents == ()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a: 1\nb: \xff\n", [("invalid-utf8", 2, 4)]),
        (b"\xff\xfea\0:\0 \x001\0", [("utf-16", 1, 1)]),
        (b"\xef\xbb\xbfa: 1\r\nb: |\r\n  x\r\n", []),
        (b"a:\n\tb: 1\n", [("yaml-syntax", 2, 1)]),
        (b"a: 1\nb: x\0y\n", [("control-character", 2, 5)]),
        (b"a: *none\n", [("undefined-alias", 1, 4)]),
        (b"a: &x [*x]\n", [("recursive-alias", 1, 8)]),
        (b"a: &x 1\nb: &x 2\n", [("duplicate-anchor", 2, 7)]),
        (b"a: " + b"9" * 100_000, [("bad-value", 1, 4)]),
        (b"a: " + b"1:00" + b":00" * 100_000, [("bad-value", 1, 4)]),
        (b"a: 2024-13-45\n", [("bad-value", 1, 4)]),
        (b"a: !!python/object/apply:os.system ['x']\n", [("unknown-tag", 1, 36)]),
        (b"a: !foo b\n", [("unknown-tag", 1, 9)]),
        (b"a: !!int x\n", [("bad-value", 1, 10)]),
        (b"a: !!map x\n", [("bad-value", 1, 10)]),
        (b"a: !!str [x]\n", [("bad-value", 1, 10)]),
        (b"? [a]\n: b\n", [("complex-key", 1, 3)]),
        (b"a: =\n", [("bad-value", 1, 4)]),
        (b"<<: 1\n", [("bad-value", 1, 5)]),
        (b'a: 1\nb: "x\nc: 2\n', [("yaml-syntax", 2, 4)]),
        (b'a: 1\nb: "x\nc: "y"\nd: 3\n', [("yaml-syntax", 2, 4)]),
        (b"a: 1\nb: [1, 2\nc: 3\nd: 4\n", [("yaml-syntax", 2, 4)]),
        (b"a: {x: 1\n", [("yaml-syntax", 1, 4)]),
        (b"a: 'it's'\n", [("yaml-syntax", 1, 8)]),
        (b"a: b: c\n", [("yaml-syntax", 1, 5)]),
        (b"a: @x\n", [("yaml-syntax", 1, 4)]),
        (b"a:\n- b\n-c\n", [("yaml-syntax", 3, 1)]),
        (b"[" * 101 + b"]" * 101, [("too-deep", 1, 101)]),
        (b"[" * 100 + b"]" * 100, []),
    ],
)
def test_problems_have_a_code_and_a_place(data: bytes, expected: list[tuple[str, int, int]]) -> None:
    assert codes(data) == expected


def test_what_stands_before_an_error_is_kept() -> None:
    document = parse_yaml(b"a: 1\nb:\n  c: [2, 3]\n  d: 'open\n")
    assert plain(document.root) == {"a": 1, "b": {"c": [2, 3], "d": None}}
    (problem,) = document.problems
    assert not problem.fatal and "never closed" in problem.message
    assert parse_yaml(b"'").problems[0].fatal


def test_unknown_tags_keep_the_value_as_text() -> None:
    document = parse_yaml(b"a: !foo 12\nb: !bar {c: 1}\n")
    assert plain(document.root) == {"a": "12", "b": {"c": 1}}
    assert at(document, "a").tag == "!foo"


def test_reserved_characters_are_replaced() -> None:
    document = parse_yaml("a: x\U000f0000y\U000ffffd\n".encode())
    assert plain(document.root) == {"a": "x\ufffdy\ufffd"}
    assert at(document, "a").span == Span(1, 4, 1, 8)


@pytest.mark.parametrize(
    "data",
    [
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 30)),
        b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [*a%d]\n" % (i, i, i - 1) for i in range(1, 5000)),
        b"a0: &a0 {k0: 0}\n" + b"".join(b"a%d: &a%d {<<: *a%d, k%d: 0}\n" % (i, i, i - 1, i) for i in range(1, 3000)),
        b"[" * 100_000,
        b"{" * 100_000,
        b"- " * 100_000,
        b"? " * 50_000,
        b"a: " * 50_000,
        b"x:\n" * 400_000,
        b"[],[]," * 300_000,
        b"- !a#" + b"b#" * 500_000 + b" x\n",
        b"- !x y\n" * 100_000,
        b"&a " * 1000,
        b"#" * 1_000_000,
        b"\n# " * 100_000,
        b"'" * 99_999,
        b"- &a" + b" " * 100_000 + b"\n" * 1000 + b"x\n",
    ],
    ids=range(17),
)
def test_hostile_documents_are_bounded(data: bytes) -> None:
    start = time.process_time()
    document = parse_yaml(data)
    pending = [plain(root) for root in document.documents]
    assert len(pending) <= 2
    comment_blocks(document)
    assert len(document.problems) <= 201
    assert time.process_time() - start < 10


def test_an_alias_bomb_is_cut() -> None:
    data = b"a0: &a0 [x]\n" + b"".join(b"a%d: &a%d [%s]\n" % (i, i, b",".join([b"*a%d" % (i - 1)] * 9)) for i in range(1, 30))
    document = parse_yaml(data)
    assert [problem.code for problem in document.problems] == ["alias-bomb"]
    count = 0
    pending: list[Node] = list(document.documents)
    while pending:
        node = pending.pop()
        count += 1
        pending += (
            node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries] if isinstance(node, Mapping) else []
        )
    assert count < 2 * MAX_EXPANDED


def test_differences_between_the_versions_of_yaml() -> None:
    found = yaml12_differences(b"on: 017\nb: [yes, 1_0, 'no', 10, 1:30, 2024-01-01, 1e3]\nc: ~\nd: on\n")
    assert [(one.span.line, one.raw, one.value11, one.value12) for one in found] == [
        (1, "on", True, "on"),
        (1, "017", 15, 17),
        (2, "yes", True, "yes"),
        (2, "1_0", 10, "1_0"),
        (2, "1:30", 90, "1:30"),
        (2, "1e3", "1e3", 1000.0),
        (4, "on", True, "on"),
    ]
    assert yaml12_differences(b"[broken") == []


def test_a_python_without_libyaml_is_refused_loudly() -> None:
    program = "import yaml; yaml.__with_libyaml__ = False; import reviewbot.documents.yaml"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "libyaml" in done.stderr.splitlines()[-1]
