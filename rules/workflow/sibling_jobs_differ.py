"""One of many equal jobs lacks what the others have

What
All other jobs of a file that call the same workflow have a condition, pass an input, or run a framework on a runner of a certain name; one
does not.

Why
Jobs are copied, and what the copy misses is not seen among its likes.

Example
    bmk-b200-trt-fp8: { with: { runner: b200, framework: trt } }
    bmk-b200-trt-fp4: { with: { runner: b200-trt, framework: trt } }
    bmk-h200-trt-fp8: { with: { runner: h200-trt, framework: trt } }

Instead
    bmk-b200-trt-fp8: { with: { runner: b200-trt, framework: trt } }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.workflow import Workflow, WorkflowJob
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("sibling-jobs-differ", Level.NOTE, frozenset({"documents"}), guess=True, scope="document")

_LEAST = 3  # other jobs that agree


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        workflow = workflow_of(context.documents.yaml(path))
        groups: dict[str, list[WorkflowJob]] = {}
        for job in workflow.jobs.values():
            if job.uses is not None:
                groups.setdefault(job.uses, []).append(job)
        for jobs in groups.values():
            if len(jobs) > _LEAST:
                yield from _group(context, workflow, jobs)
            yield from _runner(context, workflow, jobs)


def _group(context: Context, workflow: Workflow, jobs: list[WorkflowJob]) -> Iterator[Finding]:
    without = [job for job in jobs if not job.condition]
    if len(without) == 1:
        other = next(job for job in jobs if job.condition)
        yield _finding(context, without[0], without[0].site, "has no condition", other, "if")
    lacks: dict[str, list[str]] = {}
    for name in sorted({name for job in jobs for name in job.arguments}):
        lacking = [job for job in jobs if name not in job.arguments]
        if len(lacking) == 1:
            lacks.setdefault(lacking[0].id, []).append(name)
    for job in jobs:
        names = lacks.get(job.id, [])
        if names:
            other = next(one for one in jobs if names[0] in one.arguments)
            yield _finding(context, job, job.site, f"does not pass {', '.join(f'`{name}`' for name in names)}", other, " ".join(names))


def _finding(context: Context, job: WorkflowJob, at: Site, what: str, other: WorkflowJob, subject: str) -> Finding:
    return context.finding(
        RULE,
        f"`{job.id}` {what}, as all other jobs that call `{(job.uses or '').rpartition('/')[2]}` do",
        at,
        related=[(other.site, "one of them")],
        structure=("jobs", job.id),
        subject=subject,
    )


def _runner(context: Context, workflow: Workflow, jobs: list[WorkflowJob]) -> Iterator[Finding]:
    """A runner whose name lacks the framework that it has in the name where other jobs run that framework, and that the job's id has."""
    for job in jobs:
        runner, framework = job.arguments.get("runner"), job.arguments.get("framework")
        if runner is None or framework is None or "${{" in runner.text + framework.text:
            continue
        ending = f"-{framework.text}"
        others = [one for one in jobs if one is not job and _argument(one, "framework") == framework.text]
        named = [one for one in others if _argument(one, "runner").endswith(ending)]
        if named and len(named) == len(others) and not runner.text.endswith(ending) and re.search(re.escape(ending) + r"\b", job.id):
            yield context.finding(
                RULE,
                f"`{job.id}` runs {framework.text} on `{runner.text}`; other jobs run it on runners named `...{ending}`",
                runner.site,
                help=f"was `{runner.text}{ending}` meant?",
                related=[(named[0].arguments["runner"].site, "one of them")],
                structure=("jobs", job.id),
                subject="runner",
            )


def _argument(job: WorkflowJob, name: str) -> str:
    given = job.arguments.get(name)
    return "" if given is None else given.text
