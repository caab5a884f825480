"""Copies of a tree for jobs to work on: what was validated, not what somebody edits meanwhile."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from reviewbot.sweep.errors import SweepError
from reviewbot.tree import Tree, TreeError

_CHUNK = 1 << 20


def make_snapshot(tree: Tree, root: Path, live: bool, folder: Path) -> Path:
    """A copy of all files of ``tree`` below ``folder``, made once for each content. ``live``: the tree is what lies in ``root`` now, so
    files that are too large for the checker are copied from there. Raises ``SweepError``."""
    aside = folder / f".snapshot.{os.getpid()}.{os.urandom(4).hex()}"
    digest = hashlib.sha256()
    try:
        aside.mkdir(parents=True)
        ignored = folder / ".gitignore"  # what a sweep writes is no part of the repository, and must not be copied by the next one
        if not ignored.exists():
            ignored.write_text("*\n", "utf-8")
        for path in tree.paths():
            target = aside / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if live and os.path.islink(root / path):
                link = os.readlink(root / path)
                os.symlink(link, target)
                digest.update(f"{path}\0link {link}\0".encode("utf-8", "surrogateescape"))
                continue
            executable = tree.executable(path)
            mark = _copy(tree, root if live else None, path, target)
            if mark is None:
                continue
            os.chmod(target, 0o755 if executable else 0o644)
            digest.update(f"{path}\0{executable}\0{mark}\0".encode("utf-8", "surrogateescape"))
        final = folder / f"snapshot-{digest.hexdigest()[:24]}"
        try:
            os.rename(aside, final)
        except OSError:
            if not final.is_dir():
                raise
        return final
    except OSError as error:
        raise SweepError(f"{folder}: the files of the repository cannot be copied: {error.strerror}", 3) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _copy(tree: Tree, root: Path | None, path: str, target: Path) -> str | None:
    try:
        data = tree.read(path)
    except TreeError as error:
        if error.code != "too-large":
            return None  # a link that leads out of the tree, or a special file: nothing of the repository
        if root is None:
            raise SweepError(f"{path} is too large to be copied out of a commit: check it out and leave --head away", 3) from None
        whole = hashlib.sha256()
        with (root / path).open("rb") as read, target.open("wb") as write:
            while chunk := read.read(_CHUNK):
                whole.update(chunk)
                write.write(chunk)
        return whole.hexdigest()
    target.write_bytes(data)
    return hashlib.sha256(data).hexdigest()
