"""A launcher waits for a job and does not ask how it ended

What
A launcher submits a job, waits until `squeue` no longer lists it, and asks nobody for its state or exit code.

Why
A job that failed leaves the queue as well as one that is done. The launcher goes on to collect results, and the workflow is told of the
failure only where nothing was written; what was written in part is taken for the result.

Example
    while squeue -j "$JOB_ID" --noheader | grep -q "$JOB_ID"; do sleep 10; done
    cp outputs/*.json "$GITHUB_WORKSPACE"

Instead
    while squeue -j "$JOB_ID" --noheader | grep -q "$JOB_ID"; do sleep 10; done
    state=$(sacct -j "$JOB_ID" -X -n -o State | tr -d ' ')
    [[ "$state" == COMPLETED ]] || exit 1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Simple, While
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import facts_of, first_word, text_of, words

RULE = Rule("job-status-unchecked", Level.NOTE, frozenset({"documents"}), guess=True, scope="document")

_ASKS = re.compile(r"\bsacct\b|ExitCode|JobState|job_success|job_succeeded|check_job|--wait\b|\bwait_for_\w*job\w*")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("launcher"):
        script = context.documents.shell(path)
        code = "\n".join(line for line in script.text.split("\n") if not line.lstrip().startswith("#"))
        if "squeue" not in code or _ASKS.search(code):
            continue
        facts = facts_of(script)
        submitted = [
            placed.statement.line
            for placed in facts.statements
            if isinstance(placed.statement, Simple)
            and (first_word(placed.statement) == "sbatch" or [word.text for word in words(placed.statement)[:2]] == ["srtctl", "apply"])
        ]
        polls = [
            placed.statement.line
            for placed in facts.statements
            if isinstance(placed.statement, While) and "squeue" in "\n".join(text_of(script, one) for one in placed.statement.condition)
        ]
        behind = [line for line in polls if submitted and line > min(submitted)]
        if behind:
            yield context.finding(
                RULE,
                "this waits until the job is out of the queue, and nothing asks whether it failed",
                Site(path, behind[-1]),
                help="ask `sacct` for its state, and end with an error where it is not COMPLETED",
                related=[(Site(path, submitted[0]), "submitted here")],
                structure="squeue",
                subject="squeue",
            )
