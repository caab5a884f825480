from __future__ import annotations

import pytest

from reviewbot.engine.model import Level, Rule
from reviewbot.engine.own_rules import OWN_RULES
from reviewbot.engine.suppress import directives, python_comments, suppress
from tests.support import finding

KNOWN = {name: Rule(name, Level.ERROR) for name in ("bad-word", "row-refused")} | {"strict": Rule("strict", Level.ERROR, ignorable=False)}
KNOWN |= {module.name: module.rule for module in OWN_RULES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: 1  # reviewbot: ignore[a] because", [(1, ("a",), "because")]),
        ("# reviewbot: ignore[a, b] why not\n\n# more\nx: 1\n", [(4, ("a", "b"), "why not")]),
        ("    #reviewbot:ignore[a] r\n    - x\r\n", [(2, ("a",), "r")]),
        ("# reviewbot: ignore-file[a] all of it\nx: 1\n", [(None, ("a",), "all of it")]),
        ("x: 1 # reviewbot: ignore[a]\n", [(1, ("a",), "")]),
        ("x: 1 # reviewbot: ignore\n", [(1, (), "")]),
        ("run: |\n  cp a b  # reviewbot: ignore[a] workflow step\n", [(2, ("a",), "workflow step")]),
        ("echo don't  # reviewbot: ignore[a] apostrophe", [(1, ("a",), "apostrophe")]),
        # prose and strings
        ("# to silence it, write # reviewbot: ignore[a] behind the line\n", []),
        ("# see reviewbot: ignore[a] in the guide\n", []),
        ('x: "1 # reviewbot: ignore[a] text"\n', []),
        ("x='1 # reviewbot: ignore[a] text'\n", []),
        ("x: a#reviewbot: ignore[a] text\n", []),
        ("# reviewbot: ignored[a] text\n", []),
        ("# reviewbot: ignore-line[a] text\n", []),
    ],
)
def test_directives(text: str, expected: list[tuple[int | None, tuple[str, ...], str]]):
    assert [(d.target, d.rules, d.reason) for d in directives("a.yaml", text)] == expected


def test_text_that_looks_like_a_comment_is_none():
    text = '"""\n# reviewbot: ignore[a] in a docstring\n"""\nx = 1  # reviewbot: ignore[b] real\n'
    assert [d.rules for d in directives("a.py", text, python_comments(text))] == [("b",)]
    assert python_comments("(") is None


def about(text: str, *findings, **more):  # type: ignore[no-untyped-def]
    result = suppress(findings, directives("a.yaml", text), KNOWN, **more)
    return len(result.kept), len(result.ignored), [(f.rule, f.line) for f in result.about]


BAD = finding(rule="bad-word", line=2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb # reviewbot: ignore[bad-word] fine", (0, 1, [])),
        ("# reviewbot: ignore[bad-word] fine\nb", (0, 1, [])),
        ("# reviewbot: ignore-file[bad-word] fine\nb", (0, 1, [])),
        ("a # reviewbot: ignore[bad-word] wrong line\nb", (1, 0, [("unused-ignore", 1)])),
        ("a\nb # reviewbot: ignore[bad-word]", (0, 1, [("ignore-without-reason", 2)])),
        ("a\nb # reviewbot: ignore[bad-wrd] fine", (1, 0, [("unknown-ignore", 2)])),
        ("a\nb # reviewbot: ignore fine", (1, 0, [("unknown-ignore", 2)])),
        ("a\nb # reviewbot: ignore[bad-word,row-refused] fine", (0, 1, [("unused-ignore", 2)])),
        ("a\nb # reviewbot: ignore[strict] fine", (1, 0, [("unused-ignore", 2)])),
        ("a\nb # reviewbot: ignore[unused-ignore] fine", (1, 0, [("unused-ignore", 2)])),
    ],
)
def test_suppress(text: str, expected: tuple[int, int, list[tuple[str, int]]]):
    assert about(text, BAD) == expected


def test_a_rule_may_refuse():
    assert about("a\nb # reviewbot: ignore[strict] fine", finding(rule="strict", line=2)) == (1, 0, [("unused-ignore", 2)])


def test_a_comment_for_a_rule_that_was_not_run_is_not_unused():
    assert about("b # reviewbot: ignore[bad-word] fine", ran=lambda rule: False) == (0, 0, [])


def test_unknown_name_gets_the_nearest():
    [said] = suppress((), directives("a.yaml", "b # reviewbot: ignore[bad-wrd] x"), KNOWN).about
    assert said.help == "the nearest is bad-word"
    assert said.column == 3
