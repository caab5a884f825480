"""A branch cannot be reached, since an earlier one takes all it would take

What
A condition of an `if`/`elif` chain, or a pattern of a `case`, is the same as an earlier one or holds only where an earlier one holds.

Why
The second branch looks like the place to change and does nothing. Where the two differ, nobody can tell which was meant.

Example
    if [[ $MODEL_PREFIX == "toy" && $PRECISION == "fp4" ]]; then
        MODEL_PATH=/models/toy
    elif [[ $PRECISION == "fp4" && $MODEL_PREFIX == "toy" ]]; then
        MODEL_PATH=/scratch/toy
    fi

Instead
    if [[ $MODEL_PREFIX == "toy" && $PRECISION == "fp4" ]]; then
        MODEL_PATH=/scratch/toy
    fi
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Case, If
from reviewbot.engine.conditions import Clause, alternatives
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import facts_of

RULE = Rule("dead-branch", Level.WARNING, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        for placed in facts_of(context.documents.shell(path)).statements:
            if isinstance(placed.statement, If):
                yield from _chain(context, path, placed.statement)
            elif isinstance(placed.statement, Case):
                yield from _case(context, path, placed.statement)


def _chain(context: Context, path: str, chain: If) -> Iterator[Finding]:
    before: list[tuple[int, tuple[Clause, ...], str]] = []
    for condition, body in chain.arms:
        line = condition[0].line if condition else chain.line
        clauses = alternatives(condition)
        if not clauses:
            continue
        for first, earlier, first_body in before:
            if all(any(one <= clause for one in earlier) for clause in clauses):
                same = set(clauses) == set(earlier)
                differ = " and does something else" if first_body != _text(context, path, body) else ""
                why = f"line {first} asks the same{differ}" if same else f"it holds only where line {first} holds, which comes first"
                yield context.finding(
                    RULE,
                    f"this branch is never taken: {why}",
                    Site(path, line),
                    help="take it out, or merge the two" if same else "put the narrower condition first, or take it out",
                    related=[(Site(path, first), "takes it first")],
                    structure="if",
                    subject=" | ".join(sorted(" & ".join(sorted(map(str, clause))) for clause in clauses)),
                )
                break
        before.append((line, clauses, _text(context, path, body)))


def _text(context: Context, path: str, body: object) -> str:
    statements = body if isinstance(body, tuple) else ()
    if not statements:
        return ""
    return "\n".join(
        line.strip() for line in context.documents.shell(path).text.split("\n")[statements[0].line - 1 : statements[-1].end_line]
    )


def _case(context: Context, path: str, case: Case) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for index, arm in enumerate(case.arms):
        patterns = [word.text for word in arm.patterns]
        earlier = [seen[text] for text in patterns if text in seen]
        everything = seen.get("*")
        fallen_into = index > 0 and case.arms[index - 1].end == ";&"
        if not fallen_into and (everything is not None or (earlier and len(earlier) == len(patterns))):
            first = everything if everything is not None else earlier[0]
            yield context.finding(
                RULE,
                f"this branch is never taken: line {first} takes {'everything' if everything is not None else f'`{patterns[0]}`'} first",
                Site(path, arm.line),
                help="take it out, or merge the two",
                related=[(Site(path, first), "takes it first")],
                structure=f"case {case.subject.text}",
                subject="|".join(patterns),
            )
        if arm.end == ";;" or index == len(case.arms) - 1:
            for text in patterns:
                seen.setdefault(text, arm.line)
