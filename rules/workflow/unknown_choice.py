"""A condition asks for a choice that there is not

What
An expression compares an input of type `choice` with a text that is none of its options.

Why
The condition is never true.

Example
    inputs:
      sweep: { type: choice, options: [fast, full] }
    ...
    if: ${{ inputs.sweep == 'all' }}

Instead
    if: ${{ inputs.sweep == 'full' }}
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from reviewbot.documents.expressions import Access, Call, ContextName, Expression, LiteralValue, Operation
from reviewbot.documents.workflow import WorkflowInput
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import expressions_of, span_of, workflow_of

RULE = Rule("unknown-choice", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        document = context.documents.yaml(path)
        workflow = workflow_of(document)
        choices = {name.lower(): one for name, one in workflow.dispatch_inputs.items() if one.type == "choice" and one.options}
        if not choices or {"push", "pull_request", "schedule", "workflow_call"} & set(workflow.triggers):
            continue
        for placed in expressions_of(document):
            for declared, literal, start in _compared(placed.expression, choices):
                if literal.lower() in {option.lower() for option in declared.options} or (not literal and not declared.required):
                    continue
                near = difflib.get_close_matches(literal, list(declared.options), n=1, cutoff=0.6)
                yield context.finding(
                    RULE,
                    f"`{literal}` is no option of the input `{declared.name}` ({', '.join(declared.options)})",
                    span_of(placed, start, len(literal) + 2),
                    path=path,
                    help=f"the nearest is `{near[0]}`" if near else "",
                    related=[(declared.site, "the input")],
                    structure=placed.path,
                    subject=f"{declared.name} {literal}",
                )


def _compared(node: Expression | None, choices: dict[str, WorkflowInput]) -> Iterator[tuple[WorkflowInput, str, int]]:
    pending: list[Expression] = [] if node is None else [node]
    while pending:
        one = pending.pop()
        if isinstance(one, Operation):
            pending.extend(one.operands)
            if one.op in ("==", "!=") and len(one.operands) == 2:
                for left, right in (one.operands, one.operands[::-1]):
                    name = _input(left)
                    if name in choices and isinstance(right, LiteralValue) and isinstance(right.value, str):
                        yield choices[name], right.value, right.start
        elif isinstance(one, Call):
            pending.extend(one.arguments)


def _input(node: Expression) -> str:
    """The input that a name reads: ``inputs.x`` or ``github.event.inputs.x``."""
    chain: list[str] = []
    while isinstance(node, Access) and isinstance(node.index, LiteralValue):
        chain.append(str(node.index.value))
        node = node.object
    if not isinstance(node, ContextName):
        return ""
    names = [node.name, *reversed(chain)]
    return names[-1].lower() if names[:-1] in (["inputs"], ["github", "event", "inputs"]) else ""
