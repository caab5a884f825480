"""Which servers and load generators the commands of a script start, without a run."""

from __future__ import annotations

from reviewbot.documents.shell_syntax import Simple, Statement, Word
from reviewbot.runs.engines import Program, recognise

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
    words = [plain(word) for word in statement.words]
    if words[0] in CLIENT_FUNCTIONS:
        return Program("client", "", words[0], words[1:])
    program = recognise(words)
    return program if program.kind in ("server", "client") else None
