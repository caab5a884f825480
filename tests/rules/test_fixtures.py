"""Every rule against its fixtures: ``fixtures/rules/<rule>/<claim>/repo`` is checked, ``base`` beside it, where there is one, is what it is
compared with, ``expected.txt`` is the exact output. ``pytest tests/rules --update`` rewrites the expectations."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from reviewbot.cli import main
from reviewbot.engine.registry import load_rules
from reviewbot.parts import Parts, default_parts
from reviewbot.tree import Tree

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
CLAIMS = sorted(path for path in (FIXTURES / "rules").glob("*/*") if path.is_dir())
RULES = load_rules()
WRITTEN = sorted(name for name, module in RULES.items() if module.check is not None)


def with_base(base: Path) -> Parts:
    parts = default_parts()

    def open_tree(root: str, revision: str | None) -> Tree:
        return parts.open_tree(str(base), None) if revision == "base" else parts.open_tree(root, revision)

    return dataclasses.replace(parts, open_tree=open_tree, renames=lambda root, base, head: {})


def output(claim: Path, rule: str, capsys: pytest.CaptureFixture[str]) -> str:
    argv = ["-C", str(claim / "repo"), "check", "--select", rule, "--no-cache", "--jobs", "1"]
    parts = None
    if (claim / "base").is_dir():
        argv += ["--base", "base"]
        parts = with_base(claim / "base")
    main(argv, parts)
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture(claim: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest):
    rule = claim.parent.name
    assert rule in RULES, f"{claim.parent} belongs to no rule"
    assert (claim / "repo").is_dir(), f"{claim} has no repo"
    said = output(claim, rule, capsys)
    expected = claim / "expected.txt"
    if request.config.getoption("--update"):
        expected.write_text(said, "utf-8")
    assert said == expected.read_text("utf-8")


@pytest.mark.parametrize("rule", WRITTEN)
def test_a_rule_has_a_fixture_with_a_finding_and_one_without(rule: str):
    sizes = [(claim / "expected.txt").stat().st_size for claim in CLAIMS if claim.parent.name == rule and (claim / "expected.txt").exists()]
    assert any(sizes), f"no fixture of {rule} has a finding"
    assert not all(sizes), f"no fixture of {rule} is clean"


@pytest.mark.parametrize("rule", WRITTEN)
def test_a_rule_is_short(rule: str):
    path = FIXTURES.parent / "rules" / RULES[rule].family / f"{rule.replace('-', '_')}.py"
    assert len(path.read_text("utf-8").splitlines()) <= 160


def test_the_demo_says_what_is_expected(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest):
    expected = FIXTURES / "demo" / "expected.txt"
    main(["-C", os.fspath(FIXTURES / "demo"), "check", "--no-cache"])
    said = capsys.readouterr().out
    if request.config.getoption("--update"):
        expected.write_text(said, "utf-8")
    assert said == expected.read_text("utf-8")
