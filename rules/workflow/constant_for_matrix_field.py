"""A job passes a constant where the rows say something else

What
A job runs one row of a matrix, and passes a constant (`spec-decoding: none`) for an input that the jobs beside it take from the row,
and that rows of this job have with another value.

Why
The row's value is dropped: what runs is not what the master says, and is published under its name.

Example
    spec-decoding: 'none'

Instead
    spec-decoding: ${{ matrix.config.spec-decoding }}

"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewbot.documents.expressions import to_string
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("constant-for-matrix-field", Level.ERROR, frozenset({"bench"}))

_NOTHING = ("", "none", "false", "0")


def check(context: Context) -> Iterator[Finding]:
    bench = context.bench
    for caller in bench.contract.callers:
        if caller.workflow.startswith("<"):
            continue
        siblings = [one for one in bench.contract.callers if one.workflow == caller.workflow and one is not caller]
        rows = [
            point for point in bench.points if ("prefill" in point.row, "scenario-type" in point.row) == (caller.multinode, caller.agentic)
        ]
        for name, (value, site) in caller.inputs.items():
            if value.parts or name in ("isl", "osl", "max-model-len", "run-eval", "eval-only"):
                continue
            taken = [one for one in siblings if name in one.inputs and _field_of(one, name)]
            constant = to_string(value.constant)
            differing = [point for point in rows if name in point.row and not _same(point.row[name], constant)]
            if not taken or not differing:
                continue
            other = to_string(differing[0].row[name])
            yield context.finding(
                RULE,
                f"`{name}` is always `{constant}`, and {len(differing)} of the rows that this job runs have another one, such as `{other}`",
                site,
                help=f"pass `${{{{ matrix.{caller.variable}.{name} }}}}`, as `{taken[0].job}` does",
                touches=[point.id for point in differing],
                related=[(taken[0].inputs[name][1], "taken from the row here"), (differing[0].sites.get(name, differing[0].site), "a row")],
                structure=("jobs", caller.job, "with"),
                subject=name,
            )


def _field_of(caller: Any, name: str) -> bool:
    names = caller.inputs[name][0].names
    return names is not None and tuple(names) == ("matrix", caller.variable, name)


def _same(value: object, constant: str) -> bool:
    if isinstance(value, (dict, list)):
        return True
    text = to_string(value)
    return text == constant or (text in _NOTHING and constant in _NOTHING)
