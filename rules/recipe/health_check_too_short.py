"""The tool stops waiting before the engine does

What
`health_check` allows less time than the engine itself is told to take for its start (`VLLM_ENGINE_READY_TIMEOUT_S`), or as much as the
whole job has.

Why
The engine's limit was raised since loading takes long; the job is ended earlier all the same. A check that may last as long as the job
leaves no time for the benchmark.

Example
    health_check: {max_attempts: 180, interval_seconds: 10}
    backend:
      decode_environment: {VLLM_ENGINE_READY_TIMEOUT_S: "3600"}

Instead
    health_check: {max_attempts: 360, interval_seconds: 10}
    backend:
      decode_environment: {VLLM_ENGINE_READY_TIMEOUT_S: "3600"}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.recipes import default_of
from reviewbot.documents.nodes import Mapping
from reviewbot.documents.positions import Span
from reviewbot.engine.context import Context
from reviewbot.engine.durations import duration
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import Use, beside_resources, own, uses
from reviewbot.runs.build import document_of

RULE = Rule("health-check-too-short", Level.WARNING, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        recipe = use.recipe
        attempts = recipe.health_attempts.value if recipe.health_attempts is not None else default_of(recipe, "health_check.max_attempts")
        interval = (
            recipe.health_interval.value if recipe.health_interval is not None else default_of(recipe, "health_check.interval_seconds")
        )
        if not isinstance(attempts, int) or not isinstance(interval, int) or attempts <= 0 or interval <= 0:
            continue
        yield from _engines(context, use, attempts, interval)


def _engines(context: Context, use: Use, attempts: int, interval: int) -> Iterator[Finding]:
    budget = attempts * interval
    written = use.recipe.health_attempts or use.recipe.health_interval
    check_site = use.site(written) if written is not None else None
    for server in use.servers:
        for name, setting in server.env.items():
            if not name.endswith("_ENGINE_READY_TIMEOUT_S") or setting.value is None or not setting.value.isdigit() or not setting.layers:
                continue
            site = setting.layers[-1].site
            if int(setting.value) <= budget or not own(context, site):
                continue
            how = f"{attempts} x {interval} s" if written is not None else f"{attempts} x {interval} s, the default"
            yield context.finding(
                RULE,
                f"{server.role} may take {duration(int(setting.value))} to start (`{name}`), "
                f"but the health check gives up after {duration(budget)} ({how})",
                check_site if check_site is not None and own(context, check_site) else _unwritten(context, use) or site,
                path=use.path,
                help=f"set `health_check.max_attempts` to {-(-int(setting.value) // interval)} or more",
                touches=use.runs,
                related=[Related(site, f"`{name}` is {setting.value}")],
                structure="health_check",
                subject=f"{budget} < {setting.value}",
            )
            return


def _unwritten(context: Context, use: Use) -> Span | None:
    """Where the health check would stand in the recipe's file."""
    root = document_of(use.text.text).root
    if not isinstance(root, Mapping):
        return None
    span = beside_resources(root)
    first, last = use.written(span.line), use.written(span.end_line)
    if first is None or last is None or not first.path == last.path == use.path or not own(context, first):
        return None
    return Span(first.line, span.column, last.line, span.end_column)
