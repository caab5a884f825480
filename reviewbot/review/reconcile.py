"""Findings of the head against what the bot has on the pull request: which comments to write, edit and delete. A pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reviewbot.engine.model import Level
from reviewbot.review.items import Item
from reviewbot.review.state import KEY, OwnComment, PullState

MOST_INLINE = 25


@dataclass(frozen=True, slots=True)
class Edit:
    """A comment that gets a new text: its finding is ``fixed``, the ``base`` has it too, it is ``open`` again, or a ``duplicate``."""

    comment: OwnComment
    why: str
    item: Item | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do. ``kept`` have a comment already, ``new`` get one, ``rows`` stand in the summary only, ``refused`` are not raised again.

    ``resolve`` and ``reopen`` are ids of threads; doing that is optional. ``block``: ask for changes; ``unblock``: the review to take back.
    """

    new: tuple[Item, ...] = ()
    kept: tuple[Item, ...] = ()
    rows: tuple[Item, ...] = ()
    refused: tuple[Item, ...] = ()
    refused_keys: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    deletes: tuple[OwnComment, ...] = ()
    resolve: tuple[str, ...] = ()
    reopen: tuple[str, ...] = ()
    fixed: int = 0
    summary: bool = False
    block: bool = False
    unblock: int | None = None


def reconcile(
    items: Sequence[Item],
    state: PullState,
    *,
    existing: Callable[[str], bool] = lambda fingerprint: False,
    complete: bool = True,
    request_changes: bool = False,
    most: int = MOST_INLINE,
) -> Plan:
    """The plan for ``items``, the new findings with the most severe first.

    ``existing`` says whether the head has a finding that is not new. Where the check was not ``complete``, a finding that is missing may
    still be there, so nothing is called fixed.
    """
    refused_keys = state.refused
    by_fingerprint: dict[str, list[OwnComment]] = {}
    for comment in state.comments:
        by_fingerprint.setdefault(comment.fingerprint, []).append(comment)

    edits: list[Edit] = []
    deletes: list[OwnComment] = []
    resolve: list[str] = []
    reopen: list[str] = []
    kept: list[Item] = []
    refused: list[Item] = []
    candidates: list[Item] = []
    remembered = set(refused_keys)
    present: set[str] = set()
    for item in items:
        fingerprint = item.finding.fingerprint
        if fingerprint in present:
            continue
        present.add(fingerprint)
        own = by_fingerprint.get(fingerprint, [])
        live, extra = _live(own)
        edits.extend(Edit(comment, "duplicate") for comment in extra if comment.replied)
        deletes.extend(comment for comment in extra if not comment.replied)
        taken_away = not own and fingerprint[:KEY] in state.posted  # somebody deleted the bot's comment
        if taken_away or fingerprint[:KEY] in refused_keys:
            refused.append(item)
            remembered.add(fingerprint[:KEY])
        elif live is not None:
            kept.append(item)
        else:
            candidates.append(item)

    new: list[Item] = []
    rows: list[Item] = []
    for item in candidates:
        if item.anchor.kind == "summary" or len(kept) + len(new) >= most:
            rows.append(item)
            continue
        if any(comment.unseen and comment.thread is None for comment in by_fingerprint.get(item.finding.fingerprint, [])):
            rows.append(item)  # whether it was refused is not known
            continue
        again = [comment for comment in by_fingerprint.get(item.finding.fingerprint, []) if not comment.outdated]
        if again:
            edits.append(Edit(again[-1], "open", item))
            kept.append(item)
            thread = again[-1].thread
            if thread is not None and thread.resolved:
                reopen.append(thread.id)
        else:
            new.append(item)

    fixed = 0
    for fingerprint, own in by_fingerprint.items():
        if fingerprint in present:
            continue
        if not complete:
            continue
        live, extra = _live(own)
        edits.extend(Edit(comment, "duplicate") for comment in extra if comment.replied)
        deletes.extend(comment for comment in extra if not comment.replied)
        fixed += 1
        if live is not None:
            edits.append(Edit(live, "base" if existing(fingerprint) else "fixed"))
            if live.thread is not None and not live.thread.resolved:
                resolve.append(live.thread.id)

    errors = any(item.finding.level is Level.ERROR for item in (*kept, *new, *rows))
    block = request_changes and errors and state.blocking is None
    unblock = state.blocking if complete and not (request_changes and errors) else None
    return Plan(
        new=tuple(new),
        kept=tuple(kept),
        rows=tuple(rows),
        refused=tuple(refused),
        refused_keys=tuple(sorted(remembered)),
        edits=tuple(edits),
        deletes=tuple(deletes),
        resolve=tuple(resolve),
        reopen=tuple(reopen),
        fixed=fixed,
        summary=bool(kept or new or rows or state.comments or state.summaries),
        block=block,
        unblock=unblock,
    )


def duplicates(comments: Sequence[OwnComment]) -> list[OwnComment]:
    """Open comments about a finding that another open comment tells of already, after two runs wrote at the same time."""
    by_fingerprint: dict[str, list[OwnComment]] = {}
    for comment in comments:
        by_fingerprint.setdefault(comment.fingerprint, []).append(comment)
    return [comment for own in by_fingerprint.values() for comment in _live(own)[1]]


def _live(own: Sequence[OwnComment]) -> tuple[OwnComment | None, list[OwnComment]]:
    """The open comment that stays, which is the oldest so that two runs choose alike, and the other open ones."""
    live = sorted((comment for comment in own if comment.state == "open"), key=lambda comment: comment.id)
    return (live[0], live[1:]) if live else (None, [])
