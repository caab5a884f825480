"""A real git repository made of the demo fixture, whose commits tests write."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reviewbot.cli import main

DEMO = Path(__file__).parents[2] / "fixtures" / "demo"
H100 = "runners/launch_h100-lab.sh"
MASTER = "configs/nvidia-master.yaml"
RECIPE = "benchmarks/multi_node/srt-slurm-recipes/sglang/toy/h100-fp8/disagg-1p1d-tp8.yaml"


class Repository:
    """A working tree whose first commit is the demo."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self._capsys = capsys
        shutil.copytree(DEMO, root)
        self.git("init", "-q", "-b", "main")
        self.base = self.commit("demo")

    def git(self, *arguments: str) -> str:
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", *arguments]
        return subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "HEAD")

    def replace(self, path: str, old: str, new: str) -> None:
        """Replaces the only ``old`` of a file."""
        text = (self.root / path).read_text("utf-8")
        assert text.count(old) == 1, f"{path} has {text.count(old)} times {old!r}"
        (self.root / path).write_text(text.replace(old, new), "utf-8")

    def append(self, path: str, text: str) -> None:
        with (self.root / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def line(self, path: str, text: str) -> int:
        """The number of the only line that has ``text``."""
        found = [number for number, line in enumerate((self.root / path).read_text("utf-8").split("\n"), 1) if text in line]
        assert len(found) == 1, f"{text!r} stands in lines {found} of {path}"
        return found[0]

    def run(self, *arguments: str, status: int = 0) -> str:
        """The output of a command."""
        got = main(["-C", str(self.root), *arguments, "--no-cache", "--jobs", "1", "--debug"])
        captured = self._capsys.readouterr()
        assert got == status, captured.err
        return captured.out if status == 0 else captured.err

    def impact(self, *arguments: str) -> dict[str, Any]:
        """The impact of the working tree against the first commit."""
        report: dict[str, Any] = json.loads(self.run("impact", "--base", self.base, "--format", "json", *arguments))
        return report


@pytest.fixture
def repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Repository:
    return Repository(tmp_path / "repository", capsys)


def value(report: dict[str, Any], name: str) -> dict[str, Any]:
    """The only differing value of that name."""
    found = [one for point in report["changed"] for one in point["values"] if one["name"] == name]
    assert len({(one["base"], one["head"], str(one["because"])) for one in found}) == 1, [
        one["name"] for p in report["changed"] for one in p["values"]
    ]
    return dict(found[0])


def keys(report: dict[str, Any]) -> set[str]:
    return {point["key"] for point in report["changed"]}
