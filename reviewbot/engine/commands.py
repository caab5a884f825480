"""Which servers and load generators the commands of a script start, without a run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.shell_syntax import Parameter, Simple, Statement, Word
from reviewbot.engine.shell_facts import Facts, assignments, words
from reviewbot.runs.engines import Program, recognise

_NAME = re.compile(r"[A-Za-z_]\w*")
_HOLDING = re.compile(r"""["']?\$\{?(?P<name>[A-Za-z_]\w*)""")

CLIENT_FUNCTIONS = frozenset({"run_benchmark_serving"})


def plain(word: Word) -> str:
    """A word's text where it is plain, else the word as written without its quotes."""
    return word.static if word.static is not None else word.text.strip("\"'")


def program_of(statement: Statement) -> Program | None:
    """The server or load generator that a plain command starts, as far as its words tell; ``None`` for everything else.

    A function of the repository that stands for a load generator is one.
    """
    if not isinstance(statement, Simple) or not statement.words:
        return None
    texts = [plain(word) for word in statement.words]
    if texts[0] in CLIENT_FUNCTIONS:
        return Program("client", "", texts[0], texts[1:])
    program = recognise(texts)
    return program if program.kind in ("server", "client") else None


def required_names(facts: Facts) -> dict[str, Word]:
    """The variables that a script says must be set (``check_env_vars A B``, ``: "${A:?}"``), each with the word that says so."""
    found: dict[str, Word] = {}
    for placed in facts.statements:
        given = words(placed.statement)
        if not given:
            continue
        if given[0].static == "check_env_vars":
            for word in given[1:]:
                if word.static is not None and _NAME.fullmatch(word.static):
                    found.setdefault(word.static, word)
        elif given[0].static == ":":
            for word in given[1:]:
                for part in word.parts:
                    if isinstance(part, Parameter) and part.op in (":?", "?"):
                        found.setdefault(part.name, word)
    return found


def held_by(given: tuple[Word, ...], facts: Facts) -> Iterator[str]:
    """The texts that variables and arrays named by bare words can hold, as assignments of the script say."""
    names = {found["name"] for word in given if (found := _HOLDING.match(word.text)) is not None}
    for placed in facts.statements if names else ():
        for item in assignments(placed.statement):
            if item.name in names:
                yield item.value.text if item.value is not None else " ".join(word.text for _, word in item.array or ())
