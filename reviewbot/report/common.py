"""What every format needs: the content of a report, and repository text made harmless."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reviewbot.engine.model import Finding, Level
from reviewbot.engine.registry import RuleModule
from reviewbot.trace.values import HOLE


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a check. ``compared`` says that a base or a baseline was given: then only new findings count.

    ``lines`` gives the lines of a file, ``resolve`` the path of a file with links followed.
    """

    findings: tuple[Finding, ...]
    rules: Mapping[str, RuleModule]
    lines: Callable[[str], Sequence[str]]
    resolve: Callable[[str], str] = lambda path: path
    incomplete: bool = False
    ignored: int = 0
    compared: bool = False

    @property
    def new(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.status == "new")


def count_by_level(findings: Sequence[Finding]) -> dict[Level, int]:
    """How many findings there are of each level, the worst first; levels without one included."""
    counter = Counter(finding.level for finding in findings)
    return {level: counter[level] for level in sorted(Level, reverse=True)}


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def summary(report: Report) -> str:
    """One line for people: how many findings of each level, and what was left out."""
    new = report.new
    counts = [counted(number, str(level)) for level, number in count_by_level(new).items() if number]
    text = ", ".join(counts) if counts else "no findings"
    existing = len(report.findings) - len(new)
    extras = [f"{existing} existing"] if existing else []
    if report.ignored:
        extras.append(f"{report.ignored} ignored by comments")
    if report.incomplete:
        extras.append("the check is incomplete")
    return text + (f" ({', '.join(extras)})" if extras else "")


def some_points(points: Sequence[str], most: int = 3) -> str:
    """``2 runs: a, b`` or ``7 runs: a, b, c and 4 more``."""
    shown = ", ".join(visible(point) for point in points[:most])
    rest = f" and {len(points) - most} more" if len(points) > most else ""
    return f"{counted(len(points), 'run')}: {shown}{rest}"


_HARMLESS = re.compile(r"[\x20-\x7e]*\Z")


def visible(text: str) -> str:
    """Text of the repository with nothing in it that acts on a terminal or hides: control, bidi, invisible and lone surrogate characters
    are written as escapes, an unknown piece of a value as ``<?>``."""
    if _HARMLESS.match(text):
        return text
    return "".join(_visible(character) for character in text)


def without_holes(text: str) -> str:
    """A value for machines: every unknown piece is U+FFFD, undecodable bytes are escaped."""
    return HOLE.sub("\ufffd", text).encode("utf-8", "backslashreplace").decode("utf-8")


def _visible(character: str) -> str:
    if HOLE.match(character):
        return "<?>"
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character
