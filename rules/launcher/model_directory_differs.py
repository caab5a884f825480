"""A launcher starts another checkpoint than the row declares

What
The folder that a launcher gives for the model has the name of another checkpoint of the same family than `model` of the row: another
version, revision, size or quantization. Where only one of the two names a quantization it is a note. Abbreviated names (`dsr1-fp8`) are not
compared.

Why
The result is published under the model of the row.

Example
    # master
    model: toylab/Toy-5.2-FP8
    # launcher
    export MODEL_PATH=/models/Toy-5.1-FP8

Instead
    export MODEL_PATH=/models/Toy-5.2-FP8
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import field_site
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Assign

RULE = Rule("model-directory-differs", Level.WARNING, scope="run")

_SAME = (("nvfp4", "fp4"), ("mxfp4", "fp4"), ("mxfp8", "fp8"), ("instruct", ""), ("_", "-"))
_TOKEN = re.compile(r"[a-z]+|\d+(?:\.\d+)*")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        declared = str(run.point.row.get("model") or "")
        path = run.model_path
        if run.outcome not in ("submit", "script") or path is None or path.unknown or not path.layers or "/" not in declared:
            continue
        wanted = _tokens(declared)
        names = [value.rstrip("/").rpartition("/")[2] for value in path.values if value.startswith("/")]
        if not names or len(names) != len(path.values) or not all(_differs(_tokens(name), wanted) for name in names):
            continue
        shown = " or ".join(f"`{value}`" for value in path.values)
        setter = _setter(run, path.values)
        site = setter if setter is not None else path.layers[-1].site
        yield context.finding(
            RULE,
            f"the model is taken from {shown}, but the row declares `{declared}`",
            site,
            help="take the folder of the declared checkpoint, or declare the one that runs",
            touches=[run],
            related=[(field_site(run.point, "model"), f"declares `{declared}`")],
            structure=names[0],
            subject=f"{declared} {names[0]}",
            level=None if all(("fp" in _tokens(name)) == ("fp" in wanted) for name in names) else Level.NOTE,
        )


def _setter(run: Run, values: tuple[str, ...]) -> Site | None:
    """The line that gave a variable the path."""
    assigns = [effect.site for effect in run.effects if isinstance(effect, Assign) and effect.value in values]
    return assigns[0] if assigns else None


def _tokens(name: str) -> tuple[str, ...]:
    text = name.rstrip("/").rpartition("/")[2].lower()
    for old, new in _SAME:
        text = text.replace(old, new)
    return tuple(_TOKEN.findall(text))


def _differs(name: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Whether two names are of one family (the same first word) and say different things."""
    if not name or not wanted or name[0] != wanted[0] or name == wanted:
        return False
    return _named(name) != _named(wanted)


def _named(tokens: tuple[str, ...]) -> frozenset[str]:
    return frozenset(token for token in tokens if token not in ("v", "b", "a", "preview"))
