"""A mapping is passed where a text is expected

What
A job passes a field of the matrix to an input of type string, and in some rows that field is a mapping (`{name: lmcache, version: 0.3.6}`).

Why
GitHub refuses the job, or puts the word `Object` in its place.

Example
    kv-offload-backend: ${{ matrix.config.kv-offload-backend }}

Instead
    kv-offload-backend: ${{ matrix.config.kv-offload-backend.name }}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("object-passed-as-text", Level.ERROR, frozenset({"bench"}))

_WHOLE = re.compile(r"\$\{\{\s*matrix\.[\w-]+(?:\.(?P<dot>[\w-]+)|\[\s*'(?P<index>[\w-]+)'\s*\])\s*\}\}\Z")


def check(context: Context) -> Iterator[Finding]:
    bench = context.bench
    for caller in bench.contract.callers:
        template = bench.contract.templates.get(caller.template)
        if template is None or caller.workflow.startswith("<"):
            continue
        rows = [
            point for point in bench.points if ("prefill" in point.row, "scenario-type" in point.row) == (caller.multinode, caller.agentic)
        ]
        for name, (value, site) in caller.inputs.items():
            declared = template.inputs.get(name)
            match = _WHOLE.match(value.source.strip())
            if match is None or declared is None or declared.type != "string":
                continue
            field = match["dot"] or match["index"]
            some = [point for point in rows if isinstance(point.row.get(field), Mapping)]
            if not some:
                continue
            keys = list(some[0].row[field])
            rows_of = f"{len(some)} row{'s' if len(some) > 1 else ''}"
            yield context.finding(
                RULE,
                f"`{field}` of {rows_of} is a mapping ({', '.join(map(str, keys))}), and the input `{name}` is a string",
                site,
                help=f"pass `matrix.{caller.variable}.{field}.{keys[0]}`" if keys else "",
                touches=[point.id for point in some],
                related=[(declared.site, "the input"), (some[0].sites.get(field, some[0].site), "a row with a mapping")],
                structure=("jobs", caller.job, "with"),
                subject=name,
            )
