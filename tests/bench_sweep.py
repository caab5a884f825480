"""What the runner costs: an array on Slurm against the same array by plain ``sbatch``, and the status of a ledger of 100,000 points.

Ends with 1 where the array takes more than 1.15 times as long, or the status more than 200 ms.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from reviewbot.sweep.ledger import ACTIVE, Ledger
from tests.sweep.cluster import Cluster, missing
from tests.sweep.support import ROOT, point, write_plan

POINTS = 200
SECONDS = 5  # of each point: a real one takes minutes
ROUNDS = 2
MOST = 1.15
MOST_STATUS = 0.2


def plain(folder: Path) -> float:
    """Seconds for the array by ``sbatch``, from its submission until Slurm says that it is over."""
    script = folder / "plain.sh"
    script.write_text(f"#!/bin/bash\nsleep {SECONDS}\necho $SLURM_ARRAY_TASK_ID > {folder}/done.$SLURM_ARRAY_TASK_ID\n")
    began = time.perf_counter()
    subprocess.run(["sbatch", "--wait", f"--array=0-{POINTS - 1}", "-o", "/dev/null", str(script)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    assert len(list(folder.glob("done.*"))) == POINTS
    return seconds


def sweep(folder: Path) -> float:
    """Seconds for the same points by the runner, from the start of its process until it ends."""
    points = [point(f"p{number}", f"sleep {SECONDS}\necho {number} > {folder}/ran.{number}") for number in range(POINTS)]
    plan = write_plan(folder / "plan.json", points)
    began = time.perf_counter()
    command = [sys.executable, str(ROOT / "tests" / "sweep" / "support.py"), str(plan), "slurm"]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - began
    assert len(list(folder.glob("ran.*"))) == POINTS
    return seconds


def scheduling(folder: Path) -> bool:
    reason = missing()
    if reason is not None:
        print(f"scheduling: not measured: {reason}")
        return True
    cluster = Cluster(folder / "cluster")
    try:
        cluster.start()
        os.environ.update(cluster.environment)
        ratios = []
        for number in range(ROUNDS):
            place = folder / str(number)
            place.mkdir()
            one, other = plain(place), sweep(place)
            ratios.append(other / one)
            print(f"{POINTS} points of {SECONDS} s: sbatch {one:.2f} s, sweep {other:.2f} s, ratio {ratios[-1]:.3f}", flush=True)
    finally:
        cluster.stop()
    return statistics.median(ratios) <= MOST


def status(folder: Path) -> bool:
    ledger = Ledger.create(folder / "big.ledger", "a" * 64, ((f"point-{number}", "r" * 64, 8) for number in range(100_000)))
    owner = ledger.register()
    for number in range(50):
        rows = ledger.take(owner, "slurm", f"s{number}", 1000)
        ledger.change(owner, [(row.id, {"state": "running", "started": 1.0}) for row in rows])
    ledger.close()
    times = []
    for _ in range(20):
        began = time.perf_counter()
        opened = Ledger.open(folder / "big.ledger", "a" * 64)
        opened.status()
        opened.points(ACTIVE, 20)
        opened.close()
        times.append(time.perf_counter() - began)
    print(f"status of 100,000 points: {statistics.median(times) * 1000:.1f} ms")
    return statistics.median(times) <= MOST_STATUS


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        good = [status(folder), scheduling(folder)]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
