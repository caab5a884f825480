"""A tree in which some files have another content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reviewbot.tree import Tree, blob_id


class OverlayTree:
    """``tree`` with the files of ``contents`` in place of its own; no file comes or goes."""

    def __init__(self, tree: Tree, contents: Mapping[str, bytes]) -> None:
        self._tree = tree
        self._contents = contents
        self.name = tree.name

    def paths(self) -> Sequence[str]:
        return self._tree.paths()

    def read(self, path: str) -> bytes:
        found = self._contents.get(self._tree.resolve(path)) if self._contents and self._tree.is_file(path) else None
        return self._tree.read(path) if found is None else found

    def digest(self, path: str) -> str:
        return blob_id(self._contents[path]) if path in self._contents else self._tree.digest(path)

    def is_file(self, path: str) -> bool:
        return self._tree.is_file(path)

    def is_dir(self, path: str) -> bool:
        return self._tree.is_dir(path)

    def is_link(self, path: str) -> bool:
        return self._tree.is_link(path)

    def executable(self, path: str) -> bool:
        return self._tree.executable(path)

    def listdir(self, path: str) -> Sequence[str]:
        return self._tree.listdir(path)

    def resolve(self, path: str) -> str:
        return self._tree.resolve(path)
