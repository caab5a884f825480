"""Jobs on this machine, by submitit's local executor. A job outlives the runner that started it."""

from __future__ import annotations

import os
import shlex
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reviewbot.sweep import processes
from reviewbot.sweep.durable import create_once, read_json
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.executors import Attempt, Request, Seen, job_command
from reviewbot.sweep.job import claim_text

_START = 60.0  # seconds that a job may take from being started to its claim
_END = 3.0  # seconds that a controller may take after its job has ended
_MARGIN = 5.0  # minutes that the controller allows beyond the job's own time limit


class LocalExecutor:
    """Each job under a controller of its own; ``gpus`` are given to it as ``CUDA_VISIBLE_DEVICES``."""

    name = "local"

    def __init__(self) -> None:
        self._started: dict[str, Any] = {}  # by job: what submitit gave, kept so that ended controllers are collected

    def check(self) -> None:
        try:
            import submitit  # noqa: F401
        except ImportError:
            raise SweepError("the package submitit is not installed: pip install submitit") from None

    def largest(self) -> int:
        return os.cpu_count() or 1

    def submit(self, folder: Path, name: str, jobs: Sequence[Path], request: Request) -> list[str]:
        import submitit

        class Jobs(submitit.LocalExecutor):
            """Starts our command instead of a pickled function."""

            command = ""

            @property
            def _submitit_command_str(self) -> str:
                return self.command

        names = []
        for job in jobs:
            executor = Jobs(folder)
            executor.command = job_command(job)
            # Signals of the terminal are for the runner; a job is stopped by name. The working directory may hold modules of the
            # repository's.
            executor.update_parameters(
                timeout_min=request.time_limit / 60 + _MARGIN, tasks_per_node=1, gpus_per_node=len(request.devices),
                visible_gpus=list(request.devices), setup=["trap '' INT HUP QUIT", f"cd {shlex.quote(os.fspath(folder))}"],
            )  # fmt: skip
            try:
                started = executor.submit(int)
            except OSError as error:
                raise SweepError(f"a job cannot be started: {error.strerror}", 3) from None
            self._started[started.job_id] = started
            names.append(started.job_id)
        return names

    def find(self, name: str, count: int) -> list[str] | None:
        return None  # whoever started says so in its claim

    def look(self, attempts: Sequence[Attempt]) -> Mapping[int, Seen]:
        self._collect()
        return {attempt.point: seen for attempt in attempts if (seen := self._look(attempt)) is not None}

    def _look(self, attempt: Attempt) -> Seen | None:
        attempt.folder.mkdir(parents=True, exist_ok=True)
        path = attempt.folder / "claim"
        claim = read_json(str(path))
        if claim is None:
            pid = int(attempt.job) if attempt.job and attempt.job.isdigit() else None
            if pid is not None and time.time() - attempt.taken < _START and processes.alive(pid, None):
                return Seen("queued")
            if create_once(str(path), claim_text(kind="revoked")):
                return Seen("ended", "never-started", "the job did not start")
            claim = read_json(str(path)) or {}
        if claim.get("kind") != "job":
            return Seen("ended", "never-started", "the attempt was taken back")
        if claim.get("host") != os.uname().nodename:
            return None
        if processes.alive(claim["pid"], claim.get("born")):
            return Seen("running")
        return Seen("ended", "vanished", "its process is gone without a last word")

    def cancel(self, attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            attempt.folder.mkdir(parents=True, exist_ok=True)
            claim = read_json(str(attempt.folder / "claim"))
            if claim is None:
                create_once(str(attempt.folder / "claim"), claim_text(kind="revoked"))
                claim = read_json(str(attempt.folder / "claim")) or {}
            if claim.get("kind") == "job" and claim.get("host") == os.uname().nodename and processes.alive(claim["pid"], claim.get("born")):
                try:
                    os.kill(claim["pid"], signal.SIGTERM)
                except OSError:
                    continue

    def close(self) -> None:
        until = time.monotonic() + _END
        while self._started and time.monotonic() < until:
            self._collect()
            time.sleep(0.02)

    def _collect(self) -> None:
        for job in [job for job, started in self._started.items() if started.done()]:
            del self._started[job]
