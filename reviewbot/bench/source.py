"""Files of a tree, read and parsed once, with problems in place of exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Protocol

from reviewbot.bench.problems import BenchProblem
from reviewbot.documents.positions import Site, Span
from reviewbot.documents.shell_syntax import Script
from reviewbot.documents.yaml import YamlDocument, parse_yaml
from reviewbot.tree import Tree, TreeError

_TOP = Span(1, 1, 1, 1)
_CUTS = frozenset({"yaml-syntax", "too-deep", "too-large"})


class Documents(Protocol):
    """Documents that are parsed already, or on demand, elsewhere."""

    def yaml(self, path: str) -> Any: ...

    def shell(self, path: str) -> Any: ...


class Source:
    """A tree with a cache of parsed documents. ``problems`` collects what cannot be read or is not YAML.

    ``documents`` shares the documents of the caller, so that no file is parsed twice.
    """

    def __init__(self, tree: Tree, documents: Documents | None = None) -> None:
        self.tree = tree
        self._documents = documents
        self._shell: dict[str, Script | None] = {}
        self.problems: list[BenchProblem] = []
        self._yaml: dict[tuple[str, bool], YamlDocument | None] = {}
        self._bytes: dict[str, bytes | None] = {}

    @cached_property
    def paths(self) -> Sequence[str]:
        return self.tree.paths()

    def read(self, path: str) -> bytes | None:
        """A file's bytes; ``None`` and a problem where it cannot be read."""
        if path not in self._bytes:
            try:
                self._bytes[path] = self.tree.read(path)
            except TreeError as error:
                self._bytes[path] = None
                self.problems.append(BenchProblem(error.code, str(error), Site(path, 1), _TOP))
        return self._bytes[path]

    def text(self, path: str) -> str | None:
        data = self.read(path)
        return None if data is None else data.decode("utf-8", "surrogateescape")

    def yaml(self, path: str, github: bool = False) -> YamlDocument | None:
        """A YAML document; ``github`` reads it as a workflow (``on`` is a name there)."""
        place = (path, github)
        if place not in self._yaml:
            document: YamlDocument | None
            if self._documents is not None and not github:
                found = self._documents.yaml(path)
                document = found if isinstance(found, YamlDocument) else None
                if document is None:
                    self.read(path)  # says why
            else:
                data = self.read(path)
                document = None if data is None else parse_yaml(data, path, github=github)
            self._yaml[place] = document
            for problem in document.problems if document is not None else ():
                self.problems.append(BenchProblem(problem.code, problem.message, Site(path, problem.span.line), problem.span))
        return self._yaml[place]

    def cut_short(self, path: str) -> bool:
        """Whether a YAML file that was read ends before its end, or could not be read at all: what is missing there says nothing."""
        document = self._yaml.get((path, False))
        return document is None or any(problem.fatal or problem.code in _CUTS for problem in document.problems)

    def shell(self, path: str) -> Script | None:
        """A parsed shell script; ``None`` and a problem where it cannot be read."""
        if path not in self._shell:
            if self._documents is not None:
                found = self._documents.shell(path)
                self._shell[path] = found if isinstance(found, Script) else None
                return self._shell[path]
            from reviewbot.documents.shell import parse_shell  # loads the grammar

            data = self.read(path)
            self._shell[path] = None if data is None else parse_shell(data, path)
        return self._shell[path]
