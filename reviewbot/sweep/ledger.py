"""The ledger: what has become of every point of a plan. SQLite in WAL mode; every transition is durable before anything follows from it.

States: ``pending`` -> ``submitting`` -> ``queued`` -> ``running`` -> ``done`` | ``failed`` | ``cancelled``; a point whose receipt does not
hold goes from ``submitting`` to ``refused``. A runner owns the points it took; it may lose them only when it is dead, or silent for
``LEASE`` seconds, and every change of a point names the owner that makes it. An attempt executes at most once whatever the ledger says,
because its job has to make the attempt's ``claim`` file first (see ``job``).
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.sweep import processes
from reviewbot.sweep.errors import SweepError

VERSION = 1
LEASE = 60.0  # seconds without a sign of life after which another machine's runner counts as dead

STATES = ("pending", "submitting", "queued", "running", "done", "failed", "cancelled", "refused")
ACTIVE = ("submitting", "queued", "running")
ENDED = ("done", "failed", "cancelled", "refused")

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE point (
  id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, receipt TEXT NOT NULL, gpus INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'pending',
  attempt INTEGER NOT NULL DEFAULT 0, lost INTEGER NOT NULL DEFAULT 0, owner TEXT, executor TEXT, submission TEXT, place INTEGER, job TEXT,
  devices TEXT, outcome TEXT, reason TEXT, rc INTEGER, taken REAL, started REAL, ended REAL, cancel INTEGER NOT NULL DEFAULT 0, results TEXT
  ); CREATE INDEX point_state ON point (state, id); CREATE TABLE event ( id INTEGER PRIMARY KEY, point INTEGER NOT NULL, attempt INTEGER NOT
  NULL, at REAL NOT NULL, state TEXT NOT NULL, owner TEXT, note TEXT ); CREATE INDEX event_point ON event (point); CREATE TABLE runner
  (owner TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, born INTEGER, beat REAL NOT NULL) WITHOUT ROWID; CREATE TABLE tally
  (state TEXT PRIMARY KEY, n INTEGER NOT NULL, seconds REAL NOT NULL) WITHOUT ROWID; CREATE TRIGGER point_moves AFTER UPDATE OF state ON
  point WHEN old.state <> new.state BEGIN UPDATE tally SET n = n - 1 WHERE state = old.state; UPDATE tally SET n = n + 1, seconds = seconds
  + max(0, coalesce(new.ended - new.started, 0)) WHERE state = new.state; INSERT INTO event (point, attempt, at, state, owner, note) VALUES
  (new.id, new.attempt, (julianday('now') - 2440587.5) * 86400.0, new.state, new.owner, new.reason); END;
"""
_COLUMNS = (
    "id, key, receipt, gpus, state, attempt, lost, owner, executor, submission, place, job, devices, "
    "outcome, reason, rc, taken, started, ended, cancel, results"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A point in the ledger. ``place`` is its index in its submission, ``job`` the scheduler's name for it, ``devices`` the GPUs of a local
    job; ``lost`` counts attempts that ended without a last word. Times are seconds since 1970."""

    id: int
    key: str
    receipt: str
    gpus: int
    state: str
    attempt: int
    lost: int
    owner: str | None
    executor: str | None
    submission: str | None
    place: int | None
    job: str | None
    devices: str | None
    outcome: str | None
    reason: str | None
    rc: int | None
    taken: float | None
    started: float | None
    ended: float | None
    cancel: int
    results: str | None

    @property
    def result_rows(self) -> list[dict[str, Any]]:
        return list(json.loads(self.results)) if self.results else []


@dataclass(frozen=True, slots=True)
class Status:
    """How far a sweep is: points a state, and seconds that ended points of each state took together."""

    counts: dict[str, int]
    seconds: dict[str, float]

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def left(self) -> int:
        return self.total - sum(self.counts.get(state, 0) for state in ENDED)


class Ledger:
    """An open ledger. Raises ``SweepError`` for a file that is none, or is of another plan."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._db = connection

    @classmethod
    def create(cls, path: Path, plan_id: str, points: Iterable[tuple[str, str, int]]) -> Ledger:
        """A new ledger with ``points`` (key, receipt digest, GPUs), whole or not there at all."""
        aside = path.with_name(f"{path.name}.{os.getpid()}.new")
        for leftover in _files(aside):
            leftover.unlink(missing_ok=True)
        try:
            database = _connect(aside)
            database.execute("PRAGMA journal_mode = MEMORY")  # nobody sees this file until it is complete
            database.executescript(_SCHEMA)
            with _transaction(database):
                database.executemany(
                    "INSERT INTO meta VALUES (?, ?)", [("version", str(VERSION)), ("plan", plan_id), ("made", str(time.time()))]
                )
                database.executemany("INSERT INTO point (key, receipt, gpus) VALUES (?, ?, ?)", points)
                count = database.execute("SELECT count(*) FROM point").fetchone()[0]
                rows = [(state, count if state == "pending" else 0, 0.0) for state in STATES]
                database.executemany("INSERT INTO tally VALUES (?, ?, ?)", rows)
            database.execute("PRAGMA journal_mode = WAL")
            database.close()
            try:
                os.link(aside, path)
            except FileExistsError:
                raise SweepError(f"{path}: there is a ledger of this plan already: --resume goes on with it") from None
        except sqlite3.Error as error:
            raise SweepError(f"{path}: the ledger cannot be made: {error}", 3) from None
        except OSError as error:
            raise SweepError(f"{path}: the ledger cannot be made: {error.strerror}", 3) from None
        finally:
            for leftover in _files(aside):
                leftover.unlink(missing_ok=True)
        return cls.open(path, plan_id)

    @classmethod
    def open(cls, path: Path, plan_id: str | None = None) -> Ledger:
        """The ledger at ``path``, which must be of ``plan_id`` where that is given."""
        if not path.exists():
            raise SweepError(f"{path}: there is no ledger: sweep run makes it")
        try:
            database = _connect(path)
            found = dict(database.execute("SELECT name, value FROM meta"))
        except sqlite3.Error as error:
            raise SweepError(f"{path}: not a ledger ({error})", 3) from None
        if found.get("version") != str(VERSION):
            raise SweepError(f"{path}: a ledger of version {found.get('version')}; this program knows {VERSION}")
        if plan_id is not None and found.get("plan") != plan_id:
            raise SweepError(f"{path}: the ledger is of another plan ({found.get('plan', '?')[:12]}, not {plan_id[:12]})")
        return cls(path, database)

    def close(self) -> None:
        self._db.close()

    # --- runners ---------------------------------------------------------------------------------------------------

    def register(self) -> str:
        """Make this process a runner, and give its name."""
        pid, host = os.getpid(), os.uname().nodename
        owner = f"{host}:{pid}:{os.urandom(4).hex()}"
        with self._writing():
            self._db.execute("INSERT INTO runner VALUES (?, ?, ?, ?, ?)", (owner, host, pid, processes.born(pid), time.time()))
        return owner

    def beat(self, owner: str) -> None:
        """A sign of life."""
        with self._writing():
            self._db.execute("UPDATE runner SET beat = ? WHERE owner = ?", (time.time(), owner))

    def leave(self, owner: str) -> None:
        with self._writing():
            self._db.execute("DELETE FROM runner WHERE owner = ?", (owner,))

    def runners(self) -> list[tuple[str, bool]]:
        """All runners and whether each lives."""
        host, now = os.uname().nodename, time.time()
        rows = self._db.execute("SELECT owner, host, pid, born, beat FROM runner").fetchall()
        return [(owner, processes.alive(pid, born) if where == host else now - beat < LEASE) for owner, where, pid, born, beat in rows]

    def adopt(self, owner: str) -> list[Row]:
        """Take over the active points of runners that are dead, and give them."""
        with self._writing():
            living = [name for name, lives in self.runners() if lives]
            marks = ", ".join("?" * len(living))
            condition = f"state IN {_in(ACTIVE)} AND (owner IS NULL OR owner NOT IN ({marks}))"
            rows = self._rows(f"WHERE {condition} ORDER BY id", living)
            self._db.execute(f"UPDATE point SET owner = ? WHERE {condition}", [owner, *living])
            dead = [(name,) for name, lives in self.runners() if not lives]
            self._db.executemany("DELETE FROM runner WHERE owner = ?", dead)
        return rows

    # --- points ----------------------------------------------------------------------------------------------------

    def take(self, owner: str, executor: str, submission: str, most: int, gpus: int | None = None) -> list[Row]:
        """Take up to ``most`` pending points for one submission: from here on they are this runner's. ``gpus``: no more than that
        together."""
        with self._writing():
            rows = self._rows("WHERE state = 'pending' ORDER BY id LIMIT ?", [most])
            chosen: list[Row] = []
            for row in rows:
                if gpus is not None:
                    if row.gpus > gpus:
                        break  # in order: a large point is not overtaken for ever
                    gpus -= row.gpus
                chosen.append(row)
            now = time.time()
            self._db.executemany(
                "UPDATE point SET state = 'submitting', attempt = attempt + 1, owner = ?, executor = ?, submission = ?, place = ?, "
                "job = NULL, devices = NULL, outcome = NULL, reason = NULL, rc = NULL, taken = ?, "
                "started = NULL, ended = NULL, results = NULL WHERE id = ?",
                [(owner, executor, submission, place, now, row.id) for place, row in enumerate(chosen)],
            )
            return self._rows(f"WHERE id IN ({', '.join('?' * len(chosen))}) ORDER BY id", [row.id for row in chosen])

    def change(self, owner: str, changes: Sequence[tuple[int, dict[str, Any]]]) -> int:
        """Change points that ``owner`` owns (id, columns); all or none durable. Gives how many were still its own."""
        changed = 0
        with self._writing():
            for identity, columns in changes:
                names = list(columns)
                assignments = ", ".join(f"{name} = ?" for name in names)
                cursor = self._db.execute(
                    f"UPDATE point SET {assignments} WHERE id = ? AND owner = ? AND state IN {_in(ACTIVE)}",
                    [*(columns[name] for name in names), identity, owner],
                )
                changed += cursor.rowcount
        return changed

    def owned(self, owner: str) -> list[Row]:
        """The active points of a runner."""
        return self._rows(f"WHERE state IN {_in(ACTIVE)} AND owner = ? ORDER BY id", [owner])

    def cancel(self, keys: Sequence[str] | None = None) -> tuple[int, list[Row]]:
        """Cancel points, all without ``keys``: pending ones at once; gives how many, and the active ones, now marked."""
        condition, given = ("", []) if keys is None else (f" AND key IN ({', '.join('?' * len(keys))})", list(keys))
        with self._writing():
            cursor = self._db.execute(
                "UPDATE point SET state = 'cancelled', outcome = 'cancelled', reason = 'cancelled before it started', ended = ? "
                f"WHERE state = 'pending'{condition}",
                [time.time(), *given],
            )
            self._db.execute(f"UPDATE point SET cancel = 1 WHERE state IN {_in(ACTIVE)}{condition}", given)
            return cursor.rowcount, self._rows(f"WHERE state IN {_in(ACTIVE)}{condition} ORDER BY id", given)

    def retry(self, states: Sequence[str], keys: Sequence[str] | None = None) -> int:
        """Make ended points of ``states`` pending again. Gives how many."""
        condition, given = ("", []) if keys is None else (f" AND key IN ({', '.join('?' * len(keys))})", list(keys))
        with self._writing():
            cursor = self._db.execute(
                "UPDATE point SET state = 'pending', owner = NULL, cancel = 0, lost = 0, reason = NULL "
                f"WHERE state IN {_in(states)}{condition}",
                given,
            )
            return cursor.rowcount

    # --- reading ---------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        rows = self._db.execute("SELECT state, n, seconds FROM tally").fetchall()
        return Status({state: n for state, n, _ in rows}, {state: seconds for state, _, seconds in rows})

    def points(self, states: Sequence[str] = STATES, most: int = -1) -> list[Row]:
        """Points of the given states, by state in the order of a sweep, then in the order of the plan."""
        found: list[Row] = []
        for state in states:
            if most >= 0 and len(found) >= most:
                break
            found.extend(self._rows("WHERE state = ? ORDER BY id LIMIT ?", [state, most - len(found) if most >= 0 else -1]))
        return found

    def each(self) -> Iterator[Row]:
        """All points in the order of the plan, a few at a time."""
        for values in self._db.execute(f"SELECT {_COLUMNS} FROM point ORDER BY id"):
            yield Row(*values)

    def point(self, key: str) -> Row | None:
        rows = self._rows("WHERE key = ?", [key])
        return rows[0] if rows else None

    def known(self, keys: Iterable[str]) -> list[str]:
        """Those of ``keys`` that are no point of this ledger."""
        return [key for key in keys if self._db.execute("SELECT 1 FROM point WHERE key = ?", (key,)).fetchone() is None]

    def events(self, identity: int) -> list[tuple[float, int, str, str | None]]:
        """What happened to a point: time, attempt, state, note."""
        found = self._db.execute("SELECT at, attempt, state, note FROM event WHERE point = ? ORDER BY id", (identity,)).fetchall()
        return [(at, attempt, state, note) for at, attempt, state, note in found]

    def _rows(self, rest: str, given: Sequence[Any] = ()) -> list[Row]:
        return [Row(*values) for values in self._db.execute(f"SELECT {_COLUMNS} FROM point {rest}", given)]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with _transaction(self._db):
                yield
        except sqlite3.OperationalError as error:
            raise SweepError(f"{self.path}: the ledger cannot be written: {error}", 3) from None


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA synchronous = FULL")
    database.execute("PRAGMA busy_timeout = 30000")
    return database


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.rollback()
        raise
    database.commit()


def _files(path: Path) -> list[Path]:
    return [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal"))]


def _in(states: Sequence[str]) -> str:
    return "(" + ", ".join(f"'{state}'" for state in states if state in STATES) + ")"
