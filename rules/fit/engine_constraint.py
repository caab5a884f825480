"""An engine refuses a layout

What
The parallelism, batch limits or quantisation of a server break a condition that its engine checks at start: attention heads over TP, blocks
of quantised weights over the ranks that share an expert, EP against TP and DP, stages against layers, ranks against GPUs, and so on. A
condition counts only where every release that the image can hold has it.

Why
The engine ends with an assertion or a ValueError, after the job has waited for its nodes.

Example
    # 64 attention heads
    decode: {tensor-parallel-size: 6}

Instead
    decode: {tensor-parallel-size: 8}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import server_site
from reviewbot.fit.constraints import Violation
from reviewbot.fit.layout import described
from reviewbot.fit.of_runs import fits
from reviewbot.fit.verdict import Report
from reviewbot.runs.model import Run, Server

RULE = Rule("engine-constraint", Level.ERROR, scope="run")

_TP, _DP, _PP = "tensor-parallel-size", "data-parallel-size", "pipeline-parallel-size"
_EXPERTS = ("enable-expert-parallel", "expert-parallel-size", "moe-expert-parallel-size")
# What a constraint is about: the flags that say it, and what a row calls it.
_WRITTEN: dict[str, tuple[tuple[str, ...], str]] = {
    "TP": ((_TP,), "tp"),
    "attention TP": ((_TP, _DP), "tp"),
    "expert TP": ((*_EXPERTS, _TP), "tp"),
    "DP": ((_DP, "attention-data-parallel-size", "enable-dp-attention", _TP), "dp-attn"),
    "EP": ((*_EXPERTS, _TP), "ep"),
    "PP": ((_PP,), "pp"),
    "DCP": (("decode-context-parallel-size",), "dcp-size"),
    "MoE DP": (("moe-data-parallel-size",), ""),
    "nodes": (("nnodes", _TP), ""),
    "redundant experts": (("ep-num-redundant-experts", "num-redundant-experts"), ""),
}


def check(context: Context) -> Iterator[Finding]:
    for run, server, report in fits(context.runs):
        groups: dict[tuple[str, int], list[Violation]] = {}
        for violation in report.constraints:
            groups.setdefault((violation.of, violation.value), []).append(violation)
        for group in groups.values():  # one number that breaks several conditions is one cause
            yield _finding(context, run, server, report, group)


def _finding(context: Context, run: Run, server: Server, report: Report, group: list[Violation]) -> Finding:
    first = group[0]
    names, field = _WRITTEN.get(first.of, ((first.of, _TP), ""))
    shared = [one for one in first.valid if all(one in other.valid for other in group)]
    valid = " or ".join(map(str, shared))
    broken = "; ".join(one.message for one in group)
    return context.finding(
        RULE,
        f"{server.role}: {first.engine} refuses {report.model.name} at {described(report.layout)}: {broken}",
        server_site(context, run, server, names, field),
        help=f"{f'make {first.of} {valid}' if valid else 'take another layout'}; see {', '.join(one.source for one in group)}",
        touches=[run],
        structure=server.role,
        subject=f"{first.rule} {first.value}",
    )
