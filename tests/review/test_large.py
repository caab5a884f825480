"""A pull request of 3,000 files and 200,000 lines within the limits of the API."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from reviewbot.engine.model import Level
from reviewbot.git import Repository
from reviewbot.review.client import ApiError
from reviewbot.review.diffmap import DiffMap
from reviewbot.review.items import make_items
from reviewbot.review.post import Request, post
from reviewbot.review.render import MAX_BYTES, size
from tests.review.double import MAX_BODY
from tests.review.kit import (
    LINKS,
    DirectGitHub,
    commit,
    committed,
    finding,
    github_lines,
    item,
    lines,
    numbered,
    open_findings,
    pulled,
    review,
)

FILES, LINES = 3_000, 200_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    root = tmp_path_factory.mktemp("large")
    base = committed(root, {f"d{n % 50}/f{n:04}.yaml": "a: 1\n" for n in range(0, FILES, 2)})
    each = numbered(LINES // FILES + 1)
    head = committed(root, {f"d{n % 50}/f{n:04}.yaml": each for n in range(FILES)})
    return root, base, head


def test_a_pull_request_of_3000_files_and_200000_lines(large: tuple[Path, str, str]) -> None:
    root, base, head = large
    repository = Repository.find(str(root))
    counts = repository.line_counts(base, head)
    assert len(counts) == FILES and sum(counts.values()) >= LINES
    started = time.monotonic()
    diff = DiffMap.between(repository, base, head)
    findings = [finding(f"f{n}", 1 + n % 60, Level(n // 3 % 3 + 1), path=f"d{n % 50}/f{n:04}.yaml") for n in range(0, FILES, 3)]
    items = make_items(findings, diff, lambda path: [])
    assert time.monotonic() - started < 20
    double = pulled()
    double.pulls[1].head, double.pulls[1].heads = head, [head]
    double.pulls[1].diff = github_lines(root, base, head)
    client = DirectGitHub(double)
    outcome = post(client, Request(1, head, items, LINKS))
    client.close()
    assert not outcome.problems and len(double.own()) == 25
    assert {comment.body[:9] for comment in double.own()} == {"**error**"}
    [summary] = double.summaries().values()
    assert size(summary) <= MAX_BYTES and "more findings" in summary
    assert len(double.requests) < 15
    # What the API would cut off is not commented on: the first 20,000 lines of the diff, in the order of its files.
    assert all(comment.path.startswith("d0/") or comment.path < "d14" for comment in double.own())


def test_limits_of_a_minute_and_of_an_hour() -> None:
    """Many comments are retired at once: at most 80 writes a minute, and what is too much is left to the next run."""
    double = pulled(diff={"a.yaml": lines((1, 400))})
    for start in range(0, 250, 25):
        review(double, [item(f"f{n}", n + 1) for n in range(start, start + 25)])
        double.clock += 3600
    assert len(double.own()) == 250 and len(open_findings(double)) == 25
    with_old = double.own()
    for comment in with_old:
        comment.body = comment.body.replace("state=fixed", "state=open")
    double.push(1, commit("h2"), double.pulls[1].diff)
    started = double.clock
    with pytest.raises(ApiError, match="more than 200 writes"):
        review(double, [], "h2")
    assert double.clock - started >= 199
    assert len(open_findings(double)) == 50
    double.clock += 3600
    review(double, [], "h2")
    assert open_findings(double) == []


def test_no_body_reaches_what_github_refuses() -> None:
    assert MAX_BYTES < MAX_BODY
