"""A job needs a job that there is not

What
`needs` names a job that the workflow does not have.

Why
GitHub does not start a workflow with such a job.

Example
    needs: [bench-h100, bench-mk355x]

Instead
    needs: [bench-h100, bench-mi355x]
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from reviewbot.documents.nodes import Scalar, Sequence
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("unknown-job", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        workflow = workflow_of(context.documents.yaml(path))
        for job in workflow.jobs.values():
            needs = job.node.get("needs")
            items = needs.items if isinstance(needs, Sequence) else [needs]
            for item in items:
                if not isinstance(item, Scalar) or not isinstance(item.value, str) or "${{" in item.value or item.value in workflow.jobs:
                    continue
                near = difflib.get_close_matches(item.value, list(workflow.jobs), n=1, cutoff=0.6)
                yield context.finding(
                    RULE,
                    f"`{job.id}` needs `{item.value}`, and there is no such job",
                    item,
                    path=path,
                    help=f"the nearest is `{near[0]}`" if near else "",
                    related=[(workflow.jobs[near[0]].site, "the nearest job")] if near else (),
                    structure=("jobs", job.id, "needs"),
                    subject=item.value,
                )
