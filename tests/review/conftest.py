from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from reviewbot import cli
from reviewbot.cli import main
from reviewbot.engine.own_rules import OWN_RULES
from reviewbot.review import client
from tests.review.double import REPOSITORY, GitHubDouble, served
from tests.review.kit import committed, git, github_lines
from tests.support import marks, module

FILES = {"a.yaml": "BAD 1\n", "sub/b.yaml": "fine\nBAD 2\n"}


def _crashes(context: Any) -> Iterator[Any]:
    raise RuntimeError("broken")


class Reviewed:
    """``reviewbot review`` over a real repository and a double behind a socket: status, output and job summary."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.monkeypatch = monkeypatch
        self.capsys = capsys
        self.double = GitHubDouble()
        self.errors = ""
        self.everything = ""

    def prepare(self, files: Mapping[str, str], base: Mapping[str, str], rights: frozenset[str] | None, fork: bool) -> tuple[str, str]:
        repository = self.root / "repository"
        if not (repository / ".git").exists():
            self.base = committed(repository, {"z.yaml": "a: 1\n", **base})
            git(repository, "checkout", "-q", "-b", "topic")
        head = committed(repository, files)
        if 1 not in self.double.pulls:
            self.double.open_pull(1, head, self.base, {})
        self.double.pulls[1].head_repo = "stranger/recipes" if fork else REPOSITORY
        self.double.push(1, head, github_lines(repository, self.base, head))
        if rights is not None:
            self.double.rights = rights
        return self.base, head

    def environment(self, api: str, event: Mapping[str, Any], name: str) -> Path:
        path = self.root / "event.json"
        path.write_text(json.dumps(event))
        step = self.root / "step.md"
        step.unlink(missing_ok=True)
        values = {
            "GITHUB_EVENT_PATH": str(path), "GITHUB_EVENT_NAME": name, "GITHUB_REPOSITORY": REPOSITORY, "GITHUB_API_URL": api,
            "GITHUB_TOKEN": "secret-token", "GITHUB_STEP_SUMMARY": str(step), "GITHUB_OUTPUT": str(self.root / "output"),
            "GITHUB_SERVER_URL": "https://github.com", "GITHUB_ACTIONS": "true",
        }  # fmt: skip
        for key, value in values.items():
            self.monkeypatch.setenv(key, value)
        return step

    def __call__(
        self, *argv: str, files: Mapping[str, str] = FILES, base: Mapping[str, str] = {}, rights: frozenset[str] | None = None,
        fork: bool = False, crash: bool = False, again: bool = False,
    ) -> tuple[int, str, str]:  # fmt: skip
        base_commit, head = (self.base, self.double.pulls[1].head) if again else self.prepare(files, base, rights, fork)
        repo = {"full_name": "stranger/recipes" if fork else REPOSITORY}
        event = {
            "pull_request": {"number": 1, "head": {"sha": head, "ref": "topic", "repo": repo}, "base": {"sha": base_commit, "ref": "main"}}
        }
        if crash:
            known = cli._known_rules()
            self.monkeypatch.setattr(cli, "_known_rules", lambda: {**known, "crashes": module("crashes", _crashes)})
        with served(self.double) as api:
            step = self.environment(api, event, "pull_request")
            return self.run(step, *argv)

    def run(self, step: Path, *argv: str) -> tuple[int, str, str]:
        status = main(["-C", str(self.root / "repository"), "review", "--no-cache", *argv])
        captured = self.capsys.readouterr()
        self.errors = captured.err
        self.everything += captured.out + captured.err
        return status, captured.out, step.read_text() if step.exists() else ""

    def artifact(self, text: str, head: str = "", api_prefix: str = "") -> tuple[int, str, str, GitHubDouble]:
        """``reviewbot review --artifact-in`` in a workflow_run, after a fork's run whose head is that of pull request 1."""
        if 1 not in self.double.pulls:
            self.prepare(FILES, {}, None, True)
        head = head or self.double.pulls[1].head
        self.double.open_pull(2, "f" * 40, self.base, {})
        path = self.root / "artifact"
        path.mkdir(exist_ok=True)
        (path / "reviewbot-findings.json").write_text(text)
        event = {
            "workflow_run": {
                "head_sha": head,
                "head_branch": "topic",
                "head_repository": {"full_name": "stranger/recipes"},
                "pull_requests": [],
            }
        }
        with served(self.double, api_prefix) as api:
            step = self.environment(api, event, "workflow_run")
            status, out, _ = self.run(step, "--artifact-in", str(path))
        return status, out, self.errors, self.double


@pytest.fixture
def reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Reviewed]:
    known = {own.name: own for own in OWN_RULES} | {"bad-word": module("bad-word", marks)}
    monkeypatch.setattr(cli, "_known_rules", lambda: known)
    monkeypatch.setattr(client, "PACE", 0.0)
    made = Reviewed(tmp_path, monkeypatch, capsys)
    yield made
    assert "secret-token" not in made.everything
    for written in (tmp_path / "output", tmp_path / "step.md"):
        assert not written.exists() or "secret-token" not in written.read_text()
