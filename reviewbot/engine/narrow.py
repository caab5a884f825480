"""Rules of scope ``run`` and ``document`` on one part, with nothing else to read."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from reviewbot.documents.positions import Problem, Site, Span
from reviewbot.engine.context import Context, Documents
from reviewbot.engine.model import Finding
from reviewbot.engine.own_rules import INTERNAL_ERROR
from reviewbot.engine.registry import RuleModule
from reviewbot.runs.model import Run
from reviewbot.tree import Tree

KINDS = ("yaml", "shell", "python", "master", "runners", "workflow", "recipe", "changelog", "launcher", "script")


class _NotThere:
    """Stands where a rule of a narrow scope must not look."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __getattr__(self, name: str) -> NoReturn:
        raise RuntimeError(f"a rule of this scope cannot ask for {self._what}.{name}")


class WatchedTree:
    """A tree that remembers what was asked of it: ``asked`` holds paths, and folders with a ``/`` behind them whose names were listed."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self.name = tree.name
        self.asked: set[str] = set()

    def paths(self) -> Sequence[str]:
        raise RuntimeError("a rule of this scope cannot ask for all paths, which change with every file; listdir gives those of a folder")

    def read(self, path: str) -> bytes:
        self.asked.add(path)
        return self._tree.read(path)

    def digest(self, path: str) -> str:
        self.asked.add(path)
        return self._tree.digest(path)

    def is_file(self, path: str) -> bool:
        self.asked.add(path)
        return self._tree.is_file(path)

    def is_dir(self, path: str) -> bool:
        self.asked.add(path)
        return self._tree.is_dir(path)

    def is_link(self, path: str) -> bool:
        self.asked.add(path)
        return self._tree.is_link(path)

    def executable(self, path: str) -> bool:
        self.asked.add(path)
        return self._tree.executable(path)

    def resolve(self, path: str) -> str:
        self.asked.add(path)
        return self._tree.resolve(path)

    def listdir(self, path: str) -> Sequence[str]:
        self.asked.add(path.rstrip("/") + "/")
        return self._tree.listdir(path)


class OneDocument:
    """The documents of a repository as if there were no other than ``path``."""

    def __init__(self, documents: Documents, path: str, kinds: frozenset[str]) -> None:
        self._documents = documents
        self._path = path
        self._kinds = kinds

    def yaml(self, path: str) -> Any:
        return self._documents.yaml(self._only(path))

    def shell(self, path: str) -> Any:
        return self._documents.shell(self._only(path))

    def python(self, path: str) -> Any:
        return self._documents.python(self._only(path))

    def paths(self, kind: str) -> Iterable[str]:
        if kind not in KINDS:
            raise RuntimeError(f"a rule of this scope cannot ask for paths of kind {kind!r}")
        return (self._path,) if kind in self._kinds else ()

    def problems(self) -> Iterable[tuple[str, Problem]]:
        raise RuntimeError("a rule of this scope cannot ask for problems")

    known_problems = problems

    def _only(self, path: str) -> str:
        if path != self._path:
            raise RuntimeError(f"a rule of this scope cannot ask for {path}, only for the document that it is given")
        return path


class NarrowContext(Context):
    """A context of one part of ``whole``: one run (and a tree that remembers what it was asked), or one document."""

    def __init__(self, whole: Context, run: Run | None = None, documents: Documents | None = None) -> None:
        there: Any = _NotThere
        self.watched = WatchedTree(whole.tree)
        tree = self.watched if run is not None else there("tree")
        super().__init__(tree, whole.settings, documents or there("documents"), lambda: there("bench"), lambda bench: ())
        self.set_runs(() if run is None else (run,))
        self._whole = whole

    def lines(self, path: str) -> list[str]:
        if self.runs:
            self.watched.asked.add(path)
        return self._whole.lines(path)

    def line_span(self, site: Site) -> Span:
        return self._whole.line_span(site)  # of the place of a finding, which is looked at when it is packed


class RestContext(Context):
    """All of ``whole`` but its runs: for what a rule of scope ``run`` says about things that a change brings and no run uses."""

    def __init__(self, whole: Context) -> None:
        super().__init__(whole.tree, whole.settings, whole.documents, lambda: whole.bench, lambda bench: (), whole.changed)
        self.set_runs(())
        self.base = whole.base
        self.pull_request = whole.pull_request
        self._whole = whole

    @property
    def every_run(self) -> tuple[Run, ...]:
        return self._whole.runs

    def lines(self, path: str) -> list[str]:
        return self._whole.lines(path)


def findings_of(modules: Sequence[RuleModule], context: Context, debug: bool) -> tuple[dict[str, list[Finding]], bool]:
    """What each rule finds, and whether all came to their end; a crash is a finding beside those before it."""
    found: dict[str, list[Finding]] = {}
    sound = True
    for module in modules:
        if module.check is None:
            continue
        some: list[Finding] = []
        try:
            some.extend(module.check(context))
        except Exception as error:
            sound = False
            some.append(crash(f"the rule {module.name}", error, debug))
        if some:
            found[module.name] = some
    return found, sound


def kinds_of_paths(documents: Documents) -> dict[str, frozenset[str]]:
    """The paths of all documents, sorted, with their kinds."""
    kinds: dict[str, set[str]] = {}
    for kind in KINDS:
        for path in documents.paths(kind):
            kinds.setdefault(path, set()).add(kind)
    return {path: frozenset(kinds[path]) for path in sorted(kinds)}


def facts_of(modules: Sequence[RuleModule], context: Context, debug: bool) -> tuple[dict[str, list[Any]], dict[str, list[Finding]]]:
    """What rules gather of one run, or survey of one document, and crashes by rule."""
    facts: dict[str, list[Any]] = {}
    crashes: dict[str, list[Finding]] = {}
    for module in modules:
        try:
            ask = module.gather if context.runs else module.survey
            some = list(ask(context)) if ask is not None else []
        except Exception as error:
            crashes[module.name] = [crash(f"the rule {module.name}", error, debug)]
            continue
        if some:
            facts[module.name] = some
    return facts, crashes


def crash(what: str, error: Exception, debug: bool) -> Finding:
    """The finding that tells of an exception."""
    if debug:
        traceback.print_exception(type(error), error, error.__traceback__, file=sys.stderr)
    said = " ".join(str(error).split())[:300]
    return Finding(
        INTERNAL_ERROR.name, INTERNAL_ERROR.level, ".", 1, 1, 1, 1, f"{what} crashed: {type(error).__name__}{': ' + said if said else ''}",
        "run again with --debug to see where", subject=what,
    )  # fmt: skip
