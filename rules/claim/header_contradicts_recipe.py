"""The header of a recipe contradicts the recipe

What
The comment at the head of a recipe, or in front of its `resources`, counts workers, nodes, GPUs or ranks (`Nodes: 1 prefill + 2
decode`, `(2 nodes / 16 GPUs)`, `4x DEP4 prefill`), and the recipe has other numbers. A file with several variants is not read, nor is a
sentence that compares or supposes.

Why
The header is what people read before they run a recipe or copy it; a wrong count is a leftover of the recipe it was copied from, or a
sign that the recipe was changed by mistake.

Example
    # 2P1D: 2 prefill workers (TP8), 1 decode worker (TP8)
    resources:
      prefill_workers: 1
      decode_workers: 1

Instead
    # 1P1D: 1 prefill worker (TP8), 1 decode worker (TP8)
    resources:
      prefill_workers: 1
      decode_workers: 1
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model import Recipe
from reviewbot.documents.claims import Claim, topology_claims
from reviewbot.documents.nodes import Mapping
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import Block, YamlDocument, comment_blocks
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import written_variants
from reviewbot.engine.wording import counted
from reviewbot.runs.topology import Contradiction, Shape

RULE = Rule("header-contradicts-recipe", Level.WARNING, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("recipe"):
        document = context.documents.yaml(path)
        found = [(block, claims) for block in _headers(document) if (claims := topology_claims(_text(block)))]
        if not found:
            continue
        variants = written_variants(context, path)
        if len(variants) != 1 or not isinstance(variants[0], Recipe):
            continue
        shape = Shape(variants[0])
        for block, claims in found:
            yield from _block(context, path, block, claims, shape)


def _headers(document: YamlDocument) -> Iterator[Block]:
    root = document.root
    if not isinstance(root, Mapping) or not root.entries:
        return
    first = root.entries[0].key.span.line
    for block in comment_blocks(document):
        before_second = len(root.entries) > 1 and block.span.line < root.entries[1].key.span.line and block.span.column == 1
        if block.span.line < first or before_second or block.path == ("resources",):
            yield block


def _text(block: Block) -> str:
    return "\n".join(comment.text for comment in block.comments)


def _block(context: Context, path: str, block: Block, claims: list[Claim], shape: Shape) -> Iterator[Finding]:
    """One finding a header: it is one text to correct."""
    said: dict[str, Contradiction] = {}
    for claim in claims:
        found = shape.contradicts(claim)
        if found is not None:
            said.setdefault(_shown(claim), found)
    if said:
        places = {found.at.line: found.has for found in said.values() if found.at is not None and found.at.line}
        yield context.finding(
            RULE,
            "the header says " + "; ".join(f"{claim}, the recipe {found.has}" for claim, found in said.items()),
            block.span,
            path=path,
            help="correct the header or the recipe",
            related=[(Site(path, line), has) for line, has in places.items()],
            structure="header",
            subject=", ".join(said),
        )


def _shown(claim: Claim) -> str:
    if claim.name in ("workers", "nodes", "gpus"):
        noun = {"workers": "worker", "nodes": "node", "gpus": "GPU"}[claim.name]
        return counted(claim.value, f"{claim.role} {noun}".strip())
    return f"{claim.role} {claim.name} {claim.value}".strip()
