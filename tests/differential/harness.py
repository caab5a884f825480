"""Runs a launcher by real bash behind walls and tells what it started.

bubblewrap gives it a read-only system, no network, no other process, and a workspace in memory that holds a copy of a repository.
Every program that would reach a cluster is a stub (``stub.sh``) that records how it was called.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STUBS = (
    "curl", "docker", "enroot", "git", "hf", "make", "mpirun", "nvidia-smi", "pip", "python", "python3", "rocm-smi", "rsync", "sacct",
    "salloc", "sbatch", "sbcast", "scancel", "scontrol", "sglang", "sinfo", "sleep", "squeue", "srtctl", "srun", "sudo",
    "trtllm-serve", "unsquashfs", "uv", "vllm",
)
WORKSPACE = "/workspace-of-runner"
_SHELL_OWN = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
_STUB = Path(__file__).with_name("stub.sh")


@dataclass(frozen=True)
class Call:
    """One call of a stub. ``recipe`` and ``cluster`` are the bytes of the file that ``srtctl apply`` was given and of ``srtslurm.yaml``
    beside it; of an engine ``recipe`` holds the files that its words name."""

    argv: tuple[str, ...]
    cwd: str
    environment: Mapping[str, str]
    stdin: bytes | None = None
    recipe: bytes | None = None
    cluster: bytes | None = None


@dataclass(frozen=True)
class Record:
    calls: tuple[Call, ...]
    status: int
    stdout: bytes
    stderr: bytes

    @property
    def submits(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if call.argv[0] == "sbatch" or call.argv[:2] == ("srtctl", "apply"))


def available() -> bool:
    """Whether bash can be walled in here: bubblewrap is installed and may make its namespaces."""
    if shutil.which("bwrap") is None:
        return False
    return subprocess.run([*_walls(), "--", "/usr/bin/true"], capture_output=True, check=False).returncode == 0


def _walls() -> list[str]:
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--hostname", "node", "--clearenv"]
    for path in ("/usr", "/etc"):
        command += ["--ro-bind", path, path]
    for name in ("bin", "sbin", "lib", "lib64"):
        place = Path("/") / name
        if place.is_symlink():
            command += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            command += ["--ro-bind", str(place), str(place)]
    return [*command, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/home/runner"]


def run_in_bash(
    script: str, environment: Mapping[str, str], repository: Path, *, upstream: Path | None = None, seconds: float = 20,
    workspace: str = WORKSPACE, directories: Sequence[str] = (), clones: Mapping[str, Path] | None = None, stop: bool = False,
) -> Record:
    """Runs ``script``, a shell text, in a fresh copy of ``repository``.

    ``upstream`` holds a directory for every repository that a clone may find, by the last part of its URL; a clone of another gives an
    empty directory. ``clones`` are git repositories by ``OWNER/NAME``, in which refs are checked out truly. ``directories`` are made
    beforehand. With ``stop`` everything ends at the first submission (the status then means nothing). Raises ``subprocess.TimeoutExpired``.
    """
    with tempfile.TemporaryDirectory(prefix="bash-") as folder:
        place = Path(folder)
        stubs, record = place / "stubs", place / "record"
        stubs.mkdir()
        record.mkdir()
        shutil.copy(_STUB, stubs / "stub")
        (stubs / "stub").chmod(0o755)
        for stub in STUBS:
            (stubs / stub).symlink_to("stub")
        (place / "step.sh").write_text(script, encoding="utf-8", errors="surrogateescape")
        command = _walls()
        command += ["--ro-bind", str(repository), "/repository", "--ro-bind", str(stubs), "/stubs", "--bind", str(record), "/record"]
        command += ["--ro-bind", str(place / "step.sh"), "/step.sh", "--tmpfs", workspace]
        if upstream is not None:
            command += ["--ro-bind", str(upstream), "/upstream"]
        if clones and upstream is None:
            command += ["--dir", "/upstream"]
        for name, clone in (clones or {}).items():
            command += ["--ro-bind", str(clone), f"/upstream/{name.lower().replace('/', '+')}.git"]
        if stop:
            (record / "stop").touch()
        for directory in directories:
            command += ["--dir", directory]
        machine = {"HOME": "/home/runner", "USER": "runner", "LANG": "C.UTF-8", "GITHUB_WORKSPACE": workspace}
        for variable, value in {**machine, **environment}.items():
            command += ["--setenv", variable, value]
        command += ["--setenv", "PATH", "/stubs:/usr/bin:/bin", "--chdir", workspace]
        # exec: the launcher's own shell must not inherit a shell level or options from ours
        start = "cp -a /repository/. . && exec bash --noprofile --norc -e -o pipefail /step.sh"
        done = subprocess.run(
            [*command, "--", "/usr/bin/bash", "--noprofile", "--norc", "-c", start], capture_output=True, timeout=seconds, check=False,
            stdin=subprocess.DEVNULL,
        )
        return Record(_calls(record), done.returncode, done.stdout, done.stderr)


def _calls(record: Path) -> tuple[Call, ...]:
    calls: list[Call] = []
    for path in sorted(record.glob("*.call"), key=lambda item: item.name):
        fields = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
        count = int(fields[2])
        argv = (fields[0], *fields[3 : 3 + count])
        variables = dict(item.split("=", 1) for item in fields[3 + count :] if "=" in item)
        environment = {key: value for key, value in variables.items() if key not in _SHELL_OWN and not key.startswith("BASH_FUNC_")}
        calls.append(Call(argv, fields[1], environment, *(_beside(path, kind) for kind in ("stdin", "recipe", "cluster"))))
    return tuple(calls)


def _beside(path: Path, kind: str) -> bytes | None:
    other = path.with_suffix("." + kind)
    return other.read_bytes() if other.exists() else None
