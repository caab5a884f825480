"""A call of a workflow does not fit its inputs

What
A job calls a workflow of the repository and leaves a required input out, passes one that it does not declare, or passes a value of another
type; or there is no such workflow.

Why
GitHub does not start a workflow with such a job.

Example
    bench:
      uses: ./.github/workflows/template.yml     # runner is required
      with: { image: "vllm/vllm-openai:v0.11.0" }

Instead
    bench:
      uses: ./.github/workflows/template.yml
      with: { image: "vllm/vllm-openai:v0.11.0", runner: "cluster:lab" }
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from reviewbot.documents.nodes import Scalar
from reviewbot.documents.positions import Site
from reviewbot.documents.workflow import Setting, Workflow, WorkflowInput, WorkflowJob
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import called, workflow_of, workflows

RULE = Rule("workflow-call-input", Level.ERROR, frozenset({"documents"}))

_NUMBER = re.compile(r"[-+]?\d{1,18}(?:\.\d{1,18})?\Z")


def check(context: Context) -> Iterator[Finding]:
    known = set(context.documents.paths("workflow"))
    for workflow in workflows(context):
        for job in workflow.jobs.values():
            path = called(job.uses)
            if path is None:
                continue
            if path not in known:
                near = difflib.get_close_matches(path, sorted(known), n=1, cutoff=0.7)
                yield context.finding(
                    RULE, f"`{job.id}` calls `{path}`, and there is no such workflow", job.node.entry("uses") or job.site,
                    path=workflow.path,
                    help=f"the nearest is `{near[0]}`" if near else "", structure=("jobs", job.id), subject=path,
                )  # fmt: skip
                continue
            target = workflow_of(context.documents.yaml(path))
            if target.jobs:
                yield from _job(context, workflow, job, target)


def _job(context: Context, workflow: Workflow, job: WorkflowJob, target: Workflow) -> Iterator[Finding]:
    if "workflow_call" not in target.triggers:
        yield context.finding(
            RULE, f"`{target.path}` is not made to be called: it has no `workflow_call`", job.node.entry("uses") or job.site,
            path=workflow.path, related=[(Site(target.path, 1), "the workflow")], structure=("jobs", job.id), subject="workflow_call",
        )  # fmt: skip
        return
    inputs = {name.lower(): declared for name, declared in target.inputs.items()}
    given = {name.lower() for name in job.arguments}
    missing = [declared for name, declared in inputs.items() if declared.required and name not in given]
    if missing:
        names = ", ".join(f"`{declared.name}`" for declared in missing)
        several = len(missing) > 1
        yield context.finding(
            RULE, f"`{job.id}` does not pass the required input{'s' if several else ''} {names}", job.site,
            help=f"pass {'them' if several else 'it'} in `with`",
            related=[(declared.site, f"`{declared.name}` is required") for declared in missing[:4]],
            structure=("jobs", job.id, "with"), subject=names,
        )  # fmt: skip
    for name, setting in job.arguments.items():
        declared_input = inputs.get(name.lower())
        if declared_input is None:
            near = difflib.get_close_matches(name, list(target.inputs), n=1, cutoff=0.6)
            yield context.finding(
                RULE, f"`{target.path}` has no input `{name}`", setting.site, help=f"the nearest is `{near[0]}`" if near else "take it out",
                related=[(target.inputs[near[0]].site, "the nearest input")] if near else [(Site(target.path, 1), "the workflow")],
                structure=("jobs", job.id, "with"), subject=name,
            )  # fmt: skip
        elif (wrong := _wrong_type(setting, declared_input)) is not None:
            yield context.finding(
                RULE, wrong, setting.site, related=[(declared_input.site, f"the input is a {declared_input.type}")],
                structure=("jobs", job.id, "with"), subject=name,
            )  # fmt: skip


def _wrong_type(setting: Setting, declared: WorkflowInput) -> str | None:
    node = setting.node
    if not isinstance(node, Scalar):
        return f"`{setting.name}` is a {declared.type}, and gets a list or mapping"
    if node.value is None or "${{" in setting.text:
        return None
    if declared.type == "boolean" and setting.text not in ("true", "false"):
        return f"`{setting.name}` is a boolean, and gets `{setting.text[:60]}`"
    if declared.type == "number" and not _NUMBER.match(setting.text):
        return f"`{setting.name}` is a number, and gets `{setting.text[:60]}`"
    return None
