"""A change moves the image of one entry of a pair

What
Two entries that differ in their way of speculative decoding only (`X` and `X-mtp`) had the same image, and the change gives one of them
another.

Why
The two curves are read side by side: with two images, a difference may be that of the releases.

Example
    toy-fp8-lab-vllm:      {image: "vllm/vllm-openai:v0.12.0"}   # was v0.11.0
    toy-fp8-lab-vllm-mtp:  {image: "vllm/vllm-openai:v0.11.0"}

Instead
    toy-fp8-lab-vllm:      {image: "vllm/vllm-openai:v0.12.0"}
    toy-fp8-lab-vllm-mtp:  {image: "vllm/vllm-openai:v0.12.0"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.masters import MasterEntry
from reviewbot.documents.nodes import Scalar
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("pair-image-differs", Level.NOTE, frozenset({"bench", "change"}), guess=True)

_SUFFIX = re.compile(r"-(?:mtp\d*|eagle3?|dspark)\Z")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or not context.changed:
        return
    entries = {entry.key: entry for entry in context.bench.masters.active()}
    before = {entry.key: _image(entry) for entry in context.base.bench.masters.active()}
    for key, entry in entries.items():
        other = entries.get(_SUFFIX.sub("", key))
        if other is None or other is entry:
            continue
        image, second = _image(entry), _image(other)
        was = before.get(key)
        if not image or not second or image == second or not was or was != before.get(other.key):
            continue
        moved, left = (entry, other) if image != was else (other, entry)
        node = moved.node.get("image") if moved.node is not None else None
        yield context.finding(
            RULE,
            f"`{moved.key}` moves to `{_image(moved)}`, and `{left.key}`, which had the same image, does not",
            node if isinstance(node, Scalar) else moved.key_span,
            path=moved.path,
            help="move both, or say why in the changelog",
            touches=[point.id for point in context.bench.by_key.get(moved.key, ())],
            related=[(Site(left.path, left.site.line), f"stays at `{_image(left)}`")],
            structure=f"{moved.key}.image",
            subject=f"{_image(moved)} / {_image(left)}",
        )


def _image(entry: MasterEntry) -> str:
    node = entry.node.get("image") if entry.node is not None else None
    return node.text if isinstance(node, Scalar) else ""
