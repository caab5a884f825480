"""Graphs are captured for batches that never come

What
The largest batch that CUDA graphs are captured for exceeds the number of requests that one rank runs at a time, although both numbers are
written. For vLLM sizes count tokens, so that the tokens of speculation are counted in.

Why
One of the two numbers is not what was meant: either graphs take memory and start-up time for nothing, or the batch limit is lower than
the graphs were tuned for.

Example
    max_batch_size: 1
    cuda_graph_config:
      batch_sizes: [1, 2, 4]

Instead
    max_batch_size: 4
    cuda_graph_config:
      batch_sizes: [1, 2, 4]
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import own, started
from reviewbot.runs.limits import batch_cap, draft_tokens, graph_sizes

RULE = Rule("graph-above-batch", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for one in started(context):
        server = one.server
        cap, graphs, drafts = batch_cap(server), graph_sizes(server), draft_tokens(server)
        if cap is None or graphs is None or drafts is None or server.role == "prefill":
            continue
        if one.use is None:
            continue  # a script serves many rows: its graphs are for the largest, its limit follows the row
        graph, tokens = graphs
        if tokens and server.role != "decode":
            continue  # steps with pieces of prompts have more tokens
        most = cap.value * (1 + drafts) if tokens else cap.value
        site = graph.setting.layers[-1].site if graph.setting.layers else None
        other = cap.setting.layers[-1].site if cap.setting.layers else None
        if graph.value <= most or site is None or not own(context, site):
            continue
        dropped = server.engine == "trtllm"
        counted = (
            f"{most} tokens ({cap.value} requests of {1 + drafts})" if tokens and drafts else f"{most} request{'s' if most > 1 else ''}"
        )
        yield context.finding(
            RULE,
            f"sizes up to {graph.value} in `{graph.name}` are dropped: {server.role} runs at most {counted} at a time (`max_batch_size`)"
            if dropped
            else f"graphs are captured up to {graph.value} by `{graph.name}`, "
            f"but {server.role} runs at most {counted} at a time (`{cap.name}`)",
            site,
            help=f"lower `{graph.name}` to {most}, or raise `{cap.name}`",
            touches=one.runs,
            related=[Related(other, f"`{cap.name}` is {cap.value}")] if other is not None and own(context, other) else [],
            structure=f"{server.role}.{graph.name}",
            subject=f"{graph.value} > {most}",
            level=Level.WARNING if dropped else Level.NOTE,
        )
