"""Repositories made to break the check: it ends with a status, says what it could not read, and keeps its other findings."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reviewbot.cli import main
from tests.runs.repositories import LAUNCHER, MASTER, RECIPE, RECIPES

LAB = "runners/launch_lab.sh"
BOMB = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 8)}]\n" for n in range(1, 25))
GOOD: dict[str, bytes | str] = {
    "configs/nvidia-master.yaml": MASTER.replace("conc-list: [8]", "conc-list: [8, 32]"),  # the recipe runs no 32
    "configs/runners.yaml": "labels:\n  lab: [lab_00]\n",
    LAB: LAUNCHER.replace("EDIT\n", ""),
    f"{RECIPES}/toy.yaml": RECIPE,
}
OTHER = "concurrencies-differ"


def write(root: Path, files: dict[str, bytes | str]) -> None:
    for name, content in files.items():
        path = os.fsencode(root) + b"/" + os.fsencode(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)


def check(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, list[str]]]:
    """Status, and the messages by rule."""
    started = time.monotonic()
    status = main(["-C", str(root), "check", "--no-cache", "--jobs", "1", "--format", "json"])
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err and "crashed" not in captured.err
    assert time.monotonic() - started < 30
    found: dict[str, list[str]] = {}
    for finding in json.loads(captured.out)["findings"]:
        found.setdefault(finding["rule"], []).append(f"{finding['path']}: {finding['message']}")
    assert "internal-error" not in found
    return status, found


@pytest.mark.parametrize(
    ("files", "status", "rule"),
    [
        ({"configs/amd-master.yaml": b"a:\n  x: \xff\n"}, 1, "unparsable-file"),
        ({"configs/amd-master.yaml": "a:\n\t- b: 'c\n"}, 1, "unparsable-file"),
        ({"configs/amd-master.yaml": "- 1\n"}, 1, None),
        ({"configs/amd-master.yaml": "a: 1\nb: {scenarios: 3}\n"}, 1, None),
        ({"configs/amd-master.yaml": "c: {scenarios: {fixed-seq-len: [{search-space: [5, {tp: x}]}]}}\n"}, 1, None),
        ({"configs/amd-master.yaml": BOMB}, 1, None),
        ({f"{RECIPES}/bomb.yaml": BOMB}, 1, None),
        ({f"{RECIPES}/deep.yaml": "".join("  " * n + f"k{n}:\n" for n in range(500))}, 1, "unparsable-file"),
        ({f"{RECIPES}/flow.yaml": "a: " + "[" * 5000 + "]" * 5000}, 1, "unparsable-file"),
        ({f"{RECIPES}/self.yaml": "a: &a\n  b: *a\nc: &c\n  <<: *c\n"}, 1, None),
        ({f"{RECIPES}/nul.yaml": b"a: \0b\n"}, 1, None),
        ({f"{RECIPES}/dates.yaml": "name: 2024-13-45\nmodel: !!python/object:os.system x\n"}, 1, None),
        ({f"{RECIPES}/number.yaml": "name: " + "9" * 100_000 + "\nresources:\n  agg_nodes: " + "9" * 5000 + "\n"}, 1, None),
        ({f"{RECIPES}/comments.yaml": f"# {'9' * 5000}*2=3, {'2*' * 20_000}2=3, 5/0=3, {'9' * 5000}P1D\nname: tp{'9' * 5000}\n"}, 1, None),
        ({f"{RECIPES}/huge.yaml": "a: " + "x" * 6_000_000}, 3, "unparsable-file"),
        ({f"{RECIPES}/a\nb.yaml": "a: 1\na: 2\n"}, 1, "duplicate-key"),
        ({f"{RECIPES}/a\"b'.yaml": "a: 1\na: 2\n"}, 1, "duplicate-key"),
        ({f"{RECIPES}/a\udcff.yaml": "a: 1\na: 2\n"}, 1, "duplicate-key"),
        ({".github/workflows/a.yml": "on: [push]\njobs: 3\n", ".github/workflows/b.yml": "jobs: {a: {steps: {b: 1}}}\n"}, 1, None),
    ],
)  # fmt: skip
def test_other_findings_are_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, bytes | str], status: int, rule: str | None
):
    write(tmp_path, {**GOOD, **files})
    found_status, found = check(tmp_path, capsys)
    assert len(found[OTHER]) == 1
    assert found_status == status
    assert rule is None or rule in found


@pytest.mark.parametrize(
    ("launcher", "status", "rule"),
    [
        ("while true; do x=$((x + 1)); done\n", 3, "not-evaluated"),
        ("for ((i = 0; i < 100000000; i++)); do :; done\n", 3, "not-evaluated"),
        ("f() { f; }\nf\n", 3, "not-evaluated"),
        ("source ./runners/launch_lab.sh\n", 3, "not-evaluated"),
        ("bash ./runners/launch_lab.sh\n", 3, "not-evaluated"),
        ("x=aaaaaaaa\nfor i in {1..100}; do x=$x$x; done\n", 3, "not-evaluated"),
        ("cat > a <<EOF\nb\n", 3, "not-evaluated"),
        ("echo hi\n" * 700_000, 3, "unparsable-file"),
        ("", 1, "point-refused"),
        ("if [[ x ==\n", 1, None),
    ],
)
def test_launchers_that_have_no_end(tmp_path: Path, capsys: pytest.CaptureFixture[str], launcher: str, status: int, rule: str | None):
    write(tmp_path, {**GOOD, LAB: launcher})
    found_status, found = check(tmp_path, capsys)
    assert rule is None or rule in found
    assert rule is None or found_status == status


def test_forty_undecided_conditions(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    forks = "".join(f"if probe{n}; then A{n}=1; cp a{n} b; fi\n" for n in range(40))
    write(tmp_path, {**GOOD, LAB: LAUNCHER.replace("EDIT\n", forks)})
    assert OTHER in check(tmp_path, capsys)[1]


def out_of_tree(root: Path) -> None:
    (root / RECIPES / "out.yaml").symlink_to("/etc/passwd")
    (root / "configs" / "etc").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    (root / RECIPES / "gone.yaml").symlink_to("nowhere.yaml")


def fifo(root: Path) -> None:
    os.mkfifo(root / RECIPES / "fifo.yaml")


@pytest.mark.parametrize("make", [out_of_tree, fifo])
def test_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], None]):
    write(tmp_path, GOOD)
    make(tmp_path)
    status, found = check(tmp_path, capsys)
    assert OTHER in found
    assert "root:" not in json.dumps(found)
    assert status in (1, 3)


@pytest.mark.parametrize("files", [{}, {f"{RECIPES}/toy.yaml": RECIPE}, {"README.md": "hi\n"}])
def test_little_to_read_is_clean(tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, bytes | str]):
    write(tmp_path, files)
    assert check(tmp_path, capsys) == (0, {})


@pytest.mark.parametrize("attempts", ["1e999", ".nan", "9" * 400])
def test_odd_times(tmp_path: Path, capsys: pytest.CaptureFixture[str], attempts: str):
    recipe = f"{RECIPE}health_check:\n  max_attempts: {attempts}\n  interval_seconds: .inf\n"
    edit = 'sed -i "s/max_attempts: .*/max_attempts: 5/" "$CONFIG_FILE"\n'
    write(tmp_path, {**GOOD, f"{RECIPES}/toy.yaml": recipe, LAB: LAUNCHER.replace("EDIT\n", edit)})
    check(tmp_path, capsys)


@pytest.mark.parametrize("settings", [BOMB, b"\xff", "rules: [", "a: &a [*a]\n"])
def test_broken_settings_give_two(tmp_path: Path, capsys: pytest.CaptureFixture[str], settings: bytes | str):
    write(tmp_path, {**GOOD, ".reviewbot.yaml": settings})
    assert main(["-C", str(tmp_path), "check", "--no-cache", "--jobs", "1"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and "Traceback" not in captured.err
