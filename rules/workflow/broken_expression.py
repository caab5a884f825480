"""An expression that GitHub refuses

What
A `${{ }}` that is never closed, has an operator, function or context that there is not, or other bad syntax.

Why
GitHub does not start a workflow with such an expression at all.

Example
    if: ${{ always() && !canceled() }}

Instead
    if: ${{ always() && !cancelled() }}

Fix
Safe for a function whose name is misspelt.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from reviewbot.documents.workflow_walk import Placed
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.workflows import expressions_of, span_of, workflow_of

RULE = Rule("broken-expression", Level.ERROR, frozenset({"documents"}), scope="document")

_FUNCTIONS = (
    "contains", "startsWith", "endsWith", "format", "join", "toJSON", "fromJSON", "hashFiles",
    "success", "failure", "always", "cancelled", "case",
)  # fmt: skip
_CONTEXTS = ("github", "env", "vars", "job", "jobs", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        document = context.documents.yaml(path)
        if not workflow_of(document).jobs:
            continue
        for placed in expressions_of(document):
            if placed.error is not None:
                yield _finding(context, path, placed)


def _finding(context: Context, path: str, placed: Placed) -> Finding:
    assert placed.error is not None
    message = placed.error.message
    word = re.search(r"'([A-Za-z_][\w-]*)'", message)
    fix = None
    help = ""
    if word is not None and ("no function" in message or "not a context" in message):
        known = _FUNCTIONS if "function" in message else _CONTEXTS
        near = difflib.get_close_matches(word[1], [name.lower() for name in known], n=1, cutoff=0.7)
        if near:
            right = next(name for name in known if name.lower() == near[0])
            help = f"the nearest is `{right}`"
            at = placed.source.lower().find(word[1].lower())
            if at >= 0 and "function" in message and placed.column:
                span = span_of(placed, at, len(word[1]))
                fix = Fix(f"write {right}", (Replacement(path, *span, right),), True)
        elif "context" in message:
            help = "texts stand in single quotes; values are those of a context, such as `inputs.NAME`"
    elif "never closed" in message:
        help = "write `}}` behind it"
    shown = " ".join(placed.source.split())
    return context.finding(
        RULE,
        f"{message} in `{shown[:80]}{'...' if len(shown) > 80 else ''}`",
        span_of(placed),
        path=path,
        help=help,
        fix=fix,
        structure=placed.path,
        subject=f"{message} {shown[:80]}",
    )
