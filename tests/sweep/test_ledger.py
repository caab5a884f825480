from __future__ import annotations

import contextlib
import os
import resource
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reviewbot.sweep import ledger as module
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.ledger import Ledger

PLAN = "a" * 64


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    made = Ledger.create(tmp_path / "plan.ledger", PLAN, [(f"p{number}", "r", number) for number in range(4)])
    yield made
    made.close()


def test_a_point_from_beginning_to_end(ledger: Ledger):
    owner = ledger.register()
    [row] = ledger.take(owner, "local", "s", 1)
    assert (row.key, row.state, row.attempt, row.submission, row.place) == ("p0", "submitting", 1, "s", 0)
    assert ledger.change(owner, [(row.id, {"state": "running", "job": "7", "started": 10.0})]) == 1
    assert ledger.change(owner, [(row.id, {"state": "done", "ended": 13.5})]) == 1
    assert ledger.change(owner, [(row.id, {"state": "failed"})]) == 0  # what has ended stays so
    assert ledger.status().counts["done"] == 1 and ledger.status().seconds["done"] == 3.5 and ledger.status().left == 3
    assert [state for _, _, state, _ in ledger.events(row.id)] == ["submitting", "running", "done"]
    assert abs(ledger.events(row.id)[0][0] - time.time()) < 5


def test_two_runners_never_take_the_same_point(ledger: Ledger):
    second = Ledger.open(ledger.path, PLAN)
    one, two = ledger.register(), second.register()
    taken = [row.key for row in ledger.take(one, "local", "a", 3)] + [row.key for row in second.take(two, "local", "b", 3)]
    assert taken == ["p0", "p1", "p2", "p3"]
    assert second.change(two, [(1, {"state": "done"})]) == 0  # not its own
    assert second.adopt(two) == []  # the other one lives
    second.close()


def test_points_of_a_dead_runner_are_taken_over(ledger: Ledger, monkeypatch: pytest.MonkeyPatch):
    dead = ledger.register()
    ledger.take(dead, "local", "a", 2)
    monkeypatch.setattr(module.processes, "alive", lambda pid, born: pid != os.getpid())
    owner = "elsewhere:1:x"
    assert [row.key for row in ledger.adopt(owner)] == ["p0", "p1"]
    assert ledger.change(dead, [(1, {"state": "done"})]) == 0
    assert ledger.change(owner, [(1, {"state": "done"})]) == 1


def test_a_silent_runner_of_another_machine_counts_as_dead_after_a_while(ledger: Ledger):
    database = sqlite3.connect(ledger.path)
    database.execute("INSERT INTO runner VALUES ('far', 'another-host', 1, 1, ?)", (time.time() - 30,))
    database.commit()
    assert ("far", True) in ledger.runners()
    database.execute("UPDATE runner SET beat = ?", (time.time() - module.LEASE - 1,))
    database.commit()
    database.close()
    assert ("far", False) in ledger.runners()


def test_gpus_bound_what_is_taken(ledger: Ledger):
    owner = ledger.register()
    assert [row.key for row in ledger.take(owner, "local", "a", 9, gpus=3)] == ["p0", "p1", "p2"]
    assert ledger.take(owner, "local", "b", 9, gpus=2) == []


def test_cancel_and_retry(ledger: Ledger):
    owner = ledger.register()
    [row] = ledger.take(owner, "local", "a", 1)
    before, active = ledger.cancel(["p0", "p1"])
    assert before == 1 and [one.key for one in active] == ["p0"] and active[0].cancel
    ledger.change(owner, [(row.id, {"state": "cancelled"})])
    assert ledger.retry(("cancelled", "failed")) == 2
    [again] = ledger.take(owner, "local", "b", 1)
    assert (again.key, again.attempt, again.cancel) == ("p0", 2, 0)


@pytest.mark.parametrize(
    ("content", "said", "status"),
    [(b"no database at all, but long enough to be one" * 20, "not a ledger", 3), (b"", "not a ledger", 3)],
)
def test_a_file_that_is_no_ledger(tmp_path: Path, content: bytes, said: str, status: int):
    path = tmp_path / "x.ledger"
    path.write_bytes(content)
    with pytest.raises(SweepError, match=said) as error:
        Ledger.open(path, PLAN)
    assert error.value.status == status


def test_a_ledger_of_another_plan(ledger: Ledger):
    with pytest.raises(SweepError, match="of another plan") as error:
        Ledger.open(ledger.path, "b" * 64)
    assert error.value.status == 2


def test_a_ledger_is_made_once(ledger: Ledger):
    with pytest.raises(SweepError, match="--resume"):
        Ledger.create(ledger.path, PLAN, [])
    assert sorted(path.name for path in ledger.path.parent.iterdir() if ".new" in path.name) == []


def test_a_hundred_thousand_points(tmp_path: Path):
    ledger = Ledger.create(tmp_path / "big.ledger", PLAN, ((f"point-{number}", "r" * 64, 8) for number in range(100_000)))
    owner = ledger.register()
    for submission in range(20):
        rows = ledger.take(owner, "slurm", f"s{submission}", 1000)
        ledger.change(owner, [(row.id, {"state": "running", "started": 1.0}) for row in rows])
        ledger.change(owner, [(row.id, {"state": "done" if row.id % 7 else "failed", "ended": 5.0, "reason": "x"}) for row in rows[:900]])
    ledger.close()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    opened = Ledger.open(tmp_path / "big.ledger", PLAN)
    status = opened.status()
    shown = [*opened.points(module.ACTIVE, 20), *opened.points(("failed",), 20)]
    opened.close()
    assert status.total == 100_000 and status.counts["pending"] == 80_000 and len(shown) == 40
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000  # KiB
    with_all = Ledger.open(tmp_path / "big.ledger", PLAN)
    assert sum(1 for _ in with_all.each()) == 100_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000
    with_all.close()


def test_a_full_disk(tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(small)], capture_output=True).returncode != 0:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        ledger = Ledger.create(small / "plan.ledger", PLAN, [(f"p{number}", "r" * 64, 1) for number in range(200)])
        owner = ledger.register()
        filler = small / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"\0" * 4096)
        with pytest.raises(SweepError, match="the ledger cannot be written") as error:
            for _ in range(200):
                ledger.take(owner, "local", "s", 1)
        assert error.value.status == 3 and "\n" not in str(error.value)
        taken = ledger.status().counts["submitting"]
        ledger.close()
        filler.unlink()
        again = Ledger.open(small / "plan.ledger", PLAN)
        assert again.status().counts["submitting"] == taken and again.status().total == 200
        assert len(again.take(owner, "local", "t", 200)) == 200 - taken
        again.close()
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)
