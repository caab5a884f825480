"""A key is written twice in one mapping

What
A YAML mapping has the same key twice. A key that overrides a merged one (`<<: *base`) is not a duplicate.

Why
The reader keeps the last one and says nothing: the first value looks as if it counted, and does not.

Example
    decode:
      moe-runner-backend: flashinfer_cutedsl
      moe-runner-backend: flashinfer_trtllm

Instead
    decode:
      moe-runner-backend: flashinfer_trtllm
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("duplicate-key", Level.ERROR, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("yaml"):
        for duplicate in context.documents.yaml(path).duplicates:
            yield context.finding(
                RULE,
                f"`{duplicate.key}` is written twice in this mapping; the one of line {duplicate.second.line} counts",
                duplicate.second,
                path=path,
                help="keep one of them",
                related=[(Site(path, duplicate.first.line), "the first one, which does nothing")],
                structure=duplicate.path,
                subject=str(duplicate.key),
            )
