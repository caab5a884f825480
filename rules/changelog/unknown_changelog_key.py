"""A changelog entry names a config key that there is not

What
An item of `config-keys` of an added entry matches no key of the masters: a typing error, a key that the same change renames or deletes,
two keys on one line. Where the change takes out a key that one of the newest entries names, it is a note.

Why
The sweep of the change is planned from these keys. One that is not there ends the planning, so that nothing is measured.

Example
    - config-keys:
        - toy-nvfp4-lab-vllm      # renamed to toy-fp4-lab-vllm in the same change

Instead
    - config-keys:
        - toy-fp4-lab-vllm

Fix
Safe where two keys on one line are both known: one line each.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from reviewbot.bench.changelog import Text, matches
from reviewbot.change.changelog_scope import added_entries
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("unknown-changelog-key", Level.ERROR, frozenset({"bench", "change"}))

_NEWEST = 20  # entries whose sweeps people still look at


def check(context: Context) -> Iterator[Finding]:
    base = context.base
    if base is None or context.bench.changelog is None or not context.bench.masters.index:
        return
    path = context.bench.changelog.path
    known = list(context.bench.masters.index)
    added = added_entries(base.bench, context.bench)
    gone = base.bench.masters.index.keys() - set(known)
    for entry in context.bench.changelog.entries[-_NEWEST:] if gone else ():
        for key in entry.keys if entry not in added else ():
            if key.text in gone and context.bench.entry(key.text, deprecated=True) is None:
                yield context.finding(
                    RULE, f"the change takes the config key `{key.text}` out; this entry, one of the newest, names it", key.span, path=path,
                    help="an entry under the new name starts its sweep", level=Level.NOTE, subject=f"gone {key.text}",
                )  # fmt: skip
    for entry in added:
        for pattern in entry.keys:
            if not any(matches(pattern.text, key) for key in known):
                yield _finding(context, path, pattern, known)


def _finding(context: Context, path: str, pattern: Text, known: list[str]) -> Finding:
    base = context.base
    assert base is not None
    words = pattern.text.replace(",", " ").split()
    several = len(words) > 1
    related: list[tuple[Site, str]] = []
    fix = None
    if several:
        said, help = f"`{pattern.text}` is one item with several keys in it", "write one key a line"
        if all(word in known for word in words):
            indent = "\n" + " " * (pattern.span.column - 3) + "- "
            span = pattern.span
            if span.line == span.end_line and span.column > 2:
                replacement = Replacement(path, span.line, span.column, span.end_line, span.end_column, indent.join(words))
                fix = Fix("write one key a line", (replacement,), True)
    else:
        said, help = f"no config key is `{pattern.text}`" if "*" not in pattern.text else f"`{pattern.text}` matches no config key", ""
        old = base.bench.masters.index.get(pattern.text)
        retired = context.bench.entry(pattern.text, deprecated=True)
        close = difflib.get_close_matches(pattern.text, known, n=1, cutoff=0.85)
        if retired is not None:
            said, help = f"`{pattern.text}` is a retired key, which is not swept", "leave it out"
            related = [(retired.site, "the retired key")]
        elif close:
            help = f"the nearest is `{close[0]}`"
            related = [(context.bench.masters.index[close[0]].site, "the nearest key")]
        if old is not None and retired is None:
            said = f"the change takes the config key `{pattern.text}` out, and its entry still names it"
    return context.finding(RULE, said, pattern.span, path=path, help=help, related=related, fix=fix, subject=pattern.text)
