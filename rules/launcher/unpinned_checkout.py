"""A launcher runs whatever another repository's branch holds today

What
A launcher clones another repository for a run and ends on its default branch, or on a branch, instead of a tag or a commit. A branch that
is no default branch is a note: some are frozen by agreement.

Why
Two runs of the same commit of this repository can be runs of different code, and nothing in the results tells.

Example
    git clone https://github.com/NVIDIA/srt-slurm.git "$SRT_REPO_DIR"
    cd "$SRT_REPO_DIR"

Instead
    git clone https://github.com/NVIDIA/srt-slurm.git "$SRT_REPO_DIR"
    cd "$SRT_REPO_DIR"
    git checkout v1.0.38
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Checkout
from reviewbot.trace.values import is_known

RULE = Rule("unpinned-checkout", Level.WARNING, scope="run")

_PINNED = re.compile(r"(?:refs/tags/.+|[vV]?\d+(?:\.\d+)+(?:[-._+]?\w+)*|[0-9a-f]{7,64})\Z")
_DEFAULT = frozenset({"main", "master", "trunk", "develop", "HEAD", "origin/main", "origin/master", "origin/HEAD"})


def check(context: Context) -> Iterator[Finding]:
    for run in context.runs:
        if run.outcome not in ("submit", "script"):
            continue
        for checkout in _last(run):
            ref = checkout.ref
            if ref is not None and (not is_known(ref) or _PINNED.match(ref)):
                continue
            default = ref is None or ref in _DEFAULT
            name = checkout.url.rstrip("/").removesuffix(".git")
            name = "/".join(name.replace(":", "/").split("/")[-2:])
            what = "the default branch" if ref is None else f"the branch `{ref}`"
            yield context.finding(
                RULE,
                f"this runs {what} of {name} as it is on that day",
                checkout.site,
                help="check out a tag or a commit",
                touches=[run],
                structure=name,
                subject=f"{name} {ref or 'default'}",
                level=None if default else Level.NOTE,
            )


def _last(run: Run) -> Iterator[Checkout]:
    """The last checkout of each folder; a clone that may be followed by one that is not known says nothing."""
    found: dict[str, Checkout] = {}
    for effect in run.effects:
        if isinstance(effect, Checkout):
            if effect.certain or effect.directory not in found:
                found[effect.directory] = effect
            elif _PINNED.match(effect.ref or ""):
                del found[effect.directory]
    return iter(found.values())
