"""Shapes of events as GitHub sends them, cut to what matters, and what is made of broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reviewbot.review.event import Event, EventError, parse_event, read_event

A, B, ZERO = "a" * 40, "b" * 40, "0" * 40
EVENTS = Path(__file__).parent / "events"


@pytest.mark.parametrize(
    ("file", "name", "expected"),
    [
        ("pull_request.json", "pull_request", Event("pull_request", "bench/recipes", 7, A, B, "bench/recipes", "topic")),
        ("pull_request_fork.json", "pull_request", Event("pull_request", "bench/recipes", 7, A, B, "stranger/recipes", "main", True)),
        ("pull_request_fork_gone.json", "pull_request_target", Event("pull_request_target", "bench/recipes", 7, A, B, "", "main", True)),
        ("workflow_run.json", "workflow_run", Event("workflow_run", "bench/recipes", None, "", B, "stranger/recipes", "main", True)),
        (
            "merge_group.json",
            "merge_group",
            Event("merge_group", "bench/recipes", None, A, B, "bench/recipes", "refs/heads/gh-readonly-queue/main/pr-7"),
        ),
        ("push.json", "push", Event("push", "bench/recipes", None, A, B, "bench/recipes", "refs/heads/main")),
        ("push_new_branch.json", "push", Event("push", "bench/recipes", None, "", B, "bench/recipes", "refs/heads/topic")),
    ],
)
def test_shapes(file: str, name: str, expected: Event) -> None:
    path = str(EVENTS / file)
    assert read_event({"GITHUB_EVENT_PATH": path, "GITHUB_EVENT_NAME": name}) == expected
    if name != "pull_request_target":
        assert read_event({}, path) == expected  # the name is seen from the shape


def test_the_runner_says_which_repository() -> None:
    data = json.loads((EVENTS / "push.json").read_text())
    assert parse_event(data, "push", "other/name").repository == "other/name"


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        ({}, "push", "names no repository"),
        ({"repository": {"full_name": "a/../b"}}, "push", "names no repository"),
        ({"repository": {"full_name": "a/b"}, "before": A, "after": ZERO}, "push", "deletes a branch"),
        ({"repository": {"full_name": "a/b"}, "before": A, "after": "--upload-pack=x"}, "push", "no commit in after"),
        ({"repository": {"full_name": "a/b"}, "pull_request": {"number": "7"}}, "pull_request", "no pull_request.number"),
        ({"repository": {"full_name": "a/b"}, "pull_request": {"number": True}}, "pull_request", "no pull_request.number"),
        ({"repository": {"full_name": "a/b"}, "pull_request": None}, "pull_request", "no pull_request.number"),
        ({"repository": {"full_name": "a/b"}}, "issues", "no change to review"),
        ({"repository": {"full_name": "a/b"}}, "", "no change to review"),
    ],
)
def test_broken_events(data: dict[str, Any], name: str, said: str) -> None:
    with pytest.raises(EventError, match=said):
        parse_event(data, name)


@pytest.mark.parametrize(("text", "said"), [("{", "not JSON"), ("[]", "not an event"), (None, "No such file"), ("[" * 100_000, "not JSON")])
def test_broken_files(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "event.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(EventError, match=said):
        read_event({"GITHUB_EVENT_PATH": str(path)})
    with pytest.raises(EventError, match="GITHUB_EVENT_PATH"):
        read_event({})
