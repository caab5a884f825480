"""A change begins to depend on somebody's copy of a repository

What
A line that a change adds clones or installs from a GitHub account that the repository did not use until then.

Why
A personal copy can be rebased, moved or deleted at any time, and nobody reviews what goes into it. Where it is meant, a commit in place of
a branch keeps the result reproducible.

Example
    command: git clone https://github.com/someone/toy-engine.git && pip install -e toy-engine

Instead
    command: git clone --branch v1.2.0 https://github.com/toylab/toy-engine.git && pip install -e toy-engine
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("new-fork", Level.NOTE, frozenset({"documents", "change"}), guess=True)

_REPOSITORY = re.compile(
    r"(?:https?://|git@|ssh://git@)(?:[\w-]+@)?github\.com[/:](?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?(?=[\s\"'@/#;)]|\Z)"
)
_TAKES = re.compile(r"\bgit\s+(?:clone|fetch|remote\s+add|submodule)\b|\bgit\+|\bpip3?\s+install\b|\b\w*URL=")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    changed = sorted(context.changed & {*context.documents.paths("shell"), *context.documents.paths("yaml")})
    added = [(path, number, owner, name) for path in changed for number, owner, name in _added(context, path)]
    if not added:
        return
    base = context.base
    known = {
        found["owner"].lower()
        for path in {*base.documents.paths("shell"), *base.documents.paths("yaml")}
        for line in base.lines(path)
        for found in _REPOSITORY.finditer(line)
    }
    seen: set[tuple[str, str]] = set()
    for path, number, owner, name in added:
        if owner.lower() in known or (owner, name) in seen:
            continue
        seen.add((owner, name))
        yield context.finding(
            RULE,
            f"this takes code from {owner}/{name}, and nothing here used that account before",
            Site(path, number),
            help="take it from the project's own repository, or say why not, and check out a commit",
            structure=f"{owner}/{name}",
            subject=f"{owner}/{name}",
        )


def _added(context: Context, path: str) -> Iterator[tuple[int, str, str]]:
    assert context.base is not None and context.changed is not None
    lines = context.lines(path)
    for hunk in Diff(context.base.tree, context.tree, context.changed).hunks(path):
        for number in hunk.head_lines:
            line = lines[number - 1] if number <= len(lines) else ""
            if line.lstrip().startswith("#") or not _TAKES.search(line):
                continue
            for found in _REPOSITORY.finditer(line):
                yield number, found["owner"], found["name"]
