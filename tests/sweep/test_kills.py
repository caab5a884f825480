"""A runner is killed at random instants, again and again: no point is lost, none is executed twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.sweep.support import ROOT, ledger_of, point, write_plan

KILLS = 100
POINTS = 25


def test_a_hundred_kills(tmp_path: Path):
    chance = random.Random(20260101)
    began = time.monotonic()
    imports = [sys.executable, "-c", "import submitit, reviewbot.sweep.runner"]
    subprocess.run(imports, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    start = min(1.0, time.monotonic() - began)  # what a runner needs before it does anything, on this machine
    kills = rounds = 0
    while kills < KILLS:
        rounds += 1
        folder = tmp_path / str(rounds)
        folder.mkdir()
        kills += one_sweep(folder, chance, start, KILLS - kills)
    assert kills == KILLS


def one_sweep(folder: Path, chance: random.Random, start: float, most: int) -> int:
    """Execute a sweep whose runner is killed up to ``most`` times. Gives how often it was."""
    log = folder / "executed"
    script = f'echo "$POINT" >> {log}\nsleep 0.1'
    path = write_plan(folder / "plan.json", [point(f"p{number:03d}", script) for number in range(POINTS)])
    command = [sys.executable, str(ROOT / "tests" / "sweep" / "support.py"), str(path), "local", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    kills = 0
    while True:
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as runner:
            if kills < most:
                # From before the ledger is opened to the middle of handing over and following.
                time.sleep(chance.uniform(0.2, 2.0) * start)
                if runner.poll() is None:
                    runner.send_signal(signal.SIGKILL)
                    kills += 1
                    continue
            _, errors = runner.communicate(timeout=120)
            assert runner.returncode == 0, errors
            break
    ledger = ledger_of(path)
    counts = {state: count for state, count in ledger.status().counts.items() if count}
    ledger.close()
    executed = Counter(log.read_text().split())
    assert counts == {"done": POINTS}
    assert [name for name, times in executed.items() if times > 1] == []
    assert len(executed) == POINTS
    return kills
