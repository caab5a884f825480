"""A list of what is supported disagrees with the branches above it

What
The last branch of an `if` chain or a `case` says which values are supported, and the list lacks one that a branch accepts, or names
one that no branch accepts.

Why
Whoever adds a row reads the list to see whether the launcher serves it, and adds a branch that is there, or relies on one that is not.

Example
    if [[ $MODEL_PREFIX == "toy" && $PRECISION == "fp4" ]]; then
        :
    elif [[ $MODEL_PREFIX == "toy" && $PRECISION == "fp8" ]]; then
        :
    else
        echo "Unsupported model: $MODEL_PREFIX-$PRECISION. Supported models are: toy-fp8"
        exit 1
    fi

Instead
        echo "Unsupported model: $MODEL_PREFIX-$PRECISION. Supported models are: toy-fp4, toy-fp8"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Block, Case, If, Literal, Parameter, Simple, Statement, Word
from reviewbot.engine.conditions import alternatives, equalities
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import facts_of, first_word
from reviewbot.engine.wording import listed

RULE = Rule("message-omits-case", Level.WARNING, frozenset({"documents"}), scope="document")

_LIST = re.compile(
    r"\b(?:supported|valid|allowed|known|expected)\b[^:.]*?(?:\bare\b|\bis\b)?:\s*(?P<items>.+)\Z", re.IGNORECASE | re.DOTALL
)
_WORDS = r"\bor\b|\band\b|\||\s"
_LEAD = re.compile(r"\A\s*(?:(?:or|and)\s)?\s*['\"`]?")
_ITEM = re.compile(r"[\w.+:/-]*\w")


@dataclass(frozen=True, slots=True)
class _Message:
    line: int
    names: tuple[str, ...]  # the variables whose value is refused
    between: str
    items: frozenset[str]


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("shell"):
        for placed in facts_of(context.documents.shell(path)).statements:
            found = _accepted(placed.statement)
            if found is not None:
                yield from _compared(context, path, *found)


def _accepted(statement: Statement) -> tuple[_Message, dict[str, int]] | None:
    """The message of the last branch, and what the others accept, with their lines."""
    if isinstance(statement, If) and statement.otherwise:
        message = _message(statement.otherwise)
        if message is None:
            return None
        accepted: dict[str, int] = {}
        for condition in (condition for condition, body in statement.arms if not _refuses(body)):
            clauses = alternatives(condition)
            for clause in clauses:
                values = dict(equalities(clause))
                if not all(name in values for name in message.names):
                    return None  # it accepts more than a list can say
                accepted.setdefault(message.between.join(values[name] for name in message.names), condition[0].line)
            if not clauses:
                return None
        return message, accepted
    if isinstance(statement, Case) and len(statement.arms) > 1 and [word.text for word in statement.arms[-1].patterns] == ["*"]:
        message = _message(statement.arms[-1].body)
        subject = [part.name for part in statement.subject.parts if isinstance(part, Parameter)]
        if message is None or list(message.names) != subject:
            return None
        arms = [arm for arm in statement.arms[:-1] if not _refuses(arm.body)]
        if any(word.static is None for arm in arms for word in arm.patterns):
            return None
        return message, {word.static or "": arm.line for arm in arms for word in arm.patterns}
    return None


def _refuses(body: Block) -> bool:
    return any(
        first_word(one) in ("exit", "return") and isinstance(one, Simple) and one.words[-1].static not in ("0", one.words[0].static)
        for one in body
    )


def _message(body: Block) -> _Message | None:
    if not _refuses(body):
        return None
    for statement in body:
        if (
            isinstance(statement, Simple)
            and first_word(statement) in ("echo", "printf", "die", "fatal", "error")
            and len(statement.words) > 1
        ):
            found = _read(statement.words[-1])
            if found is not None:
                return found
    return None


def _read(word: Word) -> _Message | None:
    parameters = [index for index, part in enumerate(word.parts) if isinstance(part, Parameter) and not part.op]
    if not parameters or not isinstance(word.parts[-1], Literal):
        return None
    found = _LIST.search(word.parts[-1].text)
    if found is None:
        return None
    end = len(word.parts) - 2
    first = end
    while first - 2 in parameters and re.fullmatch(r"[-/_:]", _literal(word.parts[first - 1])):
        first -= 2
    if end not in parameters:
        return None
    names = tuple(part.name for part in word.parts[first : end + 1] if isinstance(part, Parameter))
    between = _literal(word.parts[first + 1]) if first < end else ""
    pieces = re.split(r",|\|" if "," in found["items"] else _WORDS, found["items"])
    items = [item for piece in pieces if (item := _ITEM.match(_LEAD.sub("", piece)))]
    return _Message(word.line, names, between, frozenset(item[0] for item in items))


def _literal(part: object) -> str:
    return part.text if isinstance(part, Literal) else ""


def _compared(context: Context, path: str, message: _Message, accepted: dict[str, int]) -> Iterator[Finding]:
    if len(message.items & accepted.keys()) < 2 or not accepted:
        return  # the list is not in the form of the refused value
    missing = [value for value in accepted if value not in message.items]
    unknown = sorted(message.items - accepted.keys())
    said = []
    if missing:
        said.append(f"does not list {listed(missing)}, which line {accepted[missing[0]]} accepts")
    if unknown:
        said.append(f"lists {listed(unknown)}, which no branch accepts")
    if said:
        yield context.finding(
            RULE,
            f"the message {' and '.join(said)}",
            Site(path, message.line),
            help="list what the branches accept: " + ", ".join(accepted),
            related=[(Site(path, accepted[value]), f"accepts `{value}`") for value in missing[:3]],
            structure="-".join(message.names),
            subject=f"{' '.join(missing)} / {' '.join(unknown)}",
        )
