"""Other linters: what they say is read, kept, and bounded; one that is absent or fails is a note."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reviewbot.engine import external
from reviewbot.engine.external import external_findings
from reviewbot.engine.model import Level
from reviewbot.tree import MemoryTree

TREE = MemoryTree(
    {
        "a.sh": b"#!/bin/bash\nx=1\necho $x\n",
        "b.py": b"import os\n",
        ".github/workflows/w.yml": b"on: push\njobs: {}\n",
    }
)


def program(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho called >> {folder}/calls\n{script}\n", "utf-8")
    path.chmod(0o755)
    return os.fspath(path)


ANSWERS = {
    "shellcheck": (
        {
            "comments": [
                {"file": "./a.sh", "line": 3, "endLine": 3, "column": 6, "endColumn": 8, "level": "info", "code": 2086, "message": "Quote"}
            ]
        },
        ("shellcheck/SC2086", Level.NOTE, "a.sh", 3, 6),
    ),
    "ruff": (
        [
            {
                "code": "F401", "message": "unused", "filename": "/tmp/z/b.py",
                "location": {"row": 1, "column": 8}, "end_location": {"row": 1, "column": 10},
            }
        ],
        ("ruff/F401", Level.NOTE, "b.py", 1, 8),
    ),
    "actionlint": (
        [{"message": "no", "filepath": ".github/workflows/w.yml", "line": 2, "column": 1, "kind": "syntax-check", "end_column": 4}],
        ("actionlint/syntax-check", Level.WARNING, ".github/workflows/w.yml", 2, 1),
    ),
    "zizmor": (
        [
            {
                "ident": "template-injection", "desc": "injection", "determinations": {"severity": "High"},
                "locations": [
                    {
                        "symbolic": {"kind": "Primary", "key": {"Local": {"given_path": "./.github/workflows/w.yml"}}},
                        "concrete": {"location": {"start_point": {"row": 1, "column": 0}, "end_point": {"row": 1, "column": 4}}},
                    }
                ],
            }
        ],
        ("zizmor/template-injection", Level.WARNING, ".github/workflows/w.yml", 2, 1),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str, tmp_path: Path):
    answer, expected = ANSWERS[name]
    (tmp_path / "answer").write_text(json.dumps(answer), "utf-8")
    path = program(tmp_path, name, f"cat {tmp_path}/answer; exit 1")
    found = external_findings([name], TREE, TREE.paths(), None, find=lambda wanted: path)
    assert [(one.rule, one.level, one.path, one.line, one.column) for one in found] == [expected]


def test_an_answer_is_kept(tmp_path: Path):
    path = program(tmp_path, "shellcheck", "echo '{\"comments\": []}'")
    for _ in range(2):
        assert external_findings(["shellcheck"], TREE, ["a.sh"], tmp_path / "cache", find=lambda wanted: path) == []
    assert (tmp_path / "calls").read_text() == "called\n"


def test_only_files_of_its_kind_are_given(tmp_path: Path):
    path = program(tmp_path, "shellcheck", "echo '{\"comments\": []}'")
    assert external_findings(["shellcheck"], TREE, ["b.py", "gone.sh"], None, find=lambda wanted: path) == []
    assert not (tmp_path / "calls").exists()


def test_an_absent_one_is_a_note():
    found = external_findings(["zizmor"], TREE, TREE.paths(), None, find=lambda wanted: None)
    assert [(one.rule, one.level) for one in found] == [("zizmor/missing", Level.NOTE)]


@pytest.mark.parametrize("script", ["echo nonsense", "echo '[1]'", "echo broken >&2; exit 3", "echo null"])
def test_one_that_fails_is_a_note(script: str, tmp_path: Path):
    path = program(tmp_path, "shellcheck", script)
    found = external_findings(["shellcheck"], TREE, ["a.sh"], None, find=lambda wanted: path)
    assert [(one.rule, one.level) for one in found] == [("shellcheck/failed", Level.NOTE)]


def test_one_that_takes_too_long_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(external, "TIME_LIMIT", 0.2)
    path = program(tmp_path, "shellcheck", "exec sleep 5")
    found = external_findings(["shellcheck"], TREE, ["a.sh"], None, find=lambda wanted: path)
    assert [one.rule for one in found] == ["shellcheck/failed"]


def test_the_environment_of_a_linter_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    path = program(tmp_path, "shellcheck", f"env > {tmp_path}/env; echo '{{\"comments\": []}}'")
    external_findings(["shellcheck"], TREE, ["a.sh"], None, find=lambda wanted: path)
    assert "GITHUB_TOKEN" not in (tmp_path / "env").read_text()
