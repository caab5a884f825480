"""A repository at a revision: the only reader of files.

A tree answers from a working tree, the index or a commit alike. Paths are relative to its root, ``/``-separated, ``str`` with
``surrogateescape`` for bytes that are not UTF-8.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from typing import Protocol

from reviewbot.git import GitError, Repository

MAX_FILE = 5 * 1000 * 1000  # bytes; configuration is never that large
_MAX_LINKS = 40  # what Linux allows
_SKIPPED = {".git", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

# What a path is, as git's modes say.
_FILE, _PROGRAM, _LINK, _MODULE, _SPECIAL = "100644", "100755", "120000", "160000", "special"


class TreeError(Exception):
    """A file that cannot be read; ``code`` is a stable word: ``missing``, ``too-large``, ``outside``, ``not-a-file``, ``unreadable``."""

    def __init__(self, code: str, path: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.path = path


class Tree(Protocol):
    """A read-only file tree. Links inside the tree are followed; a link that leaves it is an error of code ``outside``."""

    name: str  # for people: "working tree", "index", a commit

    def paths(self) -> Sequence[str]:
        """All files and links, sorted, directories left out."""
        ...

    def read(self, path: str) -> bytes:
        """The content of a file. Raises ``TreeError``."""
        ...

    def digest(self, path: str) -> str:
        """The git blob id of a file's content (the same in every kind of tree). Raises ``TreeError``."""
        ...

    def is_file(self, path: str) -> bool: ...

    def is_dir(self, path: str) -> bool: ...

    def is_link(self, path: str) -> bool: ...

    def executable(self, path: str) -> bool: ...

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted; ``""`` is the root; empty where there is none."""
        ...

    def resolve(self, path: str) -> str:
        """The path with links inside the tree followed. Raises ``TreeError``."""
        ...


def blob_id(content: bytes, object_format: str = "sha1") -> str:
    """The id that git gives to a file of this content."""
    return hashlib.new(object_format, b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Listed:
    """What all trees share: a listing of modes by path, links followed on it, contents read by the subclass."""

    name = ""

    def __init__(self, modes: dict[str, str]) -> None:
        self._modes = modes
        self._folders: dict[str, set[str]] | None = None
        self._sorted: dict[str, tuple[str, ...]] = {}
        self._paths: tuple[str, ...] | None = None
        self._targets: dict[str, str] = {}
        self._linked: dict[str, bool] = {}  # whether a path that is no plain file here is one elsewhere, by links

    def _content(self, path: str) -> bytes:
        raise NotImplementedError

    def _target(self, path: str) -> str:
        raise NotImplementedError

    def _tree(self) -> dict[str, set[str]]:
        if self._folders is None:
            folders: dict[str, set[str]] = {"": set()}
            for path, mode in self._modes.items():
                if mode == _MODULE:
                    folders.setdefault(path, set())
                while True:
                    folder, _, name = path.rpartition("/")
                    known = folders.get(folder)
                    if known is None:
                        folders[folder] = {name}
                        path = folder
                        continue
                    fresh = not known and folder != ""
                    known.add(name)
                    if not fresh:
                        break
                    path = folder
            self._folders = folders
        return self._folders

    def paths(self) -> Sequence[str]:
        if self._paths is None:
            self._paths = tuple(sorted(path for path, mode in self._modes.items() if mode in (_FILE, _PROGRAM, _LINK)))
        return self._paths

    def resolve(self, path: str) -> str:
        mode = self._modes.get(path)
        if mode is not None and mode != _LINK:
            return path
        if path.startswith("/"):
            raise TreeError("outside", path, f"{path} is outside of the tree")
        folders = self._tree()
        pending = path.split("/")[::-1]
        current = ""
        links = 0
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if current not in folders:
                raise TreeError("missing", path, f"there is no {path}: {current} is not a folder")
            if part == "..":
                if not current:
                    raise TreeError("outside", path, f"{path} leads out of the tree")
                current = current.rpartition("/")[0]
                continue
            step = f"{current}/{part}" if current else part
            mode = self._modes.get(step)
            if mode == _LINK:
                links += 1
                if links > _MAX_LINKS:
                    raise TreeError("unreadable", path, f"{path} is a link that leads in a circle")
                target = self._targets.get(step)
                if target is None:
                    target = self._targets[step] = self._target(step)
                if target.startswith("/"):
                    raise TreeError("outside", path, f"{path} is a link out of the tree, to {target}")
                pending.extend(target.split("/")[::-1])
                continue
            if mode is None and step not in folders:
                raise TreeError("missing", path, f"there is no {path}")
            current = step
        return current

    def _file(self, path: str) -> str:
        resolved = self.resolve(path)
        mode = self._modes.get(resolved)
        if mode not in (_FILE, _PROGRAM):
            raise TreeError("not-a-file", path, f"{path} is not a regular file" if mode == _SPECIAL else f"{path} is a folder")
        return resolved

    def read(self, path: str) -> bytes:
        return self._content(self._file(path))

    def digest(self, path: str) -> str:
        return blob_id(self.read(path))

    def is_file(self, path: str) -> bool:
        if self._modes.get(path) in (_FILE, _PROGRAM):
            return True
        known = self._linked.get(path)
        if known is None:
            try:
                self._file(path)
                known = True
            except TreeError:
                known = False
            self._linked[path] = known
        return known

    def is_dir(self, path: str) -> bool:
        try:
            return self.resolve(path) in self._tree()
        except TreeError:
            return False

    def is_link(self, path: str) -> bool:
        mode = self._modes.get(path)
        if mode is not None:
            return mode == _LINK
        folder, _, name = path.rstrip("/").rpartition("/")
        try:
            resolved = self.resolve(folder)
        except TreeError:
            return False
        return self._modes.get(f"{resolved}/{name}" if resolved else name) == _LINK

    def executable(self, path: str) -> bool:
        try:
            return self._modes.get(self._file(path)) == _PROGRAM
        except TreeError:
            return False

    def listdir(self, path: str) -> Sequence[str]:
        try:
            resolved = self.resolve(path)
        except TreeError:
            return ()
        names = self._sorted.get(resolved)
        if names is None:
            names = self._sorted[resolved] = tuple(sorted(self._tree().get(resolved, ())))
        return names


def _too_large(path: str, size: int) -> TreeError:
    return TreeError("too-large", path, f"{path} has {size} bytes, more than {MAX_FILE}")


def _prefix(repository: Repository, path: str) -> str:
    """The folder ``path`` below the repository's top, ``/``-separated, ``""`` for the top itself. Raises ``GitError``."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(repository.top))
    if relative.split(os.sep)[0] == "..":
        # The repository's settings name a working tree elsewhere.
        raise GitError("not-a-repository", f"{path} is not in the working tree of its repository")
    return "" if relative == "." else relative.replace(os.sep, "/")


