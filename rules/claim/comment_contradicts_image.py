"""A comment names another version than the image

What
The comment above a config key says which version its image has (`Image reuses the base entry's v0.22.0 build`), and the image has another.

Why
Comments of this kind are copied and outlive several images. Who reads them compares the wrong engines.

Example
    # MTP variant of toy-fp8-lab-vllm. Image reuses the base entry's v0.11.0 build.
    toy-fp8-lab-vllm-mtp:
      image: vllm/vllm-openai:v0.12.0

Instead
    # MTP variant of toy-fp8-lab-vllm, on the same image.
    toy-fp8-lab-vllm-mtp:
      image: vllm/vllm-openai:v0.12.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.claims import sentences
from reviewbot.documents.nodes import Scalar
from reviewbot.documents.positions import Site, Span
from reviewbot.documents.yaml import Block, comment_blocks
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("comment-contradicts-image", Level.WARNING, frozenset({"bench", "documents"}))

_VERSION = r"[`'\"]?(?:[\w.-]+/[\w./-]+:)?(?P<version>v?\d{1,4}\.\d{1,4}\.\d{1,4}[\w.+-]*)"
_CLAIM = re.compile(
    rf"\b[Ii]mage\s+(?:is\s+|was\s+)?(?:reuses|uses|(?:is\s+)?bumped\s+to|moves\s+to|(?:is\s+)?pinned\s+to|is|equals)\s+(?:the\s+)?"
    rf"(?:[a-z][\w-]*(?:'s)?\s+){{0,3}}{_VERSION}"
    rf"|\b[Uu]ses\s+the\s+(?:[A-Za-z]+\s+)?[`'\"]?(?P<other>v?\d{{1,4}}\.\d{{1,4}}\.\d{{1,4}}[\w.+-]*)[`'\"]?\s+image\b"
)
_HEDGE = re.compile(
    r"\b(?:previous(?:ly)?|old|formerly|until|todo|before|instead|once|when|if|will|would|should|at the time|unlike|not|or later|newer)\b",
    re.IGNORECASE,
)


def check(context: Context) -> Iterator[Finding]:
    entries = {(entry.path, entry.site.line): entry for entry in context.bench.masters.index.values()}
    for path in sorted({path for path, _ in entries}):
        for block in comment_blocks(context.documents.yaml(path)):
            entry = entries.get((path, block.span.end_line + 1))
            image = entry.node.get("image") if entry is not None and entry.node is not None else None
            if isinstance(image, Scalar) and isinstance(image.value, str) and ":" in image.value:
                yield from _block(context, path, block, image)


def _block(context: Context, path: str, block: Block, image: Scalar) -> Iterator[Finding]:
    text = "\n".join(comment.text.lstrip("#").strip() for comment in block.comments)
    tag = str(image.value).rpartition(":")[2].partition("@")[0]
    for start, sentence in sentences(text):
        match = _CLAIM.search(sentence)
        if match is None or _HEDGE.search(sentence):
            continue
        name = "version" if match["version"] else "other"
        version = match[name].rstrip(".,;-")
        if version.removeprefix("v") in tag:
            continue
        line = block.span.line + text.count("\n", 0, start + match.start(name))
        written = context.lines(path)[line - 1]
        column = written.find(version) + 1
        yield context.finding(
            RULE,
            f"the comment says {version}, and the image is `{image.value}`",
            Span(line, column, line, column + len(version)) if column else Site(path, line),
            path=path,
            help="correct the comment, or the image",
            related=[(Site(path, image.span.line), "the image")],
            subject=f"{version} {image.value}",
        )
