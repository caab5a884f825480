"""From values with holes to settings: known, one of several, or unknown."""

from __future__ import annotations

from itertools import product

from reviewbot.runs.model import Layer, Setting
from reviewbot.trace.values import HOLE, Holes, is_known

MAX_VALUES = 8
_LEFT, _RIGHT = "\u27e8", "\u27e9"  # angle brackets that no configuration uses


def possible(value: str, holes: Holes, depth: int = 4) -> tuple[tuple[str, ...], bool]:
    """The texts that ``value`` can be, and whether it can be something else as well.

    A hole with choices is replaced by each of them; any other hole makes the value unknown.
    """
    if is_known(value):
        return (value,), False
    if depth == 0:
        return (), True
    pieces: list[tuple[str, ...]] = []
    count = 1
    seen: dict[str, int] = {}
    order: list[int] = []
    for piece in _split(value):
        if HOLE.fullmatch(piece) is None:
            pieces.append((piece,))
            order.append(len(pieces) - 1)
            continue
        if piece in seen:  # the same hole twice is the same text
            order.append(seen[piece])
            continue
        choices = holes.of(piece).choices
        if choices is None:
            return (), True
        texts: list[str] = []
        for choice in choices:
            inner, unknown = possible(choice, holes, depth - 1)
            if unknown:
                return (), True
            texts.extend(text for text in inner if text not in texts)
        count *= len(texts)
        if count > MAX_VALUES:
            return (), True
        pieces.append(tuple(texts))
        seen[piece] = len(pieces) - 1
        order.append(len(pieces) - 1)
    values: list[str] = []
    for combination in product(*pieces):
        text = "".join(combination[index] for index in order)
        if text not in values:
            values.append(text)
    return tuple(values), False


def setting(value: str, holes: Holes, layers: tuple[Layer, ...] = ()) -> Setting:
    """The setting that a value of a trace stands for."""
    values, unknown = possible(value, holes)
    return Setting(values, unknown, layers)


def united(settings: list[Setting | None]) -> Setting | None:
    """What a setting can be over several paths: all values of all of them. A path on which it is not set makes it unknown."""
    present = [one for one in settings if one is not None]
    if not present:
        return None
    first = present[0]
    if all(one == first for one in present) and len(present) == len(settings):
        return first
    values: list[str] = []
    for one in present:
        values.extend(value for value in one.values if value not in values)
    unknown = any(one.unknown for one in present) or len(present) < len(settings) or len(values) > MAX_VALUES
    return Setting(tuple(values[:MAX_VALUES]), unknown, first.layers)


def shown(value: str, holes: Holes) -> str:
    """``value`` for people: holes as ``⟨label⟩``, or as their choices."""
    if is_known(value):
        return value
    return HOLE.sub(lambda match: _label(match.group(), holes), value)


def _label(character: str, holes: Holes) -> str:
    hole = holes.of(character)
    if hole.choices:
        return _LEFT + " | ".join(shown(choice, holes) for choice in hole.choices) + _RIGHT
    return _LEFT + hole.label + _RIGHT


def _split(value: str) -> list[str]:
    pieces: list[str] = []
    start = 0
    for match in HOLE.finditer(value):
        if match.start() > start:
            pieces.append(value[start : match.start()])
        pieces.append(match.group())
        start = match.end()
    if start < len(value):
        pieces.append(value[start:])
    return pieces
