"""The verbs ``impact``, ``reach`` and ``when``: arguments, and what they find. ``reviewbot.report.change`` renders it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.change.append_only import Verdict, append_only
from reviewbot.change.changelog_scope import Scope, changelog_scope
from reviewbot.change.cost import Cost, cost, swept
from reviewbot.change.impact import Impact, impact
from reviewbot.change.reach import Executions, HunkReach, Reached, reach_branches, reach_hunks, reach_line
from reviewbot.change.sides import ChangeError, OneSide, Session, Sides
from reviewbot.change.when import History, Walker
from reviewbot.documents.shell import parse_shell
from reviewbot.documents.shell_syntax import Script
from reviewbot.git import GitError, Repository
from reviewbot.tree import Tree, TreeError

FORMATS = ("text", "json", "markdown", "html")
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """All that ``impact`` says. ``append_only`` is ``None`` where no added entry promises it; ``hunks`` where nobody asked for them."""

    impact: Impact
    scope: Scope
    append_only: Verdict | None
    cost: Cost
    hunks: tuple[HunkReach, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReachReport:
    """Places on head, and on base where it was named; the pairs stand for the same place as far as there is one."""

    path: str
    head: tuple[Reached, ...]
    base: tuple[Reached, ...] | None
    points: int  # of head


@dataclass(frozen=True, slots=True)
class WhenReport:
    key: str
    value: str
    history: History


def add_impact_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot impact`` beside those of every command that reads a repository."""
    parser.add_argument("keys", nargs="*", metavar="KEY", help="config keys or ids of points; * matches any text; default: all")
    parser.add_argument("--base", metavar="REV", required=True, help="the revision to compare with")
    parser.add_argument("--hunks", action="store_true", help="tell for each hunk of a script which points reach it")
    parser.add_argument("--format", choices=FORMATS, default="text")


def add_reach_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot reach``."""
    parser.add_argument("place", metavar="FILE[:LINE]", help="a script; without a line each of its branches")
    parser.add_argument("keys", nargs="*", metavar="KEY", help="config keys or ids of points; * matches any text; default: all")
    parser.add_argument("--base", metavar="REV", help="tell the same for this revision")
    parser.add_argument("--format", choices=FORMATS, default="text")


def add_when_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of ``reviewbot when``."""
    parser.add_argument("key", metavar="KEY", help="a config key or the id of a point; * matches any text")
    parser.add_argument(
        "value", metavar="VALUE", help="name of a value as impact shows it (image, decode.flag.max-num-seqs); * matches any text"
    )
    parser.add_argument("--range", dest="range", metavar="A..B", required=True, help="commits from A (left out) to B, by first parents")
    parser.add_argument("--format", choices=FORMATS, default="text")


# --- impact ----------------------------------------------------------------------------------------------------------


def run_impact(arguments: argparse.Namespace, session: Session, progress: Progress) -> ImpactReport:
    """What ``impact`` finds. Raises ``ChangeError``."""
    sides = Sides(session, arguments.base, arguments.head, arguments.keys)
    return impact_report(sides, hunks=arguments.hunks, processes=arguments.jobs or os.cpu_count() or 1)


def impact_report(sides: Sides, *, hunks: bool = False, processes: int = 1) -> ImpactReport:
    """The whole report on a change, made by up to ``processes`` processes."""
    base, head = sides.state("base"), sides.state("head")
    found = impact(base, head, sides.diff, sides.executed, processes)
    scope = changelog_scope(found, base.bench, head.bench)
    verdict = append_only(scope.entries, found, base.bench, head.bench, sides.diff)
    sweep = swept(found, scope.entries, head.bench)
    price = cost(sweep, sides.runs([point.id for point, _, _ in sweep]))
    return ImpactReport(found, scope, verdict, price, _hunks(sides) if hunks else None)


def _hunks(sides: Sides) -> tuple[HunkReach, ...]:
    diff = sides.diff
    paths = sorted({path for path in diff.paths if path.endswith((".sh", ".bash"))} - set(diff.renames))
    scripts = {path: (_script(diff.base, diff.old_path(path)), _script(diff.head, path)) for path in paths}
    return tuple(reach_hunks(diff, paths, _executions(sides, "base"), _executions(sides, "head"), scripts))


def _executions(sides: Sides | OneSide, side: str) -> Executions:
    return Executions(sides.recorder(side), sides.jobs(side))


def _script(tree: Tree, path: str) -> Script | None:
    try:
        return parse_shell(tree.read(path), path)
    except TreeError:
        return None


# --- reach -----------------------------------------------------------------------------------------------------------


