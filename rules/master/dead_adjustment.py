"""A priority is given to a value that no point has

What
A file of job priorities (`adjustments:`) names a precision, a way of speculative decoding, a framework or a model prefix that no point of
the active masters has.

Why
The adjustment never applies: it is misspelt, or what it was for is gone. With a misspelt one, jobs run in another order than was decided.

Example
    adjustments:
      spec-decoding:
        eagle: 0.75   # points say eagle3

Instead
    adjustments:
      spec-decoding:
        eagle3: 0.75
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviewbot.bench.validate import schema
from reviewbot.documents.nodes import Mapping, Scalar, find
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.registry import nearest
from reviewbot.engine.wording import listed

RULE = Rule("dead-adjustment", Level.WARNING, frozenset({"bench"}))

_FILE = re.compile(r"(?:\A|/)(?:ci-)?priorit(?:y|ies)\.ya?ml\Z")
_FIELDS = ("precision", "spec-decoding", "framework", "framework-prefix", "model-prefix")


def check(context: Context) -> Iterator[Finding]:
    for path in context.tree.paths():
        if not _FILE.search(path):
            continue
        document = context.bench.yaml_document(path)
        adjustments = find(document.root, "adjustments") if document is not None else None
        if not isinstance(adjustments, Mapping) or not context.bench.points:
            continue
        for field in _FIELDS:
            block = adjustments.get(field)
            if isinstance(block, Mapping):
                yield from _dead(context, path, field, block)


def _dead(context: Context, path: str, field: str, block: Mapping) -> Iterator[Finding]:
    name = field.removesuffix("-prefix") if field == "framework-prefix" else field
    values = {str(point.row.get(name)) for point in context.bench.points if point.row.get(name) is not None}
    written = {entry.key.text for entry in block.entries if isinstance(entry.key, Scalar)}
    for entry in block.entries:
        if not isinstance(entry.key, Scalar):
            continue
        value = entry.key.text
        if value in values or (field.endswith("-prefix") and any(one.startswith(value) for one in values)):
            continue
        known = value in _declared(name) or _retired(context, name, value)
        guess = nearest(value, sorted(values - written))
        yield context.finding(
            RULE,
            f"no active point has `{name}: {value}`{', though one could' if known else f'; there are {listed(sorted(values))}'}",
            entry,
            path=path,
            help=f"write `{guess}`, or take it out" if guess else "take it out",
            structure=f"adjustments.{field}",
            subject=value,
            level=Level.NOTE if known else None,
        )


def _declared(field: str) -> set[str]:
    """The values that the schema of masters names for a field, anywhere."""
    found: set[str] = set()
    parts: list[Any] = [schema("inferencex-master")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            own = part.get("properties", {}).get(field) if isinstance(part.get("properties"), dict) else None
            if isinstance(own, dict):
                found.update(map(str, own.get("enum", ())))
            parts.extend(part.values())
        elif isinstance(part, list):
            parts.extend(part)
    return found


def _retired(context: Context, field: str, value: str) -> bool:
    """Whether an entry of a retired master has a value for a field."""
    written = re.compile(rf"^\s*-?\s*[\"']?{re.escape(field)}[\"']?:\s*[\"']?{re.escape(value)}[\"']?\s*(?:#|$)")
    active = {master.path for master in context.bench.masters.files if not master.deprecated}
    retired = (path for path in context.documents.paths("master") if path not in active)
    return any(written.match(line) for path in retired for line in context.lines(path) if value in line)
