"""A load generator gets a number where the point has a variable

What
The concurrency, the lengths or the number of prompts of a load generator are written as numbers, in a script that is run for points that
differ in them.

Why
Every point of the sweep then measures the same load, and each is published under the concurrency of its row.

Example
    check_env_vars CONC ISL OSL
    run_benchmark_serving --max-concurrency 512 --num-prompts $((CONC * 10))

Instead
    run_benchmark_serving --max-concurrency "$CONC" --num-prompts $((CONC * 10))

Fix
The variable in the number's place (unsafe).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Simple
from reviewbot.engine.commands import program_of, required_names
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import Facts, facts_of

RULE = Rule("fixed-load", Level.ERROR, frozenset({"documents"}), scope="document")

# Flag of a load generator: the variables of a point that it must follow, by preference, and what to write.
_VARIABLES = {
    "max-concurrency": (("CONC", "CONCURRENCY"), '"${name}"'),
    "concurrency": (("CONC", "CONCURRENCY"), '"${name}"'),
    "input-len": (("ISL",), '"${name}"'),
    "random-input-len": (("ISL",), '"${name}"'),
    "output-len": (("OSL",), '"${name}"'),
    "random-output-len": (("OSL",), '"${name}"'),
    "num-prompts": (("CONC", "CONCURRENCY"), '"$(({name} * 10))"'),
    "random-range-ratio": (("RANDOM_RANGE_RATIO",), '"${name}"'),
}
_CLIENTS = frozenset({"run_benchmark_serving", "benchmark_serving.py", "vllm bench serve", "sglang.bench_serving", "vllm.benchmarks.serve"})


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        given = _from_outside(facts)
        for placed in facts.statements if given else ():
            command = placed.statement
            program = program_of(command)
            if isinstance(command, Simple) and program is not None and program.name in _CLIENTS and not _warms_up(command):
                yield from _fixed(context, path, program.name, command, given)


def _warms_up(command: Simple) -> bool:
    return any("warm" in word.text.lower() for word in command.words)


def _fixed(context: Context, path: str, program: str, command: Simple, given: dict[str, int]) -> Iterator[Finding]:
    for index, word in enumerate(command.words):
        flag, equals, value = word.text.partition("=")
        at = word if equals else command.words[index + 1] if index + 1 < len(command.words) else None
        if at is None or not flag.startswith("--") or flag[2:].replace("_", "-") not in _VARIABLES:
            continue
        number = (value if equals else at.text).strip("\"'")
        names, form = _VARIABLES[flag[2:].replace("_", "-")]
        name = next((one for one in names if one in given), None)
        if name is None or not re.fullmatch(r"\d+(?:\.\d+)?", number):
            continue
        text = form.replace("{name}", name)
        span = at.span
        yield context.finding(
            RULE,
            f"`{flag}` of `{program}` is {number} whatever the point's `{name}` is",
            span,
            path=path,
            help=f"write `{flag} {text}`",
            related=[(Site(path, given[name]), f"the script asks for `{name}`")],
            fix=Fix(
                f"write {text}",
                (Replacement(path, span.line, span.column, span.end_line, span.end_column, f"{flag}={text}" if equals else text),),
                safe=False,
            ),
            structure=program,
            subject=f"{flag} {number}",
            level=Level.NOTE if is_retired(path) else None,
        )


def _from_outside(facts: Facts) -> dict[str, int]:
    """What the script is given: it requires it, or reads it and never sets it; with the line that says so."""
    own = {one.name for one in facts.assigned}
    read = {one.name: one.line for one in reversed(facts.reads) if one.name not in own and one.line}
    return {**read, **{name: word.line for name, word in required_names(facts).items()}}
