from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from reviewbot.git import GitError
from reviewbot.tree import MAX_FILE, CommitTree, IndexTree, MemoryTree, Tree, TreeError, WorkingTree, blob_id, open_tree
from tests.test_git import HOSTILE, commit, git, repo, write  # noqa: F401  (a fixture)


def code_of(tree: Tree, path: str) -> str:
    with pytest.raises(TreeError) as caught:
        tree.read(path)
    assert caught.value.path == path
    return caught.value.code


FILES = {"a/b/file.yaml": b"x: 1\n", "a/run.sh": b"#!/bin/sh\n", "top": b"", "ünï/\n.txt": b"odd"}
LINKS = {
    "link": "a/b/file.yaml",
    "chain": "link",
    "a/dir": "b",
    "a/up": "../top",
    "loop": "loop",
    "one": "two",
    "two": "one",
    "out": "../outside",
    "absolute": "/etc/passwd",
    "deep/out": "../../x",
    "dangling": "absent",
    "self": ".",
    "a/trailing": "b/",
}


def trees(folder: Path) -> dict[str, Tree]:
    for name, content in FILES.items():
        write(folder, name, content)
    (folder / "a/run.sh").chmod(0o755)
    (folder / "deep").mkdir()
    for name, target in LINKS.items():
        os.symlink(target, folder / name)
    commit(folder)
    return {
        "working": WorkingTree(str(folder)),
        "index": IndexTree(str(folder)),
        "commit": CommitTree(str(folder), "HEAD"),
        "memory": MemoryTree(FILES, LINKS, executables=["a/run.sh"]),
    }


@pytest.fixture(params=["working", "index", "commit", "memory", "plain folder"])
def tree(request: pytest.FixtureRequest, repo: Path, tmp_path: Path) -> Tree:  # noqa: F811
    every = trees(repo)
    if request.param == "plain folder":
        os.rename(repo / ".git", tmp_path / "git")
        return WorkingTree(str(repo))
    return every[request.param]


def test_every_kind_of_tree_answers_alike(tree: Tree) -> None:
    assert list(tree.paths()) == sorted([*FILES, *LINKS])
    for name, content in FILES.items():
        assert tree.read(name) == content
        assert tree.digest(name) == blob_id(content)
    assert tree.digest("top") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert tree.listdir("") == tuple(sorted({name.split("/")[0] for name in (*FILES, *LINKS)}))
    assert tree.listdir("a") == ("b", "dir", "run.sh", "trailing", "up")
    assert tree.listdir("a/dir") == ("file.yaml",)
    assert tree.listdir("top") == tree.listdir("nowhere") == ()
    assert tree.executable("a/run.sh") and not tree.executable("top") and not tree.executable("nowhere")
    assert tree.is_dir("") and tree.is_dir("a") and tree.is_dir("a/dir") and not tree.is_dir("top")
    assert not tree.is_file("a") and not tree.is_file("nowhere") and not tree.is_file("out")


def test_links_are_followed_inside_of_the_tree_only(tree: Tree) -> None:
    for name in (
        "link",
        "chain",
        "a/dir/file.yaml",
        "a/trailing/file.yaml",
        "self/self/link",
        "a/b/../b/./file.yaml",
        "a/dir/../b/file.yaml",
    ):
        assert tree.resolve(name) == "a/b/file.yaml"
        assert tree.read(name) == b"x: 1\n"
    assert tree.resolve("a/up") == "top"
    assert tree.resolve("a/dir") == "a/b"
    assert tree.is_link("chain") and tree.is_link("self/link") and not tree.is_link("top") and not tree.is_link("nowhere/x")
    for name in ("out", "absolute", "deep/out", "/etc/passwd", "../x", "a/../../x"):
        assert code_of(tree, name) == "outside", name
    for name in ("loop", "one", "one/x"):
        assert code_of(tree, name) == "unreadable", name
    for name in ("dangling", "nowhere", "top/x", "nowhere/../top"):
        assert code_of(tree, name) == "missing", name
    assert code_of(tree, "a") == code_of(tree, "a/dir") == code_of(tree, "") == "not-a-file"


def test_hostile_names_survive(repo: Path) -> None:  # noqa: F811
    for name in HOSTILE:
        write(repo, name, name.encode("utf-8", "surrogateescape"))
    commit(repo)
    for tree in (WorkingTree(str(repo)), IndexTree(str(repo)), CommitTree(str(repo), "HEAD")):
        assert list(tree.paths()) == sorted(HOSTILE)
        for name in HOSTILE:
            assert tree.read(name) == name.encode("utf-8", "surrogateescape")


def test_devices_are_listed_nowhere_and_never_opened(repo: Path) -> None:  # noqa: F811
    write(repo, "tracked", b"1")
    write(repo, "folder/file", b"1")
    commit(repo)
    os.remove(repo / "tracked")
    os.mkfifo(repo / "tracked")
    os.mkfifo(repo / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(repo / "socket"))
    tree = WorkingTree(str(repo))
    assert list(tree.paths()) == ["folder/file"]
    assert code_of(tree, "tracked") == "not-a-file"
    os.rename(repo / ".git", repo.parent / "git")
    plain = WorkingTree(str(repo))
    assert list(plain.paths()) == ["folder/file"]
    assert code_of(plain, "fifo") == code_of(plain, "socket") == "not-a-file"


