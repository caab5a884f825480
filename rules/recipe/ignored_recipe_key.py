"""A block of a recipe is read by nobody

What
A file with a `base` block has another key at its top that is neither `override_<name>` nor `zip_override_<name>`, or a recipe has a
`benchmark.sweep`, which the tool reads and never uses.

Why
The tool does not complain: the variant, or the sweep, is simply not there.

Example
    base:
      name: demo
    overide_low:
      benchmark: {concurrencies: [1]}

Instead
    override_low:
      benchmark: {concurrencies: [1]}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.recipes import schema_of
from reviewbot.bench.validate import ignored
from reviewbot.documents.nodes import Mapping, find
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("ignored-recipe-key", Level.ERROR, frozenset({"bench", "documents"}))


def check(context: Context) -> Iterator[Finding]:
    for path in context.bench.recipe_files:
        if not any(line.startswith("base:") or line.strip() == "sweep:" for line in context.lines(path)):
            continue
        document = context.bench.yaml_document(path)
        root = document.root if document is not None else None
        if not isinstance(root, Mapping):
            continue
        if root.get("base") is not None:
            for problem in ignored(root, schema_of(root)):
                yield context.finding(
                    RULE,
                    problem.message,
                    problem.span,
                    path=path,
                    help="name it `override_<name>` or `zip_override_<name>`, or take it out",
                    structure=problem.key,
                    subject=problem.key,
                )
        for name, entry in root.items():
            block = entry.value if name == "base" or str(name).startswith(("override_", "zip_override_")) else root
            benchmark = find(block, "benchmark") if isinstance(block, Mapping) else None
            sweep = benchmark.entry("sweep") if isinstance(benchmark, Mapping) else None
            if sweep is not None and schema_of(root) == 1:
                yield context.finding(
                    RULE,
                    "`benchmark.sweep` is read and never used: the job has one run",
                    sweep.key.span,
                    path=path,
                    help="use a `sweep` block at the top of the file, or `zip_override_<name>` variants",
                    structure="benchmark.sweep",
                    subject="benchmark.sweep",
                    level=Level.WARNING,
                )
