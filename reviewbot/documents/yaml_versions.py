"""Scalars that YAML 1.1 (PyYAML) and YAML 1.2 readers take for different values."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from reviewbot.documents.nodes import Mapping, Node, Scalar, Sequence
from reviewbot.documents.positions import Span
from reviewbot.documents.yaml import parse_yaml
from reviewbot.documents.yaml_scalars import STR, BadScalar, resolve_core


class VersionDifference(NamedTuple):
    """A plain scalar as written, and its value in either version of YAML."""

    span: Span
    raw: str
    value11: object
    value12: object


def yaml12_differences(data: bytes) -> list[VersionDifference]:
    """The plain scalars (keys too) of a file that a YAML 1.2 reader, ruamel.yaml, understands otherwise than PyYAML, in their order.

    ruamel.yaml still reads ``1_000`` as a number, which the core schema of 1.2 calls text: there the schema decides.
    """
    known: dict[str, object] = {}
    found: list[VersionDifference] = []
    pending: list[Node] = list(parse_yaml(data).documents)
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Mapping):
            for entry in (*node.merges, *node.entries):
                pending += [entry.key, entry.value]
        elif isinstance(node, Sequence):
            pending.extend(node.items)
        elif not node.style and node.raw[:1] not in ("'", '"') and "\n" not in node.raw:
            if node.text not in known:
                known[node.text] = _value12(node)
            value = known[node.text]
            if type(value) is not type(node.value) or repr(value) != repr(node.value):
                found.append(VersionDifference(node.span, node.raw, node.value, value))
    return sorted(found, key=lambda difference: difference.span)


def _value12(node: Scalar) -> object:
    try:
        tag, value = resolve_core(node.text)
    except BadScalar:
        return node.text
    if tag == STR and (node.tag == STR or "_" in node.text):
        return node.text
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        read = YAML(typ="safe", pure=True).load(node.text)
    except (YAMLError, ValueError):
        return value
    return node.text if isinstance(read, (datetime.date, datetime.datetime)) else read
