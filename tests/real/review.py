"""Replay a commit of a clone as a pull request: review it, review it again, undo it, and look at the comments after each.

    python tests/real/review.py REPO COMMIT [--upstream OWNER/NAME=PATH] [--expect PATH:LINE]...

The first run posts what is new in COMMIT against its parent, on a GitHub in memory that holds every request against GitHub's own
description and its hunks against a plain ``git diff``. The second must post nothing. The third, over a commit with the parent's files, must
call every comment fixed. ``--expect`` names lines that must have a comment. Ends with 1 where something of this does not hold.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reviewbot.cli import main as reviewbot
from tests.review.double import REPOSITORY, GitHubDouble, served
from tests.review.kit import git, github_lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repo")
    parser.add_argument("commit")
    parser.add_argument("--upstream", action="append", default=[])
    parser.add_argument("--expect", action="append", default=[], metavar="PATH:LINE")
    arguments = parser.parse_args()
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", arguments.repo, str(root)], check=True)
        head = git(root, "rev-parse", f"{arguments.commit}^{{commit}}")
        base = git(root, "rev-parse", f"{head}^")
        identity = {f"GIT_{role}_{part}": "test@example.com" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
        undone = git(root, "commit-tree", f"{base}^{{tree}}", "-p", head, "-m", "undo", env={**os.environ, **identity})
        double = GitHubDouble(rights=frozenset({"pull-requests:write", "contents:write"}))
        double.open_pull(1, head, base, github_lines(root, base, head))
        with served(double) as api:

            def review(commit: str) -> list[str]:
                """One run over a head; gives the requests that wrote."""
                before = len(double.requests)
                started = time.monotonic()
                status = run(root, api, base, commit, arguments.upstream, Path(folder))
                print(f"{commit[:10]}: status {status}, {time.monotonic() - started:.1f} s")
                return [f"{verb} {path}" for verb, path in double.requests[before:] if verb != "GET" and path != "/graphql"]

            review(head)
            for comment in double.own():
                print(f"  {comment.path}:{comment.start_line or comment.line}-{comment.line} {comment.body.splitlines()[0][:200]}")
            for wanted in arguments.expect:
                path, _, line = wanted.rpartition(":")
                if not any(c.path == path and (c.start_line or c.line or 0) <= int(line) <= (c.line or 0) for c in double.own()):
                    failures.append(f"no comment at {wanted}")
            again = review(head)
            if again:
                failures.append(f"the second run writes: {again}")
            double.push(1, undone, github_lines(root, base, undone))
            review(undone)
            failures += [f"not called fixed: {c.path}:{c.line}" for c in double.own() if "Fixed in" not in c.body or not c.resolved]
    for failure in failures:
        print(failure)
    return 1 if failures else 0


def run(root: Path, api: str, base: str, head: str, upstreams: list[str], folder: Path) -> int:
    repo = {"full_name": REPOSITORY}
    event = {"pull_request": {"number": 1, "head": {"sha": head, "ref": "topic", "repo": repo}, "base": {"sha": base}}}
    (folder / "event.json").write_text(json.dumps(event))
    os.environ.update(
        GITHUB_EVENT_PATH=str(folder / "event.json"), GITHUB_EVENT_NAME="pull_request", GITHUB_REPOSITORY=REPOSITORY, GITHUB_API_URL=api,
        GITHUB_TOKEN="secret-token",
    )  # fmt: skip
    return reviewbot(["-C", str(root), "review", *(f"--upstream={item}" for item in upstreams)])


if __name__ == "__main__":
    raise SystemExit(main())
