"""A recipe leaves the limits to the cluster that its siblings set

What
A recipe that a change adds has no `slurm.time_limit` or no `health_check`, while nearly all recipes for the same kind of GPU and engine
have one; or a change takes one out.

Why
The default of the cluster or of the tool applies then, which is often too short for a large model: the job ends while it loads.

Example
    resources: {gpu_type: gb300, prefill_nodes: 1, decode_nodes: 1}

Instead
    resources: {gpu_type: gb300, prefill_nodes: 1, decode_nodes: 1}
    slurm: {time_limit: "04:00:00"}
    health_check: {max_attempts: 360, interval_seconds: 10}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.recipes import looks_like_recipe
from reviewbot.documents.nodes import Mapping, find
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import beside_resources

RULE = Rule("slurm-limits-missing", Level.NOTE, frozenset({"bench", "documents", "runs", "change"}), guess=True)

_LIMITS = (("slurm", "time_limit"), ("health_check", "max_attempts"))
_LEAST, _SHARE = 4, 0.75
_GPU = re.compile(r"\s+gpu_type:\s*[\"']?(\w+)")
_ENGINE = re.compile(r"\s+type:\s*[\"']?(vllm|sglang|trtllm)\b")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    files = frozenset(context.bench.recipe_files)
    for path in sorted(context.changed & files):
        document = context.bench.yaml_document(path)
        root = document.root if document is not None else None
        if not isinstance(root, Mapping) or not looks_like_recipe(root):
            continue
        before = context.base.bench.yaml_document(path) if path in context.base.bench.recipe_files else None
        for block, key in _LIMITS:
            if (
                find(root, block) is not None
                or find(root, "base", block) is not None
                or any(f"{key}:" in line for line in context.lines(path))
            ):
                continue
            runs = [run for run in context.runs if run.recipe_path == path]
            if before is not None:
                if find(before.root, block) is not None:
                    message = f"the change takes `{block}` out of the recipe: the default of the cluster or of the tool applies now"
                    yield context.finding(
                        RULE, message, beside_resources(root), path=path, help="put it back", touches=runs, structure=block, subject=block
                    )
                continue
            have, all_of_them, example = _siblings(context, path, files, key)
            if all_of_them >= _LEAST and have >= _SHARE * all_of_them:
                yield context.finding(
                    RULE,
                    f"the recipe has no `{block}.{key}`, "
                    f"{have} of {all_of_them} recipes for the same GPUs and engine have one, such as {example}",
                    beside_resources(root),
                    path=path,
                    help=f"set `{block}.{key}`",
                    touches=runs,
                    structure=block,
                    subject=block,
                )


def _kind(lines: list[str]) -> tuple[str, str] | None:
    gpu = next((match[1] for line in lines if (match := _GPU.match(line))), None)
    engine = next((match[1] for line in lines if (match := _ENGINE.match(line))), None)
    return (gpu, engine) if gpu is not None and engine is not None else None


def _siblings(context: Context, path: str, files: frozenset[str], key: str) -> tuple[int, int, str]:
    """How many other recipes of the same kind have the key, how many there are, and one that has it."""
    assert context.changed is not None
    kind = _kind(context.lines(path))
    have, count, example = 0, 0, ""
    for other in sorted(files - context.changed) if kind is not None else ():
        lines = context.lines(other)
        if _kind(lines) == kind:
            count += 1
            if any(line.lstrip().startswith(f"{key}:") for line in lines):
                have += 1
                example = example or other.rpartition("/")[2]
    return have, count, example
