"""What stops a sweep command."""

from __future__ import annotations


class SweepError(Exception):
    """One clear line for the user. ``status`` is the exit status: 2 for what was asked wrongly, 3 for what could not be done."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status
