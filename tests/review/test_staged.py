"""``check --staged`` and the pre-commit hook: the index is read, and only what the staged change makes is told."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reviewbot import cli
from reviewbot.cli import main
from reviewbot.engine.own_rules import OWN_RULES
from tests.review.kit import committed, git
from tests.support import marks, module

ROOT = Path(__file__).parent.parent.parent
TWICE = "image: a\nimage: b\n"  # a key that is written twice: a real rule finds it


@pytest.fixture
def staged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    known = {own.name: own for own in OWN_RULES} | {"bad-word": module("bad-word", marks)}
    monkeypatch.setattr(cli, "_known_rules", lambda: known)
    for name in ("PRE_COMMIT_FROM_REF", "PRE_COMMIT_TO_REF", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)

    def run(*argv: str) -> tuple[int, str]:
        status = main(["-C", str(tmp_path), "check", "--staged", "--no-cache", *argv])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    yield run


def test_the_index_counts_and_not_the_working_tree(tmp_path: Path, staged: Any) -> None:
    committed(tmp_path, {"a.yaml": "BAD old\n", "b.yaml": "x\n"})
    assert staged() == (0, "1 existing\n") or staged()[0] == 0
    (tmp_path / "b.yaml").write_text("BAD new\n")
    assert staged()[0] == 0
    git(tmp_path, "add", "b.yaml")
    (tmp_path / "b.yaml").write_text("fine again, but not staged\n")
    (tmp_path / "untracked.yaml").write_text("BAD untracked\n")
    status, out = staged()
    assert status == 1 and "b.yaml:1:1 error bad-word" in out and "untracked" not in out and "a.yaml" not in out


def test_moved_lines_and_renames_are_not_new(tmp_path: Path, staged: Any) -> None:
    committed(tmp_path, {"a.yaml": "BAD old\n" + "x: 1\n" * 30})
    git(tmp_path, "mv", "a.yaml", "c.yaml")
    (tmp_path / "c.yaml").write_text("y: 1\n\nBAD old\n" + "x: 1\n" * 30)
    git(tmp_path, "add", "-A")
    assert staged()[0] in (0, 1)
    git(tmp_path, "mv", "c.yaml", "a.yaml")
    assert staged()[0] == 0


def test_the_first_commit_and_settings_that_are_staged(tmp_path: Path, staged: Any) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.yaml").write_text("BAD\n")
    git(tmp_path, "add", "-A")
    assert staged()[0] == 1
    (tmp_path / ".reviewbot.yaml").write_text("rules: {bad-word: off}\n")
    assert staged()[0] == 1
    git(tmp_path, "add", "-A")
    assert staged()[0] == 0


def test_an_index_of_its_own(tmp_path: Path, staged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """``git commit FILE`` gives a hook another index than the usual one."""
    committed(tmp_path, {"a.yaml": "x\n", "b.yaml": "x\n"})
    (tmp_path / "a.yaml").write_text("BAD a\n")
    (tmp_path / "b.yaml").write_text("BAD b\n")
    git(tmp_path, "add", "a.yaml")
    shutil.copy(tmp_path / ".git" / "index", tmp_path / ".git" / "other")
    monkeypatch.setenv("GIT_INDEX_FILE", ".git/other")
    monkeypatch.delenv("GIT_DIR", raising=False)
    git(tmp_path, "add", "b.yaml")
    assert {line.split(":")[0] for line in staged()[1].splitlines() if "bad-word" in line} == {"a.yaml", "b.yaml"}
    monkeypatch.delenv("GIT_INDEX_FILE")
    assert {line.split(":")[0] for line in staged()[1].splitlines() if "bad-word" in line} == {"a.yaml"}


def test_a_range_of_commits(tmp_path: Path, staged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = committed(tmp_path, {"a.yaml": "x\n"})
    second = committed(tmp_path, {"a.yaml": "BAD\n"})
    assert staged()[0] == 0
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", first)
    monkeypatch.setenv("PRE_COMMIT_TO_REF", second)
    assert staged()[0] == 1


def test_bad_usage(tmp_path: Path, staged: Any) -> None:
    assert staged("--base", "HEAD")[0] == 2
    status, out = staged()
    assert status == 2 and "not in a git repository" in out


# --- pre-commit itself ---------------------------------------------------------------------------------------------


def test_pre_commit_runs_the_hook(tmp_path: Path) -> None:
    """The hook as ``.pre-commit-hooks.yaml`` declares it, run by pre-commit at ``git commit`` in a repository."""
    program = shutil.which("pre-commit") or shutil.which("pre-commit", path=str(Path(sys.executable).parent))
    if program is None:
        pytest.skip("pre-commit is not installed")
    import yaml

    [hook] = [item for item in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8")) if item["id"] == "reviewbot"]
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    starter = bin_ / "reviewbot"
    starter.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m reviewbot "$@"\n')
    starter.chmod(0o755)
    # The hook's own environment would be made by pip from a package index; here the program is at hand, and everything else is as declared.
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system"}]}]}
    root = tmp_path / "repository"
    committed(root, {"x/srt-slurm-recipes/old.yaml": TWICE, ".pre-commit-config.yaml": yaml.safe_dump(config)})
    environment = {**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}", "PRE_COMMIT_HOME": str(tmp_path / "home")}
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "PYTHONPATH"):
        environment.pop(name, None)

    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(argv, cwd=root, env=environment, capture_output=True, text=True)

    assert run(program, "install").returncode == 0
    (root / "x/srt-slurm-recipes/fine.yaml").write_text("image: a\n")
    run("git", "add", "-A")
    done = run("git", "commit", "-m", "fine")
    assert done.returncode == 0, done.stdout + done.stderr
    (root / "x/srt-slurm-recipes/new.yaml").write_text(TWICE)
    run("git", "add", "-A")
    (root / "x/srt-slurm-recipes/new.yaml").write_text("image: a\n")  # pre-commit puts this aside: what is staged is what is checked
    done = run("git", "commit", "-m", "twice")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "new.yaml:2:1" in said and "old.yaml" not in said, said
    assert (root / "x/srt-slurm-recipes/new.yaml").read_text() == "image: a\n"
    run("git", "add", "-A")
    done = run("git", "commit", "-m", "mended")
    assert done.returncode == 0, done.stdout + done.stderr
    (root / "README.txt").write_text("no file of the hook's kinds\n")
    run("git", "add", "-A")
    assert "Skipped" in run("git", "commit", "-m", "text").stderr
