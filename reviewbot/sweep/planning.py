"""Making plans, and making receipts again: where the runner meets the checker."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

from reviewbot.bench.model import Job
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level
from reviewbot.engine.registry import load_rules, nearest
from reviewbot.engine.run import check
from reviewbot.fit.of_runs import fit_of
from reviewbot.git import GitError, Repository
from reviewbot.runs.lazy import LazyRun
from reviewbot.runs.model import Run
from reviewbot.settings import NAME as SETTINGS
from reviewbot.settings import Settings
from reviewbot.sweep.errors import SweepError
from reviewbot.sweep.plan import LeftOut, PlanPoint, altered
from reviewbot.sweep.points import Options, Unplannable, command_of, health_of, outputs_of, point_key, resources_of, time_limit_of
from reviewbot.sweep.receipt import differences, make_receipt, receipt_digest, touching
from reviewbot.tree import Tree

_VERDICTS = {"fits": 0, "tight": 1, "cannot-tell": 2, "does-not-fit": 3}


class Session(Protocol):
    """One repository, as the command line opens it."""

    root: Path
    settings: Settings

    def tree(self, revision: str | None) -> Tree: ...

    def context(self, revision: str | None, changed: frozenset[str] | None = None) -> Context: ...


@dataclass(frozen=True, slots=True)
class Checked:
    """A repository at a revision after a whole check."""

    pairs: tuple[tuple[Run, Job], ...]
    findings: tuple[Finding, ...]
    context: Context
    commit: str
    incomplete: bool


def checked(session: Session, revision: str | None) -> Checked:
    """Runs, jobs and findings of a revision (``None``: the working tree)."""
    context = session.context(revision)
    known = load_rules()
    result = check(context, list(known.values()), known)
    jobs = context.bench.jobs()
    runs = context.runs
    if len(jobs) != len(runs):
        raise SweepError("the runs of this repository do not pair with its jobs", 3)
    return Checked(tuple(zip(runs, jobs, strict=True)), result.findings, context, commit_of(session.root, revision), result.incomplete)


def commit_of(root: Path, revision: str | None) -> str:
    """The commit that is checked out, or that a revision names; empty without one."""
    try:
        return Repository.find(str(root)).resolve(revision or "HEAD")
    except GitError:
        return ""


def plan_points(found: Checked, pairs: Iterable[tuple[Run, Job]], options: Options) -> tuple[list[PlanPoint], list[LeftOut]]:
    """The points of a plan, in order, and those that are left out: with an error, refused by their launcher, or not known."""
    points: list[PlanPoint] = []
    left_out: list[LeftOut] = []
    for found_run, job in pairs:
        run = found_run.whole() if isinstance(found_run, LazyRun) else found_run
        about = touching(found.findings, run)
        errors = [finding for finding in about if finding.level is Level.ERROR]
        if errors:
            first = errors[0]
            reason = f"{first.path}:{first.line}: {first.message} [{first.rule}]"
            left_out.append(LeftOut(point_key(run), reason, tuple(_plain(finding) for finding in errors)))
            continue
        try:
            points.append(_point(found, run, job, about, options))
        except Unplannable as error:
            left_out.append(LeftOut(point_key(run), str(error)))
    return points, left_out


def _point(found: Checked, run: Run, job: Job, about: Sequence[Finding], options: Options) -> PlanPoint:
    command = command_of(run, job, options)
    gpus, nodes = resources_of(run)
    limit = time_limit_of(run, options)
    outputs = outputs_of(run, job, command.kind)
    health = health_of(run, job, command, options)
    given = {
        "argv": command.argv,
        "files": command.files,
        "environment": command.environment,
        "passed": command.passed,
        "gpus": gpus,
        "nodes": nodes,
        "time_limit": limit,
        "outputs": outputs,
        "health": health,
    }
    tree = found.context.tree
    receipt = make_receipt(run, job, tree, found.context.lines, about, found.commit, given, SETTINGS)
    return PlanPoint(
        key=point_key(run),
        point=run.point.id,
        config=run.point.key,
        runner=run.runner,
        node=run.node,
        launcher=run.launcher,
        kind=command.kind,
        scenario=run.point.scenario,
        row=run.point.row,
        argv=command.argv,
        files=command.files,
        environment=command.environment,
        passed=command.passed,
        gpus=gpus,
        nodes=nodes,
        time_limit=limit,
        gpu_hours=round(gpus * limit / 3600, 6),
        outputs=outputs,
        health=health,
        receipt=receipt,
    )


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "path": finding.path,
        "line": finding.line,
        "message": finding.message,
        "fingerprint": finding.fingerprint,
    }


# --- selection -------------------------------------------------------------------------------------------------------


def select(found: Checked, keys: Sequence[str], filters: Sequence[str], base: Checked | None) -> list[tuple[Run, Job]]:
    """The pairs that keys (config keys, ids of points, names in plans; ``*`` matches any text) and filters (``FIELD=GLOB`` over the row, or
    ``key``, ``runner``, ``launcher``) choose; with ``base`` those that run something else, or nothing, there."""
    pairs = list(found.pairs)
    if keys:
        known = {name for run, _ in pairs for name in _names(run)}
        for key in keys:
            if not any(name == key or fnmatchcase(name, key) for name in known):
                close = nearest(key, sorted(known))
                raise SweepError(f"no point or config key matches {key!r}" + (f"; the nearest is {close}" if close else ""))
        pairs = [pair for pair in pairs if any(name == key or fnmatchcase(name, key) for key in keys for name in _names(pair[0]))]
    for text in filters:
        field, equals, glob = text.partition("=")
        if not equals or not field:
            raise SweepError(f"--filter wants FIELD=VALUE, not {text!r}")
        pairs = [pair for pair in pairs if fnmatchcase(_field(pair[0], field), glob)]
    if base is not None:
        before = {point_key(run): run.digest for run, _ in base.pairs}
        pairs = [pair for pair in pairs if before.get(point_key(pair[0])) != pair[0].digest]
    return pairs


def by_fit(pairs: Iterable[tuple[Run, Job]]) -> list[tuple[Run, Job]]:
    """The pairs as they are likely to run: those first that fit into memory, then tight ones, unknown ones, and those that do not fit."""
    return sorted(pairs, key=lambda pair: _likelihood(pair[0]))


def _likelihood(run: Run) -> int:
    reports = [fit_of(run, server) for server in run.servers]
    if not reports:
        return _VERDICTS["cannot-tell"]
    return max(_VERDICTS.get(report.verdict, 2) if report is not None else _VERDICTS["cannot-tell"] for report in reports)


def _names(run: Run) -> tuple[str, ...]:
    return run.point.key, run.point.id, point_key(run)


def _field(run: Run, name: str) -> str:
    special = {
        "key": run.point.key,
        "point": run.point.id,
        "runner": run.runner,
        "launcher": run.launcher,
        "node": run.node,
        "scenario": run.point.scenario,
    }
    value: Any = special.get(name)
    if value is None:
        value = run.point.row
        for part in name.split("."):
            value = value.get(part) if hasattr(value, "get") else None
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


# --- verification ----------------------------------------------------------------------------------------------------


class Verifier:
    """Says of a point, each time just before it is executed, why its receipt does not hold.

    The receipts are made anew from a whole check, which is repeated as soon as anything in the tree is another file than before.
    """

    def __init__(self, open_session: Callable[[], Session], revision: str | None, options: Options, keys: Iterable[str]) -> None:
        self._open = open_session
        self._keys = frozenset(keys)
        self._revision = revision
        self._options = options
        self._mark: object = None
        self._made: dict[str, PlanPoint] = {}
        self._why: dict[str, str] = {}
        self._findings: tuple[Finding, ...] = ()
        self._session: Session | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the last check found."""
        return self._findings

    def refresh(self) -> Session:
        """Check again if the tree is not as it was."""
        session = self._session
        mark = None if session is None else _mark(session.root, self._revision)
        if session is None or mark != self._mark:
            session = self._open()
            self._mark = _mark(session.root, self._revision)
            found = checked(session, self._revision)
            points, left_out = plan_points(found, [pair for pair in found.pairs if point_key(pair[0]) in self._keys], self._options)
            self._made = {point.key: point for point in points}
            self._why = {one.key: one.reason for one in left_out}
            self._findings = found.findings
            self._session = session
        return session

    def __call__(self, point: PlanPoint) -> list[str]:
        if receipt_digest(point.receipt) != point.receipt["digest"]:
            return ["its receipt was changed after it was made"]
        self.refresh()
        now = self._made.get(point.key)
        if now is None:
            why = self._why.get(point.key)
            return [f"it has an error now: {why}" if why is not None else "the repository has no such point any more"]
        reasons = differences(point.receipt, now.receipt)
        if not reasons:
            reasons = [f"its {name} in the plan is not what the receipt was made for" for name in altered(point, now)]
        return reasons


def _mark(root: Path, revision: str | None) -> object:
    """Something that is equal only while the files of a tree are the same ones, untouched."""
    commit = commit_of(root, revision)
    if revision is not None:
        return commit
    from reviewbot.tree import open_tree

    entries = []
    for path in open_tree(str(root), None).paths():
        try:
            found = os.lstat(root / path)
            entries.append((path, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        except OSError:
            entries.append((path, 0, 0, 0, 0))
    return commit, tuple(entries)
