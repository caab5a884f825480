"""A launcher ends well where the benchmark failed

What
A launcher runs the benchmark, does not look at its status, and goes on with commands whose own status becomes that of the launcher. Nothing
stops it either: there is no `set -e` and no trap.

Why
The workflow sees a step that went well. Whether anything was measured shows only where the results are looked for.

Example
    srun --jobid="$JOB_ID" bash benchmarks/run.sh
    scancel "$JOB_ID"

Instead
    srun --jobid="$JOB_ID" bash benchmarks/run.sh
    status=$?
    scancel "$JOB_ID"
    exit "$status"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Group, If, Simple, Statement
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Placed, facts_of, first_word, stops_at_failure, text_of

RULE = Rule("swallowed-status", Level.WARNING, frozenset({"documents"}), scope="document")

_BENCHMARK = re.compile(r"\bbenchmarks/|BENCH_?\w*SCRIPT|BENCHMARK_\w*")
_LOOKS = re.compile(r"\$\?|PIPESTATUS|\bwait\b")
_STRICT = re.compile(r"#!\S+(?:[ \t]+\w+)*[ \t]+-\w*e")
_CLEANUP = frozenset({"scancel", "rm", "rmdir", "echo", "printf", "docker", "sleep", "set", "true", "cd", "unset"})


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("launcher"):
        script = context.documents.shell(path)
        facts = facts_of(script)
        trapped = any(first_word(placed.statement) == "trap" for placed in facts.statements)
        if trapped or stops_at_failure(facts) or _STRICT.match(script.text):
            continue
        for placed in facts.statements:
            statement = placed.statement
            if first_word(statement) not in ("srun", "docker") or not _BENCHMARK.search(text_of(script, statement)):
                continue
            after = _after(script.body, placed)
            if not after or not isinstance(after[-1], Simple) or first_word(after[-1]) not in _CLEANUP:
                continue
            if any(_LOOKS.search(text_of(script, one)) for one in after) or not all(first_word(one) in _CLEANUP for one in after):
                continue
            yield context.finding(
                RULE,
                f"nobody looks at the status of this: line {after[-1].line} is the last command, and its status is that of the launcher",
                Site(path, statement.line),
                help="keep `$?` in a variable and end with `exit`, or start with `set -e` and clean up in a trap",
                related=[(Site(path, after[-1].line), "the last command")],
                structure=first_word(statement),
                subject=first_word(after[-1]),
            )


def _after(body: tuple[Statement, ...], placed: Placed) -> list[Statement]:
    """The commands that run behind a statement to the end of the script; none where it stands in anything but plain `if` and groups."""
    if not all(isinstance(outer, (If, Group)) for outer in placed.around):
        return []
    found: list[Statement] = []
    inner = placed.statement
    for outer in reversed(placed.around):
        bodies = [outer.body] if isinstance(outer, Group) else [body for _, body in outer.arms] if isinstance(outer, If) else []
        bodies += [outer.otherwise or ()] if isinstance(outer, If) else []
        block = next((body for body in bodies if inner in body), None)
        if block is None:
            return []  # in a condition
        found += block[block.index(inner) + 1 :]
        inner = outer
    return [*found, *body[body.index(inner) + 1 :]] if inner in body else []
