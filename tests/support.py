"""Stand-ins for what reads a repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Problem, Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.registry import Page, RuleModule
from reviewbot.parts import Parts
from reviewbot.runs.model import Run
from reviewbot.settings import Settings
from reviewbot.tree import TreeError


class FakeTree:
    """A tree from memory."""

    name = "memory"

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self.files = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}

    def paths(self) -> Sequence[str]:
        return sorted(self.files)

    def read(self, path: str) -> bytes:
        if path not in self.files:
            raise TreeError("missing", path, f"there is no {path}")
        return self.files[path]

    def digest(self, path: str) -> str:
        return hashlib.sha1(self.read(path)).hexdigest()

    def is_file(self, path: str) -> bool:
        return path in self.files

    def is_dir(self, path: str) -> bool:
        return any(name.startswith(path + "/") for name in self.files)

    def is_link(self, path: str) -> bool:
        return False

    def executable(self, path: str) -> bool:
        return False

    def listdir(self, path: str) -> Sequence[str]:
        return ()

    def resolve(self, path: str) -> str:
        return path


class FakeDocuments:
    def __init__(self, problems: Iterable[tuple[str, Problem]] = ()) -> None:
        self._problems = tuple(problems)

    def yaml(self, path: str) -> Any:
        return SimpleNamespace(root=None, problems=(), comments=())

    shell = python = yaml

    def paths(self, kind: str) -> tuple[str, ...]:
        return ()

    def problems(self) -> Iterable[tuple[str, Problem]]:
        return self._problems


def point(key: str = "demo", id_: str = "demo/c8") -> Point:
    return Point(id_, key, {}, True, "fixed-seq-len", "configs/x-master.yaml", Site("configs/x-master.yaml", 3))


def run(key: str = "demo", id_: str = "demo/c8", **fields: Any) -> Run:
    given: dict[str, Any] = {
        "key": f"{id_}@pool", "point": point(key, id_), "runner": "pool", "node": "pool_00", "launcher": "runners/launch_pool.sh",
        "outcome": "submit", "message": "", "where": None, **fields,
    }  # fmt: skip
    return Run(**given)


def finding(**fields: Any) -> Finding:
    given: dict[str, Any] = {
        "rule": "some-rule", "level": Level.ERROR, "path": "a.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 2,
        "message": "it is wrong", **fields,
    }  # fmt: skip
    return Finding(**given)


def module(name: str = "some-rule", check: Any = None, **fields: Any) -> RuleModule:
    fields.setdefault("needs", frozenset({"documents"}))
    page = Page(f"Title of {name}", {"What": "w", "Why": "y", "Example": "e", "Instead": "i"})
    return RuleModule(Rule(name, fields.pop("level", Level.ERROR), **fields), "demo", page, check)


def context(
    files: Mapping[str, str | bytes] | None = None,
    settings: Settings | None = None,
    runs: Iterable[Run] = (),
    problems: Iterable[tuple[str, Problem]] = (),
) -> Context:
    tree = FakeTree(files or {})
    return Context(tree, settings or Settings(), FakeDocuments(problems), lambda: SimpleNamespace(points=()), lambda bench: runs)


def parts(revisions: Mapping[str | None, Mapping[str, str | bytes]], runs: Iterable[Run] = (), problems: Any = ()) -> Parts:
    """Parts over trees in memory, by revision."""

    def open_tree(root: str, revision: str | None) -> FakeTree:
        if revision not in revisions:
            raise TreeError("missing", "", f"there is no revision {revision}")
        return FakeTree(revisions[revision])

    return Parts(
        open_tree,
        lambda tree, bench: FakeDocuments(problems),
        lambda tree, settings: SimpleNamespace(tree=tree),
        lambda bench, options: runs,
        lambda root, base, head: {},
    )


def write(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, "utf-8")


def marks(context: Context) -> Iterator[Finding]:
    """The check of a rule that finds the word BAD."""
    for path in context.tree.paths():
        for number, line in enumerate(context.lines(path), 1):
            if "BAD" in line:
                yield context.finding(MARKS, "BAD is written", Site(path, number), subject=line.split("#")[0])


MARKS = Rule("bad-word", Level.ERROR, frozenset({"documents"}))
