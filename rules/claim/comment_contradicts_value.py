"""A comment contradicts the value beside it

What
A comment in a YAML file says that a key is not set (`No KEY: ...`), that it has another value (`KEY=3600`, `KEY: 3600`), or that the
value below is one number and not another (`0.90, not 0.95`), and the mapping in which the comment stands says otherwise. Sentences that
compare, remember or suppose are not read as such a statement.

Why
Whoever changes the file next believes the comment. One of the two is a leftover of an earlier experiment.

Example
    # No RETENTION_INTERVAL: every positive value is refused at start.
    RETENTION_INTERVAL: "32768"

Instead
    # 32768 is a multiple of the scheduler's block size.
    RETENTION_INTERVAL: "32768"
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.claims import KeyClaim, absence_claims, instead_claims, value_claims
from reviewbot.documents.nodes import Entry, Mapping, Path, Scalar, find
from reviewbot.documents.positions import Site, Span
from reviewbot.documents.yaml import Block, YamlDocument, comment_blocks, trailing_comments
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("comment-contradicts-value", Level.WARNING, frozenset({"documents"}), scope="document")

_HELP = "keep the one that is meant, and say in the comment why"


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("yaml"):
        document = context.documents.yaml(path)
        if "#" not in document.text:
            continue
        for block in comment_blocks(document):
            yield from _block(context, path, document, block)
        for comment, near, where in trailing_comments(document):
            if isinstance(near, Entry):
                yield from _values(context, path, document, comment.text, comment.span, near, where)


def _block(context: Context, path: str, document: YamlDocument, block: Block) -> Iterator[Finding]:
    text = "\n".join(comment.text for comment in block.comments)
    mapping = find(document.root, *block.path[:-1]) if block.path else None
    if isinstance(mapping, Mapping):
        for claim in absence_claims(text):
            entry = mapping.entry(claim.key)
            if entry is not None and isinstance(entry.value, Scalar) and entry.value.value is not None:
                yield _denied(context, path, block, claim, entry)
    if isinstance(block.below, Entry):
        yield from _values(context, path, document, text, block.span, block.below, block.path)
        yield from _instead(context, path, text, block, block.below)


def _denied(context: Context, path: str, block: Block, claim: KeyClaim, entry: Entry) -> Finding:
    value = entry.value
    assert isinstance(value, Scalar)
    line = entry.key.span.line
    return context.finding(
        RULE,
        f"the comment says that there is no `{claim.key}`, but line {line} sets it to {value.raw}",
        block.span,
        path=path,
        help=_HELP,
        related=[(Site(path, line), f"`{claim.key}: {value.raw}`")],
        structure=block.path,
        subject=f"no {claim.key}",
    )


def _values(context: Context, path: str, document: YamlDocument, text: str, span: Span, near: Entry, where: Path) -> Iterator[Finding]:
    for claim in value_claims(text):
        entry = _entry(document, claim.key, near, where)
        if entry is None or claim.value is None or not isinstance(entry.value, Scalar) or _same(claim.value, entry.value):
            continue
        line = entry.key.span.line
        yield context.finding(
            RULE,
            f"the comment says `{claim.key}` is {claim.value}, but line {line} sets it to {entry.value.raw}",
            span,
            path=path,
            help=_HELP,
            related=[(Site(path, line), f"`{claim.key}: {entry.value.raw}`")],
            structure=where,
            subject=f"{claim.key}={claim.value}",
        )


def _entry(document: YamlDocument, key: str, near: Entry, where: Path) -> Entry | None:
    """The entry that a comment beside ``near`` speaks of: ``near`` itself, one of its children, or a sibling."""
    if isinstance(near.key, Scalar) and near.key.text == key:
        return near
    if isinstance(near.value, Mapping) and (child := near.value.entry(key)) is not None:
        return child
    mapping = find(document.root, *where[:-1])
    return mapping.entry(key) if isinstance(mapping, Mapping) else None


def _instead(context: Context, path: str, text: str, block: Block, below: Entry) -> Iterator[Finding]:
    value = below.value
    if not isinstance(value, Scalar) or _number(value.text) is None:
        return
    for claim in instead_claims(text):
        if _number(claim.value) != _number(value.text):
            yield context.finding(
                RULE,
                f"the comment says {claim.value}, not {claim.other}; the value below it is {value.raw}",
                block.span,
                path=path,
                help=_HELP,
                related=[(Site(path, value.span.line), f"the value is {value.raw}")],
                structure=block.path,
                subject=f"{claim.value} not {claim.other}",
            )


def _same(claimed: str, value: Scalar) -> bool:
    one, other = _number(claimed), _number(value.text)
    if one is not None and other is not None:
        return one == other
    if one is not None or other is not None:
        return value.text.strip() == "" or not value.text.strip()[0].isalnum()
    words = {"none": "null", "~": "null", "": "null"}
    left, right = claimed.lower(), value.text.strip().lower()
    return words.get(left, left) == words.get(right, right)


def _number(text: str) -> float | None:
    try:
        return float(text.strip().replace("_", ""))
    except ValueError:
        return None
