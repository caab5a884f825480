"""Memory of a server is tight

What
Whether a server starts depends on overhead that only the engine can measure: the weights fill the default budget; what they leave is
between nothing and enough, depending on activations, graphs and draft models; or one request of the written `max-model-len` needs more
than is left in the middle of that range. A context that nobody wrote, so that the engine's own limit applies, is not told.

Why
Such a server starts on one release and runs out of memory on the next, or with a larger batch of the same sweep.

Example
    # 156 GiB of weights a GPU, 178 GiB of memory
    gpu-memory-utilization: 0.93
    max-num-batched-tokens: 32768

Instead
    gpu-memory-utilization: 0.93
    max-num-batched-tokens: 8192
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import server_site
from reviewbot.fit.layout import described, max_model_len_flag, step_tokens_flag, utilization_flag, utilization_names
from reviewbot.fit.of_runs import fits
from reviewbot.fit.verdict import Report
from reviewbot.runs.model import Run, Server

RULE = Rule("tight-memory", Level.WARNING, scope="run")

_SIZES = ("tensor-parallel-size", "data-parallel-size", "pipeline-parallel-size")


def check(context: Context) -> Iterator[Finding]:
    for run, server, report in fits(context.runs):
        if report.memory == "tight" and _told(report):
            yield _finding(context, run, server, report)


def _told(report: Report) -> bool:
    stated = report.layout.max_model_len is not None
    return report.cause in ("budget", "overhead") or (report.cause == "context" and stated)


def _finding(context: Context, run: Run, server: Server, report: Report) -> Finding:
    engine = report.layout.engine
    names = (max_model_len_flag(engine),) if report.cause == "context" else utilization_names(engine)
    where = f"{described(report.layout)} on {report.gpus} x {report.gpu.name.upper()}"
    weights = f"{report.weights_gib:.1f} GiB of weights a GPU" if report.weights_gib is not None else "weights not known"
    return context.finding(
        RULE,
        f"{server.role}: {report.model.name} in {report.checkpoint.precision} is tight at {where} ({weights}): {report.reason}",
        server_site(context, run, server, (*names, *_SIZES)),
        help=_help(report),
        touches=[run],
        structure=server.role,
        subject=f"{report.model.name} {report.cause}",
    )


def _help(report: Report) -> str:
    engine = report.layout.engine
    if report.cause == "budget":
        least = report.least_fraction
        return (
            f"write `{utilization_flag(engine)}` of {least:g} at least, or spread the weights further"
            if least
            else "spread the weights further"
        )
    if report.cause == "context":
        return f"lower `{max_model_len_flag(engine)}`, or spread the weights further"
    return f"spread the weights further, or lower `{step_tokens_flag(engine)}`, which activations grow with"
