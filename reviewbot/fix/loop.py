"""Fixes applied together and checked again, until there is none left that holds.

A fix holds where the finding it is for is gone afterwards and no other has come. What does not hold is taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from reviewbot.engine.model import Finding
from reviewbot.fix.overlay import OverlayTree
from reviewbot.fix.splice import SpliceError, overlap, spliced
from reviewbot.tree import Tree, TreeError

MOST_PASSES = 8  # one fix can make room for another, which is seen at the next pass
MOST_TRIES = 6  # checks in which fixes that do not hold are taken out of a pass


@dataclass(slots=True)
class Fixed:
    """``contents`` are the new contents of files that changed; ``applied`` the findings that are gone, ``taken_back`` those whose fix does
    not hold; ``left`` what is found afterwards."""

    contents: dict[str, bytes] = field(default_factory=dict)
    applied: list[Finding] = field(default_factory=list)
    taken_back: list[Finding] = field(default_factory=list)
    left: tuple[Finding, ...] = ()


def apply_fixes(
    tree: Tree, check: Callable[[Tree], tuple[Finding, ...]], wanted: Callable[[Finding], bool], *, unsafe: bool = False
) -> Fixed:
    """The fixes of the findings that ``wanted`` names, applied as far as they hold. ``check`` gives the findings of a tree."""
    done = Fixed(left=check(tree))
    refused: set[str] = set()
    for _ in range(MOST_PASSES):
        chosen = _chosen(done.left, wanted, unsafe, refused, tree)
        if not chosen:
            return done
        tried = {finding.fingerprint for finding in chosen}
        for _try in range(MOST_TRIES):
            contents, broken = _contents(tree, done.contents, chosen)
            if broken:
                chosen = [finding for finding in chosen if finding not in broken]
                continue
            if not chosen:
                break
            after = check(OverlayTree(tree, contents))
            bad = _bad(chosen, done.left, after)
            if not bad:
                done.contents, done.left = contents, after
                done.applied.extend(chosen)
                tried -= {finding.fingerprint for finding in chosen}
                break
            chosen = [finding for finding in chosen if finding not in bad]
        done.taken_back.extend(finding for finding in done.left if finding.fingerprint in tried and finding.fingerprint not in refused)
        refused |= tried
    return done


def _chosen(
    findings: Sequence[Finding], wanted: Callable[[Finding], bool], unsafe: bool, refused: set[str], tree: Tree
) -> list[Finding]:
    """The findings whose fixes do not touch each other, in order."""
    chosen: list[Finding] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not fix.replacements or finding.fingerprint in refused or not wanted(finding) or not (fix.safe or unsafe):
            continue
        if any(not tree.is_file(one.path) or tree.is_link(one.path) or tree.resolve(one.path) != one.path for one in fix.replacements):
            continue
        if not any(other.fix is not None and overlap(fix.replacements, other.fix.replacements) for other in chosen):
            chosen.append(finding)
    return chosen


def _contents(tree: Tree, before: Mapping[str, bytes], chosen: Sequence[Finding]) -> tuple[dict[str, bytes], list[Finding]]:
    by_path: dict[str, list[Finding]] = {}
    for finding in chosen:
        assert finding.fix is not None
        for path in {one.path for one in finding.fix.replacements}:
            by_path.setdefault(path, []).append(finding)
    contents = dict(before)
    for path, some in by_path.items():
        places = [one for finding in some if finding.fix is not None for one in finding.fix.replacements if one.path == path]
        try:
            contents[path] = spliced(before[path] if path in before else tree.read(path), places)
        except (SpliceError, TreeError):
            return contents, some
    return contents, []


def _bad(chosen: Sequence[Finding], before: Sequence[Finding], after: Sequence[Finding]) -> list[Finding]:
    """The fixes that do not hold: those whose finding stays, and for each new finding the nearest fix of its file."""
    was, now = Counter(one.fingerprint for one in before), Counter(one.fingerprint for one in after)
    fixed = Counter(one.fingerprint for one in chosen)
    bad = [one for one in chosen if now[one.fingerprint] > was[one.fingerprint] - fixed[one.fingerprint]]
    for one in after:
        if now[one.fingerprint] <= was[one.fingerprint]:
            continue
        here = [finding for finding in chosen if finding.fix is not None and one.path in {place.path for place in finding.fix.replacements}]
        if not here:
            return list(chosen)
        bad.append(min(here, key=lambda finding: abs(finding.line - one.line)))
    return bad
