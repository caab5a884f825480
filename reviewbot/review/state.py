"""What the review knows from one run to the next: hidden markers in its own comments, and what people did with them.

A marker is the last line of a comment. Anybody can write one, so it counts only in comments of the bot's own account; and text of a
repository cannot end a comment of the bot, since the marker always follows it.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

VERSION = "v1"
KEY = 16  # characters of a fingerprint that the summary remembers
MOST_REMEMBERED = 400

_MARKER = re.compile(rf"<!-- reviewbot:{VERSION}((?: [a-z]+=[A-Za-z0-9_=.-]*)+) -->\Z")
_FINGERPRINT = re.compile(r"[0-9a-f]{32}\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")

CommentState = Literal["open", "fixed"]


@dataclass(frozen=True, slots=True)
class Thread:
    """A review thread: who resolved it, ``None`` where it is open or the account is gone."""

    id: str
    resolved: bool
    resolved_by: str | None


@dataclass(frozen=True, slots=True)
class OwnComment:
    """A comment of the bot about one finding. ``outdated`` where its line is no longer in the diff; ``refused`` where somebody with write
    access resolved it while it was open, or gave it a thumbs-down. ``unseen``: when it was called fixed, nobody could tell whether its
    thread had been resolved before."""

    id: int
    fingerprint: str
    commit: str
    state: CommentState
    refused: bool
    unseen: bool
    outdated: bool
    replied: bool
    thread: Thread | None
    body: str


@dataclass(frozen=True, slots=True)
class OwnSummary:
    """The bot's comment about the whole pull request. ``posted`` and ``refused`` hold beginnings of fingerprints."""

    id: int
    body: str
    posted: frozenset[str]
    refused: frozenset[str]


@dataclass(frozen=True, slots=True)
class PullState:
    """Everything of the bot's on a pull request. ``blocking`` is its review that asks for changes and still counts."""

    comments: tuple[OwnComment, ...] = ()
    summaries: tuple[OwnSummary, ...] = ()
    blocking: int | None = None

    @property
    def refused(self) -> frozenset[str]:
        remembered = frozenset(key for summary in self.summaries for key in summary.refused)
        return remembered | {comment.fingerprint[:KEY] for comment in self.comments if comment.refused}

    @property
    def posted(self) -> frozenset[str]:
        return frozenset(key for summary in self.summaries for key in summary.posted)


# --- markers -------------------------------------------------------------------------------------------------------


def comment_marker(fingerprint: str, commit: str, state: CommentState, *, refused: bool = False, unseen: bool = False) -> str:
    """The last line of a comment about a finding."""
    more = (" refused=1" if refused else "") + (" unseen=1" if unseen else "")
    return f"<!-- reviewbot:{VERSION} fp={fingerprint} sha={commit} state={state}{more} -->"


def summary_marker(commit: str, posted: Sequence[str], refused: Sequence[str]) -> str:
    """The last line of the summary; it remembers which findings have a comment and which were refused."""
    data = {
        "posted": sorted({fingerprint[:KEY] for fingerprint in posted})[:MOST_REMEMBERED],
        "refused": sorted({fingerprint[:KEY] for fingerprint in refused})[:MOST_REMEMBERED],
    }
    encoded = base64.urlsafe_b64encode(json.dumps(data, separators=(",", ":")).encode()).decode()
    return f"<!-- reviewbot:{VERSION} kind=summary sha={commit} data={encoded} -->"


def read_marker(body: str | None) -> Mapping[str, str] | None:
    """The fields of the marker that ends a comment, ``None`` where there is none."""
    lines = (body or "").replace("\r\n", "\n").rstrip().split("\n")
    match = _MARKER.match(lines[-1])
    if match is None:
        return None
    return dict(item.partition("=")[::2] for item in match[1].split())


# --- reading the API's answers -------------------------------------------------------------------------------------


def is_own(item: Mapping[str, Any], login: str) -> bool:
    """Whether a comment or review is the bot's; an account that is gone is nobody's."""
    user = item.get("user")
    return isinstance(user, Mapping) and user.get("login") == login


def read_state(
    comments: Sequence[Mapping[str, Any]],
    threads: Mapping[int, Thread] | None,
    issue_comments: Sequence[Mapping[str, Any]],
    reviews: Sequence[Mapping[str, Any]],
    login: str,
    *,
    may_write: Callable[[str], bool],
    thumbs_down: Callable[[int], Sequence[str]],
) -> PullState:
    """The state from lists of the REST API and, by the id of the first comment, the threads (``None`` where GraphQL gave none).

    ``may_write`` says whether somebody may write to the repository; ``thumbs_down`` who gave a comment a thumbs-down.
    """
    replied = {item["in_reply_to_id"] for item in comments if item.get("in_reply_to_id") and not is_own(item, login)}
    own = [item for item in comments if is_own(item, login)]
    found = [_own_comment(item, threads or {}, item["id"] in replied, login, may_write, thumbs_down) for item in own]
    summaries = [_own_summary(item) for item in issue_comments if is_own(item, login)]
    mine = [item for item in reviews if is_own(item, login) and item.get("state") in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")]
    last = max(mine, key=lambda item: int(item["id"]), default=None)
    return PullState(
        tuple(sorted((comment for comment in found if comment), key=lambda comment: comment.id)),
        tuple(sorted((summary for summary in summaries if summary), key=lambda summary: summary.id)),
        last["id"] if last is not None and last["state"] == "CHANGES_REQUESTED" else None,
    )


def _own_comment(
    item: Mapping[str, Any],
    threads: Mapping[int, Thread],
    replied: bool,
    login: str,
    may_write: Callable[[str], bool],
    thumbs_down: Callable[[int], Sequence[str]],
) -> OwnComment | None:
    marker = read_marker(item.get("body"))
    if marker is None or not _FINGERPRINT.match(marker.get("fp", "")) or marker.get("state") not in ("open", "fixed"):
        return None
    state: CommentState = "open" if marker["state"] == "open" else "fixed"
    thread = threads.get(item["id"])
    refused = marker.get("refused") == "1"
    unseen = marker.get("unseen") == "1"
    if not refused and (state == "open" or unseen) and thread is not None and thread.resolved and thread.resolved_by not in (None, login):
        refused = may_write(thread.resolved_by or "")
    if not refused and (item.get("reactions") or {}).get("-1", 0):
        refused = any(may_write(person) for person in thumbs_down(item["id"]) if person != login)
    outdated = item.get("subject_type") != "file" and item.get("line") is None
    commit = marker.get("sha", "")
    return OwnComment(
        item["id"],
        marker["fp"],
        commit if _COMMIT.match(commit) else "",
        state,
        refused,
        unseen,
        outdated,
        replied,
        thread,
        item.get("body") or "",
    )


def _own_summary(item: Mapping[str, Any]) -> OwnSummary | None:
    marker = read_marker(item.get("body"))
    if marker is None or marker.get("kind") != "summary":
        return None
    try:
        data = json.loads(base64.urlsafe_b64decode(marker.get("data", "").encode()))
    except (binascii.Error, ValueError, RecursionError):
        data = {}
    data = data if isinstance(data, dict) else {}
    return OwnSummary(item["id"], item.get("body") or "", _keys(data.get("posted")), _keys(data.get("refused")))


def _keys(value: Any) -> frozenset[str]:
    return frozenset(key for key in value if isinstance(key, str)) if isinstance(value, list) else frozenset()
