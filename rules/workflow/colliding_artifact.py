"""Jobs of one matrix upload an artifact of one name

What
A job with a matrix uploads an artifact whose name is the same for all of its rows.

Why
The second upload fails, or replaces what the first one held.

Example
    strategy: { matrix: { conc: [8, 16] } }
    ...
      - uses: actions/upload-artifact@v4
        with: { name: results }

Instead
      - uses: actions/upload-artifact@v4
        with: { name: "results-${{ matrix.conc }}" }
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.nodes import Mapping, Sequence
from reviewbot.documents.workflow import WorkflowJob
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("colliding-artifact", Level.WARNING, frozenset({"documents"}), scope="document")

_VARIES = ("matrix.", "matrix[", "strategy.", "env.", "steps.", "runner.", "toJSON(matrix")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        for job in workflow_of(context.documents.yaml(path)).jobs.values():
            if not _several(job):
                continue
            for step in job.steps:
                name = step.arguments.get("name")
                if step.uses is None or not step.uses.startswith("actions/upload-artifact") or name is None:
                    continue
                overwrites = step.arguments.get("overwrite")
                wanted = step.condition is not None or (overwrites is not None and overwrites.text == "true")
                if not wanted and not any(word in name.text for word in _VARIES):
                    yield context.finding(
                        RULE,
                        f"every row of the matrix of `{job.id}` uploads `{name.text}`",
                        name.site,
                        help="put what tells the rows apart in the name",
                        related=[(job.site, "the job with the matrix")],
                        structure=("jobs", job.id),
                        subject=name.text,
                    )


def _several(job: WorkflowJob) -> bool:
    """Whether the matrix has several rows, as far as is written down."""
    if not isinstance(job.matrix, Mapping):
        return False
    lists = [entry.value for entry in job.matrix.entries]
    return any(isinstance(node, Sequence) and len(node.items) > 1 for node in lists)
