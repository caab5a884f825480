"""Changelog entries: keys, sentences, flags, places."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reviewbot.bench.changelog import Changelog, matches, resolve
from reviewbot.bench.repository import Bench

TEXT = """\
- config-keys:
    - a-*
    - b
  description:
    - "First"
    - Second
  pr-link: https://host/pull/1

- config-keys: [zz*]
  description: [x]
  pr-link: XXX
  scenario-type: [agentic-coding]
  evals-only: true
  eval-min-prefill-ep: 4
"""


def changelog(bench_of: Callable[..., Bench], text: str) -> Changelog:
    found = bench_of("", {"configs/x-master.yaml": "k: {scenarios: {}}\n", "perf-changelog.yaml": text}).changelog
    assert found is not None
    return found


def test_entries(bench_of: Callable[..., Bench]) -> None:
    first, second = changelog(bench_of, TEXT).entries
    assert [key.text for key in first.keys] == ["a-*", "b"]
    assert [(line.text, line.span[:2]) for line in first.description] == [("First", (5, 7)), ("Second", (6, 7))]
    assert first.pr_link is not None and (first.pr_link.text, first.pr_link.span.line) == ("https://host/pull/1", 7)
    assert (first.site.line, first.evals_only, first.min_prefill_ep, first.scenarios) == (1, False, None, ())
    assert (second.site.line, second.index, second.evals_only, second.min_prefill_ep) == (9, 1, True, 4)
    assert [scenario.text for scenario in second.scenarios] == ["agentic-coding"]


def test_keys_that_an_entry_selects(bench_of: Callable[..., Bench]) -> None:
    first, second = changelog(bench_of, TEXT).entries
    assert resolve(first, ["b", "c", "a-2", "a-1"]) == (["a-2", "a-1", "b"], [])
    keys, lost = resolve(second, ["b"])
    assert keys == [] and [pattern.text for pattern in lost] == ["zz*"]
    assert first.matches("a-") and not first.matches("ba-1")


@pytest.mark.parametrize(
    ("pattern", "key", "expected"),
    [
        ("a", "a", True),
        ("a", "ab", False),
        ("*", "", True),
        ("a*", "a", True),
        ("*b", "ab", True),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "acb", False),
        ("a?", "ab", False),
        ("a.b*", "axb", False),
        ("*ab*ab*", "ab", False),
        ("a**b", "ab", True),
    ],
)
def test_patterns(pattern: str, key: str, expected: bool) -> None:
    assert matches(pattern, key) is expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- config-keys: [a]\n  description: [b]\n", "missing-field"),
        ("- config-keys: a\n  description: [b]\n  pr-link: c\n", "wrong-type"),
        ("- config-keys: []\n  description: [b]\n  pr-link: c\n", "missing-field"),
        ("- config-keys: [a]\n  description: [1]\n  pr-link: c\n", "wrong-type"),
        ("- config-keys: [a]\n  description: [b]\n  pr-link: c\n  extra: 1\n", "unknown-field"),
        ("- config-keys: [a]\n  description: [b]\n  pr-link: c\n  scenario-type: [x]\n", "unknown-value"),
        ("- config-keys: [a]\n  description: [b]\n  pr-link: c\n  append-only: true\n  all-evals: true\n", "append-only-evals"),
        ("- word\n", "wrong-type"),
        ("a: 1\n", "wrong-type"),
    ],
)
def test_wrong_entries_are_problems(bench_of: Callable[..., Bench], text: str, code: str) -> None:
    found = changelog(bench_of, text)
    assert [problem.code for problem in found.problems] == [code]
    assert found.problems[0].site.path == "perf-changelog.yaml"


def test_no_changelog(bench_of: Callable[..., Bench]) -> None:
    assert bench_of("k: {scenarios: {}}\n").changelog is None
    assert changelog(bench_of, "# nothing yet\n").entries == ()
