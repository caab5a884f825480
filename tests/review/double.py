"""A GitHub of our own: one repository in memory, with the rules and the refusals of the real one.

Every request and every answer is held against GitHub's own description of its API (``openapi/github.json``). What the description does not
say is written here from what is known of the service: comments outside of a hunk refuse a whole review, a token of a fork reads only,
threads are resolved with ``contents: write`` only, pages have 30 entries, writes have limits.
"""

from __future__ import annotations

import copy
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema_rs

REPOSITORY = "bench/recipes"
BOT = "github-actions[bot]"
MAX_BODY = 65_536
_DESCRIPTION = json.loads((Path(__file__).parent / "openapi" / "github.json").read_text("utf-8"))
_TIME = "2026-08-01T12:00:00Z"


class Crash(Exception):
    """The run dies here."""


@dataclass
class Lines:
    """The hunks of a file: new and old line ranges, and the deleted old lines. ``too_large``: GitHub has no diff of it."""

    new: list[range] = field(default_factory=list)
    old: list[range] = field(default_factory=list)
    deleted: set[int] = field(default_factory=set)
    too_large: bool = False


@dataclass
class PullRequest:
    number: int
    head: str
    base: str
    diff: dict[str, Lines]
    head_repo: str | None = REPOSITORY
    branch: str = "topic"
    state: str = "open"
    heads: list[str] = field(default_factory=list)


@dataclass
class Comment:
    id: int
    login: str | None
    body: str
    path: str
    line: int | None
    side: str
    start_line: int | None
    commit: str
    review: int
    pull: int
    subject: str = "line"
    reply_to: int | None = None
    reactions: dict[str, str] = field(default_factory=dict)  # login -> content
    resolved_by: str | None = None
    resolved: bool = False


@dataclass
class Fault:
    """What happens to the next request that ``matches``: ``before`` or ``after`` it is carried out."""

    status: int
    message: str = "Server Error"
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    matches: Callable[[str, str], bool] = lambda verb, path: True
    times: int = 1
    crash: bool = False


# --- the description -----------------------------------------------------------------------------------------------


@cache
def _validator(call: str, part: str) -> Any:
    schema: Any = _DESCRIPTION["calls"][call]
    for name in part.split("."):
        schema = schema[name]
    return None if schema is None else jsonschema_rs.validator_for({"schemas": _DESCRIPTION["schemas"], **schema})


@cache
def _minimal_text(name: str) -> str:
    return json.dumps(_minimal({"$ref": f"#/schemas/{name}"}, ()))


def minimal(name: str) -> Any:
    """The smallest value that a schema of the description allows."""
    return json.loads(_minimal_text(name))


def _minimal(schema: Any, inside: tuple[str, ...]) -> Any:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _minimal(_DESCRIPTION["schemas"][name], (*inside, name))
    if "enum" in schema:
        return schema["enum"][0]
    for word in ("anyOf", "oneOf"):
        if word in schema:
            options = schema[word]
            if {"type": "null"} in options:
                return None
            return _minimal(options[0], inside)
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            merged.update(_minimal(part, inside))
        return merged
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        return None if "null" in kind else _minimal({**schema, "type": kind[0]}, inside)
    if kind == "object":
        return {
            name: _minimal(schema["properties"][name], inside)
            for name in schema.get("required", [])
            if name in schema.get("properties", {})
        }
    return {"string": "", "integer": 1, "number": 1, "boolean": False, "array": []}[kind]


