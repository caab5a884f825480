"""What a shell script says without a run: its statements in their surroundings, and the variables that it sets and reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache

from reviewbot.documents.shell_syntax import (
    ArithName,
    ArithOp,
    Assignment,
    Block,
    Case,
    Declaration,
    For,
    If,
    Literal,
    Parameter,
    ProcessSubstitution,
    Script,
    Simple,
    Statement,
    Substitution,
    TestUnary,
    Word,
    blocks,
)  # fmt: skip

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "pre++", "pre--", "post++", "post--"})
_DEFAULTS = frozenset({":-", "-", ":=", "=", ":?", "?", ":+", "+"})
_KEPT = 2_000
_ERREXIT = re.compile(r"-\w*e|errexit\Z")


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement and those around it, outermost first; ``until`` is the last line of the block that it stands in."""

    statement: Statement
    around: tuple[Statement, ...]
    until: int


@dataclass(frozen=True, slots=True)
class Assigned:
    """An assignment of any form; ``value`` is ``None`` where it is not a word (an array, ``read``, ``for``, arithmetic);
    up to line ``until`` everything behind it runs after it."""

    name: str
    line: int
    value: Word | None
    exported: bool
    until: int
    append: bool = False

    @property
    def static(self) -> str | None:
        """The value where it is plain text."""
        if self.append or self.value is None:
            return None
        return self.value.static if self.value.parts else ""


@dataclass(frozen=True, slots=True)
class Read:
    """A place that a variable's value is used at; ``guarded`` where the expansion has a default, an alternative or a message, or only asks
    whether it is set."""

    name: str
    line: int
    guarded: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """The statements, assignments and reads of one script, in the order of its text."""

    statements: tuple[Placed, ...]
    assigned: tuple[Assigned, ...]
    reads: tuple[Read, ...]


_FACTS: dict[str, Facts] = {}


def facts_of(script: Script) -> Facts:
    """The facts of a script; those of the same text are collected once."""
    found = _FACTS.get(script.text)
    if found is None:
        if len(_FACTS) >= _KEPT:
            _FACTS.clear()
        placed = tuple(_placed(script.body, ()))
        expanded = tuple(_expanded(script.body))
        given = [one for item in placed for one in _assigned(item)] + [one for one in expanded if isinstance(one, Assigned)]
        assigned = sorted(given, key=lambda one: one.line)
        reads = sorted({one for one in expanded if isinstance(one, Read)}, key=lambda read: (read.line, read.name))
        found = _FACTS[script.text] = Facts(placed, tuple(assigned), tuple(reads))
    return found


def words(statement: Statement) -> tuple[Word, ...]:
    """The words of a plain command: empty for everything else."""
    return statement.words if isinstance(statement, Simple) else ()


def exclusive(one: Placed, other: Placed) -> bool:
    """Whether two statements stand in different arms of one ``if`` or ``case``, so that only one of them runs."""
    for outer in one.around:
        if outer in other.around and isinstance(outer, (If, Case)):
            arms = (
                [arm.body for arm in outer.arms] if isinstance(outer, Case) else [body for _, body in outer.arms] + [outer.otherwise or ()]
            )
            places = [
                next((index for index, body in enumerate(arms) if body and body[0].line <= item.statement.line <= body[-1].end_line), None)
                for item in (one, other)
            ]
            if None not in places and places[0] != places[1]:
                return True
    return False


def text_of(script: Script, statement: Statement) -> str:
    """The lines of a statement as they are written."""
    return "\n".join(_lines(script.text)[statement.line - 1 : statement.end_line])


@lru_cache(maxsize=256)
def _lines(text: str) -> list[str]:
    return text.split("\n")


def stops_at_failure(facts: Facts) -> bool:
    """Whether the script is under ``set -e`` from somewhere on."""
    return any(
        first_word(placed.statement) == "set" and any(_ERREXIT.match(word.text) for word in words(placed.statement)[1:])
        for placed in facts.statements
    )


def first_word(statement: Statement) -> str:
    """The name of a plain command, or an empty text."""
    given = words(statement)
    return (given[0].static or "") if given else ""


def assignments(statement: Statement) -> tuple[Assignment, ...]:
    """The assignments of a plain command or of a declaration, as they are written."""
    items = statement.assignments if isinstance(statement, Simple) else statement.items if isinstance(statement, Declaration) else ()
    return tuple(item for item in items if isinstance(item, Assignment))


def array_words(statement: Statement) -> tuple[Word, ...]:
    """The words that a statement puts into arrays."""
    return tuple(word for item in assignments(statement) if item.array is not None for _, word in item.array)


def own_words(statement: Statement) -> Iterator[Word]:
    """All words of a plain command, a declaration, a loop or a ``case``: arguments, values that are assigned, targets of redirects."""
    items: tuple[Assignment | Word, ...] = ()
    if isinstance(statement, Simple):
        items = (*statement.assignments, *statement.words)
    elif isinstance(statement, Declaration):
        items = statement.items
    elif isinstance(statement, For):
        items = statement.words or ()
    elif isinstance(statement, Case):
        items = (statement.subject,)
    for item in items:
        if isinstance(item, Word):
            yield item
            continue
        if item.value is not None:
            yield item.value
        yield from (word for _, word in item.array or ())
    if isinstance(statement, (Simple, Declaration)):
        yield from (redirect.target for redirect in statement.redirects)


def prefixes(facts: Facts) -> set[str]:
    """Names that are set for one command: its children have them."""
    return {
        one.name
        for placed in facts.statements
        if isinstance(placed.statement, Simple) and placed.statement.words
        for one in placed.statement.assignments
    }


