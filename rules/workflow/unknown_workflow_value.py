"""An expression reads a value that nothing gives

What
An expression names an input that the workflow does not declare, a key that the matrix does not have, a step without such an id, a job
that is not in `needs`, or an output that the job does not declare.

Why
GitHub puts an empty text in its place, without a word.

Example
    on:
      workflow_call:
        inputs:
          runner: { type: string }
    ...
        runs-on: ${{ inputs.runer }}

Instead
        runs-on: ${{ inputs.runner }}
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from reviewbot.documents.nodes import Mapping, Scalar, Sequence
from reviewbot.documents.workflow import Workflow, WorkflowJob
from reviewbot.documents.workflow_walk import Placed, names_in
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import expressions_of, span_of, workflow_of

RULE = Rule("unknown-workflow-value", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        document = context.documents.yaml(path)
        workflow = workflow_of(document)
        if not workflow.jobs:
            continue
        for placed in expressions_of(document):
            if placed.expression is None:
                continue
            for names, offset in names_in(placed.expression):
                known = _known(workflow, placed, names)
                if known is None:
                    continue
                said, candidates, wrong = known
                near = difflib.get_close_matches(wrong, candidates, n=1, cutoff=0.6)
                yield context.finding(
                    RULE,
                    said,
                    span_of(placed, offset, len(names[0])),
                    path=path,
                    help=f"the nearest is `{near[0]}`" if near else "",
                    structure=placed.path,
                    subject=".".join(names),
                )


def _known(workflow: Workflow, placed: Placed, names: tuple[str, ...]) -> tuple[str, list[str], str] | None:
    """What is wrong with a name, the names there are, and the wrong one."""
    if len(names) < 2:
        return None
    kind, name = names[0], names[1]
    job = workflow.jobs.get(placed.job) if placed.job is not None else None
    if kind == "inputs":
        declared = {*workflow.inputs, *workflow.dispatch_inputs}
        if _has(declared, name) or not {"workflow_call", "workflow_dispatch"} & set(workflow.triggers):
            return None
        return f"the workflow has no input `{name}`", sorted(declared), name
    if job is None:
        return None
    if kind == "matrix":
        keys = _matrix(job)
        if keys is None or _has(keys, name):
            return None
        what = f"the matrix of `{job.id}` has no `{name}`" if keys else f"`{job.id}` has no matrix, and `matrix.{name}` is empty"
        return what, sorted(keys), name
    if kind == "needs":
        if not _has(set(job.needs), name):
            return f"`{job.id}` does not need `{name}`, so `needs.{name}` is empty", list(job.needs), name
        other = next((one for one in workflow.jobs.values() if one.id.lower() == name.lower()), None)
        if other is None or len(names) < 4 or names[2] != "outputs" or other.uses is not None or _has(set(other.outputs), names[3]):
            return None
        return f"the job `{other.id}` has no output `{names[3]}`", list(other.outputs), names[3]
    if kind == "steps" and placed.path[2:3] in (("steps",), ("outputs",)):
        ids = {step.id for step in job.steps if step.id is not None}
        return None if _has(ids, name) else (f"`{job.id}` has no step with the id `{name}`", sorted(ids), name)
    return None


def _has(known: set[str], name: str) -> bool:
    return name.lower() in {one.lower() for one in known}


def _matrix(job: WorkflowJob) -> set[str] | None:
    """The keys of a job's matrix; ``None`` where they are only known when it runs."""
    if job.matrix is None:
        return set()
    if not isinstance(job.matrix, Mapping):
        return None
    keys: set[str] = set()
    for entry in job.matrix.entries:
        name = entry.key.text if isinstance(entry.key, Scalar) else ""
        if name not in ("include", "exclude"):
            keys.add(name)
        elif name == "include":
            if not isinstance(entry.value, Sequence):
                return None
            for item in entry.value.items:
                if not isinstance(item, Mapping):
                    return None
                keys |= {one.key.text for one in item.entries if isinstance(one.key, Scalar)}
    return keys
