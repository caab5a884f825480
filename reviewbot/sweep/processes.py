"""Processes of this machine, told apart from later ones with the same number. Nothing but the standard library."""

from __future__ import annotations

import os


def born(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine started; ``None`` where there is none (or only its remains)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(fields) < 20 or fields[0] in (b"Z", b"X"):
        return None
    return int(fields[19])


def alive(pid: int, since: int | None) -> bool:
    """Whether the process that began at ``since`` still runs; without ``since`` any process of that number."""
    found = born(pid)
    return found is not None and (since is None or found == since)


def children(pid: int) -> list[int]:
    """The direct children of a process, of all its threads."""
    found: list[int] = []
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                found.extend(int(word) for word in file.read().split())
        except (OSError, ValueError):
            continue
    return found
