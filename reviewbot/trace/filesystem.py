"""The virtual file system of a trace: layers over the repository that only remember what a script changed.

A directory has *bases*, seen from the top: a tree (the repository, a checkout whose files are known), an unknown place (the
cluster, an opaque clone), or a view into an earlier state (a copied or moved directory, which costs nothing until it is read).
Over them lies one map from paths to what was written or removed there. Maps are chained: a snapshot freezes the newest one.

Paths are absolute and normalised, and may hold holes: the same holes are the same path.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Union

from reviewbot.documents.positions import Site
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.values import HOLE, without_forged_holes
from reviewbot.tree import Tree, TreeError

_DEVICES = frozenset(("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/urandom"))
_MAX_CHAIN = 12
_MAX_ALIASES = 50
_MAX_WALK = 50_000


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """A file: written ``content`` (``None``: unknown), or still the file ``path`` of ``tree``."""

    content: FileText | None = None
    base: _TreeBase | None = None
    path: str = ""
    origin: str | None = None
    executable: bool | None = None
    link: bool = False  # the script made it by ``ln -s``


@dataclass(frozen=True, slots=True, eq=False)
class _TreeBase:
    tree: Tree
    ours: bool  # the repository under review
    label: str  # before paths in sites; empty for the repository


@dataclass(frozen=True, slots=True)
class _UnknownBase:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class _View:
    """Directory ``path`` of a frozen state."""

    maps: tuple[dict[str, _Entry], ...]
    path: str


_Base = Union[_TreeBase, _UnknownBase, _View]


@dataclass(frozen=True, slots=True, eq=False)
class _Directory:
    bases: tuple[_Base, ...] = ()


@dataclass(frozen=True, slots=True)
class _Gone:
    pass


@dataclass(frozen=True, slots=True)
class _Absent:
    """No entry after all: what lies under it shows."""


@dataclass(frozen=True, slots=True)
class _Forgotten:
    """Nobody knows any more what is there."""


_Entry = Union[_File, _Directory, _Gone, _Absent, _Forgotten]
_KINDS: dict[type, str] = {_File: "file", _Directory: "dir", _Gone: "missing", _Forgotten: "unknown"}
_FORGOTTEN = _Forgotten()
_GONE = _Gone()
_ABSENT = _Absent()
_UNKNOWN = _UnknownBase()
_Rows = list[tuple[str, str]]
_EMPTY = FileText("", ())


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A state to come back to."""

    maps: tuple[dict[str, _Entry], ...]
    aliases: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class TextCache:
    """Texts of tree files with their origins, shared by all traces over the same trees."""

    texts: dict[tuple[int, str, str], FileText | None] = field(default_factory=dict)
    trees: dict[int, Tree] = field(default_factory=dict)

    def text(self, base: _TreeBase, path: str) -> FileText | None:
        key = (id(base.tree), base.label, path)
        if key not in self.texts:
            self.trees[id(base.tree)] = base.tree  # keeps its id taken
            self.texts[key] = _read(base, path)
        return self.texts[key]


def _read(base: _TreeBase, path: str) -> FileText | None:
    try:
        raw = base.tree.read(path)
        where = base.tree.resolve(path)
    except TreeError:
        return None
    if b"\0" in raw:
        return None
    text = without_forged_holes(raw.decode("utf-8", "surrogateescape"))
    name = base.label + where
    return FileText(text, tuple(LineOrigin(Site(name, number)) for number in range(1, line_count(text) + 1)))


def _resolved(tree: Tree, path: str) -> str:
    """``path`` with links followed: the file that people edit and that a diff shows."""
    try:
        return tree.resolve(path)
    except TreeError:
        return path


def line_count(text: str) -> int:
    """Lines as ``FileText`` counts them: a last empty piece is none."""
    return text.count("\n") + (1 if text and not text.endswith("\n") else 0)


def written(text: str, site: Site) -> FileText:
    """A text all of whose lines were written at ``site``."""
    return FileText(text, (LineOrigin(None, ((site, None),)),) * line_count(text))


