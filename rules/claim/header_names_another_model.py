"""The header of a script names another model

What
The comment at the top of a bench script names a model of another prefix, and not the one that the script is for by its file name.

Why
Scripts are copied from model to model; a header that stayed tells the wrong requirements and the wrong results.

Example
    # minimaxm3_fp4_mi355x.sh
    # Kimi-K2.5 FP4 on MI355X

Instead
    # MiniMax-M3 FP4 on MI355X
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("header-names-another-model", Level.NOTE, frozenset({"bench", "documents"}), guess=True)

_LINES = 12  # of the file, in which a header is looked for
_OTHER = re.compile(
    r"\b(?:same as|like|from|based on|mirrors?|copied|unlike|sibling|vs\.?|than|see|as in|derived|follows?|matches)\b", re.IGNORECASE
)


def check(context: Context) -> Iterator[Finding]:
    names = _names(context)
    prefixes = sorted({prefix for prefix, _ in names}, key=len, reverse=True)
    for path, header in context.surveyed(RULE):
        file = path.rpartition("/")[2]
        own = next((prefix for prefix in prefixes if file.startswith(f"{prefix}_")), None)
        if own is None:
            continue
        text = " ".join(comment for _, comment in header)
        if _named(text, own, names) or _OTHER.search(text):
            continue
        for line, comment in header:
            other = next((prefix for prefix in prefixes if prefix != own and _named(comment, prefix, names)), None)
            if other is not None and not other.startswith(own) and not own.startswith(other):
                yield context.finding(
                    RULE,
                    f"the header names a model of `{other}`, and the script is for `{own}`",
                    Site(path, line),
                    help="correct the header",
                    subject=f"{other} {comment.strip()[:60]}",
                )
                break


def survey(context: Context) -> Iterator[object]:
    """The comments at the head of a script: lines and texts."""
    for path in context.documents.paths("script"):
        header = [[comment.span.line, comment.text] for comment in context.documents.shell(path).comments if comment.span.line <= _LINES]
        if header:
            yield header


def _names(context: Context) -> set[tuple[str, str]]:
    """Model prefixes, and what the model is called: the prefix, and the first words of the checkpoint's name."""
    found: set[tuple[str, str]] = set()
    for key in context.bench.masters.index:
        node = context.bench.masters.index[key].node
        prefix, model = (getattr(node.get(name), "value", None) if node is not None else None for name in ("model-prefix", "model"))
        if isinstance(prefix, str) and isinstance(model, str):
            found.add((prefix, _plain(prefix)))
            words = re.split(r"[-_]", model.rpartition("/")[2])
            found.add((prefix, _plain("".join(words[:2]))))
    return found


def _named(text: str, prefix: str, names: set[tuple[str, str]]) -> bool:
    plain = _plain(text)
    return any(name in plain for one, name in names if one == prefix and len(name) > 3)


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())
