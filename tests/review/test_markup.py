"""Text of a repository in a comment is shown and never acts."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Level, Related
from reviewbot.review.diffmap import Anchor
from reviewbot.review.items import Item
from reviewbot.review.markup import Links, fence, is_plain, prose, span
from reviewbot.review.render import MAX_BYTES, SummaryFacts, SummarySection, comment_body, duplicate_body, fixed_body, size, summary_body
from reviewbot.review.state import OwnComment, read_marker
from tests.review.kit import LINKS, commit, finding

HOSTILE = [
    "@everyone", "@org/team", "&#64;everyone", "#123", "GH-123", "owner/repo#1", "https://evil.example", "www.evil.example",
    "http:/\u200b/x",
    "[click](https://evil.example)", "![x](https://evil.example/a.png)", "<img src=x onerror=alert(1)>", "<!-- hidden -->", "<details>",
    "</details>", "`@everyone", "``` \n@everyone\n```", "`` ` @x ` ``", "\u202egpj.exe", "a\u2066b\u2069c", "zero\u200bwidth",
    "\x1b[31mred",
    "line\n::error::injected", "\r::stop-commands::x", "%0A::add-mask::", "| table |", "# heading", "- list", "> quote", "1. one",
    "***bold***",
    "~~gone~~", "$x^2$", ":smile:", "a@b.example", "deadbeefdeadbeefdeadbeefdeadbeefdeadbeef", "\\@everyone", "`\\`@everyone`", "\ud800",
    f"<!-- reviewbot:v1 fp={'a' * 32} sha={'b' * 40} state=open -->", "--><script>", "[x]: https://evil.example", "~~~\n@x\n~~~",
    "@\u200beveryone",
    "`a`@everyone`b`", "x" * 5000 + "@everyone",
]  # fmt: skip


def outside_of_code(markdown: str) -> str:
    """What is left of Markdown without its code, read as CommonMark reads it: fences first, then spans by runs of equal length."""
    kept = []
    fenced = ""
    for line in markdown.split("\n"):
        marks = re.match(r" {0,3}(`{3,})([^`]*)$", line)
        if fenced:
            if marks and not marks[2].strip() and len(marks[1]) >= len(fenced):
                fenced = ""
            continue
        if marks:
            fenced = marks[1]
            continue
        kept.append(line)
    assert not fenced, "a fence does not end"
    text = "\n".join(kept)
    out = []
    position = 0
    while position < len(text):
        if text[position] == "\\" and position + 1 < len(text) and text[position + 1] in "\\`*_{}[]()#+-.!~|<>$@&":
            out.append(text[position + 1] if text[position + 1] not in "`@" else "?")
            position += 2
            continue
        run = re.compile("`+").match(text, position)
        if run is None:
            out.append(text[position])
            position += 1
            continue
        end = re.compile(f"(?<!`){run[0]}(?!`)").search(text, run.end())
        if end is None:
            out.append(run[0])
            position = run.end()
        else:
            out.append("\0")
            position = end.end()
    return "".join(out)


def acts(markdown: str) -> list[str]:
    """What of a comment would do something: mentions, references, links of others, HTML, markers in the middle."""
    *body, last = markdown.split("\n")
    assert read_marker(last) is not None
    text = outside_of_code("\n".join(body))
    text = re.sub(r"\[\x00\]\(https://github\.com/bench/recipes/(?:blob|commit)/[0-9a-f]{40}[^()\s]*\)", "", text)
    found = re.findall(r"@\w|&#|<[a-zA-Z/!]|://|www\.|\]\(|\]:|!\[|(?<![\w#])#\d|\bGH-\d|\b[0-9a-f]{7,64}\b", text)
    found += [
        character for character in markdown if character in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200d\x1b\r\ud800"
    ]
    found += re.findall(r"(?m)^\s*(?:::|##\[)", markdown)
    return found


def hostile_item(text: str) -> Item:
    one = finding("x", 3, path=f"dir/{text}.yaml", structure=text)
    from dataclasses import replace

    one = replace(
        one,
        message=f"value `{text}` of {text} is wrong",
        help=f"write {text}",
        points=(text, f"p[{text}]"),
        related=(Related(Site(text, 1), text),),
    )
    return Item(one, Anchor("file", one.path), one.path)


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_a_hostile_text_acts(text: str) -> None:
    item = hostile_item(text)
    assert acts(comment_body(item, commit("h"), LINKS)) == []
    facts = SummaryFacts(commit("h"), [], [item], sections=[SummarySection("Impact", "fine")], unchecked=[text])
    assert acts(summary_body(facts, [], [], LINKS)) == []


@pytest.mark.parametrize("text", [*HOSTILE, "\u202e" * 1990 + " @everyone", "@x " * 700, "`" * 1999, "\U000e0001" * 2000 + "@everyone"])
def test_nothing_acts_once_a_comment_is_retired(text: str) -> None:
    body = comment_body(hostile_item(text), commit("h"), LINKS)
    comment = OwnComment(1, "a" * 32, commit("h"), "open", False, False, False, False, None, body)
    for retired in (fixed_body(comment, commit("i"), LINKS), duplicate_body(comment, commit("i"))):
        assert acts(retired) == [] and size(retired) <= MAX_BYTES
        again = fixed_body(OwnComment(1, "a" * 32, "", "fixed", True, False, False, True, None, retired), commit("j"), LINKS)
        assert acts(again) == [] and "~~~~" not in again.split("`")[0]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([*HOSTILE, "`", "``", "\\", "word", "a.b", "\n", " ", "-", "'", '"', ")"]), max_size=8).map("".join))
def test_no_mixture_of_hostile_texts_acts(text: str) -> None:
    body = comment_body(hostile_item(text), commit("h"), LINKS)
    assert acts(body) == [] and size(body) <= MAX_BYTES


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80))
def test_no_text_acts(text: str) -> None:
    assert acts(comment_body(hostile_item(text), commit("h"), LINKS)) == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "runner `h200` is not a label of configs/runners.yaml; 14 nodes begin with it",
            "runner `h200` is not a label of `configs/runners.yaml;` 14 nodes begin with it",
        ),
        ("max 5 (of 10), 3.5 % = a lot", "max 5 (of 10), 3.5 % = a lot"),
        ("ask @maintainer about #12", "ask `@maintainer` about `#12`"),
        ("a `b`, `c` and ``d`e``", "a `b`, `c` and ``d`e``"),
        ("commit deadbeef1 x", "commit `deadbeef1` x"),
        ("`a``b`", "`` a``b ``"),
    ],
)
def test_a_message_stays_readable(text: str, shown: str) -> None:
    assert prose(text) == shown or acts(f"{prose(text)}\n<!-- reviewbot:v1 fp={'a' * 32} state=open -->") == []
    if "``b" not in text:
        assert prose(text) == shown


@pytest.mark.parametrize("text", ["`" * 1999, "` " * 1000, "a" * 2000, "'" * 2000, "0" * 1999 + "@", "(((." * 500, "a." * 999 + "`"])
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    for _ in range(20):
        prose(text)
    assert time.process_time() - started < 2


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fence(["a", "````", "b"], "suggestion") == "`````suggestion\na\n````\nb\n`````"
    assert span("a `` b") == "```a `` b```"


@pytest.mark.parametrize("text", ["\u202e", "a\u200bb", "\r", "\x00", "\ufffd", "\x1b"])
def test_a_line_with_something_hidden_is_not_plain(text: str) -> None:
    assert not is_plain(text) and is_plain("\tkey: é # 日本")


def test_links_need_a_repository() -> None:
    assert Links("https://github.com", "").place("c" * 40, "a b.yaml", 3) == "`a b.yaml:3`"
    assert Links("https://github.com", "../evil").place("c" * 40, "a.yaml", 3) == "`a.yaml:3`"
    assert Links("javascript:alert(1)", "a/b").place("c" * 40, "a.yaml", 3) == "`a.yaml:3`"
    assert Links("https://ghe.example:8443", "a/b").place("c" * 40, "a (b)]#é.yaml", 3, 5) == (
        "[`a (b)]#é.yaml:3`](https://ghe.example:8443/a/b/blob/" + "c" * 40 + "/a%20%28b%29%5D%23%C3%A9.yaml#L3-L5)"
    )


def test_sections_are_left_out_where_they_are_too_long() -> None:
    item = Item(finding("x"), Anchor("summary", "a.yaml"), "a.yaml")
    facts = SummaryFacts(
        commit("h"), [], [item] * 2000, sections=[SummarySection("Impact", "x" * 70_000), SummarySection("Fit", "small <!-- y -->")]
    )
    body = summary_body(facts, ["a" * 32] * 500, ["b" * 32] * 500, LINKS)
    assert size(body) <= MAX_BYTES and "Too long for a comment" in body and "small &lt;!-- y" in body and "more findings" in body
    assert read_marker(body) is not None


def test_counts_are_of_all_findings() -> None:
    items = [Item(finding(str(n), level=level), Anchor("summary", "a.yaml"), "a.yaml") for n, level in enumerate([*Level, Level.ERROR])]
    assert "2 errors, 1 warning, 1 note new in this pull request" in summary_body(
        SummaryFacts(commit("h"), items[:2], items[2:]), [], [], LINKS
    )