def declared(facts: Facts) -> set[str]:
    """Names of ``local x``, ``export X``, ``declare -A m``."""
    return {
        item.text
        for placed in facts.statements
        if isinstance(placed.statement, Declaration)
        for item in placed.statement.items
        if isinstance(item, Word)
    }


def _placed(block: Block, around: tuple[Statement, ...]) -> Iterator[Placed]:
    until = block[-1].end_line if block else 0
    for statement in block:
        yield Placed(statement, around, until)
        for inner in blocks(statement):
            yield from _placed(inner, (*around, statement))
        for body in _substituted(statement):
            yield from _placed(body, (*around, statement))


def _substituted(statement: Statement) -> Iterator[Block]:
    """The bodies of command substitutions in a statement's own words."""
    if isinstance(statement, Simple):
        own: tuple[object, ...] = (statement.assignments, statement.words, statement.redirects)
    elif isinstance(statement, Declaration):
        own = (statement.items, statement.redirects)
    elif isinstance(statement, For):
        own = (statement.words,)
    elif isinstance(statement, Case):
        own = (statement.subject,)
    else:
        return
    for node in _inside(own):
        yield node.body


def _inside(node: object) -> Iterator[Substitution | ProcessSubstitution]:
    """The substitutions in words and assignments, which are not entered."""
    if isinstance(node, tuple):
        for item in node:
            yield from _inside(item)
    elif isinstance(node, (Substitution, ProcessSubstitution)):
        yield node
    elif not isinstance(node, Literal) and not (isinstance(node, Word) and node.static is not None):
        for name in _field_names(node.__class__):
            value = getattr(node, name)
            if value is not None and value != ():
                yield from _inside(value)


_FIELDS: dict[type, tuple[str, ...]] = {}


def _field_names(kind: type) -> tuple[str, ...]:
    """The fields of a node in which others stand; none for what is no node."""
    found = _FIELDS.get(kind)
    if found is None:
        names = tuple(field.name for field in fields(kind) if field.name not in _PLAIN) if is_dataclass(kind) else ()
        found = _FIELDS[kind] = names
    return found


_PLAIN = frozenset(
    {
        "line",
        "end_line",
        "span",
        "text",
        "static",
        "quoted",
        "name",
        "op",
        "keyword",
        "end",
        "fd",
        "negated",
        "body_line",
        "both",
        "length",
        "indirect",
        "keys",
        "prefix",
        "append",
        "until",
        "select",
    }
)


def _assigned(placed: Placed) -> Iterator[Assigned]:
    statement, until = placed.statement, placed.until
    if isinstance(statement, Simple):
        if not statement.words:
            for one in statement.assignments:
                yield _of(one, False, until)
            return
        yield from _by_builtin(statement, until)
    elif isinstance(statement, Declaration):
        options = "".join(item.text for item in statement.items if isinstance(item, Word) and item.text.startswith("-"))
        exported = statement.keyword == "export" or "x" in options
        for item in statement.items:
            if isinstance(item, Assignment):
                yield _of(item, exported, until)
    elif isinstance(statement, For):
        yield Assigned(statement.name, statement.line, None, False, 0)


def _of(assignment: Assignment, exported: bool, until: int) -> Assigned:
    value = assignment.value if assignment.index is None and assignment.array is None else None
    return Assigned(assignment.name, assignment.line, value, exported, until, assignment.append or assignment.index is not None)


def _by_builtin(statement: Simple, until: int) -> Iterator[Assigned]:
    given = [word.static or "" for word in statement.words]
    if given[0] in ("read", "mapfile", "readarray", "getopts"):
        for name in given[1:]:
            if _NAME.match(name):
                yield Assigned(name, statement.line, None, False, 0)
    elif given[0] == "printf" and len(given) > 2 and given[1] == "-v" and _NAME.match(given[2]):
        yield Assigned(given[2], statement.line, None, False, until)


def _expanded(node: object) -> Iterator[Read | Assigned]:
    """What expansions, tests and arithmetic read, and the little that they set."""
    if isinstance(node, tuple):
        for item in node:
            yield from _expanded(item)
        return
    if isinstance(node, Literal) or (isinstance(node, Word) and node.static is not None):
        return
    if isinstance(node, Parameter):
        if _NAME.match(node.name):
            yield Read(node.name, node.line, node.op in _DEFAULTS)
            if node.op in (":=", "="):
                yield Assigned(node.name, node.line, None, False, 0)
    elif isinstance(node, ArithName):
        yield Read(node.name, 0, True)  # an unset name is 0 in arithmetic
    elif isinstance(node, ArithOp) and node.op in _ASSIGNING and node.operands:
        target = node.operands[0]
        if isinstance(target, ArithName):
            yield Assigned(target.name, 0, None, False, 0)
        yield from _expanded(node.operands[1:])
        return
    elif isinstance(node, TestUnary) and node.op in ("-n", "-z", "-v"):
        yield from _asked(node.operand)
        return
    elif isinstance(node, Simple) and len(node.words) > 2 and node.words[0].text in ("[", "test") and node.words[1].text in ("-n", "-z"):
        yield from _asked(node.words)
        return
    for name in _field_names(node.__class__):
        value = getattr(node, name)
        if value is not None and value != ():
            yield from _expanded(value)


def _asked(node: object) -> Iterator[Read | Assigned]:
    """The same, where only being set is asked for."""
    for one in _expanded(node):
        yield Read(one.name, one.line, True) if isinstance(one, Read) else one
