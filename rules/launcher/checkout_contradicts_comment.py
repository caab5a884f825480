"""The comment above a checkout names another revision

What
The comment above a `git clone` or `git checkout` of a launcher names tags, commits or a branch (`toy v1.0.38`, `.../tree/fix-ports`) of the
repository that is checked out, and none of them is the one that is.

Why
Either the comment was left behind, or the checkout was not raised with it. Whoever looks for the cause of a difference reads the comment.

Example
    # srt-slurm v1.0.38 has the fix of the health check.
    git clone --branch v1.0.36 https://github.com/NVIDIA/srt-slurm.git

Instead
    # srt-slurm v1.0.38 has the fix of the health check.
    git clone --branch v1.0.38 https://github.com/NVIDIA/srt-slurm.git
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Script
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Placed, facts_of, first_word, words
from reviewbot.engine.wording import listed

RULE = Rule("checkout-contradicts-comment", Level.NOTE, frozenset({"documents"}), guess=True, scope="document")

_REPOSITORY = re.compile(r"[/:](?P<name>[\w.-]+?)(?:\.git)?/?\Z")
_TREE = re.compile(r"/(?P<name>[\w.-]+)/(?:tree|commit|commits)/(?P<ref>[\w./-]*\w)")
_TAG = r"(?:[@: ]|\s+(?:at|to|tag|release|version)\s+)`?(?P<ref>v\d+\.\d+(?:\.\d+)?(?:[-.]?\w+)*|[0-9a-f]{40})`?"
_HISTORY = re.compile(
    r"\b(?:was|were|until|since|before|after|from|previous\w*|earlier|older|old|instead of|present in|added in|introduced|than)\b",
    re.IGNORECASE,
)


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        script = context.documents.shell(path)
        if "git " not in script.text:
            continue
        for name, ref, placed, at in _checkouts([one for one in facts_of(script).statements if first_word(one.statement) == "git"]):
            first, text = _above(script, placed)
            said = _named(text, name)
            if not said or any(ref == one or ref.startswith(one) or one.startswith(ref) or one in ref for one in said):
                continue
            yield context.finding(
                RULE,
                f"this checks out `{ref}` of {name}, and the comment above names {listed(said)}",
                Site(path, at),
                help="correct the one that is wrong",
                related=[(Site(path, first), "the comment")],
                structure=name,
                subject=f"{ref} {' '.join(said)}",
            )


def _checkouts(commands: list[Placed]) -> Iterator[tuple[str, str, Placed, int]]:
    """Name and final revision of a clone, the clone, and the line that says the revision."""
    for index, one in enumerate(commands):
        texts = [word.static or word.text.strip("\"'") for word in words(one.statement)]
        if texts[1:2] != ["clone"]:
            continue
        url = next((_REPOSITORY.search(text) for text in texts[2:] if "://" in text or text.startswith("git@")), None)
        ref = next((texts[place + 1] for place, text in enumerate(texts[:-1]) if text in ("--branch", "-b")), None)
        line = one.statement.line
        for later in commands[index + 1 :]:
            given = [word.static or "" for word in words(later.statement)]
            if given[1:2] == ["clone"] or later.around != one.around:
                break
            if given[1:2] == ["checkout"] and len(given) == 3 and given[2]:
                ref, line = given[2], later.statement.line
        if url is not None and ref and "$" not in ref:
            yield url["name"], ref, one, line


def _above(script: Script, placed: Placed) -> tuple[int, str]:
    """The comment lines that end above a statement, and the first of them."""
    lines = script.text.split("\n")
    last = first = placed.statement.line - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first + 1, " ".join(line.strip().lstrip("#").strip() for line in lines[first:last])


def _named(text: str, name: str) -> list[str]:
    """The revisions of the repository that a comment names as the present one."""
    found = [one["ref"] for one in _TREE.finditer(text) if one["name"].lower() == name.lower()]
    for one in re.finditer(rf"\b{re.escape(name)}(?:\.git)?{_TAG}", text, re.IGNORECASE):
        if not _HISTORY.search(text[max(0, one.start() - 40) : one.start()]):
            found.append(one["ref"])
    return list(dict.fromkeys(found))
