"""The loop that brings every point of a plan to its end, whatever ends in between."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from reviewbot.sweep.durable import read_json, write_atomically
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.executors import LOST, Attempt, Executor, Request, Seen
from reviewbot.sweep.ledger import Ledger, Row
from reviewbot.sweep.plan import Plan, PlanPoint
from reviewbot.sweep.results import Outcome, judge

_BEAT = 5.0  # seconds between two signs of life
_SETTLE = 2.0  # seconds that a last word may take to be seen after its job is gone: network file systems
_ASK_AGAIN = 10.0  # seconds after which a job that was told to stop is told again
_STARTED = "started"


@dataclass(frozen=True, slots=True)
class Limits:
    """How a sweep goes on: ``jobs`` at a time (``None``: as many as there are), ``gpus`` of this machine, ``retries`` of attempts that were
    lost through no fault of the point, ``fail_fast``: no new points after a failure. ``poll`` is in seconds."""

    jobs: int | None = None
    gpus: int | None = None
    retries: int = 2
    fail_fast: bool = False
    poll: float = 1.0


@dataclass(slots=True)
class _Gone:
    since: float
    seen: Seen


class Runner:
    """One runner of a plan. ``verify`` says why a point's receipt does not hold; ``snapshot`` gives the copy of the repository for it to
    work on; ``report`` is told what happens."""

    def __init__(
        self, plan: Plan, ledger: Ledger, folder: Path, executor: Executor, *, verify: Callable[[PlanPoint], Sequence[str]],
        snapshot: Callable[[], Path | None], limits: Limits | None = None, report: Callable[[str], None] = lambda text: None,
    ) -> None:  # fmt: skip
        self._plan = plan
        self._ledger = ledger
        self._folder = folder
        self._executor = executor
        self._verify = verify
        self._snapshot = snapshot
        self._limits = limits or Limits()
        self._report = report
        self._owner = ""
        self._gone: dict[int, _Gone] = {}
        self._asked: dict[int, float] = {}  # when a job was last told to stop
        self._failed = False
        self._most = 0
        self._stop = threading.Event()

    def run(self) -> None:
        """Return when no point is left that is pending or this runner's, or when told to stop; jobs that run then go on without a
        runner."""
        self._owner = self._ledger.register()
        previous = {number: signal.signal(number, self._told_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
        next_beat = 0.0
        try:
            while not self._stop.is_set():
                now = time.monotonic()
                if now >= next_beat:
                    self._ledger.beat(self._owner)
                    self._adopt()
                    next_beat = now + _BEAT
                mine = self._follow()
                closed = self._failed and self._limits.fail_fast
                taken = 0 if closed else self._start(mine)
                if not mine and not taken and (closed or not self._ledger.status().counts["pending"]) and not self._adopt():
                    self._executor.close()
                    return
                self._stop.wait(max(self._limits.poll, mine / 500))
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
            self._ledger.leave(self._owner)

    def settle(self, seconds: float) -> int:
        """Bring points that nobody runs any more to their end, without starting any; wait up to ``seconds``. Gives how many are left."""
        self._owner = self._ledger.register()
        try:
            self._adopt()
            until = time.monotonic() + seconds
            while (left := self._follow()) and time.monotonic() < until:
                self._stop.wait(self._limits.poll)
            return left
        finally:
            self._ledger.leave(self._owner)

    def _told_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop.set()

    # --- taking up what others left --------------------------------------------------------------------------------

    def _adopt(self) -> int:
        rows = self._ledger.adopt(self._owner)
        if not rows:
            return 0
        lost = [row for row in rows if row.state == "submitting"]
        for submission in sorted({row.submission for row in lost if row.submission}):
            group = [row for row in lost if row.submission == submission]
            named = self._executor.find(_job_name(submission), _places(self._folder, submission))
            if named is None:
                continue  # without names: the claims of the jobs tell
            self._ledger.change(
                self._owner,
                [
                    (row.id, {"state": "queued", "job": named[row.place]})
                    for row in group
                    if row.place is not None and row.place < len(named)
                ],
            )
        self._report(f"taken up  {len(rows)} points of a runner that is gone")
        return len(rows)

    # --- following -------------------------------------------------------------------------------------------------

    def _follow(self) -> int:
        """Move this runner's points on. Gives how many are still active."""
        rows = self._ledger.owned(self._owner)
        if not rows:
            return 0
        changes: list[tuple[int, dict[str, Any]]] = []
        open_rows: list[Row] = []
        for row in rows:
            end = read_json(str(self.attempt_folder(row) / "end.json"))
            if end is not None:
                changes.append((row.id, self._ended(row, end)))
            else:
                open_rows.append(row)
        wanted = [row for row in open_rows if row.cancel and self._asked.get(row.id, 0.0) < time.monotonic() - _ASK_AGAIN]
        if wanted:
            self._executor.cancel([self._attempt(row) for row in wanted])
            self._asked.update((row.id, time.monotonic()) for row in wanted)
        seen = self._executor.look([self._attempt(row) for row in open_rows]) if open_rows else {}
        for row in open_rows:
            change = self._moved(row, seen.get(row.id))
            if change:
                changes.append((row.id, change))
        self._ledger.change(self._owner, changes)
        for identity, columns in changes:
            if columns.get("state") in ("failed", "done", "cancelled"):
                self._gone.pop(identity, None)
                row = next(row for row in rows if row.id == identity)
                self._failed = self._failed or columns["state"] == "failed"
                self._report(f"{columns['state']:<9} {row.key}" + (f": {columns['reason']}" if columns.get("reason") else ""))
        return len(rows) - sum(1 for _, columns in changes if columns.get("state") in ("failed", "done", "cancelled", "pending"))

    def _moved(self, row: Row, seen: Seen | None) -> dict[str, Any] | None:
        if seen is None:
            return None
        if seen.state != "ended":
            self._gone.pop(row.id, None)
            started = _began(self.attempt_folder(row)) if seen.state == "running" else None
            if row.state == seen.state and (row.started is not None or started is None) and row.reason == (seen.detail or None):
                return None
            return {"state": seen.state, "started": started or row.started, "reason": seen.detail or None}
        gone = self._gone.setdefault(row.id, _Gone(time.monotonic(), seen))
        if time.monotonic() - gone.since < _SETTLE and seen.reason != "never-started":
            return None
        folder = self.attempt_folder(row)
        end = read_json(str(folder / "end.json"))  # it may have come to be seen since
        if end is not None:
            return self._ended(row, end)
        self._gone.pop(row.id, None)
        now = time.time()
        stopped = read_json(str(folder / "stopped.json"))
        if row.cancel or seen.reason == "cancelled":
            why = "cancelled" if row.cancel else f"cancelled from outside ({seen.detail})"
            return {"state": "cancelled", "outcome": "cancelled", "reason": why, "ended": now}
        if seen.reason in LOST:
            lost = row.lost + (0 if row.job is None else 1)  # one that was never handed over is nobody's fault
            why = f"stopped by signal {stopped['signal']}" if stopped else seen.detail
            if lost <= self._limits.retries:
                self._executor.cancel([self._attempt(row)])  # whatever is left of it must not start any more
                self._report(f"again     {row.key}: {why}")
                return {"state": "pending", "lost": lost, "reason": why, "owner": None}
            return {"state": "failed", "outcome": seen.reason, "reason": f"{why}; tried {lost} times", "ended": now, "lost": lost}
        return {"state": "failed", "outcome": seen.reason or "no-last-word", "reason": seen.detail or "it left no last word", "ended": now}

    def _ended(self, row: Row, end: dict[str, Any]) -> dict[str, Any]:
        point = self._plan.by_key[row.key]
        found: Outcome = judge(point, end, self.attempt_folder(row) / "results")
        return {
            "state": "done" if found.outcome == "success" else "failed",
            "outcome": found.outcome,
            "reason": found.reason or None,
            "rc": end.get("rc"),
            "started": end.get("started") or row.started or row.taken,
            "ended": end.get("ended") or time.time(),
            "results": json.dumps([*found.rows]) if found.rows else None,
        }

    # --- starting --------------------------------------------------------------------------------------------------

    def _start(self, active: int) -> int:
        """Verify and hand over pending points, as many as there is room for. Gives how many were taken."""
        limits = self._limits
        local = self._executor.name == "local"
        if not self._most:
            self._most = limits.jobs if local and limits.jobs is not None else self._executor.largest()
        room = self._most - active if local else self._most  # Slurm queues what there is no room for
        if room <= 0 or not self._ledger.status().counts["pending"]:
            return 0
        devices = self._free_devices() if local and limits.gpus is not None else None
        submission = os.urandom(8).hex()
        rows = self._ledger.take(self._owner, self._executor.name, submission, room, None if devices is None else len(devices))
        if not rows:
            if devices is not None and not active:
                self._refuse_too_large()
            return 0
        good: list[Row] = []
        for row in rows:
            point = self._plan.by_key[row.key]
            reasons = self._verify(point)
            if reasons:
                reason = "; ".join(reasons)
                self._ledger.change(
                    self._owner, [(row.id, {"state": "refused", "outcome": "stale-receipt", "reason": reason, "ended": time.time()})]
                )
                self._report(f"refused   {row.key}: {reason}")
                self._failed = True
            else:
                good.append(row)
        snapshot = self._snapshot() if good else None
        groups: dict[tuple[object, ...], list[Row]] = {}
        for row in good:
            point = self._plan.by_key[row.key]
            groups.setdefault((point.gpus, point.nodes, point.time_limit), []).append(row)
        for number, group in enumerate(groups.values()):
            self._hand_over(group, f"{submission}{number:x}" if len(groups) > 1 else submission, snapshot, devices)
        return len(rows)

    def _hand_over(self, rows: list[Row], submission: str, snapshot: Path | None, devices: list[int] | None) -> None:
        first = self._plan.by_key[rows[0].key]
        folder = self._folder / "submissions" / submission
        try:
            folder.mkdir(parents=True)
            write_atomically(str(folder / "count"), str(len(rows)))
            given: dict[int, tuple[int, ...]] = {}
            for row in rows:
                point = self._plan.by_key[row.key]
                if devices is not None:
                    given[row.id] = tuple(devices[: point.gpus])
                    del devices[: point.gpus]
                self._write_job(row, point, snapshot, given.get(row.id))
        except OSError as error:
            self._ledger.change(self._owner, [(row.id, {"state": "pending", "owner": None}) for row in rows])
            raise SweepError(f"{self._folder}: jobs cannot be written: {error.strerror}", 3) from None
        self._ledger.change(
            self._owner,
            [
                (
                    row.id,
                    {"submission": submission, "place": place, "devices": ",".join(map(str, given[row.id])) if row.id in given else None},
                )
                for place, row in enumerate(rows)
            ],
        )
        request = Request(first.gpus // first.nodes if first.nodes > 1 else first.gpus, first.nodes, first.time_limit)
        try:
            names = self._executor.submit(folder, _job_name(submission), [self.attempt_folder(row) for row in rows], request)
        except SweepError as error:
            found = self._executor.look([self._attempt(row) for row in rows])  # takes back what has not begun
            back = [row for row in rows if found.get(row.id, Seen("ended")).state == "ended"]
            self._ledger.change(self._owner, [(row.id, {"state": "pending", "owner": None, "reason": str(error)}) for row in back])
            raise
        self._ledger.change(self._owner, [(row.id, {"state": "queued", "job": name}) for row, name in zip(rows, names, strict=True)])

    def _write_job(self, row: Row, point: PlanPoint, snapshot: Path | None, devices: tuple[int, ...] | None) -> None:
        folder = self.attempt_folder(row)
        folder.mkdir(parents=True, exist_ok=True)

        def filled(text: str) -> str:
            return text.replace("{reviewbot:folder}", str(folder)).replace("{reviewbot:work}", str(folder / "work"))

        for name, text in point.files.items():
            (folder / name).write_text(filled(text), "utf-8", "surrogateescape")

        environment = {name: filled(value) for name, value in point.environment.items()}
        if devices is not None:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, devices))
        job = {
            "version": 1, "point": row.key, "attempt": row.attempt, "run": self._plan.id[:12], "receipt": row.receipt,
            "argv": [filled(word) for word in point.argv], "environment": environment, "pass": list(point.passed),
            "snapshot": None if snapshot is None else str(snapshot), "time_limit": point.time_limit, "outputs": list(point.outputs),
            "health": None if point.health is None else dict(point.health),
        }  # fmt: skip
        write_atomically(str(folder / "job.json"), json.dumps(job))

    def _free_devices(self) -> list[int]:
        used = {
            int(device)
            for row in self._ledger.points(("submitting", "queued", "running"))
            if row.executor == "local" and row.devices
            for device in row.devices.split(",")
        }
        return [device for device in range(self._limits.gpus or 0) if device not in used]

    def _refuse_too_large(self) -> None:
        for row in self._ledger.points(("pending",), 1):
            if self._limits.gpus is not None and row.gpus > self._limits.gpus:
                raise SweepError(f"{row.key} needs {row.gpus} GPUs, --gpus gives {self._limits.gpus}")

    # --- places ----------------------------------------------------------------------------------------------------

    def attempt_folder(self, row: Row) -> Path:
        return attempt_folder(self._folder, row)

    def _attempt(self, row: Row) -> Attempt:
        return Attempt(row.id, self.attempt_folder(row), row.submission or "", row.place or 0, row.job, row.taken or 0.0)


def attempt_folder(folder: Path, row: Row) -> Path:
    """The job folder of a point's present attempt."""
    return folder / "points" / f"{row.id:06d}" / str(row.attempt)


def _job_name(submission: str) -> str:
    return f"rb-{submission}"


def _places(folder: Path, submission: str) -> int:
    try:
        return int((folder / "submissions" / submission / "count").read_text())
    except (OSError, ValueError):
        return 1


def _began(folder: Path) -> float | None:
    start = read_json(str(folder / "start.json"))
    found = start.get(_STARTED) if start else None
    return float(found) if isinstance(found, (int, float)) else None
