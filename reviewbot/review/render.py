"""What the review writes: pure functions from findings to Markdown. Every text stays below ``MAX_BYTES``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from reviewbot.engine.model import Finding, Level
from reviewbot.report.common import counted
from reviewbot.review.items import Item
from reviewbot.review.markup import MAX_PATH, Links, fence, prose, span
from reviewbot.review.state import OwnComment, comment_marker, read_marker, summary_marker

MAX_BYTES = 60_000  # GitHub refuses more than 65,536 characters
_MOST_RELATED = 8
_MOST_RUNS = 3
_ROWS = 24_000  # bytes of the summary that rows of findings may fill before sections are considered


@dataclass(frozen=True, slots=True)
class SummarySection:
    """A part of the summary that another part of the program writes. ``markdown`` must have made repository text harmless already."""

    title: str
    markdown: str


@dataclass(frozen=True, slots=True)
class SummaryFacts:
    """What the summary says. ``inline`` findings have a comment of their own, ``rows`` have not; ``unchecked`` are reasons."""

    head: str
    inline: Sequence[Item]
    rows: Sequence[Item]
    refused: int = 0
    fixed: int = 0
    sections: Sequence[SummarySection] = ()
    unchecked: Sequence[str] = ()
    settings: str = ""


# --- one finding ---------------------------------------------------------------------------------------------------


def comment_body(item: Item, head: str, links: Links) -> str:
    """The comment about a finding, with its marker."""
    parts = [_headline(item.finding)]
    if not item.anchor.shows(item.path, item.finding.line):
        parts.append(f"At {_place(item, head, links)}.")
    if item.finding.help:
        parts.append(f"help: {prose(item.finding.help)}")
    related = _related(item, head, links)
    if related:
        parts.append("\n".join(related))
    if item.finding.points:
        parts.append(_runs(item.finding.points))
    marker = comment_marker(item.finding.fingerprint, head, "open")
    if item.suggestion is not None:
        parts.append(fence(list(item.suggestion), "suggestion"))
    return _fitted(parts, marker)


def fixed_body(comment: OwnComment, head: str, links: Links, *, base_has_it: bool = False) -> str:
    """The comment after its finding is gone: struck through, with the commit that no longer has it."""
    first = _first_line(comment)
    at = links.commit(head)
    said = f"Not new any more: the base branch has it too, as of {at}." if base_has_it else f"Fixed in {at}."
    struck = first if first.startswith("~~") else f"~~{first}~~"
    marker = comment_marker(comment.fingerprint, head, "fixed", refused=comment.refused, unseen=comment.thread is None)
    return "\n\n".join([struck, said, marker])


def duplicate_body(comment: OwnComment, head: str) -> str:
    """A second comment about one finding that somebody has replied to, so that it has to stay."""
    first = _first_line(comment)
    return "\n\n".join([f"~~{first}~~", "Another comment tells of the same finding.", comment_marker(comment.fingerprint, head, "fixed")])


def _first_line(comment: OwnComment) -> str:
    """The line that says what the finding is. It is never cut: half a code span would set free what is in it."""
    first = comment.body.replace("\r\n", "\n").split("\n", 1)[0]
    return first if size(first) <= MAX_BYTES - 2_000 and read_marker(first) is None else "A finding."


def review_body(items: Sequence[Item], head: str, links: Links, *, blocking: bool = False) -> str:
    """The text above the comments of one review, which the API requires."""
    said = f"{counts(item.finding for item in items)} at {links.commit(head)}." if items else f"There are errors at {links.commit(head)}."
    return f"{said} {'This review is taken back once they are gone.' if blocking else ''}".rstrip()


def counts(findings: object) -> str:
    """``2 errors, 1 note``."""
    counter = Counter(finding.level for finding in findings)  # type: ignore[attr-defined]
    return ", ".join(counted(counter[level], str(level)) for level in sorted(Level, reverse=True) if counter[level])


def _headline(finding: Finding) -> str:
    return f"**{finding.level}** {span(finding.rule)}: {prose(finding.message)}"


def _place(item: Item, head: str, links: Links) -> str:
    end = item.finding.end_line if item.finding.end_column > 1 else item.finding.end_line - 1
    return links.place(head, item.path, item.finding.line, end)


def _related(item: Item, head: str, links: Links) -> list[str]:
    prefix = item.path.removesuffix(item.finding.path) if item.path != "." else ""
    shown = [
        f"- {links.place(head, prefix + other.site.path, other.site.line)}: {prose(other.message)}"
        for other in item.finding.related[:_MOST_RELATED]
    ]
    more = len(item.finding.related) - _MOST_RELATED
    return shown + ([f"- and {counted(more, 'more place')}"] if more > 0 else [])


def _runs(points: Sequence[str]) -> str:
    shown = ", ".join(span(point, MAX_PATH) for point in points[:_MOST_RUNS])
    more = f" and {len(points) - _MOST_RUNS} more" if len(points) > _MOST_RUNS else ""
    return f"{counted(len(points), 'run')}: {shown}{more}"


def _fitted(parts: list[str], marker: str) -> str:
    """The parts one below the other, from behind left out until they fit. The first always fits."""
    while len(parts) > 1 and size("\n\n".join([*parts, marker])) > MAX_BYTES:
        parts = parts[:-1]
    return "\n\n".join([*parts, marker])


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


# --- the summary ---------------------------------------------------------------------------------------------------


def summary_body(facts: SummaryFacts, posted: Sequence[str], refused: Sequence[str], links: Links, *, most: int = MAX_BYTES) -> str:
    """The sticky comment, with its marker. What does not fit is counted."""
    marker = summary_marker(facts.head, posted, refused)
    text = _summary(facts, links, most - size(marker) - 2)
    return f"{text}\n\n{marker}"


def summary_text(facts: SummaryFacts, links: Links, *, most: int = MAX_BYTES) -> str:
    """The summary without a marker, for a job summary or a dry run; empty where there is nothing to say."""
    said = facts.inline or facts.rows or facts.unchecked or facts.sections
    return _summary(facts, links, most) if said else ""


def _summary(facts: SummaryFacts, links: Links, room: int) -> str:
    open_items = [*facts.inline, *facts.rows]
    if open_items:
        said = f"{counts(item.finding for item in open_items)} new in this pull request, as of {links.commit(facts.head)}."
    else:
        said = f"No open findings as of {links.commit(facts.head)}."
    extra = [f"{facts.fixed} fixed since they were found"] if facts.fixed else []
    extra += [f"{facts.refused} refused by reviewers"] if facts.refused else []
    if extra:
        said += f" {', '.join(extra)[0].upper()}{', '.join(extra)[1:]}."
    head = f"### reviewbot\n\n{said}"
    tail = []
    if facts.unchecked:
        tail.append("#### Not checked\n\n" + "\n".join(f"- {prose(reason)}" for reason in facts.unchecked[:20]))
    if facts.settings:
        tail.append(facts.settings)
    room -= size(head) + sum(size(part) + 2 for part in tail)
    sections = [f"#### {prose(section.title)}\n\n{_without_comments(section.markdown)}" for section in facts.sections]
    wanted = sum(size(section) + 2 for section in sections)
    rows = _rows(facts, links, max(min(room, _ROWS), room - wanted)) if facts.rows else ""
    room -= size(rows) + 2 if rows else 0
    kept = []
    for section, text in zip(facts.sections, sections, strict=True):
        if size(text) + 2 > room:
            text = f"#### {prose(section.title)}\n\nToo long for a comment."
        if size(text) + 2 <= room:
            kept.append(text)
            room -= size(text) + 2
    return "\n\n".join(part for part in [head, rows, *kept, *tail] if part)


def _rows(facts: SummaryFacts, links: Links, room: int) -> str:
    title = "#### Without a comment of their own" if facts.inline else "#### Findings"
    out = [title, ""]
    room -= size(title) + 2 + 60
    for number, item in enumerate(facts.rows):
        row = f"- {_row(item, facts.head, links)}"
        room -= size(row) + 1
        if room < 0:
            out.append(f"- and {counted(len(facts.rows) - number, 'more finding')}")
            break
        out.append(row)
    return "\n".join(out)


def _row(item: Item, head: str, links: Links) -> str:
    where = "" if item.path == "." else f"{_place(item, head, links)} "
    text = f"**{item.finding.level}** {where}{span(item.finding.rule)}: {prose(item.finding.message)}"
    if item.anchor.because is not None:
        text += f" (because of {links.place(head, item.anchor.because.path, item.anchor.because.line)})"
    return text


def _without_comments(markdown: str) -> str:
    return re.sub(r"<!--", "&lt;!--", markdown)
