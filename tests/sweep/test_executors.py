"""What Slurm says, and a stub of ``srtctl``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from reviewbot.sweep import srt
from reviewbot.sweep.executors import Attempt
from reviewbot.sweep.executors.slurm import SlurmExecutor, expand_indices, parse_accounting, parse_jobs


def test_jobs_of_scontrol():
    text = (
        "JobId=5 JobName=a JobState=RUNNING Reason=None ExitCode=0:0\n"
        "JobId=6 ArrayJobId=6 ArrayTaskId=2-4,9%2 JobName=a JobState=PENDING Reason=Resources\n"
        "JobId=7 ArrayJobId=6 ArrayTaskId=0 JobState=COMPLETED Reason=None Command=/x JobState\n"
        "JobId=8 ArrayJobId=8 ArrayTaskId=4294967294 JobState=CANCELLED Reason=None\n"
        "JobId=9 JobState=FAILED Reason=JobLaunchFailure\nJobId=10 JobState=REQUEUE_HOLD Reason=x\nno job at all\n"
    )
    found = parse_jobs(text)
    assert {name: (seen.state, seen.reason) for name, seen in found.items()} == {
        "5": ("running", ""),
        "6_2": ("queued", ""),
        "6_3": ("queued", ""),
        "6_4": ("queued", ""),
        "6_9": ("queued", ""),
        "6_0": ("ended", ""),
        "8_*": ("ended", "cancelled"),
        "9": ("ended", "node-failure"),
        "10": ("queued", ""),
    }


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("COMPLETING", ("running", "")),
        ("PENDING Reason=launch_failed_requeued_held", ("ended", "node-failure")),
        ("CONFIGURING", ("queued", "")),
        ("REQUEUED", ("queued", "")),
        ("SOMETHING_NEW", ("queued", "")),
        ("PREEMPTED", ("ended", "preempted")),
        ("NODE_FAIL", ("ended", "node-failure")),
        ("BOOT_FAIL", ("ended", "node-failure")),
        ("TIMEOUT", ("ended", "timeout")),
        ("DEADLINE", ("ended", "timeout")),
        ("OUT_OF_MEMORY", ("ended", "out-of-memory")),
    ],
)
def test_states(state: str, expected: tuple[str, str]):
    [seen] = parse_jobs(f"JobId=1 JobState={state}").values()
    assert (seen.state, seen.reason) == expected


def test_jobs_of_sacct():
    found = parse_accounting("5|COMPLETED\n6_1|CANCELLED by 0\n6_[2-3%4]|PENDING\n7.batch|FAILED\n8|NODE_FAIL\nheader\n")
    assert {name: (seen.state, seen.reason) for name, seen in found.items()} == {
        "5": ("ended", ""), "6_1": ("ended", "cancelled"), "6_2": ("queued", ""), "6_3": ("queued", ""), "8": ("ended", "node-failure"),
    }  # fmt: skip


def test_indices():
    assert list(expand_indices("0-8:4,3%2", 100)) == [0, 4, 8, 3]
    assert list(expand_indices("4294967294", 100)) == list(expand_indices("0-9", 0)) == list(expand_indices("x", 9)) == []


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def attempt(folder: Path, job: str | None = "5") -> Attempt:
    return Attempt(1, folder, "s", 0, job, 0.0)


@pytest.mark.parametrize(
    ("scontrol", "sacct", "expected"),
    [
        ("echo slurm_load_jobs error: Unable to contact slurm controller >&2; exit 1", "exit 1", None),
        ("echo slurm_load_jobs error: Invalid job id specified >&2; exit 1", "echo '5|PREEMPTED'", "preempted"),
        ("echo slurm_load_jobs error: Invalid job id specified >&2; exit 1", "echo accounting storage is disabled >&2; exit 1", "vanished"),
        ("echo JobId=5 JobState=TIMEOUT Reason=None", "exit 1", "timeout"),
    ],
)
def test_where_scontrol_knows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scontrol: str, sacct: str, expected: str | None):
    program(tmp_path / "bin", "scontrol", scontrol)
    program(tmp_path / "bin", "sacct", sacct)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    seen = SlurmExecutor().look([attempt(tmp_path)])
    assert (seen[1].reason if seen else None) == expected


def test_a_job_without_a_name_is_taken_back_once(tmp_path: Path):
    executor = SlurmExecutor()
    assert executor.look([attempt(tmp_path, None)])[1].reason == "never-started"
    assert json.loads((tmp_path / "claim").read_text())["kind"] == "revoked"
    (tmp_path / "claim").write_text(json.dumps({"kind": "job", "job": "7"}))
    assert executor.look([attempt(tmp_path, None)])[1].state == "running"


SRTCTL = """
echo "Submitting $*"
mkdir -p out/logs
echo '{"completed": 1}' > out/logs/r.json
(sleep 0.3; echo '{"status": "STATUS", "exit_code": CODE, "job_id": "mock-1"}' > out/result.new; mv out/result.new out/result.json) &
echo '{"status": "submitted", "slurm_job_id": "mock-1", "output_dir": "out"}'
"""


@pytest.mark.parametrize(("status", "code"), [("completed", 0), ("failed", 3)])
def test_a_recipe_is_followed_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, code: int):
    program(tmp_path / "bin", "srtctl", SRTCTL.replace("STATUS", status).replace("CODE", str(code)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert srt.main([str(tmp_path / "work"), "--", "srtctl", "apply", "-f", "r.yaml", "--json"], poll=0.05) == code
    assert sorted(path.name for path in (tmp_path / "work" / "srt-results").iterdir()) == ["logs__r.json", "result.json"]


@pytest.mark.parametrize(("text", "rc"), [("echo no job; exit 0", 1), ("echo '{\"slurm_job_id\": 1}'; exit 4", 4)])
def test_a_recipe_that_is_not_submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rc: int):
    program(tmp_path / "bin", "srtctl", text)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert srt.main([str(tmp_path), "--", "srtctl", "apply"]) == rc
