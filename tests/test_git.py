from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from reviewbot.git import GitError, Hunk, Repository, _explain

HOSTILE = [
    "new\nline.yaml",
    'quo"te.yaml',
    " lead.yaml",
    "x b/y.yaml",
    "tab\there.yaml",
    "-dash.yaml",
    "é/ü.yaml",
    ":(glob)*",
    b"b\xff.yaml".decode("utf-8", "surrogateescape"),
]


def git(folder: Path, *arguments: str | bytes) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment.update(
        GIT_AUTHOR_NAME="A",
        GIT_AUTHOR_EMAIL="a@example.org",
        GIT_COMMITTER_NAME="A",
        GIT_COMMITTER_EMAIL="a@example.org",
        GIT_CONFIG_GLOBAL="/dev/null",
    )
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments], cwd=folder, env=environment, check=True, capture_output=True
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def write(folder: Path, name: str, content: bytes) -> None:
    path = os.fsencode(str(folder)) + b"/" + name.encode("utf-8", "surrogateescape")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def commit(folder: Path, message: str = "change") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    return folder


def test_hostile_names_survive_every_listing(repo: Path) -> None:
    for name in HOSTILE:
        write(repo, name, b"a: 1\n")
    first = commit(repo)
    for name in HOSTILE:
        write(repo, name, b"a: 2\n")
    second = commit(repo)
    repository = Repository.find(str(repo))
    assert {entry.path for entry in repository.ls_tree(first)} == set(HOSTILE)
    assert {entry.path for entry in repository.index()} == set(HOSTILE)
    assert repository.ls_files() == sorted(HOSTILE)
    changes = repository.changed_paths(first, second)
    assert {(change.status, change.path) for change in changes} == {("modified", name) for name in HOSTILE}
    for name in HOSTILE:
        (hunk,) = repository.file_diff(first, second, name, name)
        assert [(line.kind, line.text) for line in hunk.lines] == [("-", "a: 1"), ("+", "a: 2")]


def test_find_goes_up_to_the_top_and_refuses_what_is_no_repository(repo: Path, tmp_path: Path) -> None:
    (repo / "a" / "b").mkdir(parents=True)
    assert Repository.find(str(repo / "a" / "b")).top == str(repo.resolve())
    for place in (tmp_path, tmp_path / "absent", repo / "file"):
        (repo / "file").touch()
        with pytest.raises(GitError) as caught:
            Repository.find(str(place))
        assert caught.value.code == "not-a-repository"


def test_a_bare_repository_is_read_when_named_and_never_discovered(repo: Path, tmp_path: Path) -> None:
    write(repo, "a", b"1")
    head = commit(repo)
    git(tmp_path, "clone", "-q", "--bare", str(repo), "bare")
    repository = Repository.find(str(tmp_path / "bare"))
    assert repository.bare
    assert repository.resolve("main") == head
    assert [entry.path for entry in repository.ls_tree(head)] == ["a"]
    with pytest.raises(GitError) as caught:
        Repository.find(str(tmp_path / "bare" / "objects"))
    assert caught.value.code == "not-a-repository"


@pytest.mark.parametrize("name", ["nope", "", "-x", "--all", "a\nb", "a\0b", "HEAD:file", "0" * 40, "@{99}"])
def test_unknown_revisions_are_told(repo: Path, name: str) -> None:
    write(repo, "file", b"1")
    commit(repo)
    with pytest.raises(GitError) as caught:
        Repository.find(str(repo)).resolve(name)
    assert caught.value.code == "unknown-revision"


def test_a_repository_without_commits(repo: Path) -> None:
    write(repo, "a", b"1")
    repository = Repository.find(str(repo))
    assert repository.ls_files() == ["a"]
    assert repository.index() == ()
    with pytest.raises(GitError):
        repository.resolve("HEAD")


def test_a_shallow_clone_says_so(repo: Path, tmp_path: Path) -> None:
    write(repo, "a", b"1")
    first = commit(repo)
    write(repo, "a", b"2")
    commit(repo)
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", "shallow")
    with pytest.raises(GitError) as caught:
        Repository.find(str(tmp_path / "shallow")).resolve(first)
    assert caught.value.code == "shallow"
    assert "fetch-depth" in str(caught.value)


