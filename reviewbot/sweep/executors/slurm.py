"""Jobs on a Slurm cluster, submitted as arrays by submitit's Slurm executor, followed by ``scontrol`` and, where it answers, by
``sacct``."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reviewbot.sweep.durable import create_once, read_json
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.executors import Attempt, Request, Seen, SlurmOptions, job_command
from reviewbot.sweep.job import claim_text

_TIMEOUT = 60  # seconds for a command of Slurm's
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]\w*(?::\w+)?)=(\S*)")
_CANCEL_AT_ONCE = 500
_LARGEST_ARRAY = 4_000_001  # Slurm's own bound on MaxArraySize

_RUNNING = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"})
_WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "POWER_UP_NODE"}
)
_ENDED = {
    "COMPLETED": "", "FAILED": "", "CANCELLED": "cancelled", "REVOKED": "cancelled", "TIMEOUT": "timeout", "DEADLINE": "timeout",
    "OUT_OF_MEMORY": "out-of-memory", "NODE_FAIL": "node-failure", "BOOT_FAIL": "node-failure", "PREEMPTED": "preempted",
}  # fmt: skip

_HELD = re.compile(r"launch.failed.requeued.held", re.IGNORECASE)  # nobody but an administrator lets such a job go on
_OF_THE_SYSTEM = frozenset(
    {"JobLaunchFailure", "SystemFailure", "NodeDown", "NodeFail"}
)  # why a job failed that its script cannot be blamed for


def parse_jobs(text: str) -> dict[str, Seen]:
    """What ``scontrol show job -o`` says, by job (``17`` or ``17_3``). A line for several tasks of an array counts for each."""
    found: dict[str, Seen] = {}
    for line in text.splitlines():
        fields = dict(_FIELD.findall(line))
        if "JobId" not in fields or "JobState" not in fields:
            continue
        reason = fields.get("Reason", "None")
        seen = seen_of(fields["JobState"], "" if reason == "None" else reason)
        array = fields.get("ArrayJobId")
        if array is None:
            found[fields["JobId"]] = seen
            continue
        indices = list(expand_indices(fields.get("ArrayTaskId", ""), _LARGEST_ARRAY))
        found.update((f"{array}_{index}", seen) for index in indices)
        if not indices:  # the array itself, none of whose tasks waits any more: tasks that never began ended with it
            found[f"{array}_*"] = seen
    return found


def parse_accounting(text: str) -> dict[str, Seen]:
    """What ``sacct -X -n -P -o JobID,State`` says, by job."""
    found: dict[str, Seen] = {}
    for line in text.splitlines():
        name, _, state = line.strip().partition("|")
        match = re.fullmatch(r"(\d+)(?:_(?:(\d+)|\[([^\]]*)\]))?", name)
        if match is None or not state:
            continue
        base, index, indices = match.groups()
        names = (
            [f"{base}_{index}"] if index else [f"{base}_{one}" for one in expand_indices(indices, _LARGEST_ARRAY)] if indices else [base]
        )
        found.update((one, seen_of(state.split()[0].rstrip("+"), "")) for one in names)
    return found


def seen_of(state: str, detail: str) -> Seen:
    """The meaning of a job state. What is not known is not finished."""
    word = state.split(",")[0]
    if word in _ENDED:
        reason = "node-failure" if word == "FAILED" and detail in _OF_THE_SYSTEM else _ENDED[word]
        return Seen("ended", reason, f"Slurm: {word}" + (f" ({detail})" if detail else ""))
    if word in _WAITING and _HELD.match(detail):
        return Seen("ended", "node-failure", f"Slurm: {word} ({detail})")
    return Seen("running" if word in _RUNNING else "queued", "", "" if word in _RUNNING else detail)


def expand_indices(text: str, below: int) -> Iterable[int]:
    """``0-3,7%2`` -> 0, 1, 2, 3, 7; ``0-8:4`` -> 0, 4, 8; those from ``below`` on are left out, as Slurm writes a large number for none."""
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if match:
            start, end, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
            yield from range(start, min(end + 1, below), max(1, step))


class SlurmExecutor:
    """Submits to the cluster that the Slurm client of this machine knows."""

    name = "slurm"

    def __init__(self, options: SlurmOptions | None = None) -> None:
        self.options = options or SlurmOptions()
        self._accounting: bool | None = None

    def check(self) -> None:
        try:
            import submitit  # noqa: F401
        except ImportError:
            raise SweepError("the package submitit is not installed: pip install submitit") from None
        missing = [name for name in ("sbatch", "scontrol", "squeue", "scancel", "sinfo", "srun") if shutil.which(name) is None]
        if missing:
            raise SweepError(f"there is no Slurm client here: {', '.join(missing)} not found; --executor local needs none")
        done = _run("sinfo", "-h", "-o", "%R")
        if done is None or done.returncode != 0:
            raise SweepError(f"the Slurm controller does not answer: {_said(done)}", 3)
        known = sorted(set(done.stdout.split()))
        if not known:
            raise SweepError("the cluster has no partition that jobs can be sent to")
        if self.options.partition is not None and self.options.partition not in known:
            raise SweepError(f"there is no partition {self.options.partition!r}; the cluster has {', '.join(known)}")

    def largest(self) -> int:
        """How many jobs an array may have."""
        done = _run("scontrol", "show", "config")
        match = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE) if done is not None else None
        return max(1, min(1000, int(match[1]) - 1)) if match else 500

    def submit(self, folder: Path, name: str, jobs: Sequence[Path], request: Request) -> list[str]:
        if "%" in str(folder):
            raise SweepError(f"{folder}: Slurm gives % in the names of files a meaning: put the plan elsewhere")
        import submitit

        class Jobs(submitit.SlurmExecutor):
            """Submits our command instead of a pickled function."""

            command = ""

            @property
            def _submitit_command_str(self) -> str:
                return self.command

        (folder / "tasks").write_text("".join(f"{job}\n" for job in jobs), "utf-8")
        executor = Jobs(folder, max_num_timeout=0)
        executor.command = "exec " + job_command(folder)  # in the place of the shell: signals reach the job itself
        options = self.options
        extra: dict[str, str | bool] = {"requeue": True, **options.extra}
        given: dict[str, object] = {
            "job_name": name,
            "time": int(request.time_limit / 60) + 2,
            "nodes": request.nodes,
            "use_srun": False,
            "partition": options.partition,
            "account": options.account,
            "qos": options.qos,
            "array_parallelism": options.parallel or len(jobs),
            "additional_parameters": extra,
        }
        if request.gpus:
            given |= {"gres": f"gpu:{request.gpus}"} if options.gres else {"gpus_per_node": request.gpus}
        executor.update_parameters(**{key: value for key, value in given.items() if value is not None})
        try:
            with contextlib.redirect_stderr(io.StringIO()), executor.batch():  # what sbatch says is in the exception too
                handed = [executor.submit(int) for _ in jobs]
        except Exception as error:
            raise SweepError(f"Slurm did not take the jobs: {_last_line(str(error))}", 3) from None
        return [job.job_id for job in handed]

    def find(self, name: str, count: int) -> list[str] | None:
        done = _run("squeue", "-h", "-r", "--states=all", "--name", name, "-o", "%F")
        found = done.stdout.split() if done is not None and done.returncode == 0 else []
        if not found:
            return None
        return [found[0]] if count == 1 else [f"{found[0]}_{place}" for place in range(count)]

    def look(self, attempts: Sequence[Attempt]) -> Mapping[int, Seen]:
        bases = {attempt.job.partition("_")[0] for attempt in attempts if attempt.job}
        states: dict[str, Seen] = {}
        answered: set[str] = set()
        for base in sorted(bases):
            done = _run("scontrol", "show", "job", "-o", base)
            if done is None:
                continue
            if done.returncode == 0:
                answered.add(base)
                states.update(parse_jobs(done.stdout))
            elif "Invalid job id" in done.stderr:
                answered.add(base)
                states.update(self._account(base))
        found: dict[int, Seen] = {}
        for attempt in attempts:
            if attempt.job is None:
                found[attempt.point] = self._unnamed(attempt)
                continue
            base = attempt.job.partition("_")[0]
            seen = states.get(attempt.job)
            if seen is None and base in answered:
                whole = states.get(f"{base}_*")
                seen = whole if whole is not None and whole.state == "ended" and whole.reason else None
                seen = seen or Seen("ended", "vanished", "Slurm does not know the job any more, and it left no last word")
            if seen is not None:
                found[attempt.point] = seen
        return found

    def _unnamed(self, attempt: Attempt) -> Seen:
        """A job whose name was lost: taken back, unless it has begun."""
        attempt.folder.mkdir(parents=True, exist_ok=True)
        path = str(attempt.folder / "claim")
        if create_once(path, claim_text(kind="revoked")):
            return Seen("ended", "never-started", "the job was not handed over")
        claim = read_json(path) or {}
        return Seen("running") if claim.get("kind") == "job" else Seen("ended", "never-started", "the attempt was taken back")

    def _account(self, base: str) -> dict[str, Seen]:
        if self._accounting is False or shutil.which("sacct") is None:
            return {}
        done = _run("sacct", "-X", "-n", "-P", "-o", "JobID,State", "-j", base)
        self._accounting = done is not None and done.returncode == 0
        return parse_accounting(done.stdout) if done is not None and done.returncode == 0 else {}

    def cancel(self, attempts: Sequence[Attempt]) -> None:
        jobs = [attempt.job for attempt in attempts if attempt.job]
        for attempt in attempts:
            attempt.folder.mkdir(parents=True, exist_ok=True)
            create_once(str(attempt.folder / "claim"), claim_text(kind="revoked"))  # one that has not begun does not
        for start in range(0, len(jobs), _CANCEL_AT_ONCE):
            _run("scancel", *jobs[start : start + _CANCEL_AT_ONCE])

    def close(self) -> None:
        return


def _run(*argv: str) -> subprocess.CompletedProcess[str] | None:
    """A command of Slurm's; ``None`` where it cannot be run or does not come back."""
    try:
        return subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None


def _said(done: subprocess.CompletedProcess[str] | None) -> str:
    return _last_line(done.stderr) if done is not None else "no answer"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if "error" in line.lower()]
    return (said or lines or ["it gave no reason"])[0][:300]
