"""Carrying out a plan on a pull request, so that a crash at any moment, a second run or a fault neither loses nor doubles a comment.

Comments come before edits, and the summary last: what an aborted run has left is found by the next through the markers. After a write whose
outcome is not known, the comments are listed before anything is written again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from reviewbot.review.client import ApiError, GitHub
from reviewbot.review.items import Item, without_line
from reviewbot.review.markup import Links
from reviewbot.review.reconcile import MOST_INLINE, Edit, Plan, duplicates, reconcile
from reviewbot.review.render import (
    SummaryFacts,
    SummarySection,
    comment_body,
    duplicate_body,
    fixed_body,
    review_body,
    summary_body,
)
from reviewbot.review.state import OwnSummary, PullState, read_marker, read_state

_TRIES = 3  # of a write whose outcome is not known
_MOST_POSTS = 24  # reviews that one run may post while it looks for the comment that GitHub refuses


@dataclass(frozen=True, slots=True)
class Request:
    """What to put on a pull request. ``existing`` says whether the head has a finding that is not new; ``base`` is the commit that settings
    were read from, for the summary."""

    number: int
    head: str
    items: Sequence[Item]
    links: Links
    existing: Callable[[str], bool] = lambda fingerprint: False
    complete: bool = True
    request_changes: bool = False
    sections: Sequence[SummarySection] = ()
    unchecked: Sequence[str] = ()
    settings: str = ""
    most: int = MOST_INLINE


@dataclass(slots=True)
class Outcome:
    """What was done. ``abandoned`` says why nothing was; ``problems`` are for the log, and ``failed`` says that something is missing."""

    posted: int = 0
    edited: int = 0
    deleted: int = 0
    resolved: int = 0
    summary: str = ""
    abandoned: str = ""
    problems: list[str] = field(default_factory=list)
    failed: bool = False


class _Moved(Exception):
    """The pull request has another head than the one that was checked, or is closed."""


def post(github: GitHub, request: Request) -> Outcome:
    """Bring a pull request in line with the findings. Raises ``ApiError`` where the API does not let it."""
    outcome = Outcome()
    try:
        _check_head(github, request)
        state = _state(github, request.number)
        plan = reconcile(
            request.items, state, existing=request.existing, complete=request.complete,
            request_changes=request.request_changes, most=request.most,
        )  # fmt: skip
        _check_head(github, request)
        return _carry_out(github, request, state, plan, outcome)
    except _Moved as moved:
        outcome.abandoned = str(moved)
        return outcome


def _carry_out(github: GitHub, request: Request, state: PullState, plan: Plan, outcome: Outcome) -> Outcome:
    refused = _post_new(github, request, plan, outcome)
    for edit in plan.edits:
        github.edit_comment(edit.comment.id, _edited(edit, request))
        outcome.edited += 1
    _resolve(github, plan, outcome)
    if plan.new or plan.deletes:
        _delete_duplicates(github, request.number, outcome)
        if plan.new and outcome.posted and not _present(github, request.number):
            # The next run would post all of them again.
            outcome.problems.append(f"the comments that were posted are not those of {github.login()}: name the account with --bot-login")
            outcome.failed = True
    if plan.summary:
        _summarize(github, request, state, plan, refused, outcome)
    if plan.unblock is not None:
        try:
            github.dismiss(request.number, plan.unblock, f"The errors that reviewbot found are gone in {request.head[:10]}.")
        except ApiError as error:
            if error.kind not in ("forbidden", "not-found", "invalid"):
                raise
            outcome.problems.append(f"the request for changes could not be taken back: {error}")
    return outcome


def _check_head(github: GitHub, request: Request) -> None:
    pull = github.pull(request.number)
    if not pull.open:
        raise _Moved(f"pull request {request.number} is closed")
    if pull.head_sha != request.head:
        raise _Moved(
            f"the head of pull request {request.number} moved from {request.head[:10]} to {pull.head_sha[:10]}: its own run reviews it"
        )


def _state(github: GitHub, number: int) -> PullState:
    login = github.login()
    # The summary first: what it remembers as posted is then among the comments, unless somebody deleted it.
    summaries = github.issue_comments(number)
    comments = github.review_comments(number)
    own = any(_is_marked(item, login) for item in comments)
    threads = github.threads(number) if own else {}
    return read_state(
        comments, threads, summaries, github.reviews(number), login,
        may_write=github.may_write, thumbs_down=github.thumbs_down,
    )  # fmt: skip


def _is_marked(item: dict[str, Any], login: str) -> bool:
    return (item.get("user") or {}).get("login") == login and read_marker(item.get("body")) is not None


# --- new comments --------------------------------------------------------------------------------------------------


def _post_new(github: GitHub, request: Request, plan: Plan, outcome: Outcome) -> list[Item]:
    """Post the new comments; gives those that GitHub does not take at their place."""
    inline = [item for item in plan.new if item.anchor.kind == "inline"]
    refused: list[Item] = []
    posts = [_MOST_POSTS]
    if inline or plan.block:
        _post_batch(github, request, inline, plan.block, posts, refused, outcome)
    for item in plan.new:
        if item.anchor.kind != "file":
            continue
        try:
            _check_head(github, request)
            _write(partial(_send_file, github, request, item), partial(_is_there, github, request, item), github)
            outcome.posted += 1
        except ApiError as error:
            if error.kind != "invalid":
                raise
            outcome.problems.append(f"GitHub takes no comment on a changed file: {error}")
            refused.append(without_line(item))
    return refused


def _send_file(github: GitHub, request: Request, item: Item) -> None:
    github.post_file_comment(request.number, request.head, item.anchor.path, comment_body(item, request.head, request.links))


def _is_there(github: GitHub, request: Request, item: Item) -> bool:
    return item.finding.fingerprint in _present(github, request.number)


def _post_batch(
    github: GitHub, request: Request, items: list[Item], blocking: bool, posts: list[int], refused: list[Item], outcome: Outcome
) -> None:
    """One review with all comments. GitHub refuses it as a whole and does not say for which: then its halves are tried."""
    if not posts[0]:
        refused.extend(without_line(item) for item in items)
        return
    posts[0] -= 1
    left = list(items)
    event = "REQUEST_CHANGES" if blocking else "COMMENT"

    def send() -> None:
        body = review_body(left, request.head, request.links, blocking=blocking)
        github.post_review(request.number, request.head, body, event, [_comment(item, request) for item in left])

    def done() -> bool:
        if not items:
            return _blocks(github, request.number)
        present = _present(github, request.number)
        left[:] = [item for item in left if item.finding.fingerprint not in present]
        return not left

    try:
        _check_head(github, request)
        _write(send, done, github)
        outcome.posted += len(items)
    except ApiError as error:
        if error.kind != "invalid":
            raise
        outcome.problems.append(f"GitHub refuses a review of {len(left)} comments: {error}")
        if len(left) <= 1:
            refused.extend(without_line(item) for item in left)
            if blocking and left:
                _post_batch(github, request, [], True, posts, refused, outcome)
            return
        half = len(left) // 2
        _post_batch(github, request, left[:half], blocking, posts, refused, outcome)
        blocked = blocking and _blocks(github, request.number)
        _post_batch(github, request, left[half:], blocking and not blocked, posts, refused, outcome)


def _write(send: Callable[[], None], done: Callable[[], bool], github: GitHub) -> None:
    """Send what must not be sent twice; after a fault look whether it arrived. Raises ``ApiError``."""
    for attempt in range(1, _TRIES + 1):
        try:
            return send()
        except ApiError as error:
            if error.kind != "unknown":
                raise
            github.pause(float(2**attempt))
            if done():
                return None
            if attempt == _TRIES:
                raise
    return None


def _present(github: GitHub, number: int) -> set[str]:
    """Fingerprints that an own open comment tells of."""
    login = github.login()
    markers = [read_marker(item.get("body")) for item in github.review_comments(number) if _is_marked(item, login)]
    return {marker["fp"] for marker in markers if marker and marker.get("state") == "open" and "fp" in marker}


def _blocks(github: GitHub, number: int) -> bool:
    state = read_state([], {}, [], github.reviews(number), github.login(), may_write=lambda login: False, thumbs_down=lambda comment: ())
    return state.blocking is not None


def _comment(item: Item, request: Request) -> dict[str, Any]:
    anchor = item.anchor
    comment: dict[str, Any] = {
        "path": anchor.path,
        "body": comment_body(item, request.head, request.links),
        "line": anchor.line,
        "side": anchor.side,
    }
    if anchor.start_line is not None:
        comment.update(start_line=anchor.start_line, start_side=anchor.side)
    return comment


# --- what is there already -----------------------------------------------------------------------------------------


def _edited(edit: Edit, request: Request) -> str:
    if edit.why == "open" and edit.item is not None:
        return comment_body(edit.item, request.head, request.links)
    if edit.why == "duplicate":
        return duplicate_body(edit.comment, request.head)
    return fixed_body(edit.comment, request.head, request.links, base_has_it=edit.why == "base")


def _resolve(github: GitHub, plan: Plan, outcome: Outcome) -> None:
    wanted = [(thread, True) for thread in plan.resolve] + [(thread, False) for thread in plan.reopen]
    for thread, resolved in wanted:
        if not github.resolve(thread, resolved):
            left = len(wanted) - outcome.resolved
            outcome.problems.append(f"{left} of {len(wanted)} threads could not be resolved or reopened: the token needs contents: write")
            return
        outcome.resolved += 1


def _delete_duplicates(github: GitHub, number: int, outcome: Outcome) -> None:
    """Delete second comments about one finding, as they are now: another run may have written and people may have replied meanwhile."""
    login = github.login()
    raw = github.review_comments(number)
    state = read_state(raw, {}, [], [], login, may_write=lambda login: False, thumbs_down=lambda comment: ())
    for comment in duplicates(state.comments):
        if not comment.replied:
            github.delete_comment(comment.id)
            outcome.deleted += 1


# --- the summary ---------------------------------------------------------------------------------------------------


def _summarize(github: GitHub, request: Request, state: PullState, plan: Plan, refused: list[Item], outcome: Outcome) -> None:
    gone = {item.finding.fingerprint for item in refused}
    inline = [*plan.kept, *(item for item in plan.new if item.finding.fingerprint not in gone)]
    facts = SummaryFacts(
        head=request.head, inline=inline, rows=[*plan.rows, *refused], refused=len(plan.refused), fixed=plan.fixed,
        sections=request.sections, unchecked=request.unchecked, settings=request.settings,
    )  # fmt: skip
    body = summary_body(facts, [item.finding.fingerprint for item in inline], plan.refused_keys, request.links)
    outcome.summary = body
    if state.summaries:
        first, *extra = state.summaries
        if first.body.replace("\r\n", "\n").rstrip() != body.rstrip():
            try:
                github.edit_summary(first.id, body)
                outcome.edited += 1
            except ApiError as error:
                if error.kind != "not-found":
                    raise
                _create_summary(github, request, body, outcome)
        for summary in extra:
            github.delete_summary(summary.id)
            outcome.deleted += 1
        return
    _create_summary(github, request, body, outcome)


def _create_summary(github: GitHub, request: Request, body: str, outcome: Outcome) -> None:
    _check_head(github, request)
    _write(lambda: github.post_summary(request.number, body), lambda: bool(_summaries(github, request.number)), github)
    outcome.posted += 1
    there = _summaries(github, request.number)
    for summary in there[1:]:  # another run wrote one at the same time
        github.delete_summary(summary.id)
        outcome.deleted += 1
    if len(there) > 1 and there[0].body.replace("\r\n", "\n").rstrip() != body.rstrip():
        github.edit_summary(there[0].id, body)


def _summaries(github: GitHub, number: int) -> list[OwnSummary]:
    state = read_state(
        [], {}, github.issue_comments(number), [], github.login(), may_write=lambda login: False, thumbs_down=lambda comment: ()
    )
    return list(state.summaries)