def test_merge_base(repo: Path) -> None:
    write(repo, "a", b"1")
    base = commit(repo)
    git(repo, "checkout", "-q", "-b", "topic")
    write(repo, "b", b"1")
    topic = commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo, "c", b"1")
    commit(repo)
    repository = Repository.find(str(repo))
    assert repository.merge_base("main", topic) == base
    git(repo, "checkout", "-q", "--orphan", "other")
    commit(repo, "unrelated")
    with pytest.raises(GitError) as caught:
        repository.merge_base("main", "other")
    assert caught.value.code == "no-merge-base"


def test_changes_of_all_kinds(repo: Path) -> None:
    write(repo, "moved.yaml", b"".join(b"line %d\n" % number for number in range(30)))
    write(repo, "gone", b"x\n")
    write(repo, "kind", b"x\n")
    base = commit(repo)
    os.rename(repo / "moved.yaml", repo / "to\nhere.yaml")
    write(repo, "to\nhere.yaml", b"".join(b"line %d\n" % number for number in range(29)))
    os.remove(repo / "gone")
    os.remove(repo / "kind")
    os.symlink("to", repo / "kind")
    write(repo, "new", b"n\n")
    head = commit(repo)
    repository = Repository.find(str(repo))
    changes = {change.path: change for change in repository.changed_paths(base, head)}
    assert {path: (change.status, change.old_path) for path, change in changes.items()} == {
        "to\nhere.yaml": ("renamed", "moved.yaml"),
        "gone": ("deleted", "gone"),
        "new": ("added", "new"),
        "kind": ("type-changed", "kind"),
    }
    assert changes["new"].old_mode == "000000"
    assert changes["kind"].mode == "120000"
    (hunk,) = repository.file_diff(base, head, "moved.yaml", "to\nhere.yaml")
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (27, 4, 27, 3)
    assert [(line.kind, line.old, line.new) for line in hunk.lines][-1] == ("-", 30, None)
    (added,) = repository.file_diff(base, head, None, "new")
    assert [(line.kind, line.old, line.new, line.text) for line in added.lines] == [("+", None, 1, "n")]
    (deleted,) = repository.file_diff(base, head, "gone", None)
    assert [(line.kind, line.old, line.new, line.text) for line in deleted.lines] == [("-", 1, None, "x")]


def test_line_ends_and_odd_characters_are_not_line_breaks_of_a_diff(repo: Path) -> None:
    write(repo, "f", b"one\r\nform\x0cfeed \xe2\x80\xa8 lone\rcr\nlast \xff")
    base = commit(repo)
    write(repo, "f", b"one\r\nform\x0cfeed \xe2\x80\xa8 lone\rCR\nlast \xff\n")
    head = commit(repo)
    hunks: list[Hunk] = Repository.find(str(repo)).file_diff(base, head, "f", "f")
    assert [(line.kind, line.text) for hunk in hunks for line in hunk.lines] == [
        (" ", "one\r"),
        ("-", "form\x0cfeed \u2028 lone\rcr"),
        ("-", "last \udcff"),
        ("+", "form\x0cfeed \u2028 lone\rCR"),
        ("+", "last \udcff"),
    ]


def test_equal_and_binary_files_have_no_hunks(repo: Path) -> None:
    write(repo, "same", b"1\n")
    write(repo, "binary", b"\0\1")
    base = commit(repo)
    write(repo, "binary", b"\0\2")
    head = commit(repo)
    repository = Repository.find(str(repo))
    assert repository.file_diff(base, head, "same", "same") == []
    assert repository.file_diff(base, head, "binary", "binary") == []
    with pytest.raises(GitError) as caught:
        repository.file_diff(base, head, "absent", "same")
    assert caught.value.code == "missing-object"


def test_blobs_have_a_cap_and_the_reader_goes_on_after_a_refusal(repo: Path) -> None:
    write(repo, "small", b"small\n")
    write(repo, "large", b"x" * 200_000)
    write(repo, "empty", b"")
    head = commit(repo)
    repository = Repository.find(str(repo))
    ids = {entry.path: entry.id for entry in repository.ls_tree(head)}
    for _ in range(2):
        with pytest.raises(GitError) as caught:
            repository.blobs.read(ids["large"], 1000)
        assert caught.value.code == "too-large"
        with pytest.raises(GitError) as caught:
            repository.blobs.read("1" * 40, 1000)
        assert caught.value.code == "missing-object"
        assert repository.blobs.read(ids["small"], 1000) == b"small\n"
        assert repository.blobs.read(ids["empty"], 0) == b""
    with pytest.raises(GitError):
        repository.blobs.read("HEAD\nHEAD", 1000)
    repository.blobs.close()
    assert repository.blobs.read(ids["large"], 200_000) == b"x" * 200_000


