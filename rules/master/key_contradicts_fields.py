"""A config key says other than its fields

What
The name of an entry has a precision, a framework or a GPU that is not the one of its fields, or its precision is one that no program
here knows.

Why
Keys are what changelogs, sweeps and results go by: whoever asks for the fp4 results of an engine gets others. Bench scripts are chosen by
the fields, so a script that is named after the key is not found.

Example
    toy-nvfp4-lab-vllm:
      precision: fp4

Instead
    toy-fp4-lab-vllm:
      precision: fp4
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.masters import MasterEntry
from reviewbot.documents.nodes import Scalar
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("key-contradicts-fields", Level.ERROR, frozenset({"bench"}))

_PRECISIONS = ("fp4", "fp6", "fp8", "fp16", "fp32", "bf16", "int4", "int8")
_PRECISION = re.compile(r"(?:nv|mx)?(?:fp|bf|int)\d{1,2}\Z")
_ENGINES = ("vllm", "sglang", "trt", "atom", "tilert")
_GPU = re.compile(r"(?:gb|vr|b|h|l|a|mi|rtx)\d{2,4}[a-z]?\Z")


def check(context: Context) -> Iterator[Finding]:
    for entry in context.bench.masters.active():
        if entry.node is None:
            continue
        precision, framework, runner = (_text(entry, name) for name in ("precision", "framework", "runner"))
        tokens = entry.key.split("-")
        known = not precision or precision in _PRECISIONS or not _PRECISION.match(precision)
        if not known:
            right = next((one for one in _PRECISIONS if precision.endswith(one)), "")
            yield _finding(
                context, entry, "precision", f"`{precision}` is not a precision that a row may have",
                f"write `{right}`" if right else "write one of " + ", ".join(_PRECISIONS), precision,
            )  # fmt: skip
        said = next((token for token in tokens[1:] if _PRECISION.match(token)), "")
        if known and precision and said and precision not in tokens:
            yield _contradiction(context, entry, "precision", precision, said, _model_too(entry, said))
        engine = next((one for one in _ENGINES if one in framework), "")
        named = [one for one in _ENGINES if any(token.startswith(one) for token in tokens[1:])]
        if engine and named and engine not in named:
            yield _contradiction(context, entry, "framework", framework, named[0], "")
        gpu = next((part for part in re.split(r"[-:_]", runner) if _GPU.match(part)), "")
        gpus = [token for token in tokens[1:] if _GPU.match(token)]
        if gpu and gpus and gpu not in gpus:
            yield _contradiction(context, entry, "runner", runner, gpus[0], "")


def _text(entry: MasterEntry, name: str) -> str:
    node = entry.node.get(name) if entry.node is not None else None
    return str(node.value) if isinstance(node, Scalar) and node.value is not None else ""


def _model_too(entry: MasterEntry, said: str) -> str:
    """What the name of the model says for the key."""
    model = _text(entry, "model")
    return f"; the model is `{model}`" if said.lower() in model.lower() else ""


def _contradiction(context: Context, entry: MasterEntry, field: str, value: str, said: str, also: str) -> Finding:
    node = entry.node.get(field) if entry.node is not None else None
    return context.finding(
        RULE,
        f"the config key `{entry.key}` says `{said}`, its {field} is `{value}`{also}",
        entry.key_span,
        path=entry.path,
        help="rename the entry, or correct the field",
        touches=[point.id for point in context.bench.by_key.get(entry.key, ())],
        related=[(Site(entry.path, node.span.line), f"{field} is `{value}`")] if isinstance(node, Scalar) else [],
        structure=f"{entry.key}.{field}",
        subject=f"{said} / {value}",
    )


def _finding(context: Context, entry: MasterEntry, field: str, message: str, help: str, subject: str) -> Finding:
    node = entry.node.get(field) if entry.node is not None else None
    return context.finding(
        RULE,
        message,
        node if isinstance(node, Scalar) else entry.key_span,
        path=entry.path,
        help=help,
        touches=[point.id for point in context.bench.by_key.get(entry.key, ())],
        structure=f"{entry.key}.{field}",
        subject=subject,
    )