def run_reach(arguments: argparse.Namespace, session: Session, progress: Progress) -> ReachReport:
    """What ``reach`` finds. Raises ``ChangeError``."""
    path, line = _place(arguments.place)
    base = arguments.base
    sides: Sides | OneSide
    sides = OneSide(session, arguments.head, arguments.keys) if base is None else Sides(session, base, arguments.head, arguments.keys)
    tree = sides.diff.head
    path = _relative(path, tree)
    script = _script(tree, path)
    if script is None:
        raise ChangeError(f"there is no script {path}")
    if line is not None and not 1 <= line <= script.text.count("\n") + 1:
        raise ChangeError(f"{path} has no line {line}")
    head = _reached(_executions(sides, "head"), script, tree, path, line)
    before = None
    if base is not None:
        old = sides.diff.old_path(path)
        old_script = _script(sides.diff.base, old)
        old_line = None if line is None else _old_line(sides, path, line)
        missing = old_script is None or (line is not None and old_line is None)
        before = () if missing or old_script is None else _reached(_executions(sides, "base"), old_script, sides.diff.base, old, old_line)
    return ReachReport(path, head, before, len(sides.head_bench.points))


def _reached(executions: Executions, script: Script, tree: Tree, path: str, line: int | None) -> tuple[Reached, ...]:
    names = _names(tree, path)
    found: list[Reached] = []
    for name in names:  # a script is named by the path that leads to it, which may be a link
        some = reach_branches(executions, script, name) if line is None else [reach_line(executions, script, name, line)]
        found = some if not found else [_united(one, two) for one, two in zip(found, some, strict=True)]
    return tuple(found)


def _united(one: Reached, two: Reached) -> Reached:
    return Reached(one.path, one.line, one.end, one.conditions, tuple(dict.fromkeys((*one.points, *two.points))))


def _names(tree: Tree, path: str) -> list[str]:
    """A path and the links that lead to it."""
    found = [path]
    for other in tree.paths():
        if other != path and other.endswith((".sh", ".bash")) and tree.is_link(other):
            try:
                if tree.resolve(other) == tree.resolve(path):
                    found.append(other)
            except TreeError:
                continue
    return found


def _old_line(sides: Sides | OneSide, path: str, line: int) -> int | None:
    """The line of base that a line of head was; ``None`` for one that is new."""
    shift = 0
    for hunk in sides.diff.hunks(path):
        if line in hunk.head_lines:
            return hunk.base_start + min(line - hunk.head_start, hunk.base_count - 1) if hunk.base_count else None
        if hunk.head_start <= line:
            shift = (hunk.base_start + hunk.base_count) - (hunk.head_start + hunk.head_count)
    return line + shift


def _place(text: str) -> tuple[str, int | None]:
    path, colon, number = text.rpartition(":")
    if colon and number.isdigit():
        return path, int(number)
    return text, None


def _relative(path: str, tree: Tree) -> str:
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    if tree.is_file(plain):
        return plain
    named = [other for other in tree.paths() if other.endswith("/" + plain)]
    return named[0] if len(named) == 1 else plain


# --- when ------------------------------------------------------------------------------------------------------------


def run_when(arguments: argparse.Namespace, session: Any, progress: Progress) -> WhenReport:
    """What ``when`` finds. Raises ``ChangeError``."""
    first, dots, last = arguments.range.partition("..")
    if not dots or not first or last.startswith("."):
        raise ChangeError(f"--range wants A..B, not {arguments.range!r}")
    try:
        repository = Repository.find(str(session.root))
        folder = _folder(repository, session.root)
        commits = repository.commits(first, last or "HEAD")
        walker = Walker(repository, folder, [arguments.key], [arguments.value], session.settings, session.upstreams)
        history = walker.history(commits, first, progress)
    except (GitError, TreeError) as error:
        raise ChangeError(str(error)) from None
    if not walker.matched:
        raise ChangeError(f"no point or config key matches {arguments.key!r} at any of the {len(commits)} commits")
    if not any(_matches(name, arguments.value) for name in history.names):
        from reviewbot.engine.registry import nearest

        close = nearest(arguments.value, sorted(history.names))
        raise ChangeError(f"{arguments.key} has no value {arguments.value!r}" + (f"; the nearest is {close}" if close else ""))
    return WhenReport(arguments.key, arguments.value, history)


def _matches(name: str, wanted: str) -> bool:
    from fnmatch import fnmatchcase

    return name == wanted or fnmatchcase(name, wanted)


def _folder(repository: Repository, root: Path) -> str:
    if repository.bare:
        return ""
    relative = root.resolve().relative_to(Path(repository.top).resolve()).as_posix()
    return "" if relative == "." else relative
