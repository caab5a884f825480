"""``reviewbot fix`` on a small repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewbot.cli import main

WORKFLOW = """\
on: workflow_dispatch
jobs:
  bench:
    runs-on: lab
    if: ${{ always() && !canceled() }}   # kept as it is
    steps:
      - run: echo
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / ".github" / "workflows" / "bench.yml"
    path.parent.mkdir(parents=True)
    path.write_text(WORKFLOW, "utf-8")
    return tmp_path


def run(repository: Path, *argv: str) -> int:
    return main(["-C", str(repository), "fix", "--select", "broken-expression", "--no-cache", "--jobs", "1", *argv])


def test_a_fix_changes_what_is_wrong_and_nothing_else(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert run(repository) == 0
    path = repository / ".github" / "workflows" / "bench.yml"
    assert path.read_text("utf-8") == WORKFLOW.replace("canceled", "cancelled")
    assert capsys.readouterr().err == "mended 1 finding in 1 file\n"
    assert run(repository) == 0
    assert capsys.readouterr().err == "mended 0 findings in 0 files\n"


def test_a_difference_changes_nothing(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert run(repository, "--diff") == 1
    said = capsys.readouterr().out
    assert "-    if: ${{ always() && !canceled() }}   # kept as it is\n" in said
    assert "+    if: ${{ always() && !cancelled() }}   # kept as it is\n" in said
    assert (repository / ".github" / "workflows" / "bench.yml").read_text("utf-8") == WORKFLOW


def test_only_the_paths_that_are_named(repository: Path):
    (repository / "other").mkdir()
    (repository / "other" / "x").write_text("")
    assert run(repository, str(repository / "other")) == 0
    assert (repository / ".github" / "workflows" / "bench.yml").read_text("utf-8") == WORKFLOW
