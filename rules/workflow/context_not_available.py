"""A context or function is used where GitHub does not give it

What
An expression uses a context (`env` in the name of a job, `steps` in `runs-on`, `secrets` in a condition) or a function (`always()`
outside of a condition, `hashFiles()` outside of a step) that there is not at its place.

Why
GitHub does not start a workflow with such an expression.

Example
    jobs:
      bench:
        name: "tp${{ env.TP }}"

Instead
    jobs:
      bench:
        name: "tp${{ inputs.tp }}"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.workflow_walk import calls_in, names_in
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import expressions_of, span_of, workflow_of

RULE = Rule("context-not-available", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        document = context.documents.yaml(path)
        if not workflow_of(document).jobs:
            continue
        for placed in expressions_of(document):
            if placed.expression is None or placed.contexts is None or placed.functions is None:
                continue
            place = ".".join(name for name in placed.path[2 if placed.job else 0 :] if not name.isdigit()) or placed.path[0]
            for names, offset in names_in(placed.expression):
                if names[0] not in placed.contexts:
                    yield context.finding(
                        RULE,
                        f"there is no `{names[0]}` in `{place}`",
                        span_of(placed, offset, len(names[0])),
                        path=path,
                        help=f"what there is: {', '.join(sorted(placed.contexts))}",
                        structure=placed.path,
                        subject=".".join(names),
                    )
            for function, offset in calls_in(placed.expression):
                if function not in placed.functions:
                    where = "in conditions" if function != "hashfiles" else "in steps"
                    yield context.finding(
                        RULE,
                        f"`{function}()` is not available in `{place}`, only {where}",
                        span_of(placed, offset, len(function)),
                        path=path,
                        structure=placed.path,
                        subject=f"{function}()",
                    )
