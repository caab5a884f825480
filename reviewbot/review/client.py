"""The GitHub API as the review needs it, over PyGithub's requester. The only module that speaks HTTP.

Nothing is retried blindly: after a write whose outcome is not known the caller looks at what is there first. Limits are waited for, within
a budget. A token is never part of a text that leaves this module.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

from reviewbot.review.event import REPOSITORY
from reviewbot.review.state import Thread

PAGE = 100
MAX_PAGES = 100
ATTEMPTS = 4
MAX_WRITES = 200  # of one run; 500 an hour make GitHub refuse
PACE = 1.0  # seconds between two writes: 80 a minute make GitHub refuse
PATIENCE = 600.0  # seconds of waiting for limits, in one run
TIMEOUT = 30  # seconds of one request
_SECONDARY_WAIT = 60.0
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")

Kind = Literal["forbidden", "not-found", "invalid", "limited", "unknown", "failed"]


class ApiError(Exception):
    """An answer of the API that is no success. ``kind``: ``forbidden`` (401, 403), ``not-found``, ``invalid`` (422), ``limited`` (a rate
    limit that was not waited for), ``unknown`` (a 5xx, a timeout: the request may have been carried out), ``failed`` (anything else)."""

    def __init__(self, kind: Kind, status: int, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status


class Token:
    """A token that does not print itself."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value.strip()

    def __repr__(self) -> str:
        return "Token(***)"

    __str__ = __repr__

    def __bool__(self) -> bool:
        return bool(self._value)

    def reveal(self) -> str:
        """The token itself, for the request that needs it."""
        return self._value

    def redacted(self, text: str) -> str:
        """A text without the token."""
        return text.replace(self._value, "***") if self._value else text


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull request as it is now. ``fork`` where the head is in another repository, or in one that is gone."""

    number: int
    head_sha: str
    head_repo: str
    base_sha: str
    base_ref: str
    open: bool
    fork: bool


class GitHub:
    """The calls of the review, on one repository. ``wait`` sleeps; ``pace`` is the time between two writes, in seconds
    (``PACE`` where none is given)."""

    def __init__(
        self,
        repository: str,
        token: Token,
        *,
        api: str = "https://api.github.com",
        login: str = "",
        wait: Callable[[float], None] = time.sleep,
        pace: float | None = None,
        patience: float = PATIENCE,
        timeout: int = TIMEOUT,
    ) -> None:
        import github

        if not REPOSITORY.match(repository):
            raise ValueError(f"{repository!r} is not OWNER/NAME")
        self.repository = repository
        self.token = token
        self._root = f"/repos/{repository}"
        self._wait = wait
        self._patience = patience
        self._pace = PACE if pace is None else pace
        self._last_write = 0.0
        self._writes = 0
        self._login = login
        self._may_write: dict[str, bool] = {}
        self._github = github.Github(
            auth=github.Auth.Token(token.reveal()) if token else None,
            base_url=api.rstrip("/"),
            timeout=timeout,
            user_agent="reviewbot",
            per_page=PAGE,
            retry=None,  # a POST that is sent twice writes twice
            seconds_between_requests=0,
            seconds_between_writes=0,  # PyGithub's clock is the real one; the pace is kept here
        )

    def close(self) -> None:
        self._github.close()

    # --- one request ---

    def request(
        self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None, reads: bool = False
    ) -> tuple[Mapping[str, Any], Any]:
        """Headers and data of an answer. Rate limits are waited for; what only reads is repeated after a fault (``reads`` says that a POST
        only reads). Raises ``ApiError``."""
        reads = reads or verb == "GET"
        attempt = 0
        while True:
            attempt += 1
            if not reads:
                self._slowly()
            try:
                return self._once(verb, path, query, body)
            except _Limited as limit:
                if attempt >= ATTEMPTS or limit.seconds > self._patience:
                    raise ApiError("limited", limit.status, f"GitHub limits the rate of requests: {limit}") from None
                self._patience -= limit.seconds
                self._wait(limit.seconds)
            except ApiError as error:
                # PATCH, PUT and DELETE have the same outcome however often they come.
                if error.kind != "unknown" or (verb == "POST" and not reads) or attempt >= ATTEMPTS:
                    raise
                self._wait(float(2**attempt))

    def pause(self, seconds: float) -> None:
        """Wait before looking whether a write arrived."""
        self._wait(seconds)

    def _slowly(self) -> None:
        if self._writes >= MAX_WRITES:
            raise ApiError("limited", 0, f"more than {MAX_WRITES} writes in one run; the next run goes on")
        self._writes += 1
        pause = self._last_write + self._pace - time.monotonic()
        if pause > 0:
            self._wait(pause)
        self._last_write = time.monotonic()

    def _once(self, verb: str, path: str, query: Mapping[str, Any] | None, body: Any) -> tuple[Mapping[str, Any], Any]:
        import github

        try:
            return self._github.requester.requestJsonAndCheck(verb, path, parameters=dict(query or {}) or None, input=body)
        except github.GithubException as error:
            raise self._error(error.status, error.headers or {}, error.data) from None
        except OSError as error:  # all errors of a connection, those of requests too
            raise ApiError("unknown", 0, self.token.redacted(f"no answer from GitHub: {type(error).__name__}")) from None

    def _error(self, status: int, headers: Mapping[str, str], data: Any) -> Exception:
        said = data.get("message") if isinstance(data, dict) else None
        message = self.token.redacted(" ".join(str(said or "no message").split()))[:300]
        details = data.get("errors") if isinstance(data, dict) else None
        if isinstance(details, list):
            message += self.token.redacted("".join(f"; {' '.join(str(_detail(item)).split())}" for item in details[:5]))[:600]
        if status in (403, 429):
            seconds = _limit(headers, message, status)
            if seconds is not None:
                return _Limited(status, seconds, message)
        if status in (401, 403):
            return ApiError("forbidden", status, message)
        if status in (404, 410):
            return ApiError("not-found", status, message)
        if status == 422:
            return ApiError("invalid", status, message)
        return ApiError("unknown" if status >= 500 or status == 408 else "failed", status, f"{status}: {message}")

    def _pages(self, path: str, query: Mapping[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        for page in range(1, MAX_PAGES + 1):
            headers, data = self.request("GET", path, query={**(query or {}), "per_page": PAGE, "page": page})
            if not isinstance(data, list):
                raise ApiError("failed", 200, f"{path} gave no list")
            yield from (item for item in data if isinstance(item, dict))
            if 'rel="next"' not in str(headers.get("link", "")):
                return

    # --- reading ---

    def login(self) -> str:
        """The account that comments are written with. An app cannot ask REST; a workflow is ``github-actions[bot]``."""
        if not self._login:
            try:
                _, data = self.request("GET", "/user")
                self._login = str(data["login"])
            except ApiError as error:
                if error.kind not in ("forbidden", "not-found"):
                    raise
                self._login = self._viewer() or "github-actions[bot]"
        return self._login

    def _viewer(self) -> str:
        try:
            name = self._graphql(_VIEWER, {})["viewer"]["login"]
        except (ApiError, KeyError, TypeError):
            return ""
        return name if not isinstance(name, str) or not name or name.endswith("[bot]") else f"{name}[bot]"

    def pull(self, number: int) -> Pull:
        _, data = self.request("GET", f"{self._root}/pulls/{number}")
        return _pull(data)

    def pulls_of(self, commit: str, head_repo: str, branch: str) -> list[Pull]:
        """The open pull requests of this repository whose head is ``commit`` of ``head_repo``. Raises ``ApiError``."""
        if not _COMMIT.match(commit):
            return []
        found = [_pull(data) for data in self._found_by(f"{self._root}/commits/{commit}/pulls", {}) if self._is_ours(data)]
        if not found and branch:
            owner = head_repo.partition("/")[0]
            query = {"state": "open", "head": f"{owner}:{branch}"}
            found = [_pull(data) for data in self._found_by(f"{self._root}/pulls", query) if self._is_ours(data)]
        return [pull for pull in found if pull.open and pull.head_sha == commit and pull.head_repo.lower() == head_repo.lower()]

    def _found_by(self, path: str, query: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            return list(self._pages(path, query))
        except ApiError as error:
            if error.kind in ("not-found", "invalid"):  # a commit that this repository does not know
                return []
            raise

    def _is_ours(self, data: Mapping[str, Any]) -> bool:
        repo = (data.get("base") or {}).get("repo") or {}
        return str(repo.get("full_name", "")).lower() == self.repository.lower()

    def review_comments(self, number: int) -> list[dict[str, Any]]:
        return list(self._pages(f"{self._root}/pulls/{number}/comments"))

    def issue_comments(self, number: int) -> list[dict[str, Any]]:
        return list(self._pages(f"{self._root}/issues/{number}/comments"))

    def reviews(self, number: int) -> list[dict[str, Any]]:
        return list(self._pages(f"{self._root}/pulls/{number}/reviews"))

    def thumbs_down(self, comment: int) -> list[str]:
        """Who gave a review comment a thumbs-down; accounts that are gone are left out."""
        try:
            found = list(self._pages(f"{self._root}/pulls/comments/{comment}/reactions", {"content": "-1"}))
        except ApiError as error:
            if error.kind in ("forbidden", "not-found"):
                return []
            raise
        return [user["login"] for item in found if isinstance(user := item.get("user"), dict) and isinstance(user.get("login"), str)]

    def may_write(self, login: str) -> bool:
        """Whether somebody may write to the repository; ``False`` where that cannot be told."""
        if login not in self._may_write:
            try:
                _, data = self.request("GET", f"{self._root}/collaborators/{quote(login, safe='')}/permission")
                self._may_write[login] = data.get("permission") in ("admin", "write")
            except ApiError as error:
                if error.kind not in ("forbidden", "not-found"):
                    raise
                self._may_write[login] = False
        return self._may_write[login]

    def threads(self, number: int) -> dict[int, Thread] | None:
        """Review threads by the id of their first comment; ``None`` where GraphQL does not answer (its quota is used up, say)."""
        owner, _, name = self.repository.partition("/")
        found: dict[int, Thread] = {}
        cursor: str | None = None
        for _page in range(MAX_PAGES):
            try:
                data = self._graphql(_THREADS, {"owner": owner, "name": name, "number": number, "cursor": cursor})
                threads = data["repository"]["pullRequest"]["reviewThreads"]
                for node in threads["nodes"]:
                    first = (node["comments"]["nodes"] or [None])[0]
                    if first is not None and first.get("databaseId") is not None:
                        who = node.get("resolvedBy") or {}
                        found[first["databaseId"]] = Thread(node["id"], bool(node["isResolved"]), who.get("login"))
                if not threads["pageInfo"]["hasNextPage"]:
                    break
                cursor = threads["pageInfo"]["endCursor"]
            except (ApiError, KeyError, TypeError):
                return None
        return found

    # --- writing ---

    def post_review(self, number: int, commit: str, body: str, event: str, comments: list[dict[str, Any]]) -> None:
        data = {"commit_id": commit, "body": body, "event": event, "comments": comments}
        self.request("POST", f"{self._root}/pulls/{number}/reviews", body=data)

    def post_file_comment(self, number: int, commit: str, path: str, body: str) -> None:
        data = {"commit_id": commit, "path": path, "body": body, "subject_type": "file"}
        self.request("POST", f"{self._root}/pulls/{number}/comments", body=data)

    def edit_comment(self, comment: int, body: str) -> None:
        self.request("PATCH", f"{self._root}/pulls/comments/{comment}", body={"body": body})

    def delete_comment(self, comment: int) -> None:
        self._gone(f"{self._root}/pulls/comments/{comment}")

    def post_summary(self, number: int, body: str) -> None:
        self.request("POST", f"{self._root}/issues/{number}/comments", body={"body": body})

    def edit_summary(self, comment: int, body: str) -> None:
        self.request("PATCH", f"{self._root}/issues/comments/{comment}", body={"body": body})

    def delete_summary(self, comment: int) -> None:
        self._gone(f"{self._root}/issues/comments/{comment}")

    def dismiss(self, number: int, review: int, message: str) -> None:
        self.request(
            "PUT", f"{self._root}/pulls/{number}/reviews/{review}/dismissals", body={"message": message, "event": "DISMISS"}
        )  # fmt: skip

    def resolve(self, thread: str, resolved: bool) -> bool:
        """Resolve or reopen a thread; whether that was done. A token without ``contents: write`` may not."""
        try:
            self._graphql(_RESOLVE if resolved else _UNRESOLVE, {"thread": thread})
        except ApiError:
            return False
        return True

    def _gone(self, path: str) -> None:
        try:
            self.request("DELETE", path)
        except ApiError as error:
            if error.kind != "not-found":  # another run was quicker
                raise

    def _graphql(self, query: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """The data of a GraphQL answer, which may be an error with status 200. Raises ``ApiError``."""
        body = {"query": query, "variables": variables}
        _, answer = self.request("POST", self._github.requester.graphql_url, body=body, reads=query in (_THREADS, _VIEWER))
        errors = answer.get("errors") if isinstance(answer, dict) else None
        if errors or not isinstance(answer, dict) or not isinstance(answer.get("data"), dict):
            said = "; ".join(str(item.get("message", "")) for item in errors if isinstance(item, dict)) if isinstance(errors, list) else ""
            raise ApiError("forbidden", 200, self.token.redacted(said or "no data")[:300])
        data: dict[str, Any] = answer["data"]
        return data


class _Limited(Exception):
    def __init__(self, status: int, seconds: float, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.seconds = seconds


def _limit(headers: Mapping[str, str], message: str, status: int) -> float | None:
    """How many seconds to wait before the next try, ``None`` where a refusal is not about the rate."""
    lowered = {str(name).lower(): str(value) for name, value in headers.items()}
    after = lowered.get("retry-after", "")
    if after.isdigit():
        return float(after) + 1
    said = message.lower()
    secondary = "secondary rate limit" in said or "abuse detection" in said
    if lowered.get("x-ratelimit-remaining") == "0" and not secondary and lowered.get("x-ratelimit-reset", "").isdigit():
        return max(float(lowered["x-ratelimit-reset"]) - time.time(), 0) + 1
    if secondary or "rate limit exceeded" in said or status == 429:
        return _SECONDARY_WAIT
    return None


def _detail(item: Any) -> Any:
    return item.get("message") or item.get("code") or item if isinstance(item, dict) else item


def _pull(data: Mapping[str, Any]) -> Pull:
    head, base = data["head"], data["base"]
    head_repo = str((head.get("repo") or {}).get("full_name", ""))
    base_repo = str((base.get("repo") or {}).get("full_name", ""))
    fork = head_repo.lower() != base_repo.lower()
    return Pull(int(data["number"]), str(head["sha"]), head_repo, str(base["sha"]), str(base["ref"]), data.get("state") == "open", fork)


_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $cursor: String) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: 100, after: $cursor) {
        pageInfo { hasNextPage endCursor }
        nodes { id isResolved resolvedBy { login } comments(first: 1) { nodes { databaseId } } }
      }
    }
  }
}
"""
_VIEWER = "query { viewer { login } }"
_RESOLVE = "mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { isResolved } } }"
_UNRESOLVE = "mutation($thread: ID!) { unresolveReviewThread(input: {threadId: $thread}) { thread { isResolved } } }"
