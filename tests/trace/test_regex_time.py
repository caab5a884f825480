"""Patterns over which a backtracking engine would not end are not evaluated; the usual ones are."""

from __future__ import annotations

import pytest

from reviewbot.trace.text.regex import compile_regex


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a*)*", "(a|a)*b", "([0-9]+)*x", "(a|ab|b)*c", "((ab)+)+$", "(x+x+)+y"])
def test_explosive_patterns_are_refused(pattern: str):
    assert compile_regex(pattern, "ere") is None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("([0-9]+,)*[0-9]+", "1,22,333"),
        ("(a|b)*c", "ababc"),
        ("^[a-z]+(-[a-z0-9]+)*$", "dgxc-slurm-b200"),
        ("(foo)+", "foofoo"),
        ("(/[^/]+)+", "/a/b/c"),
    ],
)
def test_unambiguous_repetitions_are_evaluated(pattern: str, text: str):
    regex = compile_regex(pattern, "ere")
    assert regex is not None
    assert regex.test(text) is True
