"""What a comment says about the size of a checkpoint is not so

What
A comment in the row of a master, in its script or in its recipe, or a sentence that the change adds to the changelog, gives the size of the
checkpoint (`~444 GB of weights`), or says that it does or does not fit (`does not fit one 8xB200 node`, `TP2 does not fit`), and the
arithmetic says otherwise. A size counts as wrong where it is off by more than 12 % read as GB and as GiB.

Why
Such a sentence is the reason for a layout. Where it is wrong, the sweep leaves out points that would run, or has some that cannot.

Example
    # the ~750 GB checkpoint does not fit 4xB200
    model: nvidia/MiniMax-M3-NVFP4  # 250 GB

Instead
    # the ~250 GB checkpoint leaves little cache on 2xB200
    model: nvidia/MiniMax-M3-NVFP4
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import own
from reviewbot.fit.claims import Subject, may_claim, of_server, wrong_claims
from reviewbot.fit.of_runs import Question, questions, subject_of
from reviewbot.runs.model import Run

RULE = Rule("size-claim", Level.NOTE, frozenset({"runs", "change"}), guess=True, scope="run")

_COMMENT = re.compile(r"\s*#+!?(?P<text>.*)")


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        asked = next((one for _, one in questions(run) if isinstance(one, Question)), None)
        if asked is None:
            continue
        subject = of_server(asked.model, asked.checkpoint, asked.gpu, asked.layout)
        for path, first, last in _places(context, run):
            for site, text in _comments(context, path, first, last):
                yield from _findings(context, site, text, subject, [run])
    if not context.runs and context.changed:
        yield from _changelog(context)


def _places(context: Context, run: Run) -> Iterator[tuple[str, int, int]]:
    """Files, and lines of them, that speak of a run: its script, its recipe, and its entry of the master with the comment above it."""
    for path in (run.script, run.recipe_path):
        if path is not None and own(context, Site(path, 1)):
            yield path, 1, len(context.lines(path))
    lines = context.lines(run.point.master)
    first = last = min(run.point.site.line, len(lines))
    while first > 1 and not _top(lines[first - 1]):
        first -= 1
    while last < len(lines) and not _top(lines[last]) and not lines[last].startswith("#"):
        last += 1
    while first > 1 and lines[first - 2].startswith("#"):
        first -= 1
    yield run.point.master, first, last


def _top(line: str) -> bool:
    """Whether a line begins an entry."""
    return line[:1] not in ("", " ", "#", "\t", "-")


_Block = tuple[Site, int, str]
_BLOCKS: dict[str, tuple[list[str], list[_Block]]] = {}


def _comments(context: Context, path: str, first: int, last: int) -> Iterator[tuple[Site, str]]:
    """Blocks of comment lines that may claim something, with their first line."""
    lines = context.lines(path)
    known = _BLOCKS.get(path)
    if known is None or known[0] is not lines:  # the same lines for every run that shares the file
        known = _BLOCKS[path] = (lines, list(_blocks(path, lines)))
    for site, end, text in known[1]:
        if first <= site.line and end <= last:
            yield site, text


def _blocks(path: str, lines: list[str]) -> Iterator[_Block]:
    block: list[str] = []
    for number, line in enumerate([*lines, ""], start=1):
        match = _COMMENT.match(line) if "#" in line else None
        if match is not None:
            block.append(match["text"])
            continue
        if block and any(may_claim(text) for text in block):
            yield Site(path, number - len(block)), number - 1, "\n".join(block)
        block = []


def _findings(context: Context, site: Site, text: str, subject: Subject, runs: list[Run]) -> Iterator[Finding]:
    for claim in wrong_claims(text, subject):
        line = site.line + text.count("\n", 0, claim.start)
        said = " ".join(claim.text.split())
        yield context.finding(
            RULE,
            f"`{said}`: {claim.why}",
            Site(site.path, line),
            help="correct the sentence, and what rests on it",
            touches=runs,
            subject=f"{said} {subject.model.name}",
        )


def _changelog(context: Context) -> Iterator[Finding]:
    """The entries that the change adds."""
    changelog = context.bench.changelog
    if changelog is None or changelog.path not in (context.changed or ()):
        return
    before = context.base.bench.changelog if context.base is not None else None
    known = {text.text for entry in before.entries for text in entry.description} if before is not None else set()
    for entry in changelog.entries:
        keys = [point for point in context.bench.points if entry.matches(point.key)]
        subjects = {id(one.checkpoint): one for one in map(subject_of, keys) if one is not None}
        for text in entry.description:
            if text.text not in known and may_claim(text.text) and len(subjects) == 1:
                yield from _findings(context, Site(changelog.path, text.span.line), text.text, next(iter(subjects.values())), [])
