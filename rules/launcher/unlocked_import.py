"""A container image is imported to a shared file without a lock

What
`enroot import -o FILE` runs where nothing locks the file and nothing makes the name one of this job.

Why
Jobs of one sweep start at the same time and share the folder of images. Two that import the same image write the same file: one of them
starts a container from half an image, or fails because the file exists.

Example
    srun bash -c "enroot import -o $SQUASH_FILE docker://$IMAGE"

Instead
    srun bash -c "
        exec 9>\\"$SQUASH_FILE.lock\\"
        flock -w 600 9 || exit 1
        unsquashfs -l \\"$SQUASH_FILE\\" >/dev/null 2>&1 || enroot import -o \\"$SQUASH_FILE\\" docker://$IMAGE
    "
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Function, Simple, Statement, Subshell
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Placed, facts_of, first_word

RULE = Rule("unlocked-import", Level.WARNING, frozenset({"documents"}), scope="document")

_IMPORT = re.compile(r"\benroot\s+import\b[^\n;&|]*?\s(?:-o|--output)[\s=]+(?P<file>\\?\"[^\"]*\"|'[^']*'|[^\s;&|]+)")
_OWN = re.compile(
    r"\$\$|\bBASHPID\b|SLURM_JOB_?ID|\bJOB_ID\b|RUN_ID|RUNNER_NAME|mktemp|\btmp\b|/tmp/|TMPDIR|\.tmp\b|GITHUB_WORKSPACE", re.IGNORECASE
)


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        lines = context.documents.shell(path).text.split("\n")
        placed = [one for one in facts_of(context.documents.shell(path)).statements if isinstance(one.statement, Simple)]
        for one in placed:
            text = _text(lines, one.statement)
            found = _IMPORT.search(text) if first_word(one.statement) not in ("echo", "printf") else None
            if found is None or "flock" in text[: found.start()] or _OWN.search(found["file"]) or _locked(one, placed):
                continue
            if any(_IMPORT.search(_text(lines, inner.statement)) for inner in placed if one.statement in inner.around):
                continue
            line = one.statement.line + text[: found.start()].count("\n")
            target = found["file"].strip("\\\"'")
            yield context.finding(
                RULE,
                f"nothing locks `{target}` while this imports it: jobs that start together write the same file",
                Site(path, line),
                help="take a lock with `flock` first, and import only where the file is not there or not valid",
                structure=target,
                subject=target,
            )


def _text(lines: list[str], statement: Statement) -> str:
    return "\n".join(lines[statement.line - 1 : statement.end_line])


def _locked(one: Placed, placed: list[Placed]) -> bool:
    """Whether an earlier command of the same function, subshell or script takes a lock."""
    return any(
        first_word(other.statement) == "flock"
        and other.statement.line < one.statement.line
        and all(outer in one.around for outer in other.around if isinstance(outer, (Function, Subshell)))
        for other in placed
    )
