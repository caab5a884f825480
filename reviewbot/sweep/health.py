"""Whether a server came up: its health address, and its log. Nothing but the standard library, since it runs inside of jobs."""

from __future__ import annotations

import http.client
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PROBE_SECONDS = 2.0
_CHUNK = 1 << 20
_LONGEST_LINE = 4096

FATAL_LINES = (
    r"CUDA out of memory",
    r"\bOutOfMemoryError\b",
    r"\bEngineDeadError\b",
    r"Engine core initialization failed",
    r"\bNCCL error\b|\bncclSystemError\b|\bncclUnhandledCudaError\b",
    r"\bSegmentation fault\b|\bBus error\b",
    r"No space left on device",
    r"[Aa]ddress already in use",
    r"^\s*FATAL\b|\[FATAL\]",
)
"""What a server does not recover from, in the words of the engines and of the system."""


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """``attempts`` probes of ``url``, ``interval`` seconds apart; ``log`` (relative to the workspace, or absolute) is watched for ``fatal``
    lines.

    Without a ``url`` only the log is watched.
    """

    url: str = ""
    interval: float = 10.0
    attempts: int = 180
    log: str = ""
    fatal: tuple[str, ...] = FATAL_LINES


def probe(url: str, timeout: float = PROBE_SECONDS) -> bool:
    """Whether a GET of ``url`` answers with a status below 400."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=timeout)
        try:
            connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers={"Connection": "close"})
            return connection.getresponse().status < 400
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError):
        return False


@dataclass(slots=True)
class LogWatch:
    """Reads what is appended to a file and gives the first line that matches one of ``patterns``."""

    path: str
    patterns: Sequence[str]
    _offset: int = 0
    _rest: bytes = b""
    _compiled: re.Pattern[str] | None = field(default=None)

    def fatal(self) -> str | None:
        """The first fatal line since the last call, cut to a readable length."""
        if self._compiled is None:
            self._compiled = re.compile("|".join(f"(?:{pattern})" for pattern in self.patterns) or r"(?!)")
        try:
            with open(self.path, "rb") as file:
                if file.seek(0, 2) < self._offset:  # truncated: a server that was started anew
                    self._offset, self._rest = 0, b""
                file.seek(self._offset)
                data = file.read(_CHUNK)
        except OSError:
            return None
        self._offset += len(data)
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[-_LONGEST_LINE:]
        for line in lines:
            text = line[:_LONGEST_LINE].decode("utf-8", "replace")
            if self._compiled.search(text):
                return " ".join(text.split())[:300]
        return None


class Watch:
    """One server during one job. ``tick`` is called again and again and says what to stop for, if anything."""

    def __init__(self, check: HealthCheck, now: float | None = None) -> None:
        self.check = check
        self.healthy = not check.url
        self._log = LogWatch(check.log, check.fatal) if check.log else None
        self._line = ""
        self._tried = 0
        self._next = (time.monotonic() if now is None else now) + (0 if check.url else float("inf"))

    def pause(self, now: float) -> float:
        """Seconds until there is something to do."""
        until_probe = max(0.02, self._next - now) if not self.healthy else float("inf")
        return min(until_probe, 1.0 if self._log is not None else float("inf"))

    def fatal(self) -> tuple[str, str] | None:
        """An outcome and its reason, if the log has a fatal line."""
        if self._log is not None and not self._line:
            self._line = self._log.fatal() or ""
        if not self._line:
            return None
        return ("server-failure" if self.healthy and self.check.url else "startup-failure"), f"the server's log says: {self._line}"

    def tick(self, now: float) -> tuple[str, str] | None:
        """An outcome (``startup-failure``, ``startup-timeout``, ``server-failure``) and its reason; ``None``: go on."""
        bad = self.fatal()
        if bad is not None:
            return bad
        if not self.healthy and now >= self._next:
            self._tried += 1
            if probe(self.check.url):
                self.healthy = True
            elif self._tried >= self.check.attempts:
                waited = self.check.interval * self.check.attempts
                return "startup-timeout", f"{self.check.url} did not answer in {self._tried} attempts ({waited:g} s)"
            self._next = now + self.check.interval
        return None
