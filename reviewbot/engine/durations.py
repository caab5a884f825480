"""Times for people."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """``7200`` -> ``2 h``, ``5400`` -> ``1 h 30 min``, ``45`` -> ``45 s``."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    parts = [f"{number} {unit}" for number, unit in ((hours, "h"), (minutes, "min"), (left, "s")) if number]
    return " ".join(parts) or "0 s"
