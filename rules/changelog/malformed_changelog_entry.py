"""A changelog entry is not of the form that is read

What
An item of the changelog lacks a field, has one that is not known, or a value of another type than is expected: an entry torn in two by
a dash too many, a description that is a text and no list, an unknown scenario.

Why
The file is read as a whole: one entry that cannot be read stops the sweep of every change after it.

Example
    - config-keys:
        - toy-fp8-lab-vllm
      description:
        - "Update vLLM"
    - pr-link: https://github.com/lab/bench/pull/12

Instead
    - config-keys:
        - toy-fp8-lab-vllm
      description:
        - "Update vLLM"
      pr-link: https://github.com/lab/bench/pull/12

Fix
Safe for an entry torn in two: takes the dash out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from reviewbot.bench.changelog import Changelog
from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.nodes import Mapping, Sequence
from reviewbot.documents.positions import Site, Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("malformed-changelog-entry", Level.ERROR, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    changelog = context.bench.changelog
    if changelog is None or not changelog.problems:
        return
    torn = _torn(context, changelog)
    by_line: dict[int, list[BenchProblem]] = {}
    for problem in changelog.problems:
        by_line.setdefault(problem.site.line, []).append(problem)
    for line, problems in sorted(by_line.items()):
        if line in torn:
            first = torn[line]
            if first != line:
                continue  # told at the dash
            yield _dash(context, changelog.path, line)
            continue
        said = list(dict.fromkeys(problem.message for problem in problems))
        at = problems[0].span or Site(changelog.path, line)
        yield context.finding(RULE, "; ".join(said), at, path=changelog.path, subject="; ".join(said))


def _torn(context: Context, changelog: Changelog) -> dict[int, int]:
    """Lines of the two halves of torn entries, each with the line of the dash that tears them."""
    root = context.documents.yaml(changelog.path).root
    items = root.items if isinstance(root, Sequence) else []
    found: dict[int, int] = {}
    for one, two in pairwise(items):
        if isinstance(one, Mapping) and isinstance(two, Mapping) and "config-keys" in one.index() and "config-keys" not in two.index():
            if not one.index().keys() & two.index().keys():
                found[one.span.line] = found[two.span.line] = two.span.line
    return found


def _dash(context: Context, path: str, line: int) -> Finding:
    text = context.lines(path)[line - 1]
    column = text.index("-") + 1 if "-" in text else 1
    return context.finding(
        RULE,
        "the dash tears the entry in two: what follows belongs to the entry above",
        _line(context, path, line),
        path=path,
        help="write a blank in place of the dash",
        fix=Fix("take the dash out", (Replacement(path, line, column, line, column + 1, " "),), True) if "-" in text else None,
        subject=text.strip()[:80],
    )


def _line(context: Context, path: str, line: int) -> Span:
    return context.line_span(Site(path, line))
