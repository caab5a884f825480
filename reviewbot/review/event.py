"""What started a run on GitHub: the event's file and the runner's environment, read without trusting either."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_EVENT = 25_000_000  # bytes; GitHub cuts payloads at 25 MB
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
REPOSITORY = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*/(?!\.{1,2}\Z)[A-Za-z0-9_.-]+\Z")  # OWNER/NAME
_PULL_EVENTS = ("pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment")


class EventError(Exception):
    """An event that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Event:
    """``name`` is GitHub's. ``number`` is that of the pull request, where there is one. ``base`` and ``head`` are commits; ``base`` is
    empty where nothing comes before. ``fork``: the head is in another repository, so the run's token cannot write. ``branch`` is the
    head's."""

    name: str
    repository: str
    number: int | None
    base: str
    head: str
    head_repository: str = ""
    branch: str = ""
    fork: bool = False


def read_event(environment: Mapping[str, str], path: str | None = None) -> Event:
    """The event in ``path``, or in the file that ``GITHUB_EVENT_PATH`` names. Raises ``EventError``."""
    path = path or environment.get("GITHUB_EVENT_PATH", "")
    if not path:
        raise EventError("there is no event: GITHUB_EVENT_PATH is not set")
    try:
        file = Path(path)
        if file.stat().st_size > MAX_EVENT:
            raise EventError(f"{path} is too large for an event")
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise EventError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise EventError(f"{path} is not JSON") from None
    if not isinstance(data, dict):
        raise EventError(f"{path} is not an event")
    return parse_event(data, environment.get("GITHUB_EVENT_NAME", "") or _guess(data), environment.get("GITHUB_REPOSITORY", ""))


def parse_event(data: Mapping[str, Any], name: str, repository: str = "") -> Event:
    """The event of a payload. ``repository`` is what the runner says, which counts more than the payload. Raises ``EventError``."""
    repository = repository or _text(data, "repository", "full_name")
    if not REPOSITORY.match(repository):
        raise EventError("the event names no repository")
    if name in _PULL_EVENTS:
        head_repository = _text(data, "pull_request", "head", "repo", "full_name")
        return Event(
            name, repository, _number(data, "pull_request", "number"), _commit(data, "pull_request", "base", "sha"),
            _commit(data, "pull_request", "head", "sha"), head_repository, _text(data, "pull_request", "head", "ref"),
            head_repository.lower() != repository.lower(),
        )  # fmt: skip
    if name == "workflow_run":
        # The list of pull requests is empty for forks, and nothing in it says more than the API does.
        head_repository = _text(data, "workflow_run", "head_repository", "full_name")
        return Event(
            name, repository, None, "", _commit(data, "workflow_run", "head_sha"), head_repository,
            _text(data, "workflow_run", "head_branch"), head_repository.lower() != repository.lower(),
        )  # fmt: skip
    if name == "merge_group":
        return Event(
            name, repository, None, _commit(data, "merge_group", "base_sha"), _commit(data, "merge_group", "head_sha"), repository,
            _text(data, "merge_group", "head_ref"),
        )  # fmt: skip
    if name == "push":
        before, after = _commit(data, "before"), _commit(data, "after")
        if not after.strip("0"):
            raise EventError("the push deletes a branch: there is nothing to check")
        return Event(name, repository, None, before if before.strip("0") else "", after, repository, _text(data, "ref"))
    raise EventError(f"an event {name!r} has no change to review")


def _guess(data: Mapping[str, Any]) -> str:
    for name in ("pull_request", "workflow_run", "merge_group"):
        if isinstance(data.get(name), dict):
            return name
    return "push" if "after" in data else ""


def _at(data: Any, *path: str) -> Any:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def _text(data: Mapping[str, Any], *path: str) -> str:
    value = _at(data, *path)
    return value if isinstance(value, str) else ""


def _number(data: Mapping[str, Any], *path: str) -> int:
    value = _at(data, *path)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise EventError(f"the event has no {'.'.join(path)}")
    return value


def _commit(data: Mapping[str, Any], *path: str) -> str:
    value = _text(data, *path)
    if not _COMMIT.match(value):
        raise EventError(f"the event has no commit in {'.'.join(path)}")
    return value
