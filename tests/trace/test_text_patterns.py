"""Shell patterns against bash, and against themselves where a hole gets a text."""

from __future__ import annotations

import random
import shlex
import shutil
import subprocess

import pytest

from reviewbot.trace.text import patterns
from reviewbot.trace.text.regex import Undecided, compile_regex, translate
from reviewbot.trace.values import Hole, Holes

_PIECES = [
    "*",
    "?",
    "a",
    "b",
    "_",
    ".",
    "[ab]",
    "[!a]",
    "[^_]",
    "[a-b]",
    "[[:alpha:]]",
    "\\*",
    "[]a]",
    "[a-]",
    "@(a|ab)",
    "?(b)",
    "*(ab)",
    "+(a|b)",
    "!(a)",
    "[",
    "x(",
    "\\\\",
    "[\\]a]",
]
_MODES = ("first", "all", "prefix", "suffix")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_against_bash() -> None:
    rng = random.Random(4)
    cases = []
    for _ in range(1200):
        value = "".join(rng.choice("aabb_.*-]\\x(") for _ in range(rng.randint(0, 6)))
        cases.append((value, "".join(rng.choice(_PIECES) for _ in range(rng.randint(1, 4)))))
    script = "shopt -s extglob; LC_ALL=C\n"
    for value, pattern in cases:
        script += f"x={shlex.quote(value)}; p={shlex.quote(pattern)}; [[ $x == $p ]] && echo T || echo F\n"
        script += 'printf "%s\\n" "${x#$p}" "${x##$p}" "${x%$p}" "${x%%$p}" "${x/$p/R}" "${x//$p/R}" "${x/#$p/R}" "${x/%$p/R}"\n'
    lines = subprocess.run(["bash", "-c", "source /dev/stdin"], input=script, text=True, capture_output=True, check=False).stdout.split(
        "\n"
    )
    refused = 0
    for index, (value, pattern) in enumerate(cases):
        matched = patterns.matches(value, pattern)
        got: list[str | None] = [None if matched is None else "T" if matched else "F"]
        got += [patterns.remove_prefix(value, pattern, longest) for longest in (False, True)]
        got += [patterns.remove_suffix(value, pattern, longest) for longest in (False, True)]
        got += [patterns.replace(value, pattern, "R", mode) for mode in _MODES]
        for ours, theirs in zip(got, lines[index * 9 :], strict=False):
            if ours is None:
                refused += 1
            else:
                assert ours == theirs, (value, pattern)
    assert refused < 0.15 * 9 * len(cases)


def test_an_answer_holds_for_every_text_of_a_hole() -> None:
    rng = random.Random(5)
    pieces = ["*", "?", "a", "b", "_", "[ab]", "[!a]", "[0-9]", "*_", "_*", "@(a|ab)", "*(ab)", "+(a|1)", "1"]
    known = 0
    for _ in range(600):
        holes = Holes()
        made = [
            holes.new(Hole("x", None)),
            holes.new(Hole("x", None, nonempty=True)),
            holes.new(Hole("n", None, numeric=True, witness="12")),
        ]
        value = "".join(rng.choice(["a", "b", "_", "1", *made]) for _ in range(rng.randint(1, 5)))
        pattern = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 4)))
        for _ in range(5):
            texts = dict(
                zip(made, [rng.choice(["", "a", "_", "b1"]), rng.choice(["a", "_", "a_b"]), rng.choice(["0", "12"])], strict=False)
            )
            concrete = "".join(texts.get(c, c) for c in value)
            answer = patterns.matches(value, pattern, holes)
            if answer is not None:
                known += 1
                assert patterns.matches(concrete, pattern) == answer, (value, pattern, concrete)
            for remove in (patterns.remove_prefix, patterns.remove_suffix):
                for longest in (False, True):
                    result = remove(value, pattern, longest, holes)
                    if result is not None:
                        assert remove(concrete, pattern, longest) == "".join(texts.get(c, c) for c in result), (value, pattern, concrete)
    assert known > 500


@pytest.mark.parametrize(
    ("value", "pattern", "longest", "result"),
    [("dsr1_1k1k", "_*", True, "dsr1"), ("a/b:x", ":*", True, "a/b"), ("a@sha256:1", "@*", False, "a")],
)
def test_suffixes_of_launchers(value: str, pattern: str, longest: bool, result: str) -> None:
    assert patterns.remove_suffix(value, pattern, longest) == result
    assert patterns.remove_suffix(value + "\U000f0000", pattern, longest) == (result if longest else None)


def test_escaped_text_matches_itself() -> None:
    for text in ("a*b", "[x]", "\\", "a-b", "!(x)", "?"):
        assert patterns.matches(text, patterns.escape(text)) is True
        assert patterns.unescape(patterns.escape(text)) == text
        assert not patterns.has_magic(patterns.escape(text))


@pytest.mark.parametrize(
    ("pattern", "kind", "text", "match"),
    [
        ("a\\|ab", "bre", "xabc", (1, 3)),
        ("(a?)(ab)?", "ere", "ab", (0, 2)),
        ("a*b", "bre", "caab", (1, 4)),
        ("^*a", "bre", "*a", (0, 2)),
        ("[[:digit:]]+", "ere", "ab12", (2, 4)),
        ("Job \\K[0-9]+", "pcre", "x Job 77", (6, 8)),
        ("x", "ere", "abc", None),
        ("a{2}", "ere", "caaa", (1, 3)),
    ],
)
def test_extent_of_matches(pattern: str, kind: str, text: str, match: tuple[int, int] | None) -> None:
    regex = compile_regex(pattern, kind)  # type: ignore[arg-type]
    assert regex is not None
    found = regex.search(text)
    assert (None if found is None else (found.start, found.end)) == match


def test_groups_that_depend_on_another_rule_are_undecided() -> None:
    regex = compile_regex("(a|ab)(c|bcd)", "ere")
    assert regex is not None
    with pytest.raises(Undecided):
        regex.search("abcd", need_groups=True)


@pytest.mark.parametrize(
    ("pattern", "kind"),
    [("(", "ere"), ("a**", "bre"), ("[[.x.]]", "bre"), ("*a", "ere"), ("(?R)", "pcre"), ("a++", "pcre"), ("\\x41", "bre")],
)
def test_not_understood(pattern: str, kind: str) -> None:
    assert translate(pattern, kind) is None  # type: ignore[arg-type]


def test_holes_in_lines() -> None:
    hole = "\U000f0000"
    regex = compile_regex("^name", "bre")
    assert regex is not None
    assert regex.test(f"name: {hole}") is True
    assert regex.test(f"x{hole}name") is False
    assert regex.test(f"{hole}name") is None
    anywhere = compile_regex("job", "bre")
    assert anywhere is not None
    assert anywhere.test(f"a {hole}") is None
    assert anywhere.test(f"job {hole}") is True
