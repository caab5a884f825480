"""A job runs the checkpoint of another vendor of hardware

What
A job on GPUs of AMD has a checkpoint that NVIDIA has quantised for its own, or the other way round.

Why
The checkpoint's number format does not run there, or runs slower than what is meant to be compared.

Example
    bmk_mi355x:
      strategy:
        matrix:
          config: [{ model: nvidia/Llama-3.3-70B-Instruct-FP8 }]

Instead
    bmk_mi355x:
      strategy:
        matrix:
          config: [{ model: amd/Llama-3.3-70B-Instruct-FP8-KV }]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.workflows import workflow_of

RULE = Rule("model-of-another-vendor", Level.WARNING, frozenset({"documents"}), scope="document")

_AMD = re.compile(r"(?<![a-z0-9])mi3\d\dx?(?![a-z0-9])", re.IGNORECASE)
_NVIDIA = re.compile(r"(?<![a-z0-9])(?:h100|h200|b200|b300|gb200|gb300)(?![a-z0-9])", re.IGNORECASE)


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("workflow"):
        for job in workflow_of(context.documents.yaml(path)).jobs.values():
            below = [node for node in (job.matrix, job.node.get("with")) if node is not None]
            runners = [scalar.text for node in below for scalar in _values(node, "runner", 0)]
            place = " ".join((job.id, *runners)).replace("_", " ")
            amd, nvidia = _AMD.search(place), _NVIDIA.search(place)
            if (amd is None) == (nvidia is None):
                continue
            wrong, hardware = ("nvidia/", amd) if amd is not None else ("amd/", nvidia)
            for node in below:
                for model in _values(node, "model", 0):
                    if model.text.lower().startswith(wrong) and hardware is not None:
                        yield context.finding(
                            RULE,
                            f"`{job.id}` runs on {hardware.group()}, and `{model.text}` is a checkpoint of the other vendor",
                            model,
                            path=path,
                            structure=("jobs", job.id),
                            subject=model.text,
                        )


def _values(node: Node, name: str, depth: int) -> Iterator[Scalar]:
    """The texts below keys of a name, also where the key holds a list of them."""
    if depth > 12:
        return
    if isinstance(node, Sequence):
        for item in node.items:
            yield from _values(item, name, depth + 1)
    elif isinstance(node, Mapping):
        for entry in node.entries:
            own = isinstance(entry.key, Scalar) and entry.key.text == name
            items = entry.value.items if own and isinstance(entry.value, Sequence) else [entry.value]
            for item in items:
                if own and isinstance(item, Scalar) and isinstance(item.value, str):
                    yield item
                elif not own or not isinstance(item, Scalar):
                    yield from _values(item, name, depth + 1)