def joined(first: FileText, second: FileText) -> FileText:
    """``second`` appended to ``first``; a line that is completed by it has both histories."""
    if not first.text or first.text.endswith("\n"):
        return FileText(first.text + second.text, first.origins + second.origins)
    if not second.text:
        return first
    last = first.origins[-1]
    before = first.text.rpartition("\n")[2]
    added = second.origins[0]
    by = last.by + tuple((site, before) for site, _ in added.by)
    return FileText(first.text + second.text, (*first.origins[:-1], LineOrigin(last.site, by), *second.origins[1:]))


class VirtualFiles:
    """The file system of one trace. ``workspace`` is where the repository lies; ``bound`` the largest text, in characters."""

    def __init__(
        self,
        tree: Tree | None,
        workspace: str,
        *,
        cache: TextCache | None = None,
        bound: int = 16_000_000,
        directories: Callable[[str], bool | None] | None = None,
    ) -> None:
        self._cache = cache if cache is not None else TextCache()
        self._bound = bound
        self._directories = directories
        self._read: set[str] = set()
        top: dict[str, _Entry] = {"/": _Directory((_UNKNOWN,)), "/tmp": _Directory((_UNKNOWN,)), "/dev": _Directory((_UNKNOWN,))}
        if tree is not None:
            top[workspace] = _Directory((_TreeBase(tree, True, ""),))
        self._maps: tuple[dict[str, _Entry], ...] = (top,)
        self._owned = True  # the newest map may be changed in place
        self._aliases: tuple[tuple[str, str], ...] = ()

    # -- questions --------------------------------------------------------------------------------------------------------

    def kind(self, path: str) -> str:
        return self._kind(self._maps, self._real(path))

    def read_text(self, path: str) -> FileText | None:
        path = self._real(path)
        if path == "/dev/null":
            return _EMPTY
        file = self._file(self._maps, path)
        if file is None:
            return None
        if file.base is not None:
            self._record(file.base, file.path)
            content = self._cache.text(file.base, file.path)
        else:
            content = file.content
        return content if content is None or len(content.text) <= self._bound else None

    def executable(self, path: str) -> bool | None:
        file = self._file(self._maps, self._real(path))
        if file is None:
            return None
        if file.executable is None and file.base is not None:
            return file.base.tree.executable(file.path)
        return file.executable

    def is_link(self, path: str) -> bool:
        """Whether a file is a symbolic link, of the script's or of a tree."""
        path = self._real(path)
        file = self._file(self._maps, path)
        if file is None or file.base is None or file.link:
            return file is not None and file.link
        return _entry(self._maps, path) is None and _resolved(file.base.tree, file.path) != file.path

    def mark_link(self, path: str) -> None:
        """The file at ``path`` is a symbolic link from now on (its content is that of the file it leads to)."""
        path = self._real(path)
        file = self._file(self._maps, path)
        if file is not None:
            self._put(path, replace(file, link=True))

    def real(self, path: str) -> str:
        """``path`` with mounts and links that the script made followed."""
        return self._real(path)

    def written(self, path: str) -> bool:
        file = self._file(self._maps, self._real(path))
        return file is not None and file.content is not None

    def origin(self, path: str) -> str | None:
        file = self._file(self._maps, self._real(path))
        return None if file is None else file.origin

    def list(self, path: str) -> Sequence[str] | None:
        names = self._names(self._maps, self._real(path))
        return None if names is None else sorted(names)

    def walk(self, path: str) -> Iterable[tuple[str, str]] | None:
        found: _Rows = []
        return found if self._walk(path, found, 0) else None

    def _walk(self, path: str, found: _Rows, depth: int) -> bool:
        names = self.list(path)
        if names is None or depth > 60:
            return False
        for name in names:
            below = posixpath.join(path, name)
            kind = self.kind(below)
            if kind == "unknown" or len(found) > _MAX_WALK:
                return False
            found.append((below, kind))
            if kind == "dir" and not self._walk(below, found, depth + 1):
                return False
        return True

    def files_read(self) -> frozenset[str]:
        return frozenset(self._read)

    # -- changes ----------------------------------------------------------------------------------------------------------

    def write(self, path: str, content: FileText | None) -> None:
        path = self._real(path)
        if path in _DEVICES:
            return
        before = self._file(self._maps, path)
        self._parents(path)
        if before is None:
            self._put(path, _File(content, executable=False))
        else:
            executable = before.executable
            if executable is None and before.base is not None:
                executable = before.base.tree.executable(before.path)
            self._put(path, _File(content, origin=before.origin, executable=executable))

    def append(self, path: str, content: FileText | None) -> None:
        kind = self.kind(path)
        if kind == "missing":
            self.write(path, content)
            return
        before = self.read_text(path)
        self.write(path, None if before is None or content is None else joined(before, content))

    def set_executable(self, path: str, executable: bool) -> None:
        """``chmod +x`` and ``-x`` of a file; nothing where there is none."""
        path = self._real(path)
        file = self._file(self._maps, path)
        if file is not None:
            self._put(path, replace(file, executable=executable))

    def make_directory(self, path: str) -> None:
        path = self._real(path)
        self._parents(posixpath.join(path, "x"))

    def remove(self, path: str) -> None:
        path = self._real(path)
        if path == "/" or path in _DEVICES:
            return
        self._clear(path)
        self._put(path, _GONE)

    def forget(self, path: str) -> None:
        path = self._real(path)
        self._clear(path)
        self._put(path, _FORGOTTEN)

    def copy_file(self, source: str, target: str) -> None:
        source, target = self._real(source), self._real(target)
        if target in _DEVICES:
            return
        file = self._file(self._maps, source)
        if file is None:
            file = _File(_EMPTY if source == "/dev/null" else None)
        elif file.link:
            file = replace(file, link=False)
        if target != source:
            self._parents(target)
            self._put(target, file)

    def copy_tree(self, source: str, target: str) -> None:
        source, target = self._real(source), self._real(target)
        if source == target:
            return
        frozen = self._freeze()
        self._parents(target)
        under: tuple[_Base, ...] = (_View(frozen, target),) if self._kind(frozen, target) != "missing" else ()
        self._clear(target)
        self._put(target, _Directory((_View(frozen, source), *under)))

    def move(self, source: str, target: str) -> None:
        source, target = self._real(source), self._real(target)
        if source == target:
            return
        kind = self._kind(self._maps, source)
        if kind == "dir":
            frozen = self._freeze()
            self._parents(target)
            self._clear(target)
            self._put(target, _Directory((_View(frozen, source),)))
        else:
            self.copy_file(source, target)
        self.remove(source)

    def mount(self, path: str, tree: Tree | None) -> None:
        path = self._real(path)
        self._parents(path)
        self._clear(path)
        self._put(path, _Directory((_UNKNOWN if tree is None else _TreeBase(tree, False, f"{tree.name}:"),)))

    def checkout(self, path: str, tree: Tree | None, force: bool = False) -> None:
        path = self._real(path)
        here = _entry(self._maps, path)
        bases = here.bases if isinstance(here, _Directory) else ()
        old = bases[-1].tree if bases and isinstance(bases[-1], _TreeBase) else None
        kept: dict[str, _Entry] = {}
        directories: list[str] = []
        start = path + "/"
        for key in {key for entries in self._maps for key in entries if key.startswith(start)}:
            entry = _entry(self._maps, key)
            if key.startswith(start + ".git") and key[len(start) + 4 :][:1] in ("", "/"):
                continue
            if isinstance(entry, (_File, _Forgotten)):
                kept[key] = entry
            elif isinstance(entry, _Directory):
                directories.append(key)
                for below, kind in (self.walk(key) or ()) if entry.bases else ():
                    file = self._file(self._maps, below) if kind == "file" else None
                    if file is not None:
                        kept.setdefault(below, file)
        kept = {key: entry for key, entry in kept.items() if _survives(key[len(start) :], entry, old, tree, force)}
        self.mount(path, tree)
        for directory in sorted(directories):
            if self._kind(self._maps, directory) == "missing" and (old is None or not old.is_dir(directory[len(start) :])):
                self.make_directory(directory)
        for key in sorted(kept):
            self._parents(key)
            self._put(key, kept[key])

    def alias(self, path: str, target: str) -> None:
        target = self._real(target)
        if path != target and len(self._aliases) < _MAX_ALIASES and not target.startswith(path + "/"):
            self._aliases = (*(pair for pair in self._aliases if pair[0] != path), (path, target))

    # -- states -----------------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        return Snapshot(self._freeze(), self._aliases)

    def restore(self, snapshot: object) -> None:
        if not isinstance(snapshot, Snapshot):
            raise TypeError("not a snapshot of this file system")
        self._maps = snapshot.maps
        self._aliases = snapshot.aliases
        self._owned = False

    def changed(self, one: object, other: object) -> frozenset[str] | None:
        if not isinstance(one, Snapshot) or not isinstance(other, Snapshot):
            raise TypeError("not a snapshot of this file system")
        if one.aliases != other.aliases:
            return None
        shared = 0
        while shared < min(len(one.maps), len(other.maps)) and one.maps[shared] is other.maps[shared]:
            shared += 1
        paths = {path for maps in (one.maps[shared:], other.maps[shared:]) for entries in maps for path in entries}
        differing = set()
        for path in paths:
            a, b = _entry(one.maps, path), _entry(other.maps, path)
            if a is b or _same(a, b):
                continue
            if (isinstance(a, _Directory) and a.bases and a.bases != (_UNKNOWN,)) or (
                isinstance(b, _Directory) and b.bases and b.bases != (_UNKNOWN,)
            ):
                return None
            differing.add(path)
        return frozenset(differing)

    def _freeze(self) -> tuple[dict[str, _Entry], ...]:
        self._owned = False
        return self._maps

    def _put(self, path: str, entry: _Entry) -> None:
        if not self._owned:
            if len(self._maps) >= _MAX_CHAIN:
                merged: dict[str, _Entry] = {}
                for entries in self._maps:
                    merged.update(entries)
                self._maps = (merged,)
            else:
                self._maps = (*self._maps, {})
            self._owned = True
        self._maps[-1][path] = entry

    def _clear(self, path: str) -> None:
        below = path + "/"
        for key in {key for entries in self._maps for key in entries if key.startswith(below)}:
            self._put(key, _ABSENT)

    def _parents(self, path: str) -> None:
        """Every directory above ``path`` exists from now on."""
        parent = path[:path.rfind("/")] or "/"
        missing: list[tuple[str, str]] = []
        while parent != "/":
            kind = self._kind(self._maps, parent)
            if kind == "dir":
                break
            missing.append((parent, kind))
            parent = parent[:parent.rfind("/")] or "/"
        for directory, kind in reversed(missing):
            self._put(directory, _Directory((_UNKNOWN,) if kind == "unknown" else ()))

    def _real(self, path: str) -> str:
        if not self._aliases:
            return path
        for _ in range(_MAX_ALIASES):
            best = ""
            target = ""
            for name, to in self._aliases:
                if (path == name or path.startswith(name + "/")) and len(name) > len(best):
                    best, target = name, to
            if not best:
                break
            path = target + path[len(best) :]
        return path

    # -- look-up ----------------------------------------------------------------------------------------------------------

    def _record(self, base: _TreeBase, path: str) -> None:
        if base.ours:
            self._read.add(path)

    def _kind(self, maps: tuple[dict[str, _Entry], ...], path: str) -> str:
        entry = _entry(maps, path)
        if entry is not None:
            return _KINDS[type(entry)]
        for base, below in self._bases(maps, path):
            kind = self._base_kind(base, below, path)
            if kind != "missing":
                return kind
        return "missing"

    def _base_kind(self, base: _Base, below: str, path: str) -> str:
        if isinstance(base, _UnknownBase):
            if self._directories is not None and not HOLE.search(path):
                known = self._directories(path)
                if known is not None:
                    return "dir" if known else "missing"
            return "unknown"
        if isinstance(base, _View):
            return self._kind(base.maps, posixpath.join(base.path, below))
        if below == ".git" or below.startswith(".git/"):
            return "dir" if below == ".git" else "unknown"
        if HOLE.search(below):
            return "missing"
        self._record(base, below)
        if base.tree.is_file(below):
            return "file"
        return "dir" if base.tree.is_dir(below) else "missing"

    def _bases(self, maps: tuple[dict[str, _Entry], ...], path: str) -> Iterator[tuple[_Base, str]]:
        """The bases that show at ``path``, top first, each with the path below it."""
        parent = path
        while parent != "/":
            parent = parent[:parent.rfind("/")] or "/"
            entry = None
            for entries in reversed(maps):
                entry = entries.get(parent)
                if entry is not None:
                    break
            if entry is None or entry is _ABSENT:
                continue
            if isinstance(entry, _Directory):
                below = path[len(parent) :].lstrip("/")
                for base in entry.bases:
                    yield base, below
                return
            if isinstance(entry, _Forgotten):
                yield _UNKNOWN, path[len(parent) :].lstrip("/")
                return
            if entry is not None:
                return

    def _file(self, maps: tuple[dict[str, _Entry], ...], path: str) -> _File | None:
        """The file at ``path``; one of unknown content where nobody knows; ``None`` where there is none."""
        entry = _entry(maps, path)
        if isinstance(entry, _File):
            return entry
        if entry is not None:
            return None
        for base, below in self._bases(maps, path):
            kind = self._base_kind(base, below, path)
            if kind == "file":
                if isinstance(base, _View):
                    return self._file(base.maps, posixpath.join(base.path, below))
                assert isinstance(base, _TreeBase)
                return _File(base=base, path=below, origin=_resolved(base.tree, below) if base.ours else None)
            if kind != "missing":
                return None
        return None

    def _names(self, maps: tuple[dict[str, _Entry], ...], path: str) -> set[str] | None:
        entry = _entry(maps, path)
        names: set[str] = set()
        if isinstance(entry, _Forgotten):
            return None
        if entry is not None and not isinstance(entry, _Directory):
            return names
        bases = ((base, "") for base in entry.bases) if isinstance(entry, _Directory) else self._bases(maps, path)
        for base, below in bases:
            if isinstance(base, _UnknownBase):
                return None
            if isinstance(base, _View):
                where = posixpath.join(base.path, below) if below else base.path
                kind = self._kind(base.maps, where)
                found = self._names(base.maps, where) if kind == "dir" else None if kind == "unknown" else set()
                if found is None:
                    return None
                names |= found
                if kind == "file":
                    break
            elif HOLE.search(below):
                continue
            else:
                if base.ours:
                    self._read.add(below + "/")
                names.update(base.tree.listdir(below))
        start = path if path.endswith("/") else path + "/"
        for key in {key for entries in maps for key in entries if key.startswith(start)}:
            name, _, rest = key[len(start) :].partition("/")
            if rest or not name:
                continue
            child = _entry(maps, key)
            if isinstance(child, _Forgotten):
                return None
            if isinstance(child, _Gone):
                names.discard(name)
            elif child is not None:
                names.add(name)
        return names


