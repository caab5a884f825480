"""A comment on a row contradicts the row

What
The comment above a row of the search space names workers, parallelism or concurrencies (`1P3D: 1 prefill (DEP8), 3 decode (TP4),
conc=64`) that the row does not have.

Why
Reviewers compare rows by these comments; a wrong one hides a wrong row.

Example
    # 1P3D: 1 prefill (TP4), 3 decode (TP8)
    - prefill: {num-worker: 1, tp: 4}
      decode: {num-worker: 4, tp: 8}

Instead
    # 1P4D: 1 prefill (TP4), 4 decode (TP8)
    - prefill: {num-worker: 1, tp: 4}
      decode: {num-worker: 4, tp: 8}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model import Point
from reviewbot.documents.claims import Claim, topology_claims
from reviewbot.documents.nodes import Entry, Mapping, Scalar
from reviewbot.documents.yaml import Block, comment_blocks
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.runs.parity import RowRole, row_gpus, row_roles

RULE = Rule("comment-contradicts-run", Level.WARNING, frozenset({"bench", "documents"}))


def check(context: Context) -> Iterator[Finding]:
    rows: dict[tuple[str, int], list[Point]] = {}
    for point in context.bench.points:
        rows.setdefault((point.site.path, point.site.line), []).append(point)
    for path in sorted({path for path, _ in rows}):
        for block in comment_blocks(context.documents.yaml(path)):
            line = _line_below(block)
            points = rows.get((path, line), []) if line is not None else []
            if points:
                yield from _block(context, path, block, points)


def _line_below(block: Block) -> int | None:
    below = block.below
    if below is None:
        return None
    node = below.key if isinstance(below, Entry) else below
    if isinstance(node, Mapping) and node.entries and isinstance(node.entries[0].key, Scalar):
        return node.entries[0].key.span.line
    return node.span.line


def _block(context: Context, path: str, block: Block, points: list[Point]) -> Iterator[Finding]:
    text = "\n".join(comment.text for comment in block.comments)
    for claim in topology_claims(text):
        if any(contradicts(claim, point) is None for point in points):
            continue
        found = contradicts(claim, points[0])
        assert found is not None
        role = f"{claim.role} " if claim.role else ""
        yield context.finding(
            RULE,
            f"the comment says {role}{claim.name} {_shown(claim)}, the row {found}",
            block.span,
            path=path,
            help="correct the comment or the row",
            touches=[point.id for point in points],
            structure=block.path,
            subject=f"{claim.role} {claim.name} {claim.value}",
        )


def _shown(claim: Claim) -> str:
    return ("true" if claim.value else "false") if claim.name == "dp-attn" else str(claim.value)


def contradicts(claim: Claim, point: Point) -> str | None:
    """What the row says instead of the claim; ``None`` where they agree, or where the row says nothing about it."""
    roles = row_roles(point)
    if claim.name == "concurrency":
        concurrency = point.row.get("conc")
        numbers = concurrency if isinstance(concurrency, (list, tuple)) else [concurrency]
        return None if claim.value in numbers else f"has conc {', '.join(map(str, numbers))}"
    if claim.name == "gpus":
        total = row_gpus(roles)
        return None if not roles or claim.value in total else f"takes {' or '.join(map(str, sorted(total)))} GPUs"
    role = next((role for role in roles if role.role == claim.role), None)
    if role is None or claim.name == "nodes":
        return None
    return _role_contradicts(claim, role)


def _role_contradicts(claim: Claim, role: RowRole) -> str | None:
    if claim.name == "workers":
        return None if claim.value == role.workers else f"has num-worker {role.workers}"
    if claim.name == "dp-attn":
        return None if bool(claim.value) == role.dp_attention else f"has dp-attn {str(role.dp_attention).lower()}"
    if claim.name in ("dep", "dp"):
        return None if claim.value in {role.tp, role.ep, *role.worlds} else f"has tp {role.tp}, ep {role.ep}"
    if claim.name == "tep":
        return None if claim.value in {role.tp, role.ep} else f"has tp {role.tp}, ep {role.ep}"
    if claim.name == "tp":
        return None if claim.value in {role.tp, *role.worlds} else f"has tp {role.tp}"
    number = {"ep": role.ep, "pp": role.pp, "dcp": role.dcp, "pcp": role.pcp}.get(claim.name)
    return None if number is None or claim.value == number else f"has {claim.name} {number}"
