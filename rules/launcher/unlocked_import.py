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
from reviewbot.engine.shell_facts import Facts, Placed, exclusive, facts_of, first_word

RULE = Rule("unlocked-import", Level.WARNING, frozenset({"documents"}), scope="document")

_IMPORT = re.compile(r"\benroot\s+import\b[^\n;&|]*?\s(?:-o|--output)[\s=]+(?P<file>\\?\"[^\"]*\"|'[^']*'|[^\s;&|]+)")
_OWN_NAME = re.compile(r"\$\$|\bBASHPID\b|JOB_?ID\b|RUN_ID\b|RUNNER_NAME\b|\bmktemp\b")
_OWN = re.compile(
    r"\$\$|\bBASHPID\b|SLURM_JOB_?ID|\bJOB_ID\b|RUN_ID|RUNNER_NAME|mktemp|\btmp\b|/tmp/|TMPDIR|\.tmp\b|GITHUB_WORKSPACE", re.IGNORECASE
)


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        if "enroot" not in script.text:
            continue
        facts = facts_of(script)
        lines = script.text.split("\n")
        placed = [one for one in facts.statements if isinstance(one.statement, Simple)]
        found: list[tuple[Placed, str, int]] = []
        for one in placed:
            unlocked = _unlocked(one, placed, lines)
            if unlocked is not None and not _is_its_own(facts, unlocked[0]):
                found.append((one, *unlocked))
        for index, (one, target, line) in enumerate(found):
            if any(other == target and not exclusive(one, before) for before, other, _ in found[:index]):
                continue
            again = [at for after, other, at in found[index + 1 :] if other == target and not exclusive(one, after)]
            yield context.finding(
                RULE,
                f"nothing locks `{target}` while this imports it: jobs that start together write the same file",
                Site(path, line),
                help="take a lock with `flock` first, and import only where the file is not there or not valid",
                related=[(Site(path, at), "imported here too") for at in again],
                structure=target,
                subject=target,
            )


def _unlocked(one: Placed, placed: list[Placed], lines: list[str]) -> tuple[str, int] | None:
    """The file that a command imports without a lock, and the line."""
    text = _text(lines, one.statement)
    found = _IMPORT.search(text) if first_word(one.statement) not in ("echo", "printf") else None
    if found is None or "flock" in text[: found.start()] or _locked(one, placed):
        return None
    if any(_IMPORT.search(_text(lines, inner.statement)) for inner in placed if one.statement in inner.around):
        return None
    return found["file"].strip("\\\"'"), one.statement.line + text[: found.start()].count("\n")


def _is_its_own(facts: Facts, target: str) -> bool:
    """Whether the file's name is one of this job alone."""
    if _OWN.search(target):
        return True
    name = re.match(r"\$\{?(\w+)\}?\Z", target)
    values = [one.value.text for one in facts.assigned if name is not None and one.name == name[1] and one.value is not None]
    return bool(values) and all(_OWN_NAME.search(value) for value in values)


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
