"""A workflow runs a script that there is not

What
A step runs `python3 X.py`, `bash X.sh` or `./X.sh`, and the repository has no such file at the place that the step looks at.

Why
The step fails when it is reached, which may be hours into a run.

Example
    - run: python3 utils/process_results.py      # the file is utils/process_result.py

Instead
    - run: python3 utils/process_result.py

Fix
Unsafe: writes the name of the file that is there, where one is near.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator

from reviewbot.documents.positions import Span
from reviewbot.documents.workflow import Workflow, WorkflowJob, WorkflowStep
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.workflows import workflows

RULE = Rule("missing-workflow-script", Level.ERROR, frozenset({"documents", "bench"}))

_RUN = re.compile(
    r"(?:^|[;&|(]|\bthen\b|\bdo\b|\belse\b|\btime\b)[ \t]*(?:sudo[ \t]+)?(?:(?:[A-Z_]+=\S*)[ \t]+)*"
    r"(?:(?:python3?|bash|sh|source)[ \t]+(?:-[uxeE]+[ \t]+)*)?"
    r"[\"']?(?P<path>(?:\./)?[A-Za-z0-9_][\w./-]*\.(?:py|sh))[\"']?(?=[ \t\n;&|)]|$)",
    re.MULTILINE,
)
_STARTS = re.compile(r"(?:python3?|bash|sh|source)[ \t]|[\"']?\./")
_CHANGES = re.compile(r"(?:^|[;&|(\s])(?:cd|pushd)[ \t]+\S")
_MAKES = ("curl", "wget", "git clone", "tee", "cat >", "unzip", "tar ", "mkdir")


def check(context: Context) -> Iterator[Finding]:
    for workflow in workflows(context):
        for job in workflow.jobs.values():
            own = _own_checkout(job)
            for step in job.steps:
                if step.uses is not None and step.uses.startswith("actions/checkout"):
                    continue
                if own and step.run is not None:
                    yield from _step(context, workflow, job, step)


def _own_checkout(job: WorkflowJob) -> bool:
    """Whether the job's only checkout is of this repository, at its top."""
    checkouts = [step for step in job.steps if step.uses is not None and step.uses.startswith("actions/checkout")]
    return len(checkouts) == 1 and not {"repository", "path", "sparse-checkout"} & checkouts[0].arguments.keys()


def _step(context: Context, workflow: Workflow, job: WorkflowJob, step: WorkflowStep) -> Iterator[Finding]:
    assert step.run is not None
    folder = step.working_directory or job.working_directory or workflow.working_directory or "."
    text = step.run.text
    if "${{" in folder or folder.startswith("/") or _CHANGES.search(text) or any(word in text for word in _MAKES):
        return
    paths = context.tree.paths()
    for match in _RUN.finditer(text):
        written = match["path"]
        if not _STARTS.search(match.group()) or text[: match.start("path")].rpartition("\n")[2].lstrip().startswith("#"):
            continue
        path = posixpath.normpath(posixpath.join(folder, written))
        if path.startswith("..") or context.tree.is_file(path):
            continue
        name = path.rpartition("/")[2]
        same = [one for one in paths if one.rpartition("/")[2] == name]
        beside = [one for one in paths if one.rpartition("/")[0] == path.rpartition("/")[0] and one.endswith(path[-3:])]
        near = same or difflib.get_close_matches(path, beside, n=1, cutoff=0.8)
        number = text.count("\n", 0, match.start("path")) + 1
        column = step.run.columns[number - 1] + match.start("path") - text.rfind("\n", 0, match.start("path")) - 1
        fix = None
        if len(near) == 1 and folder == "." and step.run.columns[number - 1]:
            line = step.run.line(number)
            fix = Fix(f"write {near[0]}", (Replacement(workflow.path, line, column, line, column + len(written), near[0]),), False)
        yield context.finding(
            RULE,
            f"`{written}` is not in the repository" + (f" (in `{folder}`)" if folder != "." else ""),
            step.run.span if not step.run.columns[number - 1] else _span(step.run.line(number), column, len(written)),
            path=workflow.path,
            help=f"there is `{near[0]}`" if near else "",
            fix=fix,
            structure=("jobs", job.id),
            subject=path,
        )


def _span(line: int, column: int, length: int) -> Span:
    return Span(line, column, line, column + length)
