"""A script replaces a value of the matrix with a constant

What
A bench script or a launcher is given a value of the point (`TP`, `EP_SIZE`, `MAX_MODEL_LEN`, `CONC`, ...) and sets the variable to a
number or a word of its own, without a look at the given one.

Why
The row says one thing and the run does another, for every row that comes here; results are published under the row.

Example
    export MAX_MODEL_LEN=32768
    vllm serve "$MODEL" --max-model-len "$MAX_MODEL_LEN"

Instead
    vllm serve "$MODEL" --max-model-len "$MAX_MODEL_LEN"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import is_retired
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Assign
from reviewbot.trace.values import is_known

RULE = Rule("matrix-value-overridden", Level.WARNING, scope="run")

_GIVEN = frozenset(
    {
        "TP", "PP_SIZE", "DCP_SIZE", "PCP_SIZE", "EP_SIZE", "DP_ATTENTION", "CONC", "ISL", "OSL", "MAX_MODEL_LEN", "RANDOM_RANGE_RATIO",
        "KV_OFFLOADING", "TOTAL_CPU_DRAM_GB", "DURATION", "SPEC_DECODING", "PRECISION", "FRAMEWORK", "MODEL_PREFIX", "PREFILL_TP",
        "PREFILL_EP", "PREFILL_DP_ATTN", "PREFILL_NUM_WORKERS", "DECODE_TP", "DECODE_EP", "DECODE_DP_ATTN", "DECODE_NUM_WORKERS",
    }
)  # fmt: skip


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        told: set[tuple[str, Site]] = set()
        for effect in run.effects:
            if not isinstance(effect, Assign) or effect.name not in _GIVEN or (effect.name, effect.site) in told:
                continue
            if _replaced(context, effect):
                told.add((effect.name, effect.site))
                yield _finding(context, run, effect)


def _replaced(context: Context, effect: Assign) -> bool:
    before, value = effect.before, effect.value
    if not before or not value or before == value or not is_known(before) or not is_known(value) or not effect.certain:
        return False
    if before.lower() in ("0", "none", "null") or not effect.site.path or effect.site.path.startswith("<"):
        return False
    lines = context.lines(effect.site.path)
    written = lines[effect.site.line - 1] if 0 < effect.site.line <= len(lines) else ""
    assigned = written.strip().removeprefix("export ").strip()
    name, equals, right = assigned.partition("=")
    return bool(equals) and name == effect.name and right.split("#")[0].split(";")[0].strip().strip("\"'") == value


def _finding(context: Context, run: Run, effect: Assign) -> Finding:
    return context.finding(
        RULE,
        f"`{effect.name}` becomes {effect.value} whatever the row says (here {effect.before})",
        effect.site,
        help="use the given value, or write this one into the row",
        touches=[run],
        related=[(run.point.site, f"gives {effect.name} {effect.before}")],
        structure=effect.name,
        subject=f"{effect.name}={effect.value}",
        level=Level.NOTE if is_retired(effect.site.path) else None,
    )
