"""What runs inside of a job: it claims its point, executes it once, and writes down how it ended.

Started by the scheduler with nothing but the standard library. A job folder holds:

- ``job.json``     what to execute, written by the runner before the job is handed over
- ``claim``        made once, by whoever comes first: the job that executes the attempt, or the runner that takes the attempt back
- ``output.log``   standard output and error of the point
- ``stopped.json`` the job was told to stop; not the last word, since a scheduler may start it again
- ``end.json``     the last word: exit status, outcome, and time; whole or not there
"""

from __future__ import annotations

import ctypes
import errno
import fnmatch
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

from reviewbot.sweep import processes
from reviewbot.sweep.durable import create_once, read_json, remove, write_atomically

GRACE = 10.0  # seconds between asking a process group to stop and stopping it
RESERVE = 64 * 1024  # bytes kept aside for the last word on a full disk
_SUBREAPER = 36  # prctl(PR_SET_CHILD_SUBREAPER)
_STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP}
_TELLING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}  # that the job has to end
_TOGETHER = 1.0  # seconds within which signals to a whole job arrive at all of its processes
_SHOWN_RESULTS = 2000

# What a job takes over from the environment that it is started in; everything else is in its plan.
PASSED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TMPDIR",
    "TZ",
    "XDG_RUNTIME_DIR",
    "LD_LIBRARY_PATH",
    "DOCKER_HOST",
    "MUNGE_SOCKET",
)
PASSED_PREFIXES = ("SLURM_", "SLURMD_", "LC_", "CUDA_", "ROCR_", "HIP_", "NVIDIA_")


def main(submission: str) -> int:
    """Execute a job folder, or the one of a submission that the scheduler's array index names. Gives the exit status of the point."""
    if not os.path.exists(os.path.join(submission, "tasks")):
        return execute(submission)
    index = int(os.environ.get("SLURM_ARRAY_TASK_ID", "0") or 0)
    with open(os.path.join(submission, "tasks"), encoding="utf-8") as file:
        folder = file.read().splitlines()[index]
    return execute(folder)


def execute(folder: str) -> int:
    """Execute the job in ``folder``, unless its attempt is somebody else's, taken back, or over."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS | {signal.SIGCHLD})
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)  # a starter may ignore them; what is blocked waits until we look
    job = read_json(os.path.join(folder, "job.json"))
    if job is None:
        print(f"no readable job.json in {folder}", file=sys.stderr)
        return 1
    if not _claim(folder):
        return 0
    ending = _Ending(folder)
    try:
        return _point(folder, job, ending)
    except Exception as error:
        ending.write(1, "runner-error", f"{type(error).__name__}: {error}")
        return 1


def claim_text(**more: Any) -> str:
    """What a claim says about its maker."""
    return json.dumps({"host": os.uname().nodename, "pid": os.getpid(), "born": processes.born(os.getpid()), "at": time.time(), **more})


def scheduler_job() -> str:
    """The scheduler's name for this job; empty outside of one."""
    array, index = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else os.environ.get("SLURM_JOB_ID", "")


def _claim(folder: str) -> bool:
    path = os.path.join(folder, "claim")
    name = scheduler_job()
    restarts = int(os.environ.get("SLURM_RESTART_COUNT", "0") or 0)
    text = claim_text(kind="job", job=name, restarts=restarts)
    if create_once(path, text):
        return True
    found = read_json(path) or {}
    if found.get("kind") == "job" and name and found.get("job") == name and not os.path.exists(os.path.join(folder, "end.json")):
        # The scheduler started the same job again: the first time is over, and was not finished.
        write_atomically(path, text)
        remove(os.path.join(folder, "stopped.json"))
        return True
    print(f"this attempt is not ours any more ({found.get('kind', 'unreadable claim')}): nothing to do")
    return False