def check(call: str, part: str, value: Any) -> None:
    validator = _validator(call, part)
    if validator is None:
        assert value is None, f"{call}: {part} is {value!r}, which the description does not have"
        return
    errors = [f"{'.'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in validator.iter_errors(value)]
    assert not errors, f"{call}: {part}: {errors[:3]}"


def _described(data: Any) -> Any:
    """An answer without the one thing in which the service departs from its description: the line of an outdated comment is null."""
    if isinstance(data, list):
        return [_described(item) for item in data]
    if isinstance(data, dict) and "diff_hunk" in data:
        return {name: value for name, value in data.items() if not (name in ("line", "start_line") and value is None)}
    return data


def _only_known(call: str, body: Any) -> None:
    """A field that the description does not have is a mistake of ours, which GitHub would not tell."""
    schema = _DESCRIPTION["calls"][call]["body"]
    if isinstance(body, dict) and schema is not None:
        options = [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]
        known = {name for option in options for name in option.get("properties", {})}
        assert body.keys() <= known, f"{call}: {body.keys() - known}"
        for comment in body.get("comments", []):
            assert comment.keys() <= schema["properties"]["comments"]["items"]["properties"].keys()


# --- the service ---------------------------------------------------------------------------------------------------


class _Answer(Exception):
    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


class GitHubDouble:
    """``rights`` are those of the token; ``writers`` may write to the repository; ``clock`` is in seconds and moves when the client
    waits."""

    def __init__(
        self, *, login: str = BOT, rights: frozenset[str] = frozenset({"pull-requests:write"}), writers: tuple[str, ...] = ("maintainer",)
    ) -> None:
        self.login = login
        self.rights = rights
        self.writers = set(writers)
        self.pulls: dict[int, PullRequest] = {}
        self.comments: dict[int, Comment] = {}
        self.issue_comments: dict[int, tuple[int, str | None, str]] = {}  # id -> pull, login, body
        self.reviews: dict[int, dict[str, Any]] = {}
        self.faults: list[Fault] = []
        self.requests: list[tuple[str, str]] = []
        self.hooks: list[tuple[int, Callable[[], None]]] = []  # at which request, what happens before it
        self.clock = 0.0
        self.written: list[float] = []
        self.graphql_down = ""
        self.most_a_minute = 80
        self._next = 1000
        self._lock = threading.RLock()

    def id(self) -> int:
        self._next += 1
        return self._next

    def wait(self, seconds: float) -> None:
        self.clock += seconds

    # --- what people do

    def open_pull(self, number: int, head: str, base: str, diff: dict[str, Lines], **more: Any) -> PullRequest:
        pull = PullRequest(number, head, base, diff, heads=[head], **more)
        self.pulls[number] = pull
        return pull

    def push(self, number: int, head: str, diff: dict[str, Lines], outdated: Callable[[Comment], bool] | None = None) -> None:
        pull = self.pulls[number]
        pull.head, pull.diff = head, diff
        pull.heads.append(head)
        for comment in self.comments.values():
            if comment.pull == number and comment.subject == "line" and comment.line is not None:
                gone = not self._in_hunk(diff.get(comment.path), comment.line, comment.side)
                if gone or (outdated is not None and outdated(comment)):
                    comment.line = None

    def reply(self, comment: int, login: str | None, body: str = "Why?") -> int:
        root = self.comments[comment]
        new = self.id()
        self.comments[new] = Comment(
            new, login, body, root.path, root.line, root.side, None, root.commit, root.review, root.pull, reply_to=comment
        )
        return new

    def resolve(self, comment: int, login: str | None) -> None:
        if not self.comments[comment].resolved:
            self.comments[comment].resolved, self.comments[comment].resolved_by = True, login

    def thumbs_down(self, comment: int, login: str) -> None:
        self.comments[comment].reactions[login] = "-1"

    def delete_account(self, login: str) -> None:
        self.writers.discard(login)
        for comment in self.comments.values():
            comment.login = None if comment.login == login else comment.login
            comment.resolved_by = None if comment.resolved_by == login else comment.resolved_by
            comment.reactions = {who: what for who, what in comment.reactions.items() if who != login}

    def paste(self, number: int, login: str | None, body: str, path: str, line: int) -> int:
        """A review comment of a person."""
        new = self.id()
        self.comments[new] = Comment(new, login, body, path, line, "RIGHT", None, self.pulls[number].head, self.id(), number)
        return new

    def own(self, number: int = 1) -> list[Comment]:
        return [comment for comment in self.comments.values() if comment.login == self.login and comment.pull == number]

    def summaries(self, number: int = 1) -> dict[int, str]:
        return {key: body for key, (pull, login, body) in self.issue_comments.items() if pull == number and login == self.login}

    # --- requests

    def handle(self, verb: str, path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, str], Any]:
        """Carry out a request: status, headers and data."""
        with self._lock:
            self.requests.append((verb, path))
            count = len(self.requests)
            for at, hook in [item for item in self.hooks if item[0] <= count]:
                self.hooks.remove((at, hook))
                hook()
            fault = next((item for item in self.faults if item.matches(verb, path)), None)
            if fault is not None:
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
                if not fault.after:
                    return self._fault(fault)
            try:
                status, headers, data = self._carry_out(verb, path, query, body)
            except _Answer as answer:
                return (
                    answer.status,
                    answer.headers,
                    {"message": answer.message, "documentation_url": "https://docs.github.com/rest", "status": str(answer.status)},
                )
            if fault is not None:
                return self._fault(fault)
            return status, headers, data

    def _fault(self, fault: Fault) -> tuple[int, dict[str, str], Any]:
        if fault.crash:
            raise Crash
        return fault.status, fault.headers, {"message": fault.message}

    def _carry_out(self, verb: str, path: str, query: dict[str, str], body: Any) -> tuple[int, dict[str, str], Any]:
        if path == "/graphql":
            return 200, {}, self._graphql(body["query"], body["variables"])
        for call in _DESCRIPTION["calls"]:
            known_verb, template = call.split(" ")
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(template))
            match = re.fullmatch(pattern, path)
            if known_verb == verb and match:
                break
        else:
            raise AssertionError(f"{verb} {path} is not among the calls of the review")
        if verb != "GET":
            self._limit()
        _only_known(call, body)
        for name, value in query.items():
            assert name in _DESCRIPTION["calls"][call]["query"], f"{call}: unknown parameter {name}"
            number = value.lstrip("-").isdigit() and name != "content"
            check(call, f"query.{name}", int(value) if number else value)
        if _DESCRIPTION["calls"][call]["body"] is None:
            assert body is None
        else:
            check(call, "body", body)
        parts = {name: unquote(value) for name, value in match.groupdict().items()}
        if "repo" in parts and f"{parts['owner']}/{parts['repo']}" != REPOSITORY:
            raise _Answer(404, "Not Found")
        method = getattr(self, "_" + re.sub(r"\W+", "_", f"{verb} {re.sub(r'^/repos/{owner}/{repo}', '', template)}".lower()).strip("_"))
        status, data = method(parts, query, body)
        headers = {}
        if isinstance(data, list):
            data, headers = self._page(path, query, data)
        data = copy.deepcopy(data)
        assert str(status) in _DESCRIPTION["calls"][call]["answers"], f"{call}: {status}"
        check(call, f"answers.{status}", _described(data))
        return status, headers, data

    def _page(self, path: str, query: dict[str, str], data: list[Any]) -> tuple[list[Any], dict[str, str]]:
        each, page = min(int(query.get("per_page", 30)), 100), int(query.get("page", 1))
        more = len(data) > page * each
        link = {"link": f'<http://double{path}?page={page + 1}>; rel="next"'} if more else {}
        return data[(page - 1) * each : page * each], link

    def _limit(self) -> None:
        self.written = [time for time in self.written if time > self.clock - 60]
        if len(self.written) >= self.most_a_minute:
            raise _Answer(
                403, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", {"retry-after": "60"}
            )
        self.written.append(self.clock)

    def _must_write(self) -> None:
        if "pull-requests:write" not in self.rights:
            raise _Answer(403, "Resource not accessible by integration")

    # --- reading

    def _get_user(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        if self.login.endswith("[bot]"):
            raise _Answer(403, "Resource not accessible by integration")
        return 200, {**minimal("public-user"), "login": self.login, "type": "User"}

    def _pull(self, parts: dict[str, str], name: str = "pull_number") -> PullRequest:
        pull = self.pulls.get(int(parts[name]))
        if pull is None:
            raise _Answer(404, "Not Found")
        return pull

    def _pull_data(self, pull: PullRequest, schema: str) -> dict[str, Any]:
        data = minimal(schema)
        head_repo = None
        if pull.head_repo is not None:
            head_repo = {**minimal("repository"), "full_name": pull.head_repo, "name": pull.head_repo.partition("/")[2]}
        base_repo = {**minimal("repository"), "full_name": REPOSITORY, "name": "recipes"}
        data.update(number=pull.number, state=pull.state)
        data["head"].update(sha=pull.head, ref=pull.branch, repo=head_repo)
        data["base"].update(sha=pull.base, ref="main", repo=base_repo)
        return data

    def _get_pulls_pull_number(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        return 200, self._pull_data(self._pull(parts), "pull-request")

    def _get_pulls(self, parts: dict[str, str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        owner, _, branch = query.get("head", ":").partition(":")
        found = [
            p
            for p in self.pulls.values()
            if p.branch == branch and (p.head_repo or "").startswith(owner + "/") and p.state == query.get("state", "open")
        ]
        return 200, [self._pull_data(pull, "pull-request-simple") for pull in found]

    def _get_commits_commit_sha_pulls(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        found = [pull for pull in self.pulls.values() if parts["commit_sha"] in pull.heads and pull.head_repo == REPOSITORY]
        return 200, [self._pull_data(pull, "pull-request-simple") for pull in found]

    def _get_pulls_pull_number_comments(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        number = self._pull(parts).number
        return 200, [self._comment_data(comment) for comment in self.comments.values() if comment.pull == number]

    def _get_pulls_pull_number_reviews(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        number = self._pull(parts).number
        return 200, [self._review_data(key) for key, review in self.reviews.items() if review["pull"] == number]

    def _get_issues_issue_number_comments(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        number = self._pull(parts, "issue_number").number
        return 200, [self._issue_comment_data(key) for key, (pull, _, _) in self.issue_comments.items() if pull == number]

    def _get_pulls_comments_comment_id_reactions(self, parts: dict[str, str], query: dict[str, str], body: Any) -> tuple[int, Any]:
        comment = self._comment(parts)
        found = [(login, what) for login, what in comment.reactions.items() if query.get("content") in (None, what)]
        return 200, [{**minimal("reaction"), "content": what, "user": self._user(login), "created_at": _TIME} for login, what in found]

    def _get_collaborators_username_permission(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        may = parts["username"] in self.writers
        return 200, {"permission": "write" if may else "read", "role_name": "write" if may else "read", "user": None}

    # --- writing

    def _post_pulls_pull_number_reviews(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        pull = self._pull(parts)
        if body.get("event") in ("COMMENT", "REQUEST_CHANGES") and not body.get("body"):
            raise _Answer(422, "Unprocessable Entity")
        if body.get("commit_id") not in pull.heads or len(body["body"]) > MAX_BODY:
            raise _Answer(422, "Unprocessable Entity")
        for comment in body.get("comments", []):
            self._check_line(pull, comment)  # one that does not hold refuses all
        review = self.id()
        state = {"COMMENT": "COMMENTED", "REQUEST_CHANGES": "CHANGES_REQUESTED"}[body["event"]]
        self.reviews[review] = {"pull": pull.number, "state": state, "body": body["body"], "commit": body["commit_id"], "login": self.login}
        for comment in body.get("comments", []):
            self._add(pull, comment, body["commit_id"], review)
        return 200, self._review_data(review)

    def _post_pulls_pull_number_comments(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        pull = self._pull(parts)
        if body["commit_id"] not in pull.heads or len(body["body"]) > MAX_BODY:
            raise _Answer(422, "Validation Failed")
        if body.get("subject_type") == "file":
            lines = pull.diff.get(body["path"])
            if lines is None or lines.too_large:
                raise _Answer(422, "Validation Failed: pull_request_review_thread.path is not part of the diff")
        else:
            self._check_line(pull, body)
        comment = self._add(pull, body, body["commit_id"], self.id())
        return 201, self._comment_data(comment)

    def _check_line(self, pull: PullRequest, comment: dict[str, Any]) -> None:
        lines = pull.diff.get(comment["path"])
        line, side, start = comment.get("line"), comment.get("side", "RIGHT"), comment.get("start_line")
        if len(comment["body"]) > MAX_BODY:
            raise _Answer(422, "Validation Failed: body is too long (maximum is 65536 characters)")
        if lines is None or lines.too_large or line is None:
            raise _Answer(422, "Unprocessable Entity: Path could not be resolved")
        hunk = self._in_hunk(lines, line, side)
        if not hunk:
            raise _Answer(422, "Unprocessable Entity: Line could not be resolved")
        if start is not None:
            if start >= line:
                raise _Answer(422, "Unprocessable Entity: start line must precede the end line")
            if comment.get("start_side", side) != side or self._in_hunk(lines, start, side) != hunk:
                raise _Answer(422, "Unprocessable Entity: start line must be part of the same hunk as the line")

    @staticmethod
    def _in_hunk(lines: Lines | None, line: int, side: str) -> int:
        """The number of the hunk from 1, 0 for none."""
        if lines is None or (side == "LEFT" and line not in lines.deleted):
            return 0
        return next((number for number, hunk in enumerate(lines.new if side == "RIGHT" else lines.old, 1) if line in hunk), 0)

    def _add(self, pull: PullRequest, given: dict[str, Any], commit: str, review: int) -> Comment:
        new = self.id()
        comment = Comment(
            new, self.login, given["body"], given["path"], given.get("line"), given.get("side", "RIGHT"), given.get("start_line"),
            commit, review, pull.number, given.get("subject_type", "line"),
        )  # fmt: skip
        self.comments[new] = comment
        return comment

    def _comment(self, parts: dict[str, str]) -> Comment:
        comment = self.comments.get(int(parts["comment_id"]))
        if comment is None:
            raise _Answer(404, "Not Found")
        return comment

    def _patch_pulls_comments_comment_id(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        comment = self._comment(parts)
        assert comment.login == self.login, "somebody else's comment is edited"
        if len(body["body"]) > MAX_BODY:
            raise _Answer(422, "Validation Failed")
        comment.body = body["body"]
        return 200, self._comment_data(comment)

    def _delete_pulls_comments_comment_id(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        comment = self._comment(parts)
        assert comment.login == self.login, "somebody else's comment is deleted"
        assert not any(other.reply_to == comment.id and other.login != self.login for other in self.comments.values()), (
            "a reply loses its comment"
        )
        del self.comments[comment.id]
        return 204, None

    def _post_issues_issue_number_comments(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        pull = self._pull(parts, "issue_number")
        if len(body["body"]) > MAX_BODY:
            raise _Answer(422, "Validation Failed")
        new = self.id()
        self.issue_comments[new] = (pull.number, self.login, body["body"])
        return 201, self._issue_comment_data(new)

    def _patch_issues_comments_comment_id(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        key = int(parts["comment_id"])
        if key not in self.issue_comments:
            raise _Answer(404, "Not Found")
        pull, login, _ = self.issue_comments[key]
        assert login == self.login, "somebody else's comment is edited"
        self.issue_comments[key] = (pull, login, body["body"])
        return 200, self._issue_comment_data(key)

    def _delete_issues_comments_comment_id(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        key = int(parts["comment_id"])
        if key not in self.issue_comments:
            raise _Answer(404, "Not Found")
        assert self.issue_comments[key][1] == self.login, "somebody else's comment is deleted"
        del self.issue_comments[key]
        return 204, None

    def _put_pulls_pull_number_reviews_review_id_dismissals(self, parts: dict[str, str], query: Any, body: Any) -> tuple[int, Any]:
        self._must_write()
        review = self.reviews[int(parts["review_id"])]
        if review["state"] not in ("CHANGES_REQUESTED", "APPROVED"):
            raise _Answer(422, "Can not dismiss a commented pull request review")
        review["state"] = "DISMISSED"
        return 200, self._review_data(int(parts["review_id"]))

    # --- GraphQL

    def _graphql(self, query: str, variables: dict[str, Any]) -> Any:
        if self.graphql_down:
            return {"data": None, "errors": [{"type": "RATE_LIMITED", "message": self.graphql_down}]}
        if "viewer" in query:
            return {"data": {"viewer": {"login": self.login}}}
        if "reviewThreads" in query:
            roots = [comment for comment in self.comments.values() if comment.pull == variables["number"] and comment.reply_to is None]
            first = int(variables["cursor"] or 0)
            nodes = [
                {
                    "id": f"thread-{comment.id}", "isResolved": comment.resolved,
                    "resolvedBy": None if comment.resolved_by in (None, self.login) else {"login": comment.resolved_by},
                    "comments": {"nodes": [{"databaseId": comment.id}]},
                }
                for comment in roots[first : first + 100]
            ]  # fmt: skip
            info = {"hasNextPage": len(roots) > first + 100, "endCursor": str(first + 100)}
            return {"data": {"repository": {"pullRequest": {"reviewThreads": {"pageInfo": info, "nodes": nodes}}}}}
        assert "esolveReviewThread" in query
        if "contents:write" not in self.rights:
            return {
                "data": {"resolveReviewThread": None},
                "errors": [{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}],
            }
        comment = self.comments[int(variables["thread"].removeprefix("thread-"))]
        comment.resolved = "unresolve" not in query
        comment.resolved_by = self.login if comment.resolved else None
        return {"data": {"resolveReviewThread": {"thread": {"isResolved": comment.resolved}}}}

    # --- data

    def _user(self, login: str | None) -> Any:
        if login is None:
            return None
        return {**minimal("simple-user"), "login": login, "type": "Bot" if login.endswith("[bot]") else "User"}

    def _comment_data(self, comment: Comment) -> dict[str, Any]:
        data = minimal("pull-request-review-comment")
        data.update(
            id=comment.id, user=self._user(comment.login), body=comment.body, path=comment.path, commit_id=comment.commit,
            original_commit_id=comment.commit, line=comment.line, side=comment.side, start_line=comment.start_line,
            pull_request_review_id=comment.review, subject_type=comment.subject, created_at=_TIME, updated_at=_TIME,
            reactions={**minimal("reaction-rollup"), **dict.fromkeys(("+1", "laugh", "confused", "heart", "hooray", "eyes", "rocket"), 0),
                       "-1": sum(what == "-1" for what in comment.reactions.values())},
        )  # fmt: skip
        if comment.subject == "file":
            data["line"] = None
        if comment.reply_to is not None:
            data["in_reply_to_id"] = comment.reply_to
        return data

    def _issue_comment_data(self, key: int) -> dict[str, Any]:
        _, login, body = self.issue_comments[key]
        return {**minimal("issue-comment"), "id": key, "user": self._user(login), "body": body, "created_at": _TIME, "updated_at": _TIME}

    def _review_data(self, key: int) -> dict[str, Any]:
        review = self.reviews[key]
        data = {
            **minimal("pull-request-review"),
            "id": key,
            "user": self._user(review["login"]),
            "body": review["body"],
            "state": review["state"],
        }
        data["commit_id"] = review["commit"]
        return data


# --- over HTTP -----------------------------------------------------------------------------------------------------


@contextmanager
def served(double: GitHubDouble, prefix: str = "") -> Iterator[str]:
    """The double behind a socket on this machine: its address, with ``prefix`` as GitHub Enterprise has one (``/api/v3``)."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            path = url.path
            graphql = prefix.replace("/v3", "") + "/graphql"
            path = "/graphql" if path == graphql else path.removeprefix(prefix)
            assert self.headers["Authorization"] == "token secret-token" or self.headers["Authorization"] == "Bearer secret-token"
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, data = double.handle(self.command, path, dict(parse_qsl(url.query)), json.loads(raw) if raw else None)
            content = b"" if data is None else json.dumps(data).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}{prefix}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
