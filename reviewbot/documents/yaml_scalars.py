"""What a plain YAML scalar means: to PyYAML's ``SafeLoader`` (YAML 1.1), and in the core schema of YAML 1.2 (GitHub's workflows)."""

from __future__ import annotations

import datetime
import math
import re

from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

_PREFIX = "tag:yaml.org,2002:"
STR, NULL, BOOL, INT, FLOAT = (_PREFIX + name for name in ("str", "null", "bool", "int", "float"))
TIMESTAMP, MERGE, VALUE, BINARY = (_PREFIX + name for name in ("timestamp", "merge", "value", "binary"))

_MAX_DIGITS = 4300  # Python's own limit for a decimal integer; longer numbers are refused in every notation
_IMPLICIT = Resolver.yaml_implicit_resolvers
_ANY = _IMPLICIT.get(None, [])
_BOOLS = SafeConstructor.bool_values
_TIMESTAMP = SafeConstructor.timestamp_regexp

_CORE_NULL = {"", "~", "null", "Null", "NULL"}
_CORE_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_CORE_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_CORE_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


class BadScalar(Exception):
    """The loader would fail on this scalar; the message is for people."""


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."


def resolve_pyyaml(text: str) -> tuple[str, object]:
    """Tag and value of a plain scalar, as ``yaml.safe_load`` gives them; a date stays text. Raises ``BadScalar``."""
    for tag, pattern in _IMPLICIT.get(text[:1], ()) if not _ANY else [*_IMPLICIT.get(text[:1], ()), *_ANY]:
        if pattern.match(text):
            return tag, construct(tag, text)
    return STR, text


def resolve_core(text: str) -> tuple[str, object]:
    """Tag and value of a plain scalar in the core schema of YAML 1.2. Raises ``BadScalar``."""
    if text in _CORE_NULL:
        return NULL, None
    if text in _CORE_BOOL:
        return BOOL, _CORE_BOOL[text]
    if not (text[0].isdigit() or text[0] in "+-."):
        return STR, text
    if _CORE_INT.fullmatch(text):
        _check_length(text)
        return INT, int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    if _CORE_FLOAT.fullmatch(text):
        lower = text.lower()
        if lower.endswith("inf"):
            return FLOAT, -math.inf if lower.startswith("-") else math.inf
        return FLOAT, math.nan if lower == ".nan" else float(text)
    return STR, text


def construct(tag: str, text: str) -> object:
    """The value of a scalar of a known tag, as PyYAML's ``SafeConstructor`` makes it; a date stays text. Raises ``BadScalar``."""
    if tag == NULL:
        return None
    if tag == BOOL:
        try:
            return _BOOLS[text.lower()]
        except KeyError as error:
            raise BadScalar(f"{_short(text)!r} is not a boolean") from error
    if tag == INT:
        return _int(text)
    if tag == FLOAT:
        return _float(text)
    if tag == TIMESTAMP:
        _check_timestamp(text)
    return text


def _check_length(text: str) -> None:
    if len(text) > _MAX_DIGITS:
        raise BadScalar(f"a number of {len(text)} characters cannot be loaded")


def _int(text: str) -> int:
    _check_length(text)
    value = text.replace("_", "")
    sign = -1 if value[:1] == "-" else 1
    if value[:1] in ("+", "-"):
        value = value[1:]
    try:
        if value == "0":
            return 0
        if value.startswith(("0b", "0x")):
            return sign * int(value, 0)
        if value[0] == "0":
            return sign * int(value, 8)
        if ":" in value:
            total = 0
            for part in value.split(":"):
                total = total * 60 + int(part)
            return sign * total
        return sign * int(value)
    except (ValueError, IndexError) as error:
        raise BadScalar(f"{_short(text)!r} is read as an integer, and is none") from error


def _float(text: str) -> float:
    _check_length(text)
    value = text.replace("_", "").lower()
    sign = -1.0 if value[:1] == "-" else 1.0
    if value[:1] in ("+", "-"):
        value = value[1:]
    try:
        if value == ".inf":
            return sign * math.inf
        if value == ".nan":
            return math.nan
        if ":" in value:
            # As PyYAML does it, so that roundings agree.
            digits = [float(part) for part in value.split(":")]
            digits.reverse()
            base, total = 1, 0.0
            for digit in digits:
                total += digit * base
                base *= 60
            return sign * total
        return sign * float(value)
    except (ValueError, IndexError, OverflowError) as error:
        raise BadScalar(f"{_short(text)!r} is read as a number, and is none") from error


def _check_timestamp(text: str) -> None:
    match = _TIMESTAMP.match(text)
    if match is None:
        raise BadScalar(f"{_short(text)!r} is not a date")
    values = match.groupdict()
    try:
        if not values["hour"]:
            datetime.date(int(values["year"]), int(values["month"]), int(values["day"]))
            return
        if values["tz_sign"]:
            datetime.timezone(datetime.timedelta(hours=int(values["tz_hour"]), minutes=int(values["tz_minute"] or 0)))
        year, month, day, hour, minute, second = (int(values[name]) for name in ("year", "month", "day", "hour", "minute", "second"))
        datetime.datetime(year, month, day, hour, minute, second)
    except ValueError as error:
        raise BadScalar(f"{_short(text)!r} is read as a date, and is none ({error}); put it in quotes") from error
