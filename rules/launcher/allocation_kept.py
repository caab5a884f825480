"""An allocation is made and never given back

What
A launcher allocates nodes with `salloc --no-shell`, and nothing on the same path cancels the job: no `scancel`, in the script or in a trap.
Where a workflow cancels jobs it is a note.

Why
`salloc --no-shell` returns at once and the nodes stay allocated until the time limit, whether the benchmark is over or failed.

Example
    salloc --time=480 --no-shell --job-name="$RUNNER_NAME"
    srun --jobid="$JOB_ID" bash benchmarks/run.sh

Instead
    salloc --time=480 --no-shell --job-name="$RUNNER_NAME"
    trap 'scancel "$JOB_ID" 2>/dev/null || true' EXIT
    srun --jobid="$JOB_ID" bash benchmarks/run.sh
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Function, Simple
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Placed, exclusive, facts_of, first_word, text_of, words

RULE = Rule("allocation-kept", Level.WARNING, frozenset({"documents"}))

_CANCELS = re.compile(r"\bscancel\w*\b")


def check(context: Context) -> Iterator[Finding]:
    by_workflow: list[tuple[str, int]] | None = None
    scripts = {path: context.documents.shell(path) for path in context.documents.paths("shell")}
    allocating = [path for path, script in scripts.items() if "--no-shell" in script.text and "salloc" in script.text]
    cancelling = {
        placed.statement.name
        for script in scripts.values()
        if allocating and "scancel" in script.text
        for placed in facts_of(script).statements
        if isinstance(placed.statement, Function) and _CANCELS.search(text_of(script, placed.statement))
    }
    for path in allocating:
        script = scripts[path]
        simple = [placed for placed in facts_of(script).statements if isinstance(placed.statement, Simple)]
        for one in simple:
            if first_word(one.statement) != "salloc" or not any(word.text == "--no-shell" for word in words(one.statement)):
                continue
            if any(_cancels(text_of(script, other.statement), other, cancelling) and not exclusive(one, other) for other in simple):
                continue
            if by_workflow is None:
                by_workflow = list(_workflows(context))
            yield context.finding(
                RULE,
                "nothing gives this allocation back: no `scancel` follows on this path"
                + (", only the workflow cancels jobs" if by_workflow else ""),
                Site(path, one.statement.line),
                help="`trap 'scancel \"$JOB_ID\"' EXIT` as soon as the id is known",
                related=[
                    *((Site(path, line), "the last step that needs it") for line in _steps(simple, one)[-1:]),
                    *((Site(*place), "cancels jobs") for place in by_workflow[:1]),
                ],
                structure="salloc",
                subject="salloc",
                level=Level.NOTE if by_workflow else None,
            )


def _cancels(text: str, placed: Placed, functions: set[str]) -> bool:
    name = first_word(placed.statement)
    if name in ("echo", "printf"):
        return False
    return bool(_CANCELS.search(text)) or name in functions or (name == "trap" and any(function in text for function in functions))


def _steps(simple: list[Placed], allocation: Placed) -> list[int]:
    """The lines of the steps that run in the allocation."""
    start = allocation.statement.line
    return [
        other.statement.line
        for other in simple
        if other.statement.line > start and first_word(other.statement) == "srun" and not exclusive(allocation, other)
    ]


def _workflows(context: Context) -> Iterator[tuple[str, int]]:
    for path in context.documents.paths("workflow"):
        for number, line in enumerate(context.lines(path), 1):
            if _CANCELS.search(line) and not line.lstrip().startswith("#"):
                yield path, number
