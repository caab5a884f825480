"""Sweeps on a real Slurm cluster."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reviewbot.cli import main
from reviewbot.sweep.executors import SlurmOptions
from reviewbot.sweep.executors.slurm import SlurmExecutor
from reviewbot.sweep.ledger import Ledger, Row
from reviewbot.sweep.plan import paths_of
from tests.sweep.cluster import Cluster
from tests.sweep.support import ROOT, execute, ledger_of, point, write_plan


def states(path: Path) -> dict[str, int]:
    ledger = ledger_of(path)
    try:
        return {state: count for state, count in ledger.status().counts.items() if count}
    finally:
        ledger.close()


@contextmanager
def runner(path: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """A runner in a process of its own."""
    command = [sys.executable, str(ROOT / "tests" / "sweep" / "support.py"), str(path), "slurm", *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def wait_for_row(path: Path, key: str, wanted: str, seconds: float = 30.0) -> Row:
    """Until a point is in a state."""
    until = time.monotonic() + seconds
    while True:
        if paths_of(path)[0].exists():
            ledger = Ledger.open(paths_of(path)[0])
            row = ledger.point(key)
            ledger.close()
            if row is not None and row.state == wanted:
                return row
        assert time.monotonic() < until, f"{key} is not {wanted} after {seconds} s"
        time.sleep(0.1)


def test_the_demo(cluster: Cluster, demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    plan = tmp_path / "plan.json"
    assert main(["-C", str(demo), "sweep", "plan", "--all", "--time-limit", "5", "-o", str(plan)]) == 0
    assert main(["-C", str(demo), "sweep", "run", str(plan), "--executor", "slurm", "--partition", "debug"]) == 0
    assert states(plan) == {"done": 10}
    capsys.readouterr()
    assert main(["sweep", "report", str(plan), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert Counter(row["shape"] for row in data["rows"]) == {"fixed": 8, "agentic": 2, "eval": 1}
    assert all(row["successful"] for row in data["rows"])
    # Of one interactivity two GPUs give no more than one: each point asked for its own number.
    assert {row["gpus"] for row in data["rows"]} == {1, 2}


def test_an_array_of_200_points(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    path = write_plan(
        tmp_path / "plan.json", [point(f"p{number:03d}", f'echo "$POINT $SLURM_ARRAY_JOB_ID" >> {log}') for number in range(200)]
    )
    assert execute(path, SlurmExecutor()) == {"done": 200}
    lines = [line.split() for line in log.read_text().splitlines()]
    assert Counter(name for name, _ in lines) == Counter(f"p{number:03d}" for number in range(200))
    assert len({array for _, array in lines}) == 1


def test_gpus_and_nodes(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "seen"
    script = f'echo "$POINT $CUDA_VISIBLE_DEVICES $SLURM_JOB_NUM_NODES" >> {log}'
    points = [point("one", script, gpus=3), point("two", script, gpus=16, nodes=2)]
    path = write_plan(tmp_path / "plan.json", points)
    assert execute(path, SlurmExecutor(SlurmOptions(extra={"comment": "a sweep"}))) == {"done": 2}
    assert sorted(log.read_text().splitlines()) == ["one 0,1,2 1", "two 0,1,2,3,4,5,6,7 2"]


def test_resume_after_a_kill(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    path = write_plan(tmp_path / "plan.json", [point(f"p{number}", f'sleep 1; echo "$POINT" >> {log}') for number in range(12)])
    with runner(path) as first:
        wait_for_row(path, "p0", "running")
        first.send_signal(signal.SIGKILL)
    assert execute(path, SlurmExecutor()) == {"done": 12}
    assert Counter(log.read_text().split()) == Counter(f"p{number}" for number in range(12))


def test_kills_around_the_submission(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    path = write_plan(tmp_path / "plan.json", [point(f"p{number}", f'echo "$POINT" >> {log}; sleep 0.5') for number in range(40)])
    chance = random.Random(7)
    for _ in range(12):
        with runner(path) as process:
            time.sleep(chance.uniform(0.15, 0.7))
            process.send_signal(signal.SIGKILL)
    assert execute(path, SlurmExecutor()) == {"done": 40}
    assert Counter(log.read_text().split()) == Counter(f"p{number}" for number in range(40))


def test_two_runners_share_the_work(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    log = tmp_path / "executed"
    path = write_plan(tmp_path / "plan.json", [point(f"p{number:02d}", f'echo "$POINT" >> {log}') for number in range(40)])
    ledger_of(path).close()
    with runner(path) as first, runner(path) as second:
        for process in (first, second):
            _, errors = process.communicate(timeout=60)
            assert process.returncode == 0, errors
    assert states(path) == {"done": 40}
    assert Counter(log.read_text().split()) == Counter(f"p{number:02d}" for number in range(40))


def test_cancel(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = tmp_path / "executed"
    path = write_plan(
        tmp_path / "plan.json", [point(f"p{number:02d}", f'echo "$POINT" >> {log}; sleep 300 & sleep 300') for number in range(40)]
    )
    with runner(path) as process:
        wait_for_row(path, "p00", "running")
        assert main(["sweep", "cancel", str(path)]) == 0
        process.communicate(timeout=40)
    assert states(path) == {"cancelled": 40}
    cluster.wait_for(lambda: cluster.run("squeue", "-h") == "", "empty queue")


def test_cancelled_from_outside(cluster: Cluster, tmp_path: Path):
    path = write_plan(tmp_path / "plan.json", [point("p0", "sleep 300"), point("p1", "true")])
    with runner(path) as process:
        row = wait_for_row(path, "p0", "running")
        cluster.run("scancel", str(row.job))
        process.communicate(timeout=40)
    assert states(path) == {"done": 1, "cancelled": 1}
    assert "from outside" in str(wait_for_row(path, "p0", "cancelled").reason)


def test_requeue(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    path = write_plan(tmp_path / "plan.json", [point("p0", f'echo "begin" >> {log}; sleep 3; echo "end" >> {log}')])
    with runner(path) as process:
        row = wait_for_row(path, "p0", "running")
        cluster.wait_for(log.exists, "beginning")
        cluster.run("scontrol", "requeue", str(row.job))
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert states(path) == {"done": 1}
    assert log.read_text().split() == ["begin", "begin", "end"]
    assert wait_for_row(path, "p0", "done").attempt == 1


def test_preemption(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    path = write_plan(tmp_path / "plan.json", [point("p0", f'echo "begin" >> {log}; sleep 3; echo "end" >> {log}', gpus=8, nodes=1)])
    with runner(path) as process:
        cluster.wait_for(log.exists, "beginning")
        cluster.run("sbatch", "-p", "urgent", "-N", "2", "--gres=gpu:8", "-o", "/dev/null", "--wrap", "sleep 1")
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert states(path) == {"done": 1}
    assert log.read_text().split() == ["begin", "begin", "end"]


def test_a_node_goes_down(cluster: Cluster, tmp_path: Path):
    log = tmp_path / "executed"
    script = f'echo "$POINT $SLURMD_NODENAME" >> {log}; sleep 4'
    path = write_plan(tmp_path / "plan.json", [point(f"p{number}", script, gpus=8) for number in range(2)])
    try:
        with runner(path) as process:
            for key in ("p0", "p1"):
                wait_for_row(path, key, "running")
            cluster.wait_for(lambda: log.exists() and log.read_text().count("\n") == 2, "two beginnings")
            cluster.stop_node("vm1")
            # What slurmctld does by itself after SlurmdTimeout, without the wait.
            cluster.run("scontrol", "update", "NodeName=vm1", "State=DOWN", "Reason=power")
            _, errors = process.communicate(timeout=90)
            assert process.returncode == 0, errors
    finally:
        cluster.start_node("vm1")
        cluster.run("scontrol", "update", "NodeName=vm1", "State=RESUME", check=False)
    assert states(path) == {"done": 2}, list(ledger_of(path).points())
    places = [line.split() for line in log.read_text().splitlines()]
    assert Counter(node for _, node in places) == {"vm0": 2, "vm1": 1}
    cluster.wait_for(lambda: cluster.run("sinfo", "-h", "-N", "-p", "debug", "-o", "%T").split().count("idle") == 2, "idle nodes")


def test_the_controller_is_away_for_a_while(cluster: Cluster, tmp_path: Path):
    path = write_plan(tmp_path / "plan.json", [point("p0", "sleep 3")])
    pid = int((cluster.folder / "slurmctld.pid").read_text())
    with runner(path) as process:
        wait_for_row(path, "p0", "running")
        os.kill(pid, signal.SIGTERM)
        try:
            _, errors = process.communicate(timeout=60)
        finally:
            cluster.start_controller()
        assert process.returncode == 0, errors
    assert states(path) == {"done": 1}  # the job's own last word is enough


def test_a_time_limit_of_the_job_itself(cluster: Cluster, tmp_path: Path):
    path = write_plan(tmp_path / "plan.json", [point("p0", "sleep 300", time_limit=1.0)])
    assert execute(path, SlurmExecutor()) == {"failed": 1}
    assert wait_for_row(path, "p0", "failed").outcome == "timeout"


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--partition", "nowhere"], 2, "there is no partition 'nowhere'; the cluster has debug, urgent"),
        (["--sbatch", "nodelist=vm9"], 3, "Slurm did not take the jobs: sbatch: error: "),
    ],
)
def test_plain_errors(
    cluster: Cluster, demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, said: str
):
    plan = tmp_path / "plan.json"
    assert main(["-C", str(demo), "sweep", "plan", "--all", "-o", str(plan)]) == 0
    capsys.readouterr()
    assert main(["-C", str(demo), "sweep", "run", str(plan), "--executor", "slurm", *arguments]) == status
    error = capsys.readouterr().err
    assert error.startswith(f"reviewbot: {said}") and error.count("\n") == 1


def test_the_controller_does_not_answer(
    cluster: Cluster, demo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    config = (cluster.folder / "slurm.conf").read_text().replace("SlurmctldPort=", "SlurmctldPort=1").splitlines()
    (tmp_path / "slurm.conf").write_text(
        "\n".join(line if "SlurmctldPort" not in line else "SlurmctldPort=1" for line in config) + "\nMessageTimeout=1\n"
    )
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    plan = tmp_path / "plan.json"
    assert main(["-C", str(demo), "sweep", "plan", "--all", "-o", str(plan)]) == 0
    capsys.readouterr()
    assert main(["-C", str(demo), "sweep", "run", str(plan), "--executor", "slurm"]) == 3
    error = capsys.readouterr().err
    assert error.startswith("reviewbot: the Slurm controller does not answer") and error.count("\n") == 1