class _Ending:
    """Writes the last word, on a full disk too."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._reserve = os.path.join(folder, "reserve")
        try:
            with open(self._reserve, "wb") as file:
                file.write(b"\0" * RESERVE)
        except OSError:
            remove(self._reserve)

    def write(self, rc: int, outcome: str, reason: str = "", **more: Any) -> None:
        self._put("end.json", {"version": 1, "rc": rc, "outcome": outcome, "reason": reason, "ended": time.time(), **more})

    def stopped(self, number: int) -> None:
        self._put("stopped.json", {"version": 1, "signal": number, "at": time.time()})

    def _put(self, name: str, data: dict[str, Any]) -> None:
        path = os.path.join(self._folder, name)
        text = json.dumps(data)
        try:
            write_atomically(path, text)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            remove(self._reserve)
            write_atomically(path, text)
        remove(self._reserve)


def _point(folder: str, job: dict[str, Any], ending: _Ending) -> int:
    started = time.time()
    try:
        work = _workspace(folder, job)
    except OSError as error:
        ending.write(1, _disk(error), f"the workspace cannot be made: {error.strerror}", started=started)
        return 1
    environment = _environment(folder, job, work)
    try:
        output = open(os.path.join(folder, "output.log"), "ab", buffering=0)  # noqa: SIM115
        write_atomically(os.path.join(folder, "start.json"), json.dumps({"started": started, "host": os.uname().nodename}))
    except OSError as error:
        ending.write(1, _disk(error), f"the log cannot be made: {error.strerror}", started=started)
        return 1
    _adopt_orphans()
    try:
        process = subprocess.Popen(
            job["argv"], cwd=os.path.join(work, job.get("directory") or ""), env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_unblock,
        )  # fmt: skip
    except OSError as error:
        ending.write(127, "startup-failure", f"{job['argv'][0]} cannot be started: {error.strerror}", started=started)
        return 127
    finally:
        output.close()
    rc, outcome, reason, number = _supervise(process, job, work)
    _stop_group(process, float(job.get("grace", GRACE)))
    if number:
        ending.stopped(number)
        return 128 + number
    status = rc if rc >= 0 else 128 - rc
    try:
        results = _collect(folder, job, work)
    except OSError as error:
        ending.write(status or 1, _disk(error), f"the results cannot be kept: {error.strerror}", started=started)
        return status or 1
    if rc < 0 and not reason:
        reason = f"ended by signal {-rc}"
    ending.write(status, outcome, reason, started=started, results=results)
    if outcome == "exited" and status == 0 and results and not job.get("keep"):
        _remove_tree(work)
    return status


def _disk(error: OSError) -> str:
    return "disk-full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "runner-error"


def _supervise(process: subprocess.Popen[bytes], job: dict[str, Any], work: str) -> tuple[int, str, str, int]:
    """Wait for the point: its exit status, the outcome, the reason, and the signal that stopped the job (0: none)."""
    watch = None
    if job.get("health"):
        from reviewbot.sweep.health import HealthCheck, Watch

        given = job["health"]
        log = os.path.join(work, given["log"]) if given.get("log") else ""
        watch = Watch(HealthCheck(given.get("url", ""), given["interval"], given["attempts"], log, tuple(given["fatal"])))
    limit = time.monotonic() + job["time_limit"]
    while True:
        now = time.monotonic()
        pause = limit - now
        if watch is not None:
            bad = watch.tick(now)
            if bad is not None and process.poll() is None:
                return -signal.SIGTERM, *bad, 0
            pause = min(pause, watch.pause(time.monotonic()))
        found = signal.sigtimedwait(_STOPS | {signal.SIGCHLD}, max(0.0, pause))
        if found is not None and found.si_signo in _TELLING:
            return 0, "", "", found.si_signo
        if process.poll() is not None:
            if (process.returncode < 0 or process.returncode > 128) and scheduler_job():
                # A scheduler signals all processes of a job, and the point may be the first to end of it.
                found = signal.sigtimedwait(_TELLING, _TOGETHER)
                if found is not None:
                    return 0, "", "", found.si_signo
            if watch is not None and process.returncode != 0:
                bad = watch.fatal()
                if bad is None and not watch.healthy:
                    bad = "startup-failure", "it ended before the server answered"
                if bad is not None:
                    return process.returncode, *bad, 0
            return process.returncode, "exited", "", 0
        if time.monotonic() >= limit:
            return 124, "timeout", f"the time limit of {job['time_limit']:g} s is over", 0


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _adopt_orphans() -> None:
    """Become the parent of what the point leaves behind, so that a daemon in a session of its own is found and stopped as well."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0)


