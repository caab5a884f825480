"""The only module that runs git.

Everything is bytes and NUL-separated inside; paths and names leave this module as ``str`` with ``surrogateescape``. No command here
writes, fetches, pages, or starts a program that a repository's settings name: the environment is scrubbed, and settings that could
start something or change a format are fixed on the command line.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

_SETTINGS = (
    "core.fsmonitor=",
    "core.hooksPath=/dev/null",
    "core.quotepath=false",
    "core.precomposeunicode=false",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.renameLimit=5000",
    "color.ui=false",
    "log.showSignature=false",
    # A bare repository that lies inside a checkout brings settings of its own: it must be named, never discovered.
    "safe.bareRepository=explicit",
)
_PREFIX = ["git", "--no-pager", "--literal-pathspecs", *(part for setting in _SETTINGS for part in ("-c", setting))]
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")

Status = Literal["added", "deleted", "modified", "renamed", "copied", "type-changed"]


class GitError(Exception):
    """git could not answer. ``code``: ``no-git``, ``not-a-repository``, ``unsafe-repository``, ``unknown-revision``, ``shallow``,
    ``no-merge-base``, ``missing-object``, ``too-large``, ``failed``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a commit's tree or of the index: ``mode`` as git writes it (``100644``), ``type`` ``blob`` or ``commit`` (a submodule)."""

    mode: str
    type: str
    id: str
    path: str


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full id, and the first line of its message."""

    id: str
    subject: str


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """A file that differs between two revisions. ``old_path`` equals ``path`` unless renamed or copied; an absent side has mode ``000000``."""

    status: Status
    old_path: str
    path: str
    old_mode: str
    mode: str
    old_id: str
    id: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a hunk: ``kind`` is `` ``, ``+`` or ``-``; ``old``/``new`` are its numbers (``None`` on the side where it is not)."""

    kind: str
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A hunk: first line and number of lines on each side, as in its ``@@`` header, and its lines."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[DiffLine, ...]


def _environment() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment.update(
        LC_ALL="C",
        LANGUAGE="C",
        GIT_OPTIONAL_LOCKS="0",
        GIT_TERMINAL_PROMPT="0",
        GIT_NO_REPLACE_OBJECTS="1",
        GIT_NO_LAZY_FETCH="1",
        GIT_ALLOW_PROTOCOL="none",  # an object that is missing in a partial clone is an error, not a download
    )
    return environment


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogateescape")


def _explain(stderr: bytes, where: str) -> GitError:
    text = _text(stderr).strip()
    if "dubious ownership" in text:
        return GitError(
            "unsafe-repository",
            f"{where} belongs to another user, so git does not read it; if you trust it: git config --global --add safe.directory {where}",
        )
    if "not a git repository" in text or "cannot use bare repository" in text or "safe.bareRepository" in text:
        return GitError("not-a-repository", f"{where} is not in a git repository")
    first = next((line for line in text.splitlines() if line), "git failed without a message")
    return GitError("failed", f"git: {first.removeprefix('fatal: ')}")


