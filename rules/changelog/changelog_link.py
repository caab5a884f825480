"""The changelog's link names no pull request

What
The `pr-link` of an entry is not the address of a pull request of the repository (`.../pull/12/changes`, `.../pull/TBD`), or not that of
the one that adds the entry. `XXX` and `.../pull/XXX` are replaced at the merge, which is worth a note only.

Why
The link is how a result is traced to the change that made it. What is not of that form is refused, or stays for good.

Example
    pr-link: https://github.com/lab/bench/pull/12/changes

Instead
    pr-link: https://github.com/lab/bench/pull/12

Fix
Safe where the number is there and something stands behind it; where the number of the pull request is known, its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.changelog import ChangelogEntry, Text, link_base
from reviewbot.change.changelog_scope import added_entries
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Fix, Level, Replacement, Rule

RULE = Rule("changelog-link", Level.ERROR, frozenset({"bench"}))

_PLACEHOLDER = re.compile(r"(?:https?://\S+/pull/)?XXX\Z")
_NUMBER = re.compile(r"https?://github\.com/[\w.-]+/[\w.-]+/pull/(\d{1,9})\b")


def check(context: Context) -> Iterator[Finding]:
    changelog = context.bench.changelog
    if changelog is None:
        return
    address = link_base(changelog)
    if address is None:
        return
    added = set() if context.base is None else {entry.index for entry in added_entries(context.base.bench, context.bench)}
    merged = {} if context.base is None else _merged(context)
    for entry in changelog.entries:
        link = entry.pr_link
        new = entry.index in added
        if link is None or not link.text.strip():
            where = Site(changelog.path, link.span.line) if link is not None else entry.site
            yield context.finding(
                RULE, "the entry has no link to a pull request", where, help=f"`pr-link: {address}NUMBER`",
                level=None if new else Level.WARNING, subject=_name(entry),
            )  # fmt: skip
            continue
        text = link.text.strip()
        own = None if context.pull_request is None or not new else f"{address}{context.pull_request}"
        if _PLACEHOLDER.match(text):
            if new or context.base is None:
                yield context.finding(
                    RULE, f"the link is the placeholder `{text}`", link.span, path=changelog.path,
                    help=f"write `{own}`" if own else "write the number once it is known; a merge by the tool replaces it",
                    level=Level.NOTE, fix=_fix(changelog.path, link, own, True), subject=_name(entry),
                )  # fmt: skip
            continue
        number = _NUMBER.match(text)
        if not re.fullmatch(re.escape(address) + r"\d{1,9}", text):
            right = own or (f"{address}{number[1]}" if number is not None and text.startswith(address) else None)
            yield context.finding(
                RULE, f"`{text}` is not the address of a pull request", link.span, path=changelog.path,
                help=f"write `{right or address + 'NUMBER'}`", level=None if new else Level.WARNING,
                fix=_fix(changelog.path, link, right, True), subject=_name(entry),
            )  # fmt: skip
        elif own is not None and text != own:
            yield context.finding(
                RULE, f"the link is that of another pull request than {context.pull_request}", link.span, path=changelog.path,
                help=f"write `{own}`", fix=_fix(changelog.path, link, own, False), subject=_name(entry),
            )  # fmt: skip
        elif new and own is None and text in merged:
            yield context.finding(
                RULE, f"an older entry has the link `{text}` already", link.span, path=changelog.path,
                help="write the address of the pull request that adds this entry", level=Level.NOTE,
                related=[(merged[text], "the older entry")], subject=_name(entry),
            )  # fmt: skip


def _merged(context: Context) -> dict[str, Site]:
    """The links of the entries that were there before, with their line."""
    assert context.base is not None
    changelog = context.base.bench.changelog
    if changelog is None:
        return {}
    links = [entry.pr_link for entry in changelog.entries if entry.pr_link is not None]
    return {link.text.strip(): Site(changelog.path, link.span.line) for link in links}


def _name(entry: ChangelogEntry) -> str:
    """What tells entries apart, whatever their link."""
    first = entry.description[0].text[:60] if entry.description else ""
    return " ".join((*(text.text for text in entry.keys), first))


def _fix(path: str, link: Text, right: str | None, safe: bool) -> Fix | None:
    if right is None:
        return None
    return Fix(f"write {right}", (Replacement(path, *link.span, right),), safe)
