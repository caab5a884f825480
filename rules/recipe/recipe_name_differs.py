"""A recipe's name is that of another file

What
The `name` in a recipe is the file's name but for one or two words (`hightpt` in `maxtpt_1.yaml`), or two recipes of one folder have the
same name.

Why
Job names, logs and results carry the name. It is what a copied recipe keeps by accident.

Example
    # 8k1k_stp_maxtpt_1.yaml
    name: 8k1k_stp_hightpt_1

Instead
    # 8k1k_stp_maxtpt_1.yaml
    name: 8k1k_stp_maxtpt_1
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import own, uses

RULE = Rule("recipe-name-differs", Level.NOTE, frozenset({"runs", "change"}), guess=True, scope="run")

_LEAST = 3  # words that both names have
_KIND = 3  # last letters that words of a kind share


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        name, value = use.name, use.recipe.name
        if use.multiple or name is None or value is None or not use.path:
            continue
        site = use.written(value)
        file = use.path.rpartition("/")[2]
        differing = _differing(name, file.rpartition(".")[0])
        if differing is None or site is None or not own(context, site) or site.path != use.path:
            continue
        yield context.finding(
            RULE,
            f"the recipe is named `{name}`, its file `{file}`: `{differing[0]}` against `{differing[1]}`",
            site,
            help="give it the name of its file",
            touches=use.runs,
            structure="name",
            subject=f"{name} {file}",
        )


def _differing(name: str, stem: str) -> tuple[str, str] | None:
    """The words that stand in the place of each other, where the rest is the same."""
    one, other = re.split(r"[-_.]", name.lower()), re.split(r"[-_.]", stem.lower())
    if one == other:
        return None
    return _replaced(one, other) or _variants(one, other)


def _replaced(one: list[str], other: list[str]) -> tuple[str, str] | None:
    """One word, or two, of otherwise equal names. At an end of the name it is a prefix or a note of the author's."""
    codes = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    same = sum(code[2] - code[1] for code in codes if code[0] == "equal")
    middle = [code for code in codes if code[0] == "replace"]
    outside = [code for code in codes if code[0] in ("insert", "delete")]
    if len(middle) != 1 or same < _LEAST or any(code[1] not in (0, len(one)) and code[2] not in (0, len(one)) for code in outside):
        return None
    _, start, end, other_start, other_end = middle[0]
    if end - start != other_end - other_start or end - start > 2 or (start == 0 and other_start == 0):
        return None
    if set(one[start:end]) & set(other) or set(other[other_start:other_end]) & set(one):
        return None  # the same words in another order
    return "-".join(one[start:end]), "-".join(other[other_start:other_end])


def _variants(one: list[str], other: list[str]) -> tuple[str, str] | None:
    """One word of each name that the other lacks, both of a kind: ``hightpt`` and ``maxtpt``."""
    if len(set(one) & set(other)) < _LEAST - 1:
        return None
    pairs = [
        (mine, theirs)
        for mine in set(one) - set(other)
        for theirs in set(other) - set(one)
        if mine.isalpha() and theirs.isalpha() and min(len(mine), len(theirs)) > _KIND and mine[-_KIND:] == theirs[-_KIND:]
    ]
    return pairs[0] if len(pairs) == 1 else None
