"""A run of fixed lengths leaves the prefix cache on

What
A point of fixed input and output lengths, whose server keeps its prefix cache: vLLM without `--no-enable-prefix-caching`, SGLang without
`--disable-radix-cache` or `SGLANG_RADIX_FORCE_MISS=1`.

Why
The prompts of such a run are random, so the cache only costs. Warm-up and retries that repeat a prompt hit it, and the prefill that is
measured did not happen. Results with and without it are not comparable.

Example
    vllm serve "$MODEL" --max-model-len 4096

Instead
    vllm serve "$MODEL" --max-model-len 4096 --no-enable-prefix-caching
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.runs.model import Server

RULE = Rule("prefix-cache-left-on", Level.WARNING, scope="run")

_OFF = {"vllm": ("no-enable-prefix-caching",), "sglang": ("disable-radix-cache",)}
_MISSING_ALWAYS = ("SGLANG_RADIX_FORCE_MISS",)  # keeps the cache, and answers nothing from it
_ELSEWHERE = frozenset({"config"})  # flags that name a file with more settings


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.point.scenario != "fixed-seq-len" or run.outcome != "script" or run.point.multinode:
            continue
        for server in run.servers:
            if server.site is not None and _left_on(server):
                flag = _OFF[server.engine][0]
                yield context.finding(
                    RULE,
                    f"the prefix cache of this server is on, and its prompts are random: `--{flag}` is missing",
                    server.site,
                    help=f"add `--{flag}`",
                    touches=[run],
                    structure=server.engine,
                    subject=flag,
                )


def _left_on(server: Server) -> bool:
    if server.engine not in _OFF or _ELSEWHERE & server.flags.keys() or any("\ufffd" in word for word in server.argv):
        return False
    if any(name in server.flags for name in _OFF[server.engine]) or any(name in server.env for name in _MISSING_ALWAYS):
        return False
    written = server.flags.get("enable-prefix-caching")
    return written is None or (written.value or "").lower() not in ("false", "0")
