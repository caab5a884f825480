"""Sessions over real git repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from reviewbot.parts import PartsError, Session, default_parts, find_root
from tests.support import write

TEXT = "".join(f"key{n}: value{n}\n" for n in range(40))


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, {"same.yaml": "a: 1\n", "moved.yaml": TEXT, "moved-and-edited.yaml": TEXT + "x: 1\n", "gone.yaml": "b: 1\n",
                     ".reviewbot.yaml": "fail-on: warning\n"})  # fmt: skip
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "base")
    git(tmp_path, "tag", "base")
    (tmp_path / "moved.yaml").rename(tmp_path / "there.yaml")
    (tmp_path / "moved-and-edited.yaml").unlink()
    write(tmp_path, {"edited.yaml": TEXT + "x: 2\n", ".reviewbot.yaml": "fail-on: never\n"})
    (tmp_path / "gone.yaml").unlink()
    return tmp_path


def session(root: Path, revision: str | None = None) -> Session:
    return Session(
        default_parts(), root, settings_revision=revision, upstreams={}, jobs=1, cache=False, progress=lambda what, done, total: None
    )


def test_changes_of_the_working_tree(repository: Path):
    changed, renames = session(repository).changes("base", None)
    assert changed == {"moved.yaml", "there.yaml", "moved-and-edited.yaml", "edited.yaml", "gone.yaml", ".reviewbot.yaml"}
    assert renames == {"moved.yaml": "there.yaml"}


def test_changes_between_commits_follow_edited_files(repository: Path):
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "head")
    assert session(repository).changes("base", "HEAD")[1] == {"moved.yaml": "there.yaml", "moved-and-edited.yaml": "edited.yaml"}
    assert session(repository).changes("base", None)[1] == {"moved.yaml": "there.yaml", "moved-and-edited.yaml": "edited.yaml"}


def test_settings_are_those_of_the_named_revision(repository: Path):
    assert session(repository).settings.fail_on == "never"
    assert session(repository, "base").settings.fail_on == "warning"


def test_an_unknown_revision_is_an_error_for_users(repository: Path):
    with pytest.raises(PartsError, match="nowhere"):
        session(repository).tree("nowhere")


def test_a_folder_of_a_repository_can_be_the_root(repository: Path):
    write(repository, {"inner/one.yaml": TEXT})
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "inner")
    (repository / "inner" / "one.yaml").rename(repository / "inner" / "two.yaml")
    assert session(repository / "inner").changes("HEAD", None) == (frozenset({"one.yaml", "two.yaml"}), {"one.yaml": "two.yaml"})


def test_the_root_is_the_nearest_repository(repository: Path):
    (repository / "a" / "b").mkdir(parents=True)
    assert find_root(repository / "a" / "b") == repository
    write(repository, {"a/.reviewbot.yaml": ""})
    assert find_root(repository / "a" / "b") == repository / "a"


def test_upstreams_of_settings_are_relative_to_the_repository(repository: Path):
    write(repository, {".reviewbot.yaml": "upstreams: {a/b: ../c}\n"})
    assert session(repository)._upstreams == {"a/b": str(repository.parent / "c")}
