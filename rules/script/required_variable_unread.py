"""A script requires a value of the point and does not use it

What
A value of the matrix (`EP_SIZE`, `DP_ATTENTION`, `SPEC_DECODING`, ...) is in `check_env_vars`, and the script reads it nowhere, or in a
message only. Where the sourced library reads it, this is told for scripts that a change touches.

Why
A reader takes the list for what the server follows. A row may then ask for expert parallelism that the script never turns on.

Example
    check_env_vars MODEL TP EP_SIZE
    vllm serve "$MODEL" --tensor-parallel-size "$TP"

Instead
    check_env_vars MODEL TP
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from reviewbot.documents.positions import Span
from reviewbot.engine.commands import required_names
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, facts_of, first_word

RULE = Rule("required-variable-unread", Level.NOTE, frozenset({"documents"}), guess=True)

_OF_THE_POINT = frozenset(
    {
        "TP", "PP_SIZE", "DCP_SIZE", "PCP_SIZE", "EP_SIZE", "DP_ATTENTION", "CONC", "ISL", "OSL", "MAX_MODEL_LEN", "RANDOM_RANGE_RATIO",
        "KV_OFFLOADING", "TOTAL_CPU_DRAM_GB", "DURATION", "SPEC_DECODING", "PRECISION", "FRAMEWORK", "IMAGE", "NUM_PROMPTS",
    }
)  # fmt: skip
_LIBRARY = re.compile(r"(?:\A|[_-])(?:lib|common|utils?)[_.\w-]*\.sh\Z")


def check(context: Context) -> Iterator[Finding]:
    facts = {path: _Script(*fact) for path, fact in context.surveyed(RULE)}
    library = {name for path, one in facts.items() if _LIBRARY.search(posixpath.basename(path)) for name in one.reads}
    for path, one in facts.items():
        if not one.required or is_retired(path):
            continue
        used = set(one.used)
        for folder in _started(path, facts):
            used.update(name for other in facts if posixpath.dirname(other) == folder for name in facts[other].reads)
        for name, span in one.required:
            if name in used or (name in library and path not in (context.changed or ())):
                continue
            how = "reads it in a message only" if name in one.shown else "reads it nowhere"
            yield context.finding(
                RULE,
                f"the script requires `{name}` and {how}" + (", as the library does for its records" if name in library else ""),
                Span(*span),
                path=path,
                help=f"pass `{name}` to what it is for, or take it out of the list",
                structure="check_env_vars",
                subject=name,
            )


@dataclass(frozen=True, slots=True)
class _Script:
    """What a script reads, requires (with places), uses and prints, and the names of scripts that stand in it."""

    reads: list[str]
    required: list[list[Any]]
    used: list[str]
    shown: list[str]
    names: list[str]


def survey(context: Context) -> Iterator[object]:
    """The fields of ``_Script``."""
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        facts = facts_of(script)
        required = [[name, list(word.span)] for name, word in required_names(facts).items() if name in _OF_THE_POINT]
        used, shown = _reads(script.text.split("\n"), facts) if required else (set(), set())
        names = set(re.findall(r"[\w.-]+\.(?:sh|slurm|sbatch)\b", script.text)) if required else set()
        yield [sorted({read.name for read in facts.reads}), required, sorted(used), sorted(shown), sorted(names)]


def _started(path: str, facts: dict[str, _Script]) -> set[str]:
    """The folders of scripts that a script names: what it starts, and what that starts beside itself, sees its variables."""
    names = set(facts[path].names)
    return {
        posixpath.dirname(other)
        for other in facts
        if other != path and posixpath.basename(other) in names and not _LIBRARY.search(posixpath.basename(other))
    }


def _reads(lines: list[str], facts: Facts) -> tuple[set[str], set[str]]:
    """The names that a script uses, and those that it prints: as variables, and as text (a child may read what it is told the name of)."""
    printed = {
        line
        for placed in facts.statements
        if first_word(placed.statement) in ("echo", "printf")
        for line in range(placed.statement.line, placed.statement.end_line + 1)
    }
    listed = {word.line for word in required_names(facts).values()}
    used = {read.name for read in facts.reads if not read.line or read.line not in printed}
    shown = {read.name for read in facts.reads if read.line in printed}
    for number, line in enumerate(lines, 1):
        if number not in printed and number not in listed and not line.lstrip().startswith("#"):
            used.update(set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", line)) & _OF_THE_POINT)
    return used, shown
