"""What was found out before, by a digest of everything it depends on: in memory for this process, and in a file for the next one.

The file is an SQLite database in the user's cache folder. It holds plain bytes, each with a checksum; what does not fit is treated as not
there, a database that cannot be read is thrown away, and one that another process is writing is left alone. Nothing of it is ever run.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import stat
import sys
import time
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

MAX_BYTES = 128 * 1000 * 1000  # of values in the file
_FORMAT = 1
_MANY = 500  # keys a query
_DAY = 86_400
_CHECKSUM = 12  # bytes
_PATIENCE = 2.0  # seconds to wait for a process that writes


def cache_folder() -> Path | None:
    """The folder for the file: ``$REVIEWBOT_CACHE``, or ``reviewbot`` in the user's cache folder; ``None`` where there is no such place."""
    own = os.environ.get("REVIEWBOT_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base) / "reviewbot"
    try:
        return Path.home() / ".cache" / "reviewbot"
    except RuntimeError:
        return None


@cache
def program_digest() -> str:
    """Of this program as it is installed, and of what it runs on: answers of another one are never taken."""
    import tree_sitter
    import yaml

    whole = hashlib.sha256(f"{_FORMAT} {sys.version} {platform.machine()} {yaml.__version__} {tree_sitter.__file__}".encode())
    top = Path(__file__).resolve().parent.parent
    for folder in (top, top / "rules", top / "schemas"):
        for found, folders, files in os.walk(folder, followlinks=False):
            folders[:] = sorted(name for name in folders if name != "__pycache__")
            for name in sorted(files):
                status = os.stat(os.path.join(found, name))
                whole.update(f"{os.path.relpath(os.path.join(found, name), top)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return whole.hexdigest()


def key_of(*pieces: object) -> str:
    """A key for plain values (text, numbers, tuples, mappings in a settled order)."""
    return hashlib.blake2b(repr(pieces).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()


class Kept:
    """Bytes by key. ``folder`` is where the file lies; ``None`` keeps in memory only. Trouble with the file is never an error."""

    def __init__(self, folder: Path | None = None) -> None:
        self._known: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}
        self._path = None if folder is None else folder / "kept.sqlite"
        self._database: Any = None

    def get(self, keys: Iterable[str]) -> dict[str, bytes]:
        """What is known of ``keys``."""
        wanted = list(dict.fromkeys(keys))
        missing = [key for key in wanted if key not in self._known]
        if missing and self._open():
            self._read(missing)
        return {key: self._known[key] for key in wanted if key in self._known}

    def put(self, values: Mapping[str, bytes]) -> None:
        """Keeps ``values``; they are written by ``save``."""
        for key, value in values.items():
            if self._known.get(key) != value:
                self._known[key] = self._new[key] = value

    def save(self) -> None:
        """Writes what is new to the file, where there is one, and keeps it below its size."""
        new, self._new = self._new, {}
        if not new or not self._open(create=True):
            return
        import sqlite3

        now = int(time.time())
        try:
            self._database.execute("BEGIN IMMEDIATE")
            rows = ((key, now, _checksum(key, value) + value) for key, value in new.items())
            self._database.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", rows)
            self._shrink()
            self._database.execute("COMMIT")
        except sqlite3.OperationalError:  # another process writes, or the disk is full
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
        except sqlite3.Error:
            self._throw_away()

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _shrink(self) -> None:
        total = self._database.execute("SELECT COALESCE(SUM(LENGTH(value)), 0) FROM kept").fetchone()[0]
        if total <= MAX_BYTES:
            return
        old = []
        for key, size in self._database.execute("SELECT key, LENGTH(value) FROM kept ORDER BY used, key"):
            old.append((key,))
            total -= size
            if total <= MAX_BYTES * 3 // 4:
                break
        self._database.executemany("DELETE FROM kept WHERE key = ?", old)

    def _read(self, keys: list[str]) -> None:
        import sqlite3

        old = int(time.time()) - _DAY
        stale: list[tuple[int, str]] = []
        try:
            for start in range(0, len(keys), _MANY):
                some = keys[start : start + _MANY]
                marks = ",".join("?" * len(some))
                query = f"SELECT key, used, value FROM kept WHERE key IN ({marks}) AND typeof(value) = 'blob'"
                for key, used, value in self._database.execute(query, some):
                    if isinstance(value, bytes) and value[:_CHECKSUM] == _checksum(key, value[_CHECKSUM:]):
                        self._known[key] = value[_CHECKSUM:]
                        if not isinstance(used, int) or used < old:
                            stale.append((old + _DAY, key))
        except sqlite3.OperationalError:
            return
        except (sqlite3.Error, OverflowError, ValueError):
            self._throw_away()
            return
        if stale:
            with contextlib.suppress(sqlite3.Error):  # they are only thought older than they are
                self._database.execute("BEGIN IMMEDIATE")
                self._database.executemany("UPDATE kept SET used = ? WHERE key = ?", stale)
                self._database.execute("COMMIT")

    def _open(self, create: bool = False) -> bool:
        if self._database is not None:
            return True
        if self._path is None or not (create or self._path.exists()):
            return False
        try:
            import sqlite3
        except ImportError:  # a Python that was built without it
            self._path = None
            return False
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _ours(self._path.parent) or (self._path.exists() and not _ours(self._path)):
                self._path = None
                return False
            database = sqlite3.connect(self._path, timeout=_PATIENCE, isolation_level=None)
        except (OSError, sqlite3.Error):
            self._path = None
            return False
        self._database = database
        try:
            database.execute("PRAGMA trusted_schema = OFF")
            database.execute("PRAGMA synchronous = OFF")
            columns = "key TEXT PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL"
            database.execute(f"CREATE TABLE IF NOT EXISTS kept ({columns}) WITHOUT ROWID")
        except sqlite3.OperationalError:
            self.close()
            self._path = None
            return False
        except sqlite3.Error:
            self._throw_away()
            return False
        return True

    def _throw_away(self) -> None:
        with contextlib.suppress(Exception):
            self.close()
        self._database = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
        self._path = None  # the next process starts a new one


def _checksum(key: str, value: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + value, digest_size=_CHECKSUM).digest()


def _ours(path: Path) -> bool:
    """Whether nobody else could have put it there: ours, and no link to somewhere else."""
    status = path.lstat() if path.name == "kept.sqlite" else path.stat()
    return not stat.S_ISLNK(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())
