"""Every fix of every fixture removes its finding, brings no other, and is not applied twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from reviewbot.cli import main
from reviewbot.tree import open_tree
from tests.rules.test_fixtures import CLAIMS, with_base

HAVE_FIXES = [claim for claim in CLAIMS if claim.parent.name in {
    "broken-expression", "changelog-append-format", "changelog-link", "condition-always-true", "duplicate-key", "malformed-changelog-entry",
    "misspelt-word", "missing-workflow-script", "repeated-comment-line", "unknown-changelog-key", "wrong-arithmetic",
}]  # fmt: skip


def copied(claim: Path, folder: Path) -> Path:
    tree = open_tree(str(claim / "repo"), None)
    for path in tree.paths():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(tree.read(path))
    return folder


@pytest.mark.parametrize("claim", HAVE_FIXES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixes_hold(claim: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    repository = copied(claim, tmp_path / "repo")
    argv = ["-C", str(repository), "fix", "--unsafe", "--select", claim.parent.name, "--no-cache", "--jobs", "1"]
    parts = None
    if (claim / "base").is_dir():
        argv += ["--base", "base"]
        parts = with_base(claim / "base")
    assert main(argv, parts) in (0, 3)
    assert "taken back" not in capsys.readouterr().err
    before = {path: (repository / path).read_bytes() for path in open_tree(str(repository), None).paths()}
    main(argv, parts)
    assert capsys.readouterr().err.startswith("mended 0 findings")
    assert before == {path: (repository / path).read_bytes() for path in before}
