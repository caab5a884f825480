"""A repository at a revision: the only reader of files.

A tree answers from a working tree, the index or a commit alike. Paths are relative to its root, ``/``-separated, ``str`` with
``surrogateescape`` for bytes that are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

MAX_FILE = 5 * 1000 * 1000  # bytes; configuration is never that large


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
