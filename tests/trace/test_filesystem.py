"""The virtual file system against a real directory, by random operations, and its layers by table."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from reviewbot.documents.positions import Site
from reviewbot.trace.filesystem import VirtualFiles, written
from reviewbot.tree import TreeError

SITE = Site("run.sh", 7)


class MemoryTree:
    """A tree of given texts."""

    name = "memory"

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def paths(self) -> Sequence[str]:
        return sorted(self._files)

    def read(self, path: str) -> bytes:
        if path not in self._files:
            raise TreeError("missing", path, "no such file")
        return self._files[path].encode()

    def digest(self, path: str) -> str:
        return str(hash(self._files[path]))

    def is_file(self, path: str) -> bool:
        return path in self._files

    def is_dir(self, path: str) -> bool:
        return path == "" or any(name.startswith(path + "/") for name in self._files)

    def is_link(self, path: str) -> bool:
        return False

    def executable(self, path: str) -> bool:
        return path.endswith(".sh")

    def listdir(self, path: str) -> Sequence[str]:
        start = path + "/" if path else ""
        return sorted({name[len(start) :].split("/")[0] for name in self._files if name.startswith(start)})

    def resolve(self, path: str) -> str:
        return path


FILES = {"a/x.yaml": "one\ntwo\n", "a/b/y.yaml": "y", "run.sh": "echo\n", "c/z": "zz\n"}


def _disk(root: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for directory, names, files in os.walk(root):
        for name in names:
            found[os.path.relpath(os.path.join(directory, name), root)] = "<dir>"
        for name in files:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = Path(path).read_text()
    return found


def _virtual(files: VirtualFiles) -> dict[str, str]:
    walked = files.walk("/w")
    assert walked is not None
    found: dict[str, str] = {}
    for path, kind in walked:
        text = files.read_text(path)
        found[path[3:]] = "<dir>" if kind == "dir" else text.text if text else "<unknown>"
        if text:
            assert len(text.origins) == text.text.count("\n") + (text.text != "" and not text.text.endswith("\n"))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_against_a_real_directory(seed: int, tmp_path: Path) -> None:
    random_ = random.Random(seed)
    root = tmp_path / "w"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    files = VirtualFiles(MemoryTree(FILES), "/w")
    kept: list[tuple[object, dict[str, str]]] = []
    names = ["a", "b", "c", "d", "a/b", "a/x.yaml", "c/z", "d/e", "a/b/y.yaml", "run.sh", "d/e/f"]
    for _ in range(40):
        one, other = random_.choice(names), random_.choice(names)
        p, q = root / one, root / other
        action = random_.choice(["write", "append", "mkdir", "remove", "copy", "tree", "tree", "move", "snapshot", "restore"])
        if action in ("write", "append"):
            if p.is_dir() or any(parent.is_file() for parent in p.parents):
                continue
            p.parent.mkdir(parents=True, exist_ok=True)
            text = random_.choice(["", "new\n", "no end", "l1\nl2\n"])
            with open(p, "w" if action == "write" else "a") as file:
                file.write(text)
            (files.write if action == "write" else files.append)(f"/w/{one}", written(text, SITE))
        elif action == "mkdir":
            if p.exists() or any(parent.is_file() for parent in p.parents):
                continue
            p.mkdir(parents=True)
            files.make_directory(f"/w/{one}")
        elif action == "remove":
            shutil.rmtree(p) if p.is_dir() else p.unlink(missing_ok=True) if not any(r.is_file() for r in p.parents) else None
            files.remove(f"/w/{one}")
        elif action in ("copy", "move"):
            if q.exists() or any(parent.is_file() for parent in q.parents) or not p.exists() or other.startswith(one + "/"):
                continue
            if action == "copy" and not p.is_file():
                continue
            q.parent.mkdir(parents=True, exist_ok=True)
            if action == "copy":
                shutil.copy(p, q)
                files.copy_file(f"/w/{one}", f"/w/{other}")
            else:
                os.rename(p, q)
                files.move(f"/w/{one}", f"/w/{other}")
        elif action == "tree":
            if not p.is_dir() or q.is_file() or any(parent.is_file() for parent in q.parents):
                continue
            if one == other or other.startswith(one + "/") or one.startswith(other + "/"):
                continue
            clash = any((q / path.relative_to(p)).exists() and path.is_dir() != (q / path.relative_to(p)).is_dir() for path in p.rglob("*"))
            if clash:
                continue
            shutil.copytree(p, q, dirs_exist_ok=True)
            files.copy_tree(f"/w/{one}", f"/w/{other}")
        elif action == "snapshot":
            kept.append((files.snapshot(), _disk(root)))
        elif kept:
            snapshot, state = random_.choice(kept)
            files.restore(snapshot)
            shutil.rmtree(root)
            root.mkdir()
            for name, text in sorted(state.items()):
                if text == "<dir>":
                    (root / name).mkdir(parents=True, exist_ok=True)
                else:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text)
        assert _virtual(files) == _disk(root), (seed, action, one, other)


def test_unknown_places() -> None:
    files = VirtualFiles(MemoryTree(FILES), "/w")
    assert files.kind("/mnt/models") == "unknown"
    files.make_directory("/mnt/models/x")
    assert (files.kind("/mnt"), files.kind("/mnt/models/x"), files.kind("/mnt/models/y")) == ("dir", "dir", "unknown")
    assert files.list("/mnt/models/x") is None
    files.remove("/mnt/models/x")
    assert files.kind("/mnt/models/x/deep") == "missing"
    files.mount("/w/clone", None)
    assert files.kind("/w/clone/recipes") == "unknown"
    files.copy_tree("/w/a", "/w/clone/recipes")
    content = files.read_text("/w/clone/recipes/x.yaml")
    assert content is not None and content.origins[1].site == Site("a/x.yaml", 2)
    assert files.origin("/w/clone/recipes/x.yaml") == "a/x.yaml"
    assert files.kind("/w/clone/recipes/other") == "unknown"
    assert files.kind("/w/clone/other") == "unknown"


def test_paths_with_holes_and_reads() -> None:
    files = VirtualFiles(MemoryTree(FILES), "/w")
    files.write("/w/out/\U000f0000/log", written("x", SITE))
    assert files.kind("/w/out/\U000f0000/log") == "file"
    assert files.kind("/w/out/\U000f0001/log") == "missing"
    assert files.kind("/w/a/none") == "missing"
    files.list("/w/c")
    assert {"a/none", "c/"} <= files.files_read()


def test_differences_of_states() -> None:
    files = VirtualFiles(MemoryTree(FILES), "/w")
    start = files.snapshot()
    files.write("/w/n", written("x", SITE))
    one = files.snapshot()
    files.restore(start)
    assert files.kind("/w/n") == "missing"
    other = files.snapshot()
    assert files.changed(one, other) == {"/w/n"}
    files.mount("/w/up", MemoryTree({"f": "1"}))
    assert files.changed(one, files.snapshot()) is None
    content = files.read_text("/w/up/f")
    assert content is not None and content.origins[0].site == Site("memory:f", 1)


def test_container_mount_is_seen_both_ways() -> None:
    files = VirtualFiles(MemoryTree(FILES), "/w")
    files.alias("/workspace", "/w")
    files.write("/workspace/n", written("x", SITE))
    assert files.kind("/w/n") == "file"
    assert files.origin("/workspace/run.sh") == "run.sh"


def test_a_checkout_keeps_untracked_files_and_changes_that_both_refs_have_alike() -> None:
    old = MemoryTree({"same": "1\n", "other": "1\n", "gone": "1\n"})
    new = MemoryTree({"same": "1\n", "other": "2\n"})
    for force in (False, True):
        files = VirtualFiles(MemoryTree({"r/x": "x\n", "r/same": "r\n"}), "/w")
        files.mount("/w/c", old)
        for name in ("own", "d/own", "same", "other", "gone"):
            files.write(f"/w/c/{name}", written("mine\n", SITE))
        files.make_directory("/w/c/empty")
        files.copy_tree("/w/r", "/w/c/r")
        files.checkout("/w/c", new, force)
        texts = {name: files.read_text(f"/w/c/{name}") for name in ("own", "d/own", "same", "other", "gone", "r/x")}
        known = {name: content.text if content else None for name, content in texts.items()}
        assert known == {
            "own": "mine\n", "d/own": "mine\n", "same": "1\n" if force else "mine\n", "other": "2\n", "gone": None, "r/x": "x\n",
        }
        assert files.kind("/w/c/empty") == "dir" and files.kind("/w/c/gone") == "missing"


def test_links_are_known_as_such() -> None:
    files = VirtualFiles(MemoryTree({"a": "1\n"}), "/w")
    files.copy_file("/w/a", "/w/")
    files.mark_link("/w/")
    files.copy_file("/w/", "/w/c")
    assert [files.is_link(path) for path in ("/w/a", "/w/", "/w/c", "/w/none")] == [False, True, False, False]
