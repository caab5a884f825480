"""Rules of scope ``run`` and ``document`` find, part by part, what they find over the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from reviewbot.documents.positions import Problem
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding
from reviewbot.engine.registry import RuleModule, load_rules
from reviewbot.engine.run import merged
from reviewbot.parts import Session, default_parts
from reviewbot.runs.model import Run

DEMO = Path(__file__).parent.parent.parent / "fixtures" / "demo"
RULES = load_rules()


@cache
def whole() -> Context:
    parts = default_parts()
    session = Session(parts, DEMO, settings_revision=None, upstreams={}, jobs=1, cache=False, progress=lambda what, done, total: None)
    return session.context(None)


class Nothing:
    """What a rule of a narrow scope must not read."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"a rule of this scope must not ask for {name}")


class OneDocument:
    def __init__(self, path: str) -> None:
        self._path = path

    def yaml(self, path: str) -> object:
        return whole().documents.yaml(self._only(path))

    def shell(self, path: str) -> object:
        return whole().documents.shell(self._only(path))

    def python(self, path: str) -> object:
        return whole().documents.python(self._only(path))

    def paths(self, kind: str) -> Iterable[str]:
        return [path for path in whole().documents.paths(kind) if path == self._path]

    def problems(self) -> Iterable[tuple[str, Problem]]:
        raise AssertionError

    def _only(self, path: str) -> str:
        assert path == self._path
        return path


def context(documents: object, runs: tuple[Run, ...]) -> Context:
    made = Context(Nothing(), whole().settings, documents, Nothing, lambda bench: runs)  # type: ignore[arg-type]
    made.lines = whole().lines  # type: ignore[method-assign]
    return made


def of_scope(scope: str) -> list[RuleModule]:
    return [module for module in RULES.values() if module.rule.scope == scope and module.check is not None]


def found(module: RuleModule, contexts: Iterable[Context]) -> list[Finding]:
    def all_findings() -> Iterator[Finding]:
        for one in contexts:
            assert module.check is not None
            yield from module.check(one)

    return merged(all_findings())


@pytest.mark.parametrize("module", of_scope("run"), ids=lambda module: module.name)
def test_run_by_run(module: RuleModule):
    runs = whole().runs
    assert found(module, [context(Nothing(), runs)]) == found(module, (context(Nothing(), (run,)) for run in runs))


@pytest.mark.parametrize("module", of_scope("document"), ids=lambda module: module.name)
def test_document_by_document(module: RuleModule):
    documents = whole().documents
    paths = sorted({path for kind in ("yaml", "shell", "python") for path in documents.paths(kind)})
    together = found(module, [context(documents, ())])
    assert sorted(together, key=str) == sorted(found(module, (context(OneDocument(path), ()) for path in paths)), key=str)


def test_the_demo_says_something_about_it():
    findings = [f for scope in ("run", "document") for module in of_scope(scope) for f in found(module, [whole()])]
    assert len({finding.rule for finding in findings}) >= 4
