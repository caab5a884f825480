"""What runs inside of a job."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from reviewbot.sweep import durable, health, processes
from reviewbot.sweep.executors import job_command
from reviewbot.sweep.job import claim_text
from tests.sweep.support import ROOT


def job_folder(folder: Path, script: str, **more: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    job = {
        "version": 1,
        "point": "p",
        "attempt": 1,
        "argv": ["bash", "-e", "-c", script],
        "environment": {"NAME": "value"},
        "pass": [],
        "snapshot": None,
        "time_limit": 30,
        "outputs": [],
        "health": None,
        **more,
    }
    (folder / "job.json").write_text(json.dumps(job))
    return folder


def start(folder: Path, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["sh", "-c", "exec " + job_command(folder)], env={"PATH": os.environ["PATH"], **environment}, stdout=subprocess.DEVNULL
    )


def finish(folder: Path, **environment: str) -> int:
    with start(folder, **environment) as process:
        return process.wait(60)


def end(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "end.json").read_text()))


@pytest.mark.parametrize(("script", "rc"), [("true", 0), ("exit 3", 3), ("kill -SEGV $$", 139), ("no-such-program", 127)])
def test_the_last_word(tmp_path: Path, script: str, rc: int):
    folder = job_folder(tmp_path / "job", script)
    assert finish(folder) == rc
    found = end(folder)
    assert (found["rc"], found["outcome"]) == (rc, "exited")
    assert found["started"] <= found["ended"] <= time.time()


def test_the_environment_is_that_of_the_plan(tmp_path: Path):
    folder = job_folder(tmp_path / "job", 'env > "$GITHUB_WORKSPACE/../env"', **{"pass": ["SECRET"]})
    finish(folder, SECRET="s", STRAY="x", SLURM_JOB_ID="7", CUDA_VISIBLE_DEVICES="1")
    found = dict(line.partition("=")[::2] for line in (folder / "env").read_text().splitlines())
    assert (found["NAME"], found["SECRET"], found["SLURM_JOB_ID"], found["CUDA_VISIBLE_DEVICES"]) == ("value", "s", "7", "1")
    assert "STRAY" not in found


def test_an_attempt_is_executed_once(tmp_path: Path):
    folder = job_folder(tmp_path / "job", f"echo x >> {tmp_path}/log; sleep 0.3")
    racers = [start(folder) for _ in range(6)]
    assert [process.wait(60) for process in racers] == [0] * 6
    assert (tmp_path / "log").read_text() == "x\n"
    assert finish(folder) == 0
    assert (tmp_path / "log").read_text() == "x\n"


def test_an_attempt_that_was_taken_back_is_not_executed(tmp_path: Path):
    folder = job_folder(tmp_path / "job", f"echo x >> {tmp_path}/log")
    assert durable.create_once(str(folder / "claim"), claim_text(kind="revoked"))
    assert finish(folder) == 0
    assert not (tmp_path / "log").exists() and not (folder / "end.json").exists()


def test_the_same_job_of_the_scheduler_may_start_again(tmp_path: Path):
    folder = job_folder(tmp_path / "job", f"echo x >> {tmp_path}/log; sleep 5")
    with start(folder, SLURM_JOB_ID="7") as first:
        wait_for(lambda: (tmp_path / "log").exists())
        first.send_signal(signal.SIGTERM)
        assert first.wait(30) == 143
    assert not (folder / "end.json").exists() and (folder / "stopped.json").exists()
    job_folder(tmp_path / "job", f"echo x >> {tmp_path}/log")
    assert finish(folder, SLURM_JOB_ID="8") == 0  # another job
    assert finish(folder, SLURM_JOB_ID="7", SLURM_RESTART_COUNT="1") == 0
    assert finish(folder, SLURM_JOB_ID="7", SLURM_RESTART_COUNT="2") == 0  # that one was finished
    assert (tmp_path / "log").read_text() == "x\nx\n"
    assert end(folder)["outcome"] == "exited"


def test_a_place_in_an_array(tmp_path: Path):
    folders = [job_folder(tmp_path / f"job{number}", f"echo {number} >> {tmp_path}/log") for number in range(3)]
    (tmp_path / "tasks").write_text("".join(f"{folder}\n" for folder in folders))
    assert finish(tmp_path, SLURM_ARRAY_JOB_ID="5", SLURM_ARRAY_TASK_ID="2") == 0
    assert (tmp_path / "log").read_text() == "2\n"
    assert json.loads((folders[2] / "claim").read_text())["job"] == "5_2"


def test_the_time_limit_ends_everything(tmp_path: Path):
    # A server in a session of its own, which ignores being asked, and its parent that is gone.
    daemon = "import os, signal, time; signal.signal(15, signal.SIG_IGN); open('pid', 'w').write(str(os.getpid())); time.sleep(300)"
    script = f'(setsid {sys.executable} -c "{daemon}" &) ; while [[ ! -s pid ]]; do sleep 0.05; done; sleep 300'
    folder = job_folder(tmp_path / "job", script, time_limit=1.0, grace=1.0)
    began = time.monotonic()
    assert finish(folder) == 124
    assert end(folder)["outcome"] == "timeout"
    assert not processes.alive(int((folder / "work" / "pid").read_text()), None)
    assert time.monotonic() - began < 25


def test_what_a_point_leaves_behind_is_ended(tmp_path: Path):
    folder = job_folder(tmp_path / "job", "sleep 300 & echo $! > pid")
    assert finish(folder) == 0
    assert not processes.alive(int((folder / "work" / "pid").read_text()), None)


def test_results_are_kept_and_the_workspace_is_not(tmp_path: Path):
    snapshot = tmp_path / "snapshot"
    (snapshot / "sub").mkdir(parents=True)
    (snapshot / "old.json").write_text("{}")
    (snapshot / "run.sh").write_text("mkdir -p sub/deep; echo '{}' > r_1.json; echo '{}' > sub/deep/r_2.json; echo x > other.txt\n")
    folder = job_folder(tmp_path / "job", "bash run.sh", snapshot=str(snapshot), outputs=["*.json"])
    assert finish(folder) == 0
    assert end(folder)["results"] == ["r_1.json", "sub__deep__r_2.json"]
    assert sorted(path.name for path in (folder / "results").iterdir()) == ["r_1.json", "sub__deep__r_2.json"]
    assert not (folder / "work").exists()


@pytest.mark.parametrize(
    ("script", "check", "outcome", "reason"),
    [
        (
            "echo starting > server.log; sleep 0.2; echo CUDA out of memory >> server.log; sleep 60",
            {"log": "server.log"},
            "startup-failure",
            "out of memory",
        ),
        ("sleep 60", {"url": "http://127.0.0.1:1/health", "interval": 0.05, "attempts": 3}, "startup-timeout", "3 attempts"),
        ("sleep 0.1; exit 5", {"url": "http://127.0.0.1:1/health", "interval": 0.5}, "startup-failure", "before the server answered"),
        ("echo FATAL: no model > server.log; exit 1", {"log": "server.log"}, "startup-failure", "FATAL: no model"),
        ("sleep 0.1", {"url": "http://127.0.0.1:1/health", "interval": 0.5}, "exited", ""),
    ],
)
def test_health(tmp_path: Path, script: str, check: dict[str, Any], outcome: str, reason: str):
    given = {"url": "", "interval": 10, "attempts": 180, "log": "", "fatal": list(health.FATAL_LINES), **check}
    folder = job_folder(tmp_path / "job", script, health=given)
    finish(folder)
    found = end(folder)
    assert found["outcome"] == outcome and reason in found["reason"]


def test_a_server_that_fails_later(tmp_path: Path):
    script = (
        f"{sys.executable} {ROOT}/fixtures/demo-sweep/serving/server.py --model m --port-file port --port 0 & "
        "while [[ ! -s port ]]; do sleep 0.05; done; cp port ../port; sleep 60"
    )
    # The port is chosen by the server: one that is free now serves as well.
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = script.replace("--port 0", f"--port {port}").replace("sleep 60", "sleep 0.6; echo Segmentation fault > server.log; sleep 60")
    check = {
        "url": f"http://127.0.0.1:{port}/health",
        "interval": 0.1,
        "attempts": 100,
        "log": "server.log",
        "fatal": list(health.FATAL_LINES),
    }
    folder = job_folder(tmp_path / "job", script, health=check)
    finish(folder)
    assert (end(folder)["outcome"], end(folder)["reason"]) == ("server-failure", "the server's log says: Segmentation fault")


def test_log_watch_sees_what_is_appended(tmp_path: Path):
    log = tmp_path / "log"
    watch = health.LogWatch(str(log), ("BAD",))
    assert watch.fatal() is None
    log.write_bytes(b"good\nBA")
    assert watch.fatal() is None
    with log.open("ab") as file:
        file.write(b"D \xff line\n")
    assert watch.fatal() == "BAD \ufffd line"
    assert watch.fatal() is None
    log.write_bytes(b"BAD\n")  # started anew
    assert watch.fatal() == "BAD"


def test_the_last_word_on_a_full_disk(tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)], capture_output=True).returncode != 0:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        folder = job_folder(small / "job", "dd if=/dev/zero of=big bs=4096 2>/dev/null || true; exit 0", outputs=["big"])
        finish(folder)
        found = end(folder)
        assert (found["outcome"], found["rc"]) == ("disk-full", 1)
        assert os.strerror(errno.ENOSPC) in found["reason"]
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    durable.write_atomically(str(path), "one")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="full"):
        durable.write_atomically(str(path), "two")
    assert path.read_text() == "one" and [entry.name for entry in tmp_path.iterdir()] == ["file"]


def wait_for(condition: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
