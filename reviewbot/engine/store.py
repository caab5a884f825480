"""The documents of a tree by path, each parsed once."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from reviewbot.documents.positions import Problem, Span
from reviewbot.engine.context import paths_matching
from reviewbot.settings import Settings
from reviewbot.tree import Tree, TreeError

# Globs of each kind where settings name none. "yaml" and "shell" are what takes part in runs, not every file of that suffix.
_KINDS = {
    "master": ("configs/*-master.yaml", "inferencex-e2e/configs/*-master.yaml"),
    "runners": ("configs/runners.yaml", "inferencex-e2e/configs/runners.yaml"),
    "launcher": ("runners/launch_*.sh",),
    "workflow": (".github/workflows/*.yml", ".github/workflows/*.yaml"),
    "recipe": ("benchmarks/**/*.yaml", "inferencex-e2e/benchmarks/**/*.yaml", "recipes/**/*.yaml"),
    "changelog": ("perf-changelog.yaml",),
    "script": ("benchmarks/**/*.sh", "inferencex-e2e/benchmarks/**/*.sh", "runners/*.sh"),
}
_YAML_KINDS = ("master", "runners", "workflow", "recipe", "changelog")
_SHELL_KINDS = ("launcher", "script")
_WHOLE = Span(1, 1, 1, 1)


def _parser(module: str, function: str) -> Callable[[bytes, str], Any]:
    def parse(data: bytes, path: str) -> Any:
        return getattr(importlib.import_module(f"reviewbot.documents.{module}"), function)(data, path)

    return parse


_PARSERS = {"yaml": _parser("yaml", "parse_yaml"), "shell": _parser("shell", "parse_shell"), "python": _parser("python", "parse_python")}


class Unread:
    """A document that could not be read at all: it has problems and nothing else."""

    def __init__(self, problem: Problem) -> None:
        self.problems = (problem,)
        self.root = None
        self.comments = ()


class DocumentStore:
    """Documents of one tree. Raises nothing for a bad file: its document has the problems."""

    def __init__(self, tree: Tree, settings: Settings) -> None:
        layout = settings.layout
        given = {
            "master": layout.masters, "runners": layout.runners, "launcher": layout.launchers, "workflow": layout.workflows,
            "recipe": layout.recipes,
        }  # fmt: skip
        self._tree = tree
        self._globs = {kind: given.get(kind) or globs for kind, globs in _KINDS.items()}
        self._parsed: dict[tuple[str, str], Any] = {}
        self._paths: dict[str, tuple[str, ...]] = {}

    def yaml(self, path: str) -> Any:
        return self._document("yaml", path)

    def shell(self, path: str) -> Any:
        return self._document("shell", path)

    def python(self, path: str) -> Any:
        return self._document("python", path)

    def paths(self, kind: str) -> tuple[str, ...]:
        """Sorted paths of a kind; ``yaml`` and ``shell`` unite the kinds that are written in these languages."""
        if kind not in self._paths:
            kinds = {"yaml": _YAML_KINDS, "shell": _SHELL_KINDS}.get(kind, (kind,))
            globs = [glob for one in kinds for glob in self._globs[one]]
            found = paths_matching((path for path in self._tree.paths() if not self._tree.is_link(path)), globs)
            self._paths[kind] = tuple(found)
        return self._paths[kind]

    def problems(self) -> Iterable[tuple[str, Problem]]:
        """The problems of all documents that take part in runs or were asked for."""
        for language in ("yaml", "shell"):
            for path in self.paths(language):
                self._document(language, path)
        for (_, path), document in list(self._parsed.items()):
            for problem in document.problems:
                yield path, problem

    def _document(self, language: str, path: str) -> Any:
        key = (language, path)
        if key not in self._parsed:
            try:
                data = self._tree.read(path)
            except TreeError as error:
                self._parsed[key] = Unread(Problem(error.code, f"cannot be read: {error}", _WHOLE, fatal=True))
            else:
                self._parsed[key] = _PARSERS[language](data, path)
        return self._parsed[key]
