"""What the evaluator takes for granted about clusters: data, not code, so that a repository can say otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_INSTALLED = (
    "awk basename bash cat chmod chown cmp comm cp curl cut date dirname docker du enroot env file find findmnt flock git grep gzip "
    "head hostname "
    "id jq kill ln ls make mkdir mktemp mv nohup nproc nvidia-smi ps python3 readlink realpath rm rmdir rsync sacct salloc sbatch "
    "sbcast scancel "
    "scontrol sed seq sh sha1sum sha256sum sinfo sleep sort squeue srtctl srun stat sudo tail tar tee timeout touch tr uname uniq "
    "unsquashfs uv "
    "wc wget xargs"
)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where evaluation ends; a bound that is hit becomes a ``Limit`` effect."""

    paths: int = 64  # a trace
    commands: int = 20_000  # a path
    iterations: int = 50  # a loop with a condition; loops over words are bounded by commands
    depth: int = 40  # functions, sourced files, child shells
    text: int = 16_000_000  # characters of one value or file
    seconds: float = 5.0  # processor time a trace: what a trace says must not hang on how busy the machine is
    choices: int = 8  # values of one variable behind a joined condition


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Knowledge about the world outside the repository.

    ``installed``: names for which ``command -v`` succeeds. ``opaque``: programs (file names of Python helpers) that may rewrite
    the files named in their arguments. ``directories``: whether a directory on the cluster (an absolute path outside the
    workspace) is taken to exist (``None``: unknown, the condition forks or joins). ``environment``: variables of the machine that are
    known though the job does not set them. ``witnesses``: texts of the right form for unknown outputs, by kind.
    """

    workspace: str = "/workspace-of-runner"
    installed: frozenset[str] = frozenset(_INSTALLED.split())
    opaque: frozenset[str] = frozenset()
    directories: bool | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    witnesses: Mapping[str, str] = field(default_factory=lambda: {"job": "12345", "pid": "4242", "date": "20260101"})
    bounds: Bounds = field(default_factory=Bounds)
