"""A change adds a branch to a launcher that no point takes

What
A change adds a branch of an `if` chain to a launcher, and of the points that start this launcher none fulfils its condition, or all that do
are taken by an earlier branch.

Why
The branch was written for a row. Either the row is missing, or it goes another way than its author thinks.

Example
    if [[ "$IS_AGENTIC" == "1" ]]; then
        git checkout v1.0.38
    elif [[ $MODEL_PREFIX == "toy" ]]; then  # all toy rows are agentic
        git checkout v1.0.50
    fi

Instead
    if [[ $MODEL_PREFIX == "toy" ]]; then
        git checkout v1.0.50
    elif [[ "$IS_AGENTIC" == "1" ]]; then
        git checkout v1.0.38
    fi
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import If
from reviewbot.engine.conditions import Clause, Term, alternatives
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import real_path
from reviewbot.engine.shell_facts import facts_of

RULE = Rule("branch-without-points", Level.NOTE, frozenset({"bench", "documents", "change"}), guess=True)

_NOT_OF_A_ROW = ("EVAL", "RUN_EVAL", "PROFILE", "SLURM", "GITHUB", "RUNNER")


def check(context: Context) -> Iterator[Finding]:
    if context.base is None or context.changed is None:
        return
    paths = sorted(context.changed & frozenset(context.documents.paths("launcher")))
    if not paths:
        return
    jobs: dict[str, list[Mapping[str, str]]] = {}
    for job in context.bench.jobs():
        jobs.setdefault(real_path(context.tree, job.launcher), []).append(
            {name: value for name, value in job.environment.items() if name not in job.unknown}
        )
    diff = Diff(context.base.tree, context.tree, context.changed)
    for path in paths:
        touched = {number for hunk in diff.hunks(path) for number in hunk.head_lines}
        if not touched or not jobs.get(path):
            continue
        facts = facts_of(context.documents.shell(path))
        own = {one.name for one in facts.assigned}
        environments = [{name: value for name, value in one.items() if name not in own} for one in jobs[path]]
        for placed in facts.statements:
            if isinstance(placed.statement, If):
                yield from _chain(context, path, placed.statement, environments, touched)


def _chain(context: Context, path: str, chain: If, environments: list[dict[str, str]], touched: set[int]) -> Iterator[Finding]:
    earlier: list[tuple[int, tuple[Clause, ...]]] = []
    for condition, _ in chain.arms:
        line = condition[0].line if condition else chain.line
        clauses = alternatives(condition)
        if line in touched and clauses and any(name in environments[0] for clause in clauses for name in _names(clause)):
            takers = [one for one in environments if any(_holds(clause, one) is not False for clause in clauses)]
            first = [_first(earlier, one) for one in takers]
            if not takers or None not in first:
                yield _finding(context, path, line, [at for at in dict.fromkeys(first) if at is not None])
        earlier.append((line, clauses))


def _first(earlier: list[tuple[int, tuple[Clause, ...]]], environment: dict[str, str]) -> int | None:
    """The line of an earlier branch that surely takes a job."""
    return next((line for line, clauses in earlier if any(_holds(clause, environment) for clause in clauses)), None)


def _finding(context: Context, path: str, line: int, before: list[int]) -> Finding:
    why = (
        f"line {' and line '.join(map(str, before))} takes all that it is for"
        if before
        else "none that starts this launcher is of its kind"
    )
    return context.finding(
        RULE,
        f"no point takes this branch: {why}",
        Site(path, line),
        help="put it before the other one, or narrow that" if before else "add the row, or correct the condition",
        related=[(Site(path, at), "takes them first") for at in before],
        structure="if",
        subject=context.lines(path)[line - 1].strip(),
    )


def _names(clause: Clause) -> Iterator[str]:
    return (term.name for term in clause)


def _holds(clause: Clause, environment: dict[str, str]) -> bool | None:
    """Whether a clause holds for a job: ``None`` where it cannot be told."""
    found = [_term(term, environment) for term in clause]
    return False if False in found else None if None in found else True


def _term(term: Term, environment: dict[str, str]) -> bool | None:
    value = environment.get(term.name)
    if value is None or not term.literal or term.name.startswith(_NOT_OF_A_ROW):
        return None
    if term.op in ("-n", "-z"):
        return bool(value) == (term.op == "-n")
    return (value == term.value) == (term.op == "=") if term.op in ("=", "!=") else None
