"""A recipe with a selector is used as the name of a file

What
A launcher gives the recipe argument of a row as it is to a command that wants a file, and rows that it serves have a selector behind a
colon (`recipes/toy.yaml:override_low`).

Why
Only `srtctl` knows selectors. `sed -i` finds no such file and changes nothing, or ends the launcher under `set -e`.

Example
    sed -i "s/^name:.*/name: \\"$RUNNER_NAME\\"/" "$CONFIG_FILE"
    srtctl apply -f "$CONFIG_FILE"

Instead
    sed -i "s/^name:.*/name: \\"$RUNNER_NAME\\"/" "${CONFIG_FILE%%:*}"
    srtctl apply -f "$CONFIG_FILE"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule
from reviewbot.engine.shell_facts import Placed, facts_of, first_word, words
from reviewbot.runs.model import Run

RULE = Rule("selector-as-file", Level.ERROR, frozenset({"runs", "documents"}))

_SELECTED = re.compile(r"[^:]+\.ya?ml:[\w*?\[\]-]+\Z")
_FILES = frozenset({"sed", "cp", "mv", "cat", "grep", "awk", "yq", "test", "[", "perl", "envsubst"})
_RAW = re.compile(r"\"?\$(?:\{CONFIG_FILE\}|CONFIG_FILE)\"?\Z")


def check(context: Context) -> Iterator[Finding]:
    served: dict[tuple[str, int], list[Run]] = {}
    for run in context.runs:
        if run.outcome == "submit" and run.where is not None and _SELECTED.match(run.recipe_argument or ""):
            served.setdefault((run.where.path, run.where.line), []).append(run)
    shell = frozenset(context.documents.paths("shell")) if served else frozenset()
    for (path, line), runs in served.items():
        if path not in shell:
            continue
        statements = facts_of(context.documents.shell(path)).statements
        submit = next((one for one in statements if one.statement.line <= line <= one.statement.end_line and _is_submit(one)), None)
        for placed in statements:
            if submit is None or placed.statement.line >= submit.statement.line or not all(one in submit.around for one in placed.around):
                continue
            yield from _raw(context, path, placed, runs)


def _is_submit(placed: Placed) -> bool:
    return first_word(placed.statement) == "srtctl"


def _raw(context: Context, path: str, placed: Placed, runs: list[Run]) -> Iterator[Finding]:
    if not words(placed.statement) or words(placed.statement)[0].text not in _FILES:
        return
    program, *given = words(placed.statement)
    for word in given:
        if not _RAW.match(word.text):
            continue
        there = Replacement(path, word.span.line, word.span.column, word.span.end_line, word.span.end_column, '"${CONFIG_FILE%%:*}"')
        yield context.finding(
            RULE,
            f"`{program.text}` gets `{runs[0].recipe_argument}` here, which is no file: what follows the colon is a selector",
            word.span,
            path=path,
            help="write `${CONFIG_FILE%%:*}`",
            touches=runs,
            related=[(Site(path, placed.statement.line), "this command")] if word.span.line != placed.statement.line else [],
            fix=Fix("take the selector off", (there,), safe=True),
            structure=program.text,
            subject=word.text,
        )
