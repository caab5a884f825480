"""An output of a step is never set

What
An expression reads an output of a step whose script does not write it.

Why
GitHub puts an empty text in its place, without a word.

Example
    - id: plan
      run: echo "row=1" >> "$GITHUB_OUTPUT"
    - run: echo ${{ steps.plan.outputs.rows }}

Instead
    - run: echo ${{ steps.plan.outputs.row }}
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.workflow_walk import names_in
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import expressions_of, span_of, workflow_of

RULE = Rule("output-never-set", Level.WARNING, frozenset({"documents"}), scope="document")

_WRITTEN = re.compile(r"[\"'\s]([A-Za-z_][\w-]*)(?:=|<<)")
# A program that may write outputs itself, or a name that is put together.
_ELSEWHERE = re.compile(
    r"\.(?:py|sh|js|rb|pl)\b|\b(?:python3?|node|source|perl|ruby|jq|while|printf)\b|(?m:^\s*\.\s)|\$\{?\w+\}?(?:=|<<)|::set-output"
)


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        document = context.documents.yaml(path)
        workflow = workflow_of(document)
        for placed in expressions_of(document) if workflow.jobs else ():
            job = workflow.jobs.get(placed.job) if placed.job is not None else None
            if job is None or placed.expression is None:
                continue
            for names, offset in names_in(placed.expression):
                if len(names) < 4 or names[0] != "steps" or names[2] != "outputs":
                    continue
                step = next((one for one in job.steps if one.id is not None and one.id.lower() == names[1].lower()), None)
                if step is None or step.run is None or _ELSEWHERE.search(step.run.text):
                    continue
                if re.search(rf"\b{re.escape(names[3])}\b", step.run.text):
                    continue
                written = _WRITTEN.findall(step.run.text)
                near = difflib.get_close_matches(names[3], written, n=1, cutoff=0.6)
                yield context.finding(
                    RULE,
                    f"the step `{step.id}` does not set the output `{names[3]}`",
                    span_of(placed, offset, len(names[0])),
                    path=path,
                    help=f"the nearest that it sets is `{near[0]}`" if near else "",
                    related=[(Site(path, step.site.line), "the step")],
                    structure=placed.path,
                    subject=".".join(names),
                )
