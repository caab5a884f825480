"""Words that messages share."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """``1 worker``, ``2 workers``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(values: Iterable[str], most: int = 4) -> str:
    """``\\`a\\` and \\`b\\```; what exceeds ``most`` is counted."""
    quoted = [f"`{value}`" for value in values]
    if len(quoted) > most:
        quoted[most - 1 :] = [f"{len(quoted) - most + 1} more"]
    return " and ".join(part for part in (", ".join(quoted[:-1]), quoted[-1] if quoted else "") if part)
