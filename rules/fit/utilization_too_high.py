"""The fraction of memory leaves too little outside of it

What
`gpu-memory-utilization` or `mem-fraction-static` is so high that what remains outside of it is less than what the engine is known to need
there: graphs and kernels' workspaces for vLLM and ATOM, activations and graphs for SGLang. The rest of the memory would do.

Why
The server starts and runs out of memory later: while it captures graphs, or under the first full batch.

Example
    gpu-memory-utilization: 0.975  # 3.5 GiB of 139.8 are left

Instead
    gpu-memory-utilization: 0.92
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import server_site
from reviewbot.fit.layout import utilization_flag, utilization_names
from reviewbot.fit.of_runs import fits

RULE = Rule("utilization-too-high", Level.WARNING, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run, server, report in fits(context.runs):
        if report.memory != "tight" or report.cause != "utilization":
            continue
        engine, gpu = report.layout.engine, report.gpu
        yield context.finding(
            RULE,
            f"{server.role}: {report.reason}, of {gpu.usable_gib:g} GiB of {gpu.name.upper()}",
            server_site(context, run, server, utilization_names(engine)),
            help=f"lower `{utilization_flag(engine)}`: the weights take {report.weights_gib or 0.0:.1f} GiB a GPU",
            touches=[run],
            structure=server.role,
            subject=f"{utilization_flag(engine)} {report.layout.utilization}",
        )
