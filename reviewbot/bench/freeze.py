"""JSON-like values as something that can be compared and hashed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any


def freeze(value: Any) -> Hashable:
    """A hashable stand-in: equal for equal values of equal type (``True`` is not 1), whatever the order of keys."""
    if isinstance(value, dict):
        return frozenset((str(key), freeze(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    if isinstance(value, (bool, float)):
        return (type(value).__name__, value)
    hashable: Hashable = value
    return hashable
