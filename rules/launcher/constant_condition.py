"""A condition asks a variable that has the same value always

What
A script sets a variable to a constant, nothing else ever sets it, and a later condition asks for its value: it is always true, or never.

Why
What stands under such a condition is a switch that nobody can turn: it looks configurable, reads as if it ran, and does not.

Example
    SETUP_SCRIPT=""
    if [[ -n "$SETUP_SCRIPT" ]]; then
        ARGS+=(--setup-script "$SETUP_SCRIPT")
    fi

Instead
    SETUP_SCRIPT="${SETUP_SCRIPT:-}"
    if [[ -n "$SETUP_SCRIPT" ]]; then
        ARGS+=(--setup-script "$SETUP_SCRIPT")
    fi
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import If, Simple
from reviewbot.engine.conditions import Term, alternatives
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Assigned, Facts, Placed, facts_of, first_word, words

RULE = Rule("constant-condition", Level.WARNING, frozenset({"documents"}), scope="document")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        constants = _constants(facts)
        if not constants:
            continue
        sourced = [placed.statement.line for placed in facts.statements if _sources_scripts(placed)]
        asked: dict[str, list[tuple[int, bool]]] = {}
        for placed in facts.statements:
            for line, clause in _conditions(placed):
                for term in clause:
                    known = constants.get(term.name)
                    if known is not None and any(known.line < at < line for at in sourced):
                        continue
                    if known is not None and known.line < line <= known.until and (truth := _truth(term, known.static or "")) is not None:
                        asked.setdefault(term.name, []).append((line, truth))
        for name, places in asked.items():
            known = constants[name]
            line, truth = places[0]
            others = (
                "" if len(places) == 1 else f", also in line{'s' if len(places) > 2 else ''} {', '.join(str(at) for at, _ in places[1:])}"
            )
            yield context.finding(
                RULE,
                f"this condition is {'always' if truth else 'never'} true: `{name}` is {_shown(known.static)} since line {known.line} "
                f"and nothing else sets it{others}",
                Site(path, line),
                help=f'let it come from outside (`{name}="${{{name}:-{known.static}}}"`), or take the condition out',
                related=[(Site(path, known.line), f"the only assignment of `{name}`")],
                structure=name,
                subject=name,
            )


def _shown(value: str | None) -> str:
    return f"`{value}`" if value else "empty"


def _constants(facts: Facts) -> dict[str, Assigned]:
    """The first assignments of variables that only ever get one empty value, with the lines up to which they hold."""
    values: dict[str, set[str | None]] = {}
    first: dict[str, Assigned] = {}
    for one in facts.assigned:
        values.setdefault(one.name, set()).add(one.static)
        first.setdefault(one.name, one)
    if any(first_word(placed.statement) == "eval" for placed in facts.statements):
        return {}
    return {name: one for name, one in first.items() if values[name] == {""} and not _by_reference(facts, name)}


def _sources_scripts(placed: Placed) -> bool:
    """Whether a statement reads other scripts of the repository in, which may set anything; what lies beside programs sets only its own."""
    return first_word(placed.statement) in (".", "source") and not any("/bin/" in word.text for word in words(placed.statement))


def _by_reference(facts: Facts, name: str) -> bool:
    """Whether a command gets the variable's name, and may set it."""
    return any(
        word.static == name for placed in facts.statements if isinstance(placed.statement, Simple) for word in placed.statement.words
    )


def _conditions(placed: Placed) -> Iterator[tuple[int, frozenset[Term]]]:
    statement = placed.statement
    if isinstance(statement, If):
        for condition, _ in statement.arms:
            clauses = alternatives(condition)
            if len(clauses) == 1 and condition:
                yield condition[0].line, clauses[0]


def _truth(term: Term, value: str) -> bool | None:
    if term.op in ("-n", "-z"):
        return bool(value) == (term.op == "-n")
    if term.op in ("=", "!=") and term.literal:
        return (term.value == value) == (term.op == "=")
    return None
