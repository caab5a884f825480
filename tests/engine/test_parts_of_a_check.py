"""Checks part by part: the same findings with any number of processes, with what was kept before, and beside a base."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reviewbot.cli import main
from reviewbot.engine import checks, workers
from reviewbot.runs.collect import Collector

DEMO = Path(__file__).parent.parent.parent / "fixtures" / "demo"
MASTER = "configs/nvidia-master.yaml"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REVIEWBOT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(checks, "_LITTLE", 0)
    monkeypatch.setattr(checks, "_JOBS", 2)
    monkeypatch.setattr(checks, "_MANY", 3)
    monkeypatch.setattr(checks, "_DOCUMENTS", 3)
    shutil.copytree(DEMO, tmp_path / "demo", symlinks=True)
    return tmp_path / "demo"


@pytest.fixture
def said(demo: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a check of the demo says, with options."""

    def run(*options: str) -> str:
        main(["-C", str(demo), "check", "--format", "json", "--fail-on", "never", *options])
        captured = capsys.readouterr()
        assert captured.err == ""
        return captured.out

    return run


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The jobs that are checked in this process, in order."""
    jobs: list[int] = []
    honest = checks._Check._job

    def job(self: checks._Check, number: int) -> tuple[bytes, bool, list[str]]:
        jobs.append(number)
        return honest(self, number)

    monkeypatch.setattr(checks._Check, "_job", job)
    return jobs


def put_above(path: Path, text: str) -> None:
    path.write_text(text + path.read_text("utf-8"), "utf-8")


def test_processes_and_what_is_kept_change_nothing(said: Callable[..., str]):
    alone = said("--no-cache", "--jobs", "1")
    assert len(json.loads(alone)["findings"]) > 5
    for options in (("--no-cache", "--jobs", "3"), ("--jobs", "3"), ("--jobs", "1"), ("--jobs", "3")):
        assert said(*options) == alone, options


def test_what_has_not_changed_is_not_traced_again(said: Callable[..., str], traced: list[int], demo: Path):
    said("--jobs", "1")
    assert len(traced) > 5
    traced.clear()
    said("--jobs", "1")
    assert traced == []
    put_above(demo / MASTER, "# A line more.\n\n")
    again = said("--jobs", "1")
    assert traced == []
    assert again == said("--jobs", "1", "--no-cache")


def git(folder: Path, *arguments: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"GIT_CONFIG_GLOBAL": os.devnull}
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def test_a_base_and_what_is_kept(said: Callable[..., str], traced: list[int], demo: Path):
    git(demo, "init", "-q")
    git(demo, "add", "-A")
    git(demo, "commit", "-q", "-m", "base")
    for path in ("runners/launch_h100-lab.sh", RECIPE):
        text = (demo / path).read_text("utf-8")
        (demo / path).write_text(text.replace("8", "4") + "\n# 2 x 3 = 7\n", "utf-8")
    git(demo, "commit", "-q", "-a", "-m", "head")
    compared = ("--base", "HEAD~1", "--head", "HEAD")
    alone = said(*compared, "--no-cache", "--jobs", "1")
    both = len(traced)
    statuses = {finding["status"] for finding in json.loads(alone)["findings"]}
    assert statuses == {"new", "existing"}
    for options in (("--no-cache", "--jobs", "3"), ("--jobs", "3"), ("--jobs", "3"), ("--jobs", "1")):
        assert said(*compared, *options) == alone, options
    traced.clear()
    assert said("--head", "HEAD~1", "--jobs", "1") == said("--head", "HEAD~1", "--no-cache", "--jobs", "1")
    every = len(traced)  # of the run without what is kept alone
    assert every < both < 2 * every  # the base costs what differs


RECIPE = "benchmarks/multi_node/srt-slurm-recipes/vllm/toy/h100-fp8/disagg-1p1d-tp8.yaml"


@pytest.mark.parametrize("path", ["runners/launch_h100-lab.sh", "benchmarks/benchmark_lib.sh", RECIPE])
def test_a_changed_file_is_seen(said: Callable[..., str], traced: list[int], demo: Path, path: str):
    said("--jobs", "1")
    every = len(traced)
    traced.clear()
    text = (demo / path).read_text("utf-8")
    (demo / path).write_text(text.replace("8", "4") + "\n# 2 x 3 = 7\n", "utf-8")
    changed = said("--jobs", "1")
    assert 0 < len(traced) < every or path.endswith("lib.sh")
    assert changed == said("--jobs", "1", "--no-cache")
    (demo / path).unlink()
    assert said("--jobs", "1") == said("--jobs", "1", "--no-cache")


def test_settings_and_other_rules_are_not_answered_from_what_is_kept(said: Callable[..., str], demo: Path):
    said()
    assert said("--select", "duplicate-key") == said("--select", "duplicate-key", "--no-cache")
    (demo / ".reviewbot.yaml").write_text("rules:\n  duplicate-key: note\n  workers-differ: off\n", "utf-8")
    assert said() == said("--no-cache")


def damage_all(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def damage_some(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(5000, len(data), 997):
        data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_all, damage_some, cut, empty])
def test_a_damaged_cache_is_no_cache(said: Callable[..., str], tmp_path: Path, damage: Callable[[Path], None]):
    alone = said("--no-cache")
    assert said() == alone
    damage(tmp_path / "cache" / "kept.sqlite")
    assert said() == alone
    assert said() == alone


def test_a_cache_that_cannot_be_written(said: Callable[..., str], tmp_path: Path):
    (tmp_path / "cache").write_text("a file, not a folder", "utf-8")
    assert said() == said("--no-cache")


def test_a_worker_that_dies_is_replaced(said: Callable[..., str], monkeypatch: pytest.MonkeyPatch):
    alone = said("--no-cache", "--jobs", "1")
    parent = os.getpid()
    honest = Collector.run_and_files

    def run_and_files(self: Collector, job):  # type: ignore[no-untyped-def]
        if os.getpid() != parent:
            os._exit(9)
        return honest(self, job)

    monkeypatch.setattr(Collector, "run_and_files", run_and_files)
    assert said("--no-cache", "--jobs", "3") == alone


def test_work_is_done_once_in_order_and_errors_are_raised():
    assert workers.work_on(5, lambda number: b"%d" % number, 3) == [b"0", b"1", b"2", b"3", b"4"]
    assert workers.work_on(5, lambda number: b"%d" % number, 3, ahead=2) == [b"0", b"1", b"2", b"3", b"4"]
    assert workers.work_on(1, lambda number: b"%d" % number, 3, ahead=2) == [b"0"]
    assert workers.work_on(0, lambda number: b"", 3, ahead=1) == []

    def work(number: int) -> bytes:
        if number == 3:
            raise ValueError("three")
        return b""

    with pytest.raises(ValueError, match="three"):
        workers.work_on(5, work, 2)


def test_without_fork_one_process_does_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delattr("os.fork")
    assert workers.work_on(3, lambda number: b"%d" % number, 3) == [b"0", b"1", b"2"]
