"""Rules of scope ``run`` and ``document`` find, part by part, what they find over the whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding
from reviewbot.engine.narrow import KINDS, NarrowContext, OneDocument
from reviewbot.engine.registry import RuleModule, load_rules
from reviewbot.engine.run import merged
from reviewbot.parts import Session, default_parts

DEMO = Path(__file__).parent.parent.parent / "fixtures" / "demo"
RULES = load_rules()


@cache
def whole() -> Context:
    parts = default_parts()
    session = Session(parts, DEMO, settings_revision=None, upstreams={}, jobs=1, cache=False, progress=lambda what, done, total: None)
    return session.context(None)


def kinds(path: str) -> frozenset[str]:
    return frozenset(kind for kind in KINDS if path in whole().documents.paths(kind))


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
    assert found(module, [whole()]) == found(module, (NarrowContext(whole(), run) for run in whole().runs))


@pytest.mark.parametrize("module", of_scope("document"), ids=lambda module: module.name)
def test_document_by_document(module: RuleModule):
    documents = whole().documents
    paths = sorted({path for kind in ("yaml", "shell", "python") for path in documents.paths(kind)})
    narrow = (NarrowContext(whole(), documents=OneDocument(documents, path, kinds(path))) for path in paths)
    assert sorted(found(module, [whole()]), key=str) == sorted(found(module, narrow), key=str)


def test_the_demo_says_something_about_it():
    findings = [f for scope in ("run", "document") for module in of_scope(scope) for f in found(module, [whole()])]
    assert len({finding.rule for finding in findings}) >= 4