def _run(
    arguments: Sequence[str | bytes], cwd: str, *, ok: tuple[int, ...] = (0,), more: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Exit status and output of a git command in ``cwd``, with ``more`` in its environment. Raises ``GitError``."""
    try:
        done = subprocess.run(
            [*_PREFIX, *arguments],
            cwd=_bytes(cwd),
            env={**_environment(), **(more or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        if not os.path.isdir(cwd):
            raise GitError("not-a-repository", f"{cwd} is not a folder") from error
        raise GitError("no-git", "git is not installed") from error
    except NotADirectoryError as error:
        raise GitError("not-a-repository", f"{cwd} is not a folder") from error
    if done.returncode not in ok:
        raise _explain(done.stderr, cwd)
    return done.returncode, done.stdout


def _stop(process: subprocess.Popen[bytes]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            try:
                stream.close()
            except OSError:
                pass
    process.kill()
    process.wait()


class BlobReader:
    """Contents of objects by id, through one ``git cat-file --batch`` process. Safe to share between threads."""

    def __init__(self, arguments: Sequence[str], cwd: str) -> None:
        self._arguments = list(arguments)
        self._cwd = cwd
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[[subprocess.Popen[bytes]], BlobReader] | None = None
        _READERS.add(self)

    def leave_to_parent(self) -> None:
        """In a forked process: the git process belongs to the parent, who is answered by it; the next read here starts another one."""
        self._lock = threading.Lock()
        process, self._process = self._process, None
        if self._finalizer is not None:
            self._finalizer.detach()
            self._finalizer = None
        if process is not None:
            process.returncode = 0  # not ours to wait for
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()

    def read(self, object_id: str, limit: int) -> bytes:
        """The content of an object. Raises ``GitError`` of code ``missing-object``, or ``too-large`` (over ``limit`` bytes; nothing is read)."""
        if not _HEX.fullmatch(object_id):
            raise GitError("missing-object", f"{object_id!r} is not an object id")
        with self._lock:
            process = self._start()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(object_id.encode() + b"\n")
                process.stdin.flush()
                header = process.stdout.readline().split()
                if len(header) != 3:
                    raise GitError("missing-object", f"object {object_id} is not in this clone (a partial or shallow clone?)")
                size = int(header[2])
                if size > limit:
                    raise GitError("too-large", f"object {object_id} has {size} bytes, more than {limit}")
                content = process.stdout.read(size + 1)
                if len(content) != size + 1:
                    raise GitError("failed", f"git ended while object {object_id} was read")
            except OSError as error:
                self._close()
                raise GitError("failed", f"git ended while object {object_id} was read") from error
            except BaseException:
                self._close()  # what the process still has to say would be taken for the next answer
                raise
            return content[:-1]

    def _start(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._close()
            try:
                process = subprocess.Popen(
                    [*_PREFIX, *self._arguments, "cat-file", "--batch"],
                    cwd=_bytes(self._cwd),
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except FileNotFoundError as error:
                raise GitError("no-git", "git is not installed, or the repository is gone") from error
            self._process = process
            self._finalizer = weakref.finalize(self, _stop, process)
        return self._process

    def _close(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._process = None
        self._finalizer = None

    def close(self) -> None:
        with self._lock:
            self._close()


_READERS: weakref.WeakSet[BlobReader] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for reader in list(_READERS):
        reader.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


class Repository:
    """A git repository. ``top`` is the folder of its working tree, or the repository itself where it is bare."""

    def __init__(self, top: str, *, bare: bool = False) -> None:
        self.top = top
        self.bare = bare
        self._arguments = [f"--git-dir={top}"] if bare else []
        self._trees: dict[str, tuple[TreeEntry, ...]] = {}
        self._ids: dict[str, dict[str, str | None]] = {}
        self._resolved: dict[str, str] = {}
        self._format: str | None = None
        self.blobs = BlobReader(self._arguments, top)

    @classmethod
    def find(cls, path: str) -> Repository:
        """The repository that ``path`` (a folder) lies in. Raises ``GitError``."""
        path = os.path.abspath(path)
        if not os.path.isdir(path):
            raise GitError("not-a-repository", f"{path} is not a folder")
        try:
            _, output = _run(["rev-parse", "--show-toplevel"], path)
        except GitError as error:
            if error.code != "unsafe-repository" and all(os.path.exists(os.path.join(path, name)) for name in ("HEAD", "objects", "refs")):
                _run([f"--git-dir={path}", "rev-parse", "--git-dir"], path)
                return cls(path, bare=True)
            raise
        top = _text(output[:-1] if output.endswith(b"\n") else output)
        if not top:
            raise GitError("not-a-repository", f"{path} is not in a working tree")
        return cls(top)

    def _git(
        self, *arguments: str | bytes, ok: tuple[int, ...] = (0,), cwd: str | None = None, more: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        return _run([*self._arguments, *arguments], cwd or self.top, ok=ok, more=more)

    def refs_digest(self) -> str:
        """A digest of all names and the commits that they stand for. Raises ``GitError``."""
        _, names = self._git("for-each-ref", "--format=%(objectname) %(refname)")
        _, head = self._git("rev-parse", "--verify", "--quiet", "HEAD", ok=(0, 1))
        return hashlib.sha256(names + b"\0" + head).hexdigest()

    def object_format(self) -> str:
        """``sha1`` or ``sha256``."""
        if self._format is None:
            self._format = _text(self._git("rev-parse", "--show-object-format")[1]).strip() or "sha1"
        return self._format

    def is_shallow(self) -> bool:
        return self._git("rev-parse", "--is-shallow-repository")[1].strip() == b"true"

    def resolve(self, revision: str) -> str:
        """The full id of the commit that ``revision`` names. Raises ``GitError`` of code ``unknown-revision`` or ``shallow``."""
        known = self._resolved.get(revision)
        if known is not None:
            return known
        if not revision or revision.startswith("-") or "\0" in revision or "\n" in revision:
            raise GitError("unknown-revision", f"{revision!r} is not a revision")
        status, output = self._git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", ok=(0, 1, 128))
        answer = _text(output).strip()
        if status != 0 or not _HEX.fullmatch(answer):
            if self.is_shallow():
                raise GitError(
                    "shallow", f"revision {revision!r} is not in this shallow clone; fetch it, or clone with full history (fetch-depth: 0)"
                )
            raise GitError("unknown-revision", f"there is no revision {revision!r} in {self.top}")
        if _HEX.fullmatch(revision):
            self._resolved[revision] = answer  # a name may move, an id may not
        return answer

    def merge_base(self, first: str, second: str) -> str:
        """The best common ancestor of two revisions. Raises ``GitError`` of code ``no-merge-base`` or ``shallow``."""
        one, two = self.resolve(first), self.resolve(second)
        status, output = self._git("merge-base", one, two, ok=(0, 1))
        answer = _text(output).split("\n")[0]
        if status != 0 or not _HEX.fullmatch(answer):
            if self.is_shallow():
                raise GitError("shallow", f"{first!r} and {second!r} have no common ancestor in this shallow clone; fetch more history")
            raise GitError("no-merge-base", f"{first!r} and {second!r} have no common ancestor")
        return answer

    def commits(self, base: str, head: str) -> tuple[Commit, ...]:
        """The commits that lead from ``base`` to ``head`` by first parents, oldest first, ``base`` left out. Raises ``GitError``."""
        one, two = self.resolve(base), self.resolve(head)
        output = self._git("log", "--first-parent", "--reverse", "--no-patch", "--format=%H %s", f"{one}..{two}", "--")[1]
        lines = [line for line in _text(output).split("\n") if line]
        return tuple(Commit(*line.partition(" ")[::2]) for line in lines)

    def ls_tree(self, revision: str, folder: str = "") -> tuple[TreeEntry, ...]:
        """All files, links and submodules below ``folder`` at a revision, paths relative to it. Raises ``GitError``."""
        name = self.resolve(revision) + (f":{folder}" if folder else "")
        entries = self._trees.get(name)
        if entries is None:
            found = []
            for record in self._git("ls-tree", "-r", "-z", "--full-tree", name)[1].split(b"\0"):
                if record:
                    head, _, path = record.partition(b"\t")
                    mode, kind, object_id = head.decode().split()
                    found.append(TreeEntry(mode, kind, object_id, _text(path)))
            entries = self._trees[name] = tuple(found)
        return entries

    def index(self, folder: str = "") -> tuple[TreeEntry, ...]:
        """The entries of the index below ``folder``, relative to it; of an unmerged path our side, else theirs.

        The index is the one that ``GIT_INDEX_FILE`` names where it is set: a hook of ``git commit FILE`` is given one of its own.
        """
        named = os.environ.get("GIT_INDEX_FILE")
        more = {"GIT_INDEX_FILE": os.path.join(self.top, named)} if named else None
        best: dict[str, tuple[int, TreeEntry]] = {}
        rank = {"0": 0, "2": 1, "3": 2, "1": 3}
        for record in self._git("ls-files", "--stage", "-z", cwd=os.path.join(self.top, folder), more=more)[1].split(b"\0"):
            if record:
                head, _, raw = record.partition(b"\t")
                mode, object_id, stage = head.decode().split()
                path = _text(raw)
                entry = TreeEntry(mode, "commit" if mode == "160000" else "blob", object_id, path)
                if path not in best or rank[stage] < best[path][0]:
                    best[path] = (rank[stage], entry)
        return tuple(entry for _, entry in best.values())

    def ls_files(self, folder: str = "") -> list[str]:
        """Tracked files, and untracked ones that are not ignored, below ``folder``, relative to it; sorted. Some may be gone from the disk."""
        output = self._git("ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=os.path.join(self.top, folder))[1]
        return sorted({_text(path) for path in output.split(b"\0") if path})

    def changed_paths(self, base: str, head: str) -> tuple[ChangedPath, ...]:
        """The files that differ between two revisions (two dots), renames found. Raises ``GitError``."""
        one, two = self.resolve(base), self.resolve(head)
        output = self._git(
            "diff",
            "-O/dev/null",
            "--raw",
            "-z",
            "--no-abbrev",
            "--find-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--ignore-submodules=none",
            one,
            two,
            "--",
        )[1]
        fields = output.split(b"\0")
        changes = []
        position = 0
        names: dict[str, Status] = {
            "A": "added",
            "D": "deleted",
            "M": "modified",
            "R": "renamed",
            "C": "copied",
            "T": "type-changed",
        }
        while position < len(fields) and fields[position].startswith(b":"):
            old_mode, mode, old_id, new_id, letter = fields[position][1:].decode().split()
            old_path = _text(fields[position + 1])
            two_paths = letter[0] in "RC"
            path = _text(fields[position + 2]) if two_paths else old_path
            position += 3 if two_paths else 2
            changes.append(ChangedPath(names.get(letter[0], "modified"), old_path, path, old_mode, mode, old_id, new_id))
        return tuple(changes)

    def line_counts(self, base: str, head: str) -> dict[str, int]:
        """How many lines every changed file has added and deleted together, by its new path; 0 for a binary file. Raises ``GitError``."""
        one, two = self.resolve(base), self.resolve(head)
        output = self._git(
            "diff", "-O/dev/null", "--numstat", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--no-color", one, two, "--"
        )[1]
        counts: dict[str, int] = {}
        fields = iter(output.split(b"\0"))
        for field in fields:
            if field:
                added, deleted, path = field.split(b"\t", 2)
                if not path:  # a rename: both names follow
                    next(fields, b"")
                    path = next(fields, b"")
                counts[_text(path)] = 0 if added == b"-" else int(added) + int(deleted)
        return counts

    def file_diff(
        self, base: str, head: str, old_path: str | None, path: str | None, *, context: int = 3, limit: int = 5_000_000
    ) -> list[Hunk]:
        """The hunks between a file at ``base`` and at ``head``; ``None`` stands for a side where there is no file.

        Empty for equal and for binary contents. Raises ``GitError`` (``too-large`` for a diff of more than ``limit`` bytes).
        """
        sides = ((self.resolve(base), old_path), (self.resolve(head), path))
        old_id, new_id = (None if name is None else self._blob_id(revision, name) for revision, name in sides)
        if old_id == new_id:
            return []
        if old_id is None or new_id is None:
            return _whole(self.blobs.read(new_id or old_id or "", limit), "+" if old_id is None else "-")
        output = self._git(
            "diff",
            "-O/dev/null",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            f"--unified={context}",
            "--inter-hunk-context=0",
            "--diff-algorithm=myers",
            old_id,
            new_id,
            "--",
        )[1]
        if len(output) > limit:
            raise GitError("too-large", f"the diff of {path or old_path} has {len(output)} bytes, more than {limit}")
        start = output.find(b"\n@@ ")
        return [] if start < 0 else _hunks(_text(output[start + 1 :]))

    def _blob_id(self, revision: str, path: str) -> str | None:
        """The id of a file or link at a commit; ``None`` for a submodule, which has no lines."""
        ids = self._ids.get(revision)
        if ids is None:
            ids = self._ids[revision] = {entry.path: entry.id if entry.type == "blob" else None for entry in self.ls_tree(revision)}
        if path not in ids:
            raise GitError("missing-object", f"there is no {path} at {revision}")
        return ids[path]


def _whole(content: bytes, kind: str) -> list[Hunk]:
    """The hunk of a file that was added or deleted as a whole."""
    if not content or b"\0" in content[:8000]:  # what git takes for binary
        return []
    pieces = _text(content.removesuffix(b"\n")).split("\n")
    lines = tuple(
        DiffLine(kind, number if kind == "-" else None, number if kind == "+" else None, piece) for number, piece in enumerate(pieces, 1)
    )
    return [Hunk(0, 0, 1, len(lines), lines) if kind == "+" else Hunk(1, len(lines), 0, 0, lines)]


def _hunks(body: str) -> list[Hunk]:
    """Hunks of one file's diff body, read by unidiff behind headers of our own (a hostile file name never reaches it)."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        patch = PatchSet(["--- a/file\n", "+++ b/file\n", *(line + "\n" for line in body.removesuffix("\n").split("\n"))])
    except UnidiffParseError as error:
        raise GitError("failed", f"a diff could not be read: {error}") from error
    hunks = []
    for file in patch:
        for hunk in file:
            lines = tuple(
                DiffLine(line.line_type, line.source_line_no, line.target_line_no, line.value.removesuffix("\n"))
                for line in hunk
                if line.line_type in " +-"
            )
            hunks.append(Hunk(hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length, lines))
    return hunks