class WorkingTree(_Listed):
    """The files of a folder: in a git repository the tracked and the not ignored ones, elsewhere all but what tools leave behind.

    Raises ``GitError`` where the folder is a repository that git refuses to read, ``TreeError`` where there is no folder.
    """

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)
        self.name = "working tree"
        if not os.path.isdir(self.root):
            raise TreeError("missing", root, f"there is no folder {root}")
        self.repository: Repository | None = None
        names: list[str] | None = None
        try:
            repository = Repository.find(self.root)
            if not repository.bare:
                folder = _prefix(repository, self.root)
                # A folder that the repository around it ignores stands for itself.
                names = repository.ls_files(folder) or (None if folder else [])
                self.repository = repository
        except GitError as error:
            if error.code not in ("not-a-repository", "no-git"):
                raise
        super().__init__(self._modes_of(_walk(self.root) if names is None else names))

    def _modes_of(self, names: Sequence[str]) -> dict[str, str]:
        modes: dict[str, str] = {}
        real: dict[str, bool] = {"": True}
        lstat = os.lstat
        prefix = self.root + "/"
        for name in names:
            folder = name.rpartition("/")[0]
            if not self._is_real(folder, real):
                continue  # a tracked folder that is now a link or gone: its files are not there
            try:
                mode = lstat(prefix + name).st_mode
            except (OSError, ValueError):
                continue
            if stat.S_ISREG(mode):
                modes[name] = _PROGRAM if mode & stat.S_IXUSR else _FILE
            elif stat.S_ISLNK(mode):
                modes[name] = _LINK
            elif stat.S_ISDIR(mode):
                modes[name.rstrip("/")] = _MODULE
            else:
                modes[name] = _SPECIAL
        return modes

    def _is_real(self, folder: str, known: dict[str, bool]) -> bool:
        answer = known.get(folder)
        if answer is None:
            parent = folder.rpartition("/")[0]
            try:
                answer = self._is_real(parent, known) and stat.S_ISDIR(os.lstat(f"{self.root}/{folder}").st_mode)
            except OSError:
                answer = False
            known[folder] = answer
        return answer

    def _content(self, path: str) -> bytes:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        try:
            descriptor = os.open(f"{self.root}/{path}", flags)
        except OSError as error:
            code = "missing" if isinstance(error, FileNotFoundError) else "unreadable"
            raise TreeError(code, path, f"{path} cannot be read: {error.strerror}") from error
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise TreeError("not-a-file", path, f"{path} is not a regular file")
            if status.st_size > MAX_FILE:
                raise _too_large(path, status.st_size)
            try:
                content = file.read(MAX_FILE + 1)
            except OSError as error:
                raise TreeError("unreadable", path, f"{path} cannot be read: {error.strerror}") from error
        if len(content) > MAX_FILE:
            raise _too_large(path, len(content))
        return content

    def _target(self, path: str) -> str:
        try:
            return os.readlink(f"{self.root}/{path}")
        except OSError as error:
            raise TreeError("unreadable", path, f"the link {path} cannot be read: {error.strerror}") from error

    def digest(self, path: str) -> str:
        # Always the hash of what ``read`` gives: the index may hold another id for the same file (line ends, filters).
        return blob_id(self.read(path), "sha1" if self.repository is None else self.repository.object_format())


