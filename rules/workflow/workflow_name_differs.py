"""The name of a workflow or job says something else than it passes

What
The name of a file, job or experiment says `1k8k` and the job passes other lengths; or the experiment of a job is named after another model
than the job and those it waits for.

Why
Results are filed under the name.

Example
    # full-sweep-1k8k.yml
    with: { isl: 1024, osl: 1024 }

Instead
    # full-sweep-1k8k.yml
    with: { isl: 1024, osl: 8192 }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.workflow import Workflow, WorkflowJob
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflows

RULE = Rule("workflow-name-differs", Level.ERROR, frozenset({"documents"}))

_LENGTHS = re.compile(r"(?<![0-9a-z])(\d{1,3})k(\d{1,3})k(?![0-9a-z])", re.IGNORECASE)
_EXPERIMENT = re.compile(r"[A-Za-z][\w.]*?(?=_\d+k\d+k)")


def check(context: Context) -> Iterator[Finding]:
    for workflow in workflows(context):
        experiments = {
            match.group() for job in workflow.jobs.values() if (match := _EXPERIMENT.match(_text(job, "exp-name"))) is not None
        }
        for job in workflow.jobs.values():
            yield from _lengths(context, workflow, job)
            yield from _model(context, workflow, job, experiments)


def _text(job: WorkflowJob, name: str) -> str:
    setting = job.arguments.get(name)
    return "" if setting is None else setting.text


def _lengths(context: Context, workflow: Workflow, job: WorkflowJob) -> Iterator[Finding]:
    names = [(_text(job, "exp-name"), "the experiment"), (job.id, "the job"), (workflow.path.rpartition("/")[2], "the file")]
    for text, what in names:
        found = {match.groups() for match in _LENGTHS.finditer(text)}
        if len(found) != 1:
            continue
        for name, said in zip(("isl", "osl"), next(iter(found)), strict=True):
            setting = job.arguments.get(name)
            if setting is None or not setting.text.isdigit() or len(setting.text) > 9:
                continue
            passed = int(setting.text)
            if passed not in (int(said) * 1024, int(said) * 1000, 0):
                yield context.finding(
                    RULE,
                    f"{what} is named `{text}`, and `{job.id}` passes `{name}: {passed}`",
                    setting.site,
                    help=f"write {int(said) * 1024}, or name it otherwise",
                    structure=("jobs", job.id, "with"),
                    subject=f"{name} {what}",
                )
        return


def _model(context: Context, workflow: Workflow, job: WorkflowJob, experiments: set[str]) -> Iterator[Finding]:
    match = _EXPERIMENT.match(_text(job, "exp-name"))
    if match is None or len(experiments) < 2:
        return
    about = " ".join((job.id, *job.needs)).lower()
    own = match.group().lower()
    others = [name for name in sorted(experiments) if name.lower() != own and _word(name.lower(), about)]
    if others and not _word(own, about):
        yield context.finding(
            RULE,
            f"the experiment of `{job.id}` is named `{_text(job, 'exp-name')}`, and the job is about `{others[0]}`",
            job.arguments["exp-name"].site,
            related=[(Site(workflow.path, job.site.line), "the job")],
            structure=("jobs", job.id, "with"),
            subject="exp-name",
        )


def _word(word: str, text: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])", text) is not None
