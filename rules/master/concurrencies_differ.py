"""A row and its recipe name other concurrencies

What
The row's `conc-list` is not the list of concurrencies that the recipe's benchmark runs. Where the recipe runs all that the row names
and more, it is a warning: the job takes longer, and results come in that nobody asked for.

Why
The load generator of a recipe reads the recipe alone, so the row's number is published for a concurrency that never ran.

Example
    # master row
    conc-list: [4]
    # recipe
    benchmark:
      type: sa-bench
      concurrencies: "28"

Instead
    conc-list: [28]
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.catalog.benchmarks import READS_RECIPE_CONCURRENCIES
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.runs.servers import layers_of

RULE = Rule("concurrencies-differ", Level.ERROR, scope="run")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        recipe = run.recipe
        if recipe is None or run.text is None or recipe.benchmark_type is None or recipe.concurrencies is None:
            continue
        row, runs = _numbers(run.point.row.get("conc")), recipe.concurrencies.value
        if recipe.benchmark_type.value not in READS_RECIPE_CONCURRENCIES or not row or not isinstance(runs, tuple):
            continue
        if set(row) == set(runs):
            continue
        missing, extra = sorted(set(row) - set(runs)), sorted(set(runs) - set(row))
        layers = layers_of(run.text, recipe.concurrencies.line)
        place = layers[-1].site if layers else None
        yield context.finding(
            RULE,
            f"the row says concurrency {_listed(row)}, the recipe runs {_listed(runs)}{_consequence(missing, extra)}",
            field_site(run.point, "conc", "conc-list", "conc-start"),
            help=f"write `conc-list: [{', '.join(map(str, runs))}]`, or change `benchmark.concurrencies` of the recipe",
            touches=[run],
            related=[(place, f"the benchmark runs {_listed(runs)}")] if place else [],
            structure=f"{run.point.key}.conc-list",
            subject=f"{_listed(row)} / {_listed(runs)}",
            level=None if missing else Level.WARNING,
        )


def _consequence(missing: list[int], extra: list[int]) -> str:
    if missing:
        return f": {_listed(missing)} never {'run' if len(missing) > 1 else 'runs'}"
    return f": {_listed(extra)} {'run and are' if len(extra) > 1 else 'runs and is'} not in the row"


def _numbers(value: object) -> list[int]:
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if isinstance(item, int) and not isinstance(item, bool)]


def _listed(numbers: object) -> str:
    return ", ".join(str(number) for number in numbers) if isinstance(numbers, (list, tuple)) else str(numbers)
