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
from reviewbot.documents.shell_syntax import Function, Script, Simple
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import exclusive, facts_of, first_word, text_of, words

RULE = Rule("allocation-kept", Level.WARNING, frozenset({"documents"}))

_CANCELS = re.compile(r"\bscancel\w*\b")


def check(context: Context) -> Iterator[Finding]:
    by_workflow: list[tuple[str, int]] | None = None
    surveyed = context.surveyed(RULE)
    cancelling = {name for _, (functions, _) in surveyed for name in functions}
    for path, (_, kept) in surveyed:
        for line, called, trapped, last in kept:
            if not cancelling.isdisjoint(called) or any(function in text for text in trapped for function in cancelling):
                continue
            if by_workflow is None:
                by_workflow = list(_workflows(context))
            yield context.finding(
                RULE,
                "nothing gives this allocation back: no `scancel` follows on this path"
                + (", only the workflow cancels jobs" if by_workflow else ""),
                Site(path, line),
                help="`trap 'scancel \"$JOB_ID\"' EXIT` as soon as the id is known",
                related=[
                    *([(Site(path, last), "the last step that needs it")] if last else []),
                    *((Site(*place), "cancels jobs") for place in by_workflow[:1]),
                ],
                structure="salloc",
                subject="salloc",
                level=Level.NOTE if by_workflow else None,
            )


def survey(context: Context) -> Iterator[object]:
    """Of a script the functions that cancel jobs, and its allocations that it does not give back by itself: their lines, with the commands
    and the traps that may do it, and the line of the last step in it (0: none)."""
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        functions: list[str] = []
        kept: list[object] = []
        if _CANCELS.search(script.text):
            functions += [
                placed.statement.name
                for placed in facts_of(script).statements
                if isinstance(placed.statement, Function) and _CANCELS.search(text_of(script, placed.statement))
            ]
        if "--no-shell" in script.text and "salloc" in script.text:
            kept += _kept(script)
        if functions or kept:
            yield [functions, kept]


def _kept(script: Script) -> Iterator[object]:
    simple = [placed for placed in facts_of(script).statements if isinstance(placed.statement, Simple)]
    said = [(other, first_word(other.statement), text_of(script, other.statement)) for other in simple]
    said = [one for one in said if one[1] not in ("echo", "printf")]
    for one in simple:
        if first_word(one.statement) != "salloc" or not any(word.text == "--no-shell" for word in words(one.statement)):
            continue
        if any(_CANCELS.search(text) and not exclusive(one, other) for other, _, text in said):
            continue
        after = [(name, text) for other, name, text in said if not exclusive(one, other)]
        steps = [other.statement.line for other, name, _ in said if name == "srun" and not exclusive(one, other)]
        last = max((line for line in steps if line > one.statement.line), default=0)
        yield [one.statement.line, sorted({name for name, _ in after if name}), [text for name, text in after if name == "trap"], last]


def _workflows(context: Context) -> Iterator[tuple[str, int]]:
    for path in context.documents.paths("workflow"):
        for number, line in enumerate(context.lines(path), 1):
            if _CANCELS.search(line) and not line.lstrip().startswith("#"):
                yield path, number
