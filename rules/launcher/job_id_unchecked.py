"""A job id is used that may be empty

What
A launcher takes the id of its job out of the output of `squeue`, `salloc`, `sbatch` or `srtctl`, and uses it without asking whether there
is one.

Why
Where the allocation failed the id is empty. `srun --jobid= ...` and `squeue -j ""` then fail with an error that tells nothing, or act on
another job.

Example
    JOB_ID=$(squeue --name="$RUNNER_NAME" -h -o %A | head -n1)
    srun --jobid="$JOB_ID" bash benchmarks/run.sh

Instead
    JOB_ID=$(squeue --name="$RUNNER_NAME" -h -o %A | head -n1)
    if [[ -z "$JOB_ID" ]]; then
        echo "Error: no allocation for $RUNNER_NAME" >&2
        exit 1
    fi
    srun --jobid="$JOB_ID" bash benchmarks/run.sh
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Assignment, Declaration, Pipeline, Script, Simple, Statement, Substitution, TestCommand, Word
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Facts, Placed, exclusive, facts_of, first_word, stops_at_failure, text_of, words

RULE = Rule("job-id-unchecked", Level.WARNING, frozenset({"documents"}), scope="document")

_ID = re.compile(r"(?:\w*_)?job_?id\Z", re.IGNORECASE)
_SOURCE = re.compile(r"\b(?:squeue|salloc|sbatch|srtctl)\b|\bJob\b|SRTCTL_OUTPUT")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        facts = facts_of(script)
        strict = stops_at_failure(facts)
        for placed in facts.statements:
            for one in _assignments(placed.statement):
                body = _body(one.value)
                if not _ID.match(one.name) or body is None or not _SOURCE.search(one.value.text if one.value else ""):
                    continue
                if strict and _fails_when_empty(body):
                    continue
                used = _first_use(facts, placed, one)
                if used is None or _tested(script, facts, placed, one.name):
                    continue
                yield context.finding(
                    RULE,
                    f"`{one.name}` is empty where there is no job, and line {used} uses it all the same",
                    Site(path, one.line),
                    help=f'end with a message where `[[ -z "${one.name}" ]]`',
                    related=[(Site(path, used), "used here")],
                    structure=one.name,
                    subject=one.name,
                )


def _assignments(statement: Statement) -> Iterator[Assignment]:
    if isinstance(statement, Simple) and not statement.words:
        yield from statement.assignments
    elif isinstance(statement, Declaration):
        yield from (item for item in statement.items if isinstance(item, Assignment))


def _body(value: Word | None) -> tuple[Statement, ...] | None:
    parts = [part for part in value.parts if isinstance(part, Substitution)] if value is not None else []
    return parts[0].body if len(parts) == 1 else None


def _fails_when_empty(body: tuple[Statement, ...]) -> bool:
    """Whether the command that gives the id has a status that tells that it found none: `grep` as the last one."""
    last = body[-1] if body else None
    while isinstance(last, Pipeline):
        last = last.parts[-1]
    return last is not None and (not isinstance(last, Simple) or first_word(last) == "grep")


def _first_use(facts: Facts, placed: Placed, one: Assignment) -> int | None:
    lines = [read.line for read in facts.reads if read.name == one.name and read.line > placed.statement.end_line]
    return min(lines, default=None)


def _tested(script: Script, facts: Facts, placed: Placed, name: str) -> bool:
    asked = re.compile(rf"\$\{{?{name}\b")
    for other in facts.statements:
        if other.statement.line < placed.statement.line or exclusive(placed, other):
            continue
        given = words(other.statement)
        test = isinstance(other.statement, TestCommand) or (bool(given) and given[0].text in ("[", "test"))
        if test and asked.search(text_of(script, other.statement)):
            return True
    return any(read.name == name and read.guarded and read.line >= placed.statement.line for read in facts.reads)
