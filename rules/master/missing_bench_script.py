"""A point starts a bench script that does not exist

What
The launcher makes the name of the bench script from the row (model prefix, precision, framework, speculative decoding), and there is no
such file.

Why
The job gets its GPUs, then ends with "No such file or directory".

Example
    # launcher
    bash benchmarks/single_node/${EXP_NAME%%_*}_${PRECISION}_h100.sh
    # master: model-prefix tiny, precision fp8, and there is only tiny_fp8_h100_mtp.sh

Instead
Add the script, or correct the row so that the name of an existing one results.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.registry import nearest
from reviewbot.runs.model import Run

RULE = Rule("missing-bench-script", Level.ERROR)


def check(context: Context) -> Iterator[Finding]:
    causes: dict[tuple[str, str, str], list[Run]] = {}
    for run in context.runs:
        if run.missing is not None and run.missing.path.endswith(".sh") and run.missing.path != run.launcher:
            causes.setdefault((run.key, run.launcher, run.missing.path), []).append(run)
    for (key, launcher, path), runs in causes.items():
        run = runs[0]
        missing = run.missing
        assert missing is not None
        folder = path.rpartition("/")[0]
        close = nearest(path, [name for name in context.tree.paths() if name.rpartition("/")[0] == folder])
        yield context.finding(
            RULE,
            f"{launcher} starts `{path}` for this row, which does not exist",
            run.point.site,
            help=f"add the script, or correct the row{f'; the nearest one is `{close}`' if close else ''}",
            touches=runs,
            related=[(missing.site, "started here")],
            structure=key,
            subject=path,
        )