def _entry(maps: tuple[dict[str, _Entry], ...], path: str) -> _Entry | None:
    for entries in reversed(maps):
        entry = entries.get(path)
        if entry is not None:
            return None if entry is _ABSENT else entry
    return None


def _survives(path: str, entry: _Entry, old: Tree | None, new: Tree | None, force: bool) -> bool:
    """Whether a file of a clone stays as it is when another ref (``new``) is checked out: an untracked one does, and a changed one that
    both refs have alike (unless by ``force``). Files of a clone that nobody has seen may be tracked."""
    if isinstance(entry, _File) and entry.base is not None and entry.base.tree is old and entry.path == path:
        return False  # the old ref's own file
    if new is None or old is None:
        return not force and new is None
    try:
        if not new.is_file(path):
            return not old.is_file(path)
        return not force and old.is_file(path) and old.read(path) == new.read(path)
    except TreeError:
        return False


def _same(a: _Entry | None, b: _Entry | None) -> bool:
    if isinstance(a, _File) and isinstance(b, _File):
        if a.content is None and a.base is None and b.base is None and b.content is None:
            return False  # two unknown contents
        return (a.content, a.base, a.path, a.origin, a.executable, a.link) == (b.content, b.base, b.path, b.origin, b.executable, b.link)
    if isinstance(a, _Directory) and isinstance(b, _Directory):
        return a.bases == b.bases
    return a == b