def test_settings_and_environment_start_and_change_nothing(repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write(repo, "a.txt", b"1\n")
    write(repo, ".gitattributes", b"* diff=evil filter=evil\n")
    base = commit(repo)
    write(repo, "a.txt", b"2\n")
    head = commit(repo)
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    script.chmod(0o755)
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "post-index-change").write_text(script.read_text())
    (hooks / "post-index-change").chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "diff.evil.textconv", "diff.evil.command", "core.sshCommand"):
        git(repo, "config", name, str(script))
    git(repo, "config", "core.hooksPath", str(hooks))
    git(repo, "config", "diff.noprefix", "true")
    git(repo, "config", "diff.mnemonicPrefix", "true")
    git(repo, "config", "color.ui", "always")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(script))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(script))
    repository = Repository.find(str(repo))
    assert [change.path for change in repository.changed_paths(base, head)] == ["a.txt"]
    (hunk,) = repository.file_diff(base, head, "a.txt", "a.txt")
    assert [line.text for line in hunk.lines] == ["1", "2"]
    repository.ls_files()
    repository.index()
    assert not mark.exists()


def test_submodules_are_entries_of_their_own(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, "x", b"1")
    commit(inner)
    git(repo, "submodule", "add", "-q", str(inner), "sub")
    head = commit(repo)
    repository = Repository.find(str(repo))
    assert {(entry.path, entry.type, entry.mode) for entry in repository.ls_tree(head)} == {
        (".gitmodules", "blob", "100644"),
        ("sub", "commit", "160000"),
    }
    assert ("sub", "commit") in {(entry.path, entry.type) for entry in repository.index()}


def test_an_unmerged_path_shows_our_side(repo: Path) -> None:
    write(repo, "f", b"base\n")
    commit(repo)
    git(repo, "checkout", "-q", "-b", "theirs")
    write(repo, "f", b"theirs\n")
    commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo, "f", b"ours\n")
    commit(repo)
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "theirs")
    repository = Repository.find(str(repo))
    (entry,) = repository.index()
    assert repository.blobs.read(entry.id, 100) == b"ours\n"


def test_a_repository_of_another_user_is_refused_with_advice(repo: Path) -> None:
    error = _explain(b"fatal: detected dubious ownership in repository at '/x'\nTo add an exception ...", "/x")
    assert error.code == "unsafe-repository"
    assert "safe.directory /x" in str(error)
    if os.geteuid() == 0:
        write(repo, "a", b"1")
        commit(repo)
        os.chown(repo, 12345, 12345)
        os.chown(repo / ".git", 12345, 12345)
        with pytest.raises(GitError) as caught:
            Repository.find(str(repo))
        assert caught.value.code == "unsafe-repository"


def test_line_counts_of_every_kind_of_change(tmp_path: Path):
    def run(*arguments: str) -> str:
        return subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True, text=True).stdout.strip()

    run("init", "-q")
    lines = "".join(f"line {number}\n" for number in range(20))
    for name, content in {"old\tname": lines, "gone": "a\nb\n", "binary": "\0", "changed": "a\nb\n"}.items():
        (tmp_path / name).write_text(content)
    run("add", "-A")
    run("commit", "-q", "-m", "one")
    run("mv", "old\tname", "new\nname")
    (tmp_path / "new\nname").write_text(lines + "more\n")
    (tmp_path / "gone").unlink()
    (tmp_path / "binary").write_text("\0\1")
    (tmp_path / "changed").write_text("a\nc\nd\n")
    run("add", "-A")
    run("commit", "-q", "-m", "two")
    counts = Repository.find(str(tmp_path)).line_counts("HEAD~1", "HEAD")
    assert counts == {"new\nname": 1, "gone": 2, "binary": 0, "changed": 3}
