"""A value passes the tool's check and fails in the job

What
Values that the tool takes as plain text or numbers and understands only when the job runs: an unknown benchmark, frontend or profiling
type, a benchmark without what it needs, concurrencies or a time limit in a form that cannot be read, counts that are zero or negative.

Why
The job waits for its nodes, starts the engine, and then ends.

Example
    benchmark: {type: sa_bench, isl: 8192, osl: 1024, concurrencies: "4,8"}

Instead
    benchmark: {type: sa-bench, isl: 8192, osl: 1024, concurrencies: "4x8"}
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from reviewbot.bench.model import Recipe, Value
from reviewbot.bench.recipes import effective
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import own, tool_of, uses

RULE = Rule("unreadable-value", Level.ERROR, frozenset({"runs", "change"}), scope="run")

_BENCHMARKS = frozenset(
    [
        "manual",
        "sa-bench",
        "sglang-bench",
        "custom",
        "gpqa",
        "gsm8k",
        "lm-eval",
        "longbenchv2",
        "mmlu",
        "mooncake-router",
        "router",
        "trace-replay",
    ]
)
_FRONTENDS = frozenset({"dynamo", "sglang", "vllm", "trtllm_serve"})
_NEW_FRONTENDS = frozenset({"sglang-router", "vllm-router", "atomesh", "tilert-router", "none", "smg", *_FRONTENDS})
_PLACES = {
    "benchmark.client_placement": frozenset({"head", "last_decode"}),
    "frontend.orchestrator_placement": frozenset({"head", "first_decode"}),
}
_PROFILING = frozenset({"none", "nsys", "nsys-time", "torch"})
_NEEDS = {"sa-bench": ("isl", "osl", "concurrencies"), "sglang-bench": ("isl", "osl", "concurrencies"), "custom": ("command",)}


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        tool = tool_of(use.runs[0]) if use.runs else None
        if tool is not None and not tool.upstream:
            continue  # a fork may read more
        for key, value, message, help in _problems(use.recipe):
            site = use.site(value) if value is not None else use.site(1)
            if site is not None and own(context, site):
                yield context.finding(RULE, message, site, help=help, touches=use.runs, structure=key, subject=message)


def _problems(recipe: Recipe) -> Iterator[tuple[str, Value | None, str, str]]:
    yield from _types(recipe)
    yield from _benchmark(recipe)
    limit = recipe.time_limit
    if limit is not None and not isinstance(limit.value, int):
        yield limit.key, limit, f"`{limit.key}` is `{limit.value}`, which Slurm cannot read", "write it as HH:MM:SS"
    for role in recipe.roles.values():
        for value in (role.nodes, role.workers, role.gpus):
            lowest = 1 if value is role.gpus else 0
            if value is not None and isinstance(value.value, int) and value.value < lowest:
                yield value.key, value, f"`{value.key}` is {value.value}", f"write {lowest} or more"
    for value in (recipe.gpus_per_node, recipe.health_attempts, recipe.health_interval, recipe.isl, recipe.osl):
        if value is not None and isinstance(value.value, int) and value.value < 1:
            yield value.key, value, f"`{value.key}` is {value.value}", "write 1 or more"


def _types(recipe: Recipe) -> Iterator[tuple[str, Value | None, str, str]]:
    allowed = {
        "benchmark.type": _BENCHMARKS,
        "profiling.type": _PROFILING,
        "frontend.type": _FRONTENDS if recipe.schema == 1 else _NEW_FRONTENDS,
    }
    if recipe.schema == 1:
        allowed.update(_PLACES)
    for key, known in allowed.items():
        value = recipe.settings.get(key)
        if value is None or not isinstance(value.value, str) or value.value in known or (recipe.schema != 1 and key == "benchmark.type"):
            continue
        near = difflib.get_close_matches(value.value.replace("_", "-"), sorted(known), 1, 0.6)
        yield (
            key,
            value,
            f"`{key}` is `{value.value}`, which the tool does not have",
            f"did you mean `{near[0]}`?" if near else f"use one of {', '.join(sorted(known))}",
        )


def _benchmark(recipe: Recipe) -> Iterator[tuple[str, Value | None, str, str]]:
    kind = recipe.benchmark_type
    if kind is None or not isinstance(kind.value, str):
        return
    for name in _NEEDS.get(kind.value, ()):
        if effective(recipe, f"benchmark.{name}")[0] in (None, "", []):
            yield f"benchmark.{name}", kind, f"a benchmark of type {kind.value} needs `benchmark.{name}`, which is not written", "add it"
    levels = recipe.concurrencies
    if levels is not None and not isinstance(levels.value, tuple):
        yield (
            levels.key,
            levels,
            f"`{levels.key}` is `{levels.value}`, which is neither a list of numbers nor a text such as `4x8`",
            "write a list, or join the numbers with x",
        )
    elif levels is not None and isinstance(levels.value, tuple):
        if min(levels.value) < 1:
            yield levels.key, levels, f"`{levels.key}` has {min(levels.value)}", "write numbers of 1 or more"