def test_a_file_that_becomes_a_device_or_a_link_after_the_listing_is_not_opened(repo: Path) -> None:  # noqa: F811
    write(repo, "a", b"1")
    write(repo, "b", b"1")
    write(repo, "c", b"1")
    tree = WorkingTree(str(repo))
    for name in ("a", "b", "c"):
        os.remove(repo / name)
    os.mkfifo(repo / "a")
    os.symlink("/etc/passwd", repo / "b")
    assert code_of(tree, "a") == "not-a-file"
    assert code_of(tree, "b") == "unreadable"
    assert code_of(tree, "c") == "missing"


def test_a_tracked_folder_that_became_a_link_hides_its_files(repo: Path, tmp_path: Path) -> None:  # noqa: F811
    write(repo, "folder/secret", b"1")
    commit(repo)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_bytes(b"outside")
    os.remove(repo / "folder/secret")
    os.rmdir(repo / "folder")
    os.symlink(tmp_path / "elsewhere", repo / "folder")
    tree = WorkingTree(str(repo))
    assert list(tree.paths()) == ["folder"]
    assert code_of(tree, "folder/secret") == "outside"


def test_sizes_are_capped(repo: Path) -> None:  # noqa: F811
    write(repo, "large", b"x" * (MAX_FILE + 1))
    write(repo, "fits", b"x" * MAX_FILE)
    commit(repo)
    for tree in (WorkingTree(str(repo)), IndexTree(str(repo)), MemoryTree({"large": b"x" * (MAX_FILE + 1), "fits": b"x" * MAX_FILE})):
        assert code_of(tree, "large") == "too-large"
        assert len(tree.read("fits")) == MAX_FILE


def test_ignored_and_deleted_files_are_out_and_untracked_ones_in(repo: Path) -> None:  # noqa: F811
    write(repo, ".gitignore", b"*.log\n")
    write(repo, "kept", b"1")
    write(repo, "gone", b"1")
    commit(repo)
    os.remove(repo / "gone")
    write(repo, "untracked", b"1")
    write(repo, "x.log", b"1")
    assert list(WorkingTree(str(repo)).paths()) == [".gitignore", "kept", "untracked"]
    assert list(IndexTree(str(repo)).paths()) == [".gitignore", "gone", "kept"]


def test_a_folder_without_git_leaves_out_what_tools_leave_behind(tmp_path: Path) -> None:
    for name in ("a.yaml", ".git/config", "node_modules/x.js", "env/pyvenv.cfg", "env/lib/x.py", "sub/.git", "sub/b.yaml"):
        write(tmp_path, name, b"1")
    tree = open_tree(str(tmp_path))
    assert list(tree.paths()) == ["a.yaml", "sub/b.yaml"]
    with pytest.raises(GitError):
        open_tree(str(tmp_path), "HEAD")
    with pytest.raises(TreeError) as caught:
        open_tree(str(tmp_path / "absent"))
    assert caught.value.code == "missing"


def test_a_folder_of_a_repository_is_a_tree_of_its_own(repo: Path) -> None:  # noqa: F811
    write(repo, "sub/a", b"1")
    write(repo, "other", b"1")
    os.symlink("../other", repo / "sub/out")
    commit(repo)
    for revision in (None, ":index", "HEAD"):
        tree = open_tree(str(repo / "sub"), revision)
        assert list(tree.paths()) == ["a", "out"]
        assert tree.read("a") == b"1"
        assert code_of(tree, "out") == "outside"


def test_an_ignored_folder_stands_for_itself(repo: Path) -> None:  # noqa: F811
    write(repo, ".gitignore", b"tmp/\n")
    write(repo, "tmp/a", b"1")
    commit(repo)
    assert list(open_tree(str(repo / "tmp")).paths()) == ["a"]


def test_a_repository_that_names_another_working_tree_is_a_plain_folder(repo: Path, tmp_path: Path) -> None:  # noqa: F811
    write(repo, "a", b"1")
    commit(repo)
    (tmp_path / "elsewhere").mkdir()
    write(tmp_path, "elsewhere/secret", b"1")
    git(repo, "config", "core.worktree", str(tmp_path / "elsewhere"))
    assert list(WorkingTree(str(repo)).paths()) == ["a"]
    with pytest.raises(GitError):
        open_tree(str(repo), "HEAD")


def test_digests_of_the_working_tree_are_of_what_is_read(repo: Path) -> None:  # noqa: F811
    write(repo, ".gitattributes", b"*.txt text eol=crlf\n")
    write(repo, "a.txt", b"1\r\n2\r\n")
    commit(repo)
    assert WorkingTree(str(repo)).digest("a.txt") == blob_id(b"1\r\n2\r\n")
    assert IndexTree(str(repo)).digest("a.txt") == blob_id(b"1\n2\n")


def test_sha256_repositories(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    write(tmp_path, "a", b"1")
    commit(tmp_path)
    assert WorkingTree(str(tmp_path)).digest("a") == CommitTree(str(tmp_path), "HEAD").digest("a") == blob_id(b"1", "sha256")
    assert CommitTree(str(tmp_path), "HEAD").read("a") == b"1"


def test_submodules_are_empty_folders(repo: Path, tmp_path: Path) -> None:  # noqa: F811
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, "x", b"1")
    commit(inner)
    git(repo, "submodule", "add", "-q", str(inner), "sub/module")
    commit(repo)
    for tree in (WorkingTree(str(repo)), IndexTree(str(repo)), CommitTree(str(repo), "HEAD")):
        assert list(tree.paths()) == [".gitmodules"]
        assert tree.is_dir("sub/module") and tree.listdir("sub") == ("module",) and tree.listdir("sub/module") == ()
        assert code_of(tree, "sub/module") == "not-a-file"
        assert code_of(tree, "sub/module/x") == "missing"
