"""Findings, pull requests and a client that needs no socket, for the tests of the review."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reviewbot.engine.fingerprint import with_fingerprints
from reviewbot.engine.model import Finding, Level
from reviewbot.review.client import GitHub, Token
from reviewbot.review.diffmap import Anchor
from reviewbot.review.items import Item
from reviewbot.review.markup import Links
from reviewbot.review.post import Outcome, Request, post
from reviewbot.review.state import read_marker
from tests import support
from tests.review.double import REPOSITORY, GitHubDouble, Lines

LINKS = Links("https://github.com", REPOSITORY)


def commit(name: object) -> str:
    return hashlib.sha1(str(name).encode()).hexdigest()


class DirectGitHub(GitHub):
    """The client, with the double in the place of the network. It waits on the double's clock."""

    def __init__(self, double: GitHubDouble, **more: Any) -> None:
        super().__init__(REPOSITORY, Token("secret-token"), wait=double.wait, **{"pace": 1.0, **more})
        self.double = double

    def _slowly(self) -> None:
        super()._slowly()
        self._last_write = float("-inf")

    def _once(self, verb: str, path: str, query: Mapping[str, Any] | None, body: Any) -> tuple[Mapping[str, Any], Any]:
        path = "/graphql" if path.endswith("/graphql") else path
        self.double.clock += 0 if verb == "GET" else self._pace
        status, headers, data = self.double.handle(verb, path, {name: str(value) for name, value in (query or {}).items()}, body)
        if status >= 400 or status == 0:
            raise self._error(status or 502, headers, data)
        return headers, data


def finding(name: str, line: int = 2, level: Level = Level.ERROR, path: str = "a.yaml", **more: Any) -> Finding:
    one = support.finding(
        path=path, line=line, end_line=more.pop("end_line", line), level=level, subject=name, message=f"{name} is wrong", **more
    )
    return with_fingerprints([one])[0]


def item(name: str, line: int = 2, level: Level = Level.ERROR, kind: str = "inline", path: str = "a.yaml", **more: Any) -> Item:
    anchor = Anchor(kind, path, line if kind == "inline" else 0)  # type: ignore[arg-type]
    return Item(finding(name, line, level, path, **more), anchor, path)


def lines(*ranges: tuple[int, int], old: Sequence[tuple[int, int]] = (), deleted: Sequence[int] = ()) -> Lines:
    return Lines([range(a, b + 1) for a, b in ranges], [range(a, b + 1) for a, b in old], set(deleted))


def pulled(head: str = "h1", diff: dict[str, Lines] | None = None, **more: Any) -> GitHubDouble:
    """A double with pull request 1, whose file a.yaml has the lines 1 to 100 in one hunk."""
    double = GitHubDouble(**more)
    double.open_pull(1, commit(head), commit("base"), diff if diff is not None else {"a.yaml": lines((1, 100))})
    return double


def review(double: GitHubDouble, items: Sequence[Item], head: str = "h1", **more: Any) -> Outcome:
    """One run over pull request 1."""
    client = DirectGitHub(double)
    try:
        return post(client, Request(1, commit(head), items, LINKS, **more))
    finally:
        client.close()


def open_findings(double: GitHubDouble) -> list[str]:
    """Fingerprints of own open comments, one entry a comment."""
    markers = [read_marker(comment.body) for comment in double.own()]
    return sorted(marker["fp"] for marker in markers if marker and marker["state"] == "open")


def prints(items: Sequence[Item]) -> list[str]:
    return sorted(item.finding.fingerprint for item in items)


# --- git -----------------------------------------------------------------------------------------------------------


def git(root: Path, *arguments: str, **more: Any) -> str:
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=True, **more)
    return done.stdout.decode("utf-8", "replace").strip()


def committed(root: Path, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
    """Write files (``None`` deletes), commit all, and give the commit."""
    if not (root / ".git").exists():
        root.mkdir(parents=True, exist_ok=True)
        git(root, "init", "-q", "-b", "main")
    for path, content in files.items():
        file = root / path
        if content is None:
            file.unlink()
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


def numbered(count: int, **changes: str) -> str:
    """A file of lines ``key1: 1`` and so on; ``changes`` maps ``_N`` to another text of line N."""
    return "".join(changes.get(f"_{number}", f"key{number}: {number}") + "\n" for number in range(1, count + 1))


def github_lines(root: Path, base: str, head: str) -> dict[str, Lines]:
    """The hunks of a pull request as GitHub makes them, read here apart from the program: from the headers of a plain diff."""
    import re

    text = git(root, "-c", "core.quotepath=false", "diff", "-M", "-U3", f"{base}...{head}")
    result: dict[str, Lines] = {}
    current: Lines | None = None
    old = 0
    name = ""
    for line in text.split("\n"):
        if line.startswith("diff --git "):
            current = None
            name = line.rpartition(" b/")[2]
            result[name] = Lines()
        elif line.startswith("@@ "):
            match = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
            assert match is not None
            a, b, c, d = (1 if group is None else int(group) for group in match.groups())
            current = result[name]
            current.old.append(range(a, a + b))
            current.new.append(range(c, c + d))
            old = a
        elif current is not None and line[:1] in (" ", "-"):
            if line.startswith("-"):
                current.deleted.add(old)
            old += 1
    return result
