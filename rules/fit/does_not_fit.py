"""A server does not fit the memory of its GPUs

What
Weights, the least overhead and what the engine must hold to start exceed what the GPU (or the written fraction of it) has, also if the
arithmetic were 3 % too high. Weights are split as the engine and its version split them, at the parallelism that the run really has; the
model and its precision are the row's, the GPU is that of its runner. Models, GPUs and layouts that are not known give no finding.

Why
The server ends with an out-of-memory error while it loads, after the job has waited for its nodes and read the checkpoint.

Example
    # kimi-k3 (1,561 GB of weights) on one node of eight B200
    search-space:
    - { tp: 8, conc-list: [1, 4] }

Instead
    # over two nodes
    decode: {tensor-parallel-size: 8, pipeline-parallel-size: 2}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import server_site
from reviewbot.fit.advice import advise
from reviewbot.fit.layout import described, max_model_len_flag, utilization_flag, utilization_names
from reviewbot.fit.of_runs import fits
from reviewbot.fit.verdict import Report
from reviewbot.runs.model import Run, Server

RULE = Rule("does-not-fit", Level.ERROR, scope="run")

_SIZES = ("tensor-parallel-size", "data-parallel-size", "pipeline-parallel-size")


def check(context: Context) -> Iterator[Finding]:
    for run, server, report in fits(context.runs):
        if report.memory == "does-not-fit":
            yield _finding(context, run, server, report)


def _finding(context: Context, run: Run, server: Server, report: Report) -> Finding:
    layout = report.layout
    names: tuple[str, ...] = _SIZES
    field = "tp"
    if report.cause == "budget":
        names, field = (*utilization_names(layout.engine), *_SIZES), ""
    elif report.cause == "context":
        names, field = (max_model_len_flag(layout.engine), *_SIZES), ""
    where = f"{described(layout)} on {report.gpus} x {report.gpu.name.upper()}"
    return context.finding(
        RULE,
        f"{server.role}: {report.model.name} in {report.checkpoint.precision} does not fit at {where}: {report.reason}",
        server_site(context, run, server, names, field),
        help=_help(report),
        touches=[run],
        structure=server.role,
        subject=f"{report.model.name} {report.cause}",
    )


def _help(report: Report) -> str:
    advice = advise(report).text
    if report.cause == "budget" and report.least_fraction is not None and report.least_fraction <= 0.95:
        return f"write `{utilization_flag(report.layout.engine)}` of {report.least_fraction:g} at least, or more GPUs ({advice})"
    if report.cause == "context" and report.kv_tokens is not None and report.kv_tokens[1]:
        return f"lower `{max_model_len_flag(report.layout.engine)}` to {report.kv_tokens[1]} at most, or take more GPUs ({advice})"
    return advice
