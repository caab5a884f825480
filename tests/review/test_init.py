from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from reviewbot.cli import main
from reviewbot.settings import parse_settings

ROOT = Path(__file__).parent.parent.parent
ACTION = "some/reviewbot@" + "a" * 40


def init(capsys: pytest.CaptureFixture[str], root: Path, *argv: str) -> tuple[int, str]:
    status = main(["-C", str(root), "init", *argv])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_everything_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = init(capsys, tmp_path, "--action", ACTION, "--forks")
    assert status == 0 and out.count(": written") == 4
    assert files(tmp_path) == {
        ".reviewbot.yaml", ".pre-commit-config.yaml", ".github/workflows/reviewbot-fork-analyse.yml",
        ".github/workflows/reviewbot-fork-post.yml",
    }  # fmt: skip
    text = (tmp_path / ".github/workflows/reviewbot-fork-post.yml").read_text()
    assert f"- uses: {ACTION}\n" in text and "0" * 40 not in text
    yaml.safe_load(text)
    [repo] = yaml.safe_load((tmp_path / ".pre-commit-config.yaml").read_text())["repos"]
    assert (repo["repo"], repo["rev"]) == ("https://github.com/some/reviewbot", "a" * 40)
    assert parse_settings((tmp_path / ".reviewbot.yaml").read_bytes()).fail_on == "error"
    (tmp_path / ".reviewbot.yaml").write_text("fail-on: never\n")
    status, out = init(capsys, tmp_path, "--action", ACTION, "--forks")
    assert status == 0 and out.count("left as it is") == 4 and (tmp_path / ".reviewbot.yaml").read_text() == "fail-on: never\n"


def test_what_is_there_is_told_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n")
    status, out = init(capsys, tmp_path)
    assert status == 0 and "add to its repos:" in out and "id: reviewbot" in out and "--action" in out
    assert (tmp_path / ".pre-commit-config.yaml").read_text() == "repos: []\n"
    assert not (tmp_path / ".github").exists()


def test_nothing_is_written_in_a_dry_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = init(capsys, tmp_path, "--action", ACTION, "--dry-run", "--no-hook")
    assert status == 0 and out.count("would be written") == 2 and files(tmp_path) == set()


def test_settings_say_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import shutil

    shutil.copytree(ROOT / "fixtures" / "demo", tmp_path / "demo")
    (tmp_path / "demo" / ".reviewbot.yaml").unlink(missing_ok=True)
    init(capsys, tmp_path / "demo")
    text = (tmp_path / "demo" / ".reviewbot.yaml").read_text()
    assert "points of a sweep" in text and "launchers" in text
    (tmp_path / "empty").mkdir()
    init(capsys, tmp_path / "empty")
    assert "No sweep was found" in (tmp_path / "empty" / ".reviewbot.yaml").read_text()


@pytest.mark.parametrize("action", ["x", "a/b@main", "a/b@v1", "a/b@" + "g" * 40, "a/b\n@" + "a" * 40, "a/b@" + "a" * 39])
def test_an_action_is_pinned(tmp_path: Path, capsys: pytest.CaptureFixture[str], action: str) -> None:
    status, out = init(capsys, tmp_path, "--action", action)
    assert status == 2 and "40 digits" in out and files(tmp_path) == set()


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / ".github").write_text("a file where a folder should be")
    status, out = init(capsys, tmp_path, "--action", ACTION)
    assert status == 2 and ".github/workflows/reviewbot.yml" in out
