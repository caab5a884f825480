"""A job is skipped with one that it does not name

What
A job needs one that runs in any case (`if: always()`), and that one needs a job which may be skipped. The condition of the first has
none of `always()`, `failure()`, `cancelled()`, `success()`: GitHub skips it too whenever any job further up is skipped.

Why
The job never runs in the case that its `needs` was written for.

Example
    plan:    { if: "${{ inputs.plan }}", ... }
    bench:   { needs: plan, if: "${{ always() }}", ... }
    collect: { needs: bench, ... }

Instead
    collect: { needs: bench, if: "${{ always() && needs.bench.result == 'success' }}", ... }
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.workflow import WorkflowJob
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("skipped-needs", Level.NOTE, frozenset({"documents"}), scope="document")

_STATUS = re.compile(r"\b(?:always|failure|cancelled|success)\s*\(")
_ANYWAY = re.compile(r"\balways\s*\(|!\s*cancelled\s*\(|!\s*failure\s*\(")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        jobs = workflow_of(context.documents.yaml(path)).jobs
        for job in jobs.values():
            if _STATUS.search(job.condition or ""):
                continue
            for name in job.needs:
                middle = jobs.get(name)
                if middle is None or not _ANYWAY.search(middle.condition or ""):
                    continue
                skipped = [jobs[one] for one in middle.needs if one in jobs and _conditional(jobs[one]) and one not in job.needs]
                if skipped:
                    yield context.finding(
                        RULE,
                        f"`{job.id}` is skipped whenever `{skipped[0].id}` is, though `{name}`, which it needs, runs then",
                        job.site,
                        help=f"write a status function in its condition, such as `always() && needs.{name}.result == 'success'`",
                        related=[(skipped[0].site, "has a condition"), (middle.site, "runs in any case")],
                        structure=("jobs", job.id),
                        subject=name,
                    )
                    break


def _conditional(job: WorkflowJob) -> bool:
    return job.condition is not None and not _ANYWAY.search(job.condition)
