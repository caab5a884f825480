"""A condition is always true

What
An `if:` has text outside of its `${{ }}`, or two of them: GitHub puts the values into the text, and a text that is not empty is true.

Why
The job or step runs whatever the condition says.

Example
    if: ${{ inputs.run_70b }} && ${{ inputs.run_1k1k }}

Instead
    if: ${{ inputs.run_70b && inputs.run_1k1k }}

Fix
Safe: puts all of it in one expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.expressions import Embedded, ExpressionError, parse_expression, split_template
from reviewbot.documents.nodes import Node, Scalar
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("condition-always-true", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        workflow = workflow_of(context.documents.yaml(path))
        for job in workflow.jobs.values():
            places = [("job", job.node.get("if")), *(("step", step.node.get("if")) for step in job.steps)]
            for kind, node in places:
                found = _finding(context, path, job.id, kind, node)
                if found is not None:
                    yield found


def _finding(context: Context, path: str, job: str, kind: str, node: Node | None) -> Finding | None:
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or "${{" not in node.value:
        return None
    pieces = split_template(node.value.strip())
    if len(pieces) == 1 or any(isinstance(piece, Embedded) and piece.error is not None for piece in pieces):
        return None
    whole = " ".join("".join(_inner(piece) for piece in pieces).split())
    fix = None
    try:
        parse_expression(whole)
        if node.style in ("", "'", '"') and node.span.line == node.span.end_line:
            quoted = "'" in node.raw[:1] or '"' in node.raw[:1]
            text = f"${{{{ {whole} }}}}"
            written = (node.raw[0] + text.replace("'", "''") + "'" if node.raw[0] == "'" else f'"{text}"') if quoted else text
            fix = Fix("put all of it in one expression", (Replacement(path, *node.span, written),), True)
    except ExpressionError:
        pass
    return context.finding(
        RULE,
        f"the condition of the {kind} is a text and so always true: `{' '.join(node.value.split())[:100]}`",
        node,
        path=path,
        help="write all of it in one `${{ }}`",
        fix=fix,
        structure=("jobs", job),
        subject=node.value,
    )


def _inner(piece: str | Embedded) -> str:
    if isinstance(piece, str):
        return piece
    simple = re.fullmatch(r"\s*[\w.()'-]+\s*", piece.source) is not None
    return piece.source.strip() if simple else f"({piece.source.strip()})"
