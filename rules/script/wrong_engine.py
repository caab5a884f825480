"""A run starts another engine than its row names

What
The `framework` of a row names an engine, and all servers that the recipe or the bench script starts are of another one.

Why
The results are published under an engine that did not run.

Example
    framework: vllm
    # benchmarks/single_node/toy_fp8_lab.sh
    python3 -m sglang.launch_server --model-path "$MODEL"

Instead
    framework: sglang
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.engine.wording import listed

RULE = Rule("wrong-engine", Level.ERROR, scope="run")

_ENGINES = {"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm", "trt": "trtllm", "atom": "atom"}


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        framework = str(run.point.row.get("framework", ""))
        named = next((engine for word, engine in _ENGINES.items() if word in framework.split("-")), "")
        started = sorted({server.engine for server in run.servers})
        if not named or not started or "" in started or named in started or run.outcome not in ("submit", "script"):
            continue
        site = next((server.site for server in run.servers if server.site is not None), None)
        yield context.finding(
            RULE,
            f"the row's framework is `{framework}`, its run starts {listed(started)}",
            field_site(run.point, "framework"),
            help="correct the framework, or what the run starts",
            touches=[run],
            related=[(site, "the server starts here")] if site is not None else [],
            structure=f"{run.point.key}.framework",
            subject=f"{framework} / {' '.join(started)}",
        )
