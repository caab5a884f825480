"""A recipe as a point: ``srtctl apply --json``, then the job that it names, followed to its end. Runs inside of a job, with the standard
library alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reviewbot.sweep.durable import read_json

POLL = 2.0  # seconds
_QUIET = 600.0  # seconds without any word about the job before it counts as lost
_GOOD = frozenset({"completed", "succeeded", "success", "done", "finished"})
_BAD = frozenset({"failed", "error", "cancelled", "canceled", "timeout", "timed_out", "aborted"})
_ENDED = frozenset(
    {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "REVOKED"}
)
_MAX_RESULT = 64 * 1024 * 1024


def main(words: Sequence[str], poll: float = POLL) -> int:
    """``WORK -- srtctl apply ... --json``: 0 where the job completed. Its JSON files are copied to ``WORK/srt-results``."""
    work, command = words[0], list(words[2:])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL, check=False)
    sys.stdout.write(done.stdout)
    sys.stdout.flush()
    submission = submission_of(done.stdout)
    if done.returncode != 0 or submission is None:
        print(f"srtctl ended with {done.returncode}" + ("" if submission else " and named no job"), flush=True)
        return done.returncode or 1
    folder = str(submission.get("output_dir") or "")
    try:
        rc = follow(str(submission["slurm_job_id"]), folder, poll)
    except BaseException:
        cancel(str(submission["slurm_job_id"]))
        raise
    collect(folder, os.path.join(work, "srt-results"))
    return rc


def submission_of(text: str) -> dict[str, Any] | None:
    """The last line of the output that is a JSON object which names a job."""
    for line in reversed(text.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and "slurm_job_id" in found:
            return found
    return None


def follow(job: str, folder: str, poll: float = POLL) -> int:
    """Wait for a job: its own status files have the last word, then the scheduler."""
    heard = time.monotonic()
    shown = ""
    while True:
        result = read_json(os.path.join(folder, "result.json"))
        if result is not None and ("exit_code" in result or str(result.get("status", "")).lower() in _GOOD | _BAD):
            code = result.get("exit_code")
            return code if isinstance(code, int) else 0 if str(result.get("status")).lower() in _GOOD else 1
        status = read_json(os.path.join(folder, "status.json")) or {}
        word = str(status.get("status", "")).lower()
        if word and word != shown:
            print(f"job {job}: {word} {status.get('message', '')}".rstrip(), flush=True)
            shown, heard = word, time.monotonic()
        if word in _BAD:
            return 1
        state, rc = scheduler_state(job)
        if state:
            heard = time.monotonic()
        if state in _ENDED:
            print(f"job {job}: {state}", flush=True)
            return rc if state in ("COMPLETED", "FAILED") and rc is not None else 1
        if word in _GOOD and not state:
            return 0
        if time.monotonic() - heard > _QUIET:
            print(f"job {job}: nothing is known of it any more", flush=True)
            return 1
        time.sleep(poll)


def scheduler_state(job: str) -> tuple[str, int | None]:
    """State and exit status of a job as ``scontrol`` knows it; empty where it does not answer."""
    if not job.isdigit():
        return "", None
    try:
        done = subprocess.run(
            ["scontrol", "show", "job", "-o", job], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return "", None
    state = re.search(r"\bJobState=(\w+)", done.stdout)
    code = re.search(r"\bExitCode=(\d+):(\d+)", done.stdout)
    return (state[1] if state else ""), ((int(code[1]) or (128 + int(code[2]) if int(code[2]) else 0)) if code else None)


def cancel(job: str) -> None:
    with suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(["scancel", job], capture_output=True, timeout=60, stdin=subprocess.DEVNULL, check=False)


def collect(folder: str, target: str) -> None:
    """Copy every JSON file below ``folder``, its path in its name."""
    for parent, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(parent, name)
            if name.endswith(".json") and os.path.isfile(path) and os.path.getsize(path) <= _MAX_RESULT:
                os.makedirs(target, exist_ok=True)
                with open(path, "rb") as read, open(os.path.join(target, os.path.relpath(path, folder).replace("/", "__")), "wb") as write:
                    write.write(read.read())
