"""Files that are whole or not there: written aside, made durable, then renamed. Nothing but the standard library."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any


def write_atomically(path: str, text: str) -> None:
    """Put ``text`` at ``path`` so that a reader, or a machine that stops at any instant, sees all of it or what was there before."""
    aside = f"{path}.{os.getpid()}.tmp"
    try:
        with open(aside, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError:
        remove(aside)
        raise
    sync_folder(os.path.dirname(path))


def create_once(path: str, text: str) -> bool:
    """Create ``path`` with ``text``, whole, unless it exists. Says whether this call made it: of several callers, one."""
    aside = f"{path}.{os.getpid()}.{os.urandom(4).hex()}.tmp"
    try:
        with open(aside, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(aside, path)  # atomic on network file systems too, where O_EXCL is not everywhere
        except FileExistsError:
            return False
    finally:
        remove(aside)
    sync_folder(os.path.dirname(path))
    return True


def read_json(path: str) -> dict[str, Any] | None:
    """The object in a file; ``None`` where there is no file, or no object in it."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def sync_folder(path: str) -> None:
    """Make the names in a folder durable, where the file system can."""
    try:
        descriptor = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