def _walk(root: str) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root, onerror=None, followlinks=False):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [
            name
            for name in folders
            if name not in _SKIPPED and name not in links and not _kept_out(os.path.join(folder, name))
        ]
        relative = os.path.relpath(folder, root)
        prefix = "" if relative == "." else relative.replace(os.sep, "/") + "/"
        found.extend(prefix + name for name in [*files, *links] if name != ".git")
    return sorted(found)


def _kept_out(folder: str) -> bool:
    """Whether a folder is a virtual environment, or says itself that all of it is to be ignored."""
    if os.path.exists(os.path.join(folder, "pyvenv.cfg")):
        return True
    path = os.path.join(folder, ".gitignore")
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(100).strip() == b"*"
    except OSError:
        return False


class _Objects(_Listed):
    """A tree of git objects: contents by id."""

    def __init__(self, repository: Repository, entries: Sequence[tuple[str, str, str]]) -> None:
        super().__init__({path: mode if mode != "100664" else _FILE for mode, _, path in entries})
        self._ids = {path: object_id for _, object_id, path in entries}
        self._repository = repository

    def ids(self) -> Mapping[str, str]:
        """The object id of every file, link and submodule, by path."""
        return self._ids

    def _content(self, path: str) -> bytes:
        return self._object(path)

    def _target(self, path: str) -> str:
        return self._object(path).decode("utf-8", "surrogateescape")

    def _object(self, path: str) -> bytes:
        try:
            return self._repository.blobs.read(self._ids[path], MAX_FILE)
        except GitError as error:
            code = "too-large" if error.code == "too-large" else "unreadable"
            raise TreeError(code, path, f"{path} cannot be read: {error}") from error

    def digest(self, path: str) -> str:
        return self._ids[self._file(path)]


class CommitTree(_Objects):
    """The tree of a commit, or of ``folder`` in it. Raises ``GitError``."""

    def __init__(self, repository: Repository | str, revision: str, folder: str = "") -> None:
        repository = Repository.find(repository) if isinstance(repository, str) else repository
        self.commit = repository.resolve(revision)
        super().__init__(repository, [(entry.mode, entry.id, entry.path) for entry in repository.ls_tree(self.commit, folder)])
        self.name = self.commit


class IndexTree(_Objects):
    """What would be committed next. Raises ``GitError``."""

    def __init__(self, repository: Repository | str, folder: str = "") -> None:
        repository = Repository.find(repository) if isinstance(repository, str) else repository
        super().__init__(repository, [(entry.mode, entry.id, entry.path) for entry in repository.index(folder)])
        self.name = "index"


class MemoryTree(_Listed):
    """A tree from memory: contents by path, links as path -> target."""

    def __init__(self, files: Mapping[str, bytes], links: Mapping[str, str] | None = None, executables: Sequence[str] = ()) -> None:
        modes = {path: _PROGRAM if path in executables else _FILE for path in files}
        modes.update(dict.fromkeys(links or {}, _LINK))
        super().__init__(modes)
        self.name = "memory"
        self._files = dict(files)
        self._links = dict(links or {})

    def _content(self, path: str) -> bytes:
        content = self._files[path]
        if len(content) > MAX_FILE:
            raise _too_large(path, len(content))
        return content

    def _target(self, path: str) -> str:
        return self._links[path]


def open_tree(path: str, revision: str | None = None) -> Tree:
    """The tree at folder ``path``: its files (``None``), the index (``":index"``) or a commit. Raises ``GitError`` and ``TreeError``."""
    if revision is None:
        return WorkingTree(path)
    repository = Repository.find(path)
    folder = "" if repository.bare else _prefix(repository, path)
    return IndexTree(repository, folder) if revision == ":index" else CommitTree(repository, revision, folder)
