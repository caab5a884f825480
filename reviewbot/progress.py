"""What is being done, on stderr, where somebody waits at a terminal."""

from __future__ import annotations

import sys
import time
from typing import TextIO

PATIENCE = 2.0  # seconds before anything is shown
INTERVAL = 0.1  # seconds between two updates


class Progress:
    """Called with what is being done, how far, of how many (0: unknown); silent for two seconds and where stderr is no terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._on = self._stream.isatty()
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        if not self._on or (now := time.monotonic()) < self._next:
            return
        self._next = now + INTERVAL
        self._shown = True
        count = f" {done}/{total}" if total else ""
        self._stream.write(f"\r\x1b[K{what[:100]}{count}")
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = False
