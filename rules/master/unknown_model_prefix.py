"""An entry has a model prefix that is not one

What
`model-prefix` holds the precision too, is not what the config key begins with, or is not in the list of models (`MODELS.md`).

Why
Launchers and loaders choose scripts, paths and limits by the prefix: with an unknown one they take none, or those of another model, and
the results stand under a model of their own.

Example
    toy-fp8-lab-vllm:
      model-prefix: toy-fp8

Instead
    toy-fp8-lab-vllm:
      model-prefix: toy
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model_list import PATHS, read_model_list
from reviewbot.documents.nodes import Scalar
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.registry import nearest

RULE = Rule("unknown-model-prefix", Level.ERROR, frozenset({"bench"}))


def check(context: Context) -> Iterator[Finding]:
    path = next((path for path in PATHS if context.tree.is_file(path)), "")
    models = read_model_list(context.lines(path)).models if path else {}
    for entry in context.bench.masters.active():
        node = entry.node.get("model-prefix") if entry.node is not None else None
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            continue
        prefix = node.value
        precision = entry.node.get("precision")
        related: list[tuple[Site, str]] = []
        level = Level.ERROR
        if isinstance(precision, Scalar) and str(precision.value) in prefix.split("-")[1:]:
            why = f"holds the precision `{precision.value}`, which is a field of its own"
            help = f"write `{prefix.rpartition('-')[0]}`"
        elif not entry.key.startswith(f"{prefix}-"):
            why = f"is not what the config key `{entry.key}` begins with"
            help = f"write `{entry.key.partition('-')[0]}`, or rename the entry"
        elif models and prefix not in models:
            level = Level.WARNING  # launchers may know it; the list does not
            why = f"is not in the list of models of {path}"
            guess = nearest(prefix, models)
            help = f"write `{guess}`, or list the model" if guess else "list the model there"
            related = [(Site(path, models[guess].line), f"`{guess}` is listed here")] if guess else []
        else:
            continue
        yield context.finding(
            RULE,
            f"the model prefix `{prefix}` {why}",
            node,
            path=entry.path,
            help=help,
            touches=[point.id for point in context.bench.by_key.get(entry.key, ())],
            related=related,
            structure=f"{entry.key}.model-prefix",
            subject=prefix,
            level=level,
        )
