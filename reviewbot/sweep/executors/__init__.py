"""Who executes jobs: this machine, or Slurm. The same plan and the same job folders for both."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import reviewbot

LOST = frozenset({"node-failure", "preempted", "vanished", "never-started"})
"""How a job ends without its point being to blame: the point is tried again."""


@dataclass(frozen=True, slots=True)
class Request:
    """What jobs of one submission need, each. ``time_limit`` is in seconds; ``devices`` are the GPUs of a local job."""

    gpus: int
    nodes: int
    time_limit: float
    devices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A job that was, or may have been, handed over."""

    point: int
    folder: Path
    submission: str
    place: int
    job: str | None
    taken: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What the executor says of a job: ``state`` is ``queued``, ``running`` or ``ended``; ``reason`` a word of ``LOST``, ``cancelled``,
    ``timeout``, ``out-of-memory``, or text for people."""

    state: str
    reason: str = ""
    detail: str = ""


class Executor(Protocol):
    name: str

    def check(self) -> None:
        """Raises ``SweepError`` where it cannot work here."""
        ...

    def largest(self) -> int:
        """How many jobs to hand over at a time where nobody says."""
        ...

    def submit(self, folder: Path, name: str, jobs: Sequence[Path], request: Request) -> list[str]:
        """Hand over one job for each job folder, and give their names in that order. Raises ``SweepError``."""
        ...

    def find(self, name: str, count: int) -> list[str] | None:
        """The jobs of a submission whose names were lost; ``None`` where there are none, or it cannot be told."""
        ...

    def look(self, attempts: Sequence[Attempt]) -> Mapping[int, Seen]:
        """What has become of jobs, by point; one that nothing can be said about now is left out."""
        ...

    def cancel(self, attempts: Sequence[Attempt]) -> None: ...

    def close(self) -> None:
        """All jobs that it handed over have said their last word."""
        ...


@dataclass(frozen=True, slots=True)
class SlurmOptions:
    """How jobs are asked for. ``extra`` are further ``sbatch`` options by name (``True`` for one without a value)."""

    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gres: bool = True  # ``--gres=gpu:N``; else ``--gpus-per-node=N``
    parallel: int | None = None  # jobs of an array at a time
    extra: Mapping[str, str | bool] = field(default_factory=dict)


def job_command(path: Path) -> str:
    """The shell command that executes a job folder, or the one of a submission that the array index names.

    The interpreter starts isolated and without site packages: what runs before the point is quick, and nothing of the repository's is
    imported by it.
    """
    root = str(Path(reviewbot.__file__).resolve().parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r}); from reviewbot.sweep.job import main; sys.exit(main({os.fspath(path)!r}))"
    return " ".join(shlex.quote(word) for word in (sys.executable, "-I", "-S", "-u", "-c", code))