def _stop_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End everything that the point started: first asked, then forced."""
    _signal_all(process.pid, signal.SIGTERM)
    until = time.monotonic() + grace
    pause = 0.002
    while time.monotonic() < until and _left(process):
        time.sleep(pause)
        pause = min(0.05, pause * 2)
    while _left(process):
        _signal_all(process.pid, signal.SIGKILL)
        time.sleep(0.01)
        if time.monotonic() > until + GRACE:
            return


def _left(process: subprocess.Popen[bytes]) -> bool:
    process.poll()
    while True:  # orphans that ended
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _signal_all(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)
    for child in processes.children(os.getpid()):
        with suppress(OSError):
            os.kill(child, number)
            os.killpg(child, number)


# --- workspace and results -----------------------------------------------------------------------------------------


def _workspace(folder: str, job: dict[str, Any]) -> str:
    snapshot = job.get("snapshot")
    work = os.path.join(folder, "work")
    _remove_tree(work)  # of a first start that was interrupted
    if snapshot:
        _copy_tree(snapshot, work)
    else:
        os.makedirs(work, exist_ok=True)
    return work


def _copy_tree(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    with os.scandir(source) as entries:
        for entry in entries:
            to = os.path.join(target, entry.name)
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), to)
            elif entry.is_dir():
                _copy_tree(entry.path, to)
            else:
                _copy(entry.path, to)


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as read, open(target, "wb") as write:
        size = os.fstat(read.fileno())
        left = size.st_size
        while left > 0:
            sent = os.sendfile(write.fileno(), read.fileno(), None, left)
            if sent == 0:
                break
            left -= sent
        os.fchmod(write.fileno(), size.st_mode & 0o777 | 0o200)


def _remove_tree(path: str) -> None:
    try:
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            _remove_tree(entry.path)
        else:
            remove(entry.path)
    with suppress(OSError):
        os.rmdir(path)


def _environment(folder: str, job: dict[str, Any], work: str) -> dict[str, str]:
    passed = {*PASSED, *job.get("pass", ())}
    environment = {name: value for name, value in os.environ.items() if name in passed or name.startswith(PASSED_PREFIXES)}
    runtime = {
        "GITHUB_WORKSPACE": work,
        "RUNNER_WORKSPACE": work,
        "RUNNER_TEMP": os.path.join(folder, "temp"),
        **{name: os.path.join(folder, name.lower()) for name in ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")},
        "GITHUB_RUN_ID": str(job.get("run", "0")),
        "GITHUB_RUN_ATTEMPT": str(job.get("attempt", 1)),
    }
    os.makedirs(runtime["RUNNER_TEMP"], exist_ok=True)
    environment.update(runtime)
    environment.update(job["environment"])
    return environment


def _collect(folder: str, job: dict[str, Any], work: str) -> list[str]:
    """Copy the files that the plan expects out of the workspace; their names in ``results``."""
    patterns = job.get("outputs") or []
    if not patterns:
        return []
    target = os.path.join(folder, "results")
    named: list[str] = []
    base = os.path.join(work, job.get("directory") or "")
    for parent, folders, files in os.walk(work):
        folders[:] = [name for name in folders if name != ".git"]
        for name in files:
            path = os.path.join(parent, name)
            below = os.path.relpath(path, base)
            if any(fnmatch.fnmatchcase(below, pattern) or fnmatch.fnmatchcase(name, pattern) for pattern in patterns):
                if job.get("snapshot") and os.path.exists(os.path.join(job["snapshot"], os.path.relpath(path, work))):
                    continue  # it was there before
                kept = below.replace("../", "").replace("/", "__")
                os.makedirs(target, exist_ok=True)
                _copy(path, os.path.join(target, kept))
                named.append(kept)
                if len(named) >= _SHOWN_RESULTS:
                    return sorted(named)
    return sorted(named)
