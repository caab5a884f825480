"""A comment names a file that the change takes away

What
A comment names a script, launcher or recipe by its file name; the change deletes or renames that file, and no other of that name is left.

Why
Whoever follows the comment finds nothing.

Example
    # launch_lab-slurm.sh resolves MODEL_PATH      (the change renames it to launch_lab.sh)

Instead
    # launch_lab.sh resolves MODEL_PATH
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("comment-names-missing-file", Level.NOTE, frozenset({"bench", "documents", "change"}))

_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*\.(?:sh|ya?ml|py)\b")


def check(context: Context) -> Iterator[Finding]:
    base = context.base
    if base is None or not context.changed:
        return
    left = {path.rpartition("/")[2] for path in context.tree.paths()}
    gone = {
        path.rpartition("/")[2]: path
        for path in context.changed
        if not context.tree.is_file(path) and base.tree.is_file(path) and path.rpartition("/")[2] not in left
    }
    if not gone:
        return
    for kind in ("yaml", "shell"):
        for path in context.documents.paths(kind):
            document = context.documents.yaml(path) if kind == "yaml" else context.documents.shell(path)
            for comment in document.comments:
                for name in dict.fromkeys(_NAME.findall(comment.text)):
                    if name in gone:
                        yield context.finding(
                            RULE,
                            f"the comment names `{name}`, which the change takes away",
                            Site(path, comment.span.line + comment.text[: comment.text.index(name)].count("\n")),
                            help=f"it was `{gone[name]}`",
                            subject=f"{name} {comment.text.strip()[:60]}",
                        )
