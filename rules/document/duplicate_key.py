"""A key is written twice in one mapping

What
A YAML mapping has the same key twice. A key that overrides a merged one (`<<: *base`) is not a duplicate.

Why
The reader keeps the last one and says nothing: the first value looks as if it counted, and does not. Where both values are equal it is
a warning: nothing is wrong until somebody changes one of them.

Example
    decode:
      moe-runner-backend: flashinfer_cutedsl
      moe-runner-backend: flashinfer_trtllm

Instead
    decode:
      moe-runner-backend: flashinfer_trtllm

Fix
Takes the first one out, which counts for nothing: safe where both values are equal, unsafe where they differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence, find
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import Duplicate, YamlDocument
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("duplicate-key", Level.ERROR, frozenset({"documents"}), scope="document")

_NODES = 10_000


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("yaml"):
        for duplicate in context.documents.yaml(path).duplicates:
            same = _same_value(context.documents.yaml(path), duplicate)
            counts = "with the same value" if same else f"; the one of line {duplicate.second.line} counts"
            yield context.finding(
                RULE,
                f"`{duplicate.key}` is written twice in this mapping{' ' if same else ''}{counts}",
                duplicate.second,
                path=path,
                help="keep one of them",
                related=[(Site(path, duplicate.first.line), "the first one" if same else "the first one, which does nothing")],
                structure=duplicate.path,
                subject=str(duplicate.key),
                fix=_fix(context, path, duplicate, same),
                level=Level.WARNING if same else None,
            )


def _fix(context: Context, path: str, duplicate: Duplicate, same: bool) -> Fix | None:
    """Takes out the lines of the first one, where it has them for itself."""
    mapping = find(context.documents.yaml(path).root, *duplicate.path[:-1])
    entries = mapping.entries if isinstance(mapping, Mapping) and not mapping.flow else []
    first = next((entry for entry in entries if entry.key.span == duplicate.first), None)
    if first is None or first.alias is not None:
        return None
    value = first.value
    if isinstance(value, (Mapping, Sequence)) and not value.flow:
        return None  # where a block ends is not written
    last = value.span.end_line
    if isinstance(value, Scalar) and value.style in ("|", ">"):
        return None
    before = context.lines(path)[first.key.span.line - 1][: first.key.span.column - 1]
    if before.strip():
        return None  # the first key of an item of a list
    return Fix("take the first one out", (Replacement(path, first.key.span.line, 1, last + 1, 1, ""),), same)


def _same_value(document: YamlDocument, duplicate: Duplicate) -> bool:
    mapping = find(document.root, *duplicate.path[:-1])
    if not isinstance(mapping, Mapping):
        return False
    values = [entry.value for entry in mapping.entries if entry.key.span in (duplicate.first, duplicate.second)]
    return len(values) == 2 and _equal(values[0], values[1], [_NODES])


def _equal(one: Node, other: Node, left: list[int]) -> bool:
    """Whether two values are the same, as far as the ``left`` nodes go: aliases can make a small file endless."""
    left[0] -= 1
    if left[0] < 0:
        return False
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return type(one.value) is type(other.value) and one.value == other.value
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return len(one.items) == len(other.items) and all(_equal(a, b, left) for a, b in zip(one.items, other.items, strict=True))
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        mine, others = one.index(), other.index()
        return mine.keys() == others.keys() and all(_equal(entry.value, others[key].value, left) for key, entry in mine.items())
    return False
