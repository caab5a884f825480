"""The syntax tree of a shell script, as the evaluator and the rules use it.

tree-sitter-bash gives statements and positions; its known quirks (a ``!`` bound too tightly, a redirect hung on a
whole list, the tail of a here-document line inside the redirect) are repaired once, when this tree is built. Words,
parameter expansions, tests and arithmetic are parsed from the source text. The tree is immutable and holds no
reference to tree-sitter, so it can be cached by content and shared by all traces.

Every node has ``line``: the first line of the node in its file, counted from 1. Texts are decoded strings; bytes that are
not UTF-8 are kept by ``surrogateescape``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Union

from reviewbot.documents.positions import Problem, Span

# --- words ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Literal:
    """Plain text. ``quoted`` text is never split, globbed or tilde-expanded; backslashes are already resolved."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$x``, ``${x...}``: ``op`` is the operator as written without a colon variant lost (``:-``, ``-``, ``%%``, ``//``,
    ``/#``, ``:`` for substrings, ``^^``, ``@Q`` ...) or ``""``; ``argument`` and ``replacement`` are the words behind it.

    ``length`` is ``${#x}``, ``indirect`` is ``${!x}``, ``keys`` is ``${!x[@]}``, ``prefix`` is ``${!x*}``. ``index`` is the
    subscript as a word (``@`` and ``*`` stay as literal text). For ``:`` the two words are offset and length (arithmetic).
    """

    name: str
    quoted: bool
    line: int
    op: str = ""
    argument: Word | None = None
    replacement: Word | None = None
    index: Word | None = None
    length: bool = False
    indirect: bool = False
    keys: bool = False
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """``$( )`` or backquotes; ``file`` is the word of ``$(< file)``."""

    body: Block
    quoted: bool
    line: int


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``$(( ))``."""

    expression: Arith
    quoted: bool
    line: int


@dataclass(frozen=True, slots=True)
class ProcessSubstitution:
    """``<( )`` (``direction`` is ``<``) or ``>( )``."""

    direction: str
    body: Block
    line: int


@dataclass(frozen=True, slots=True)
class Braces:
    """``{a,b}`` (``words``) or ``{1..5}`` (``words`` already enumerated), unquoted."""

    words: tuple[Word, ...]


Part = Union[Literal, Parameter, Substitution, Arithmetic, ProcessSubstitution, Braces]


@dataclass(frozen=True, slots=True)
class Word:
    """A shell word. ``static`` is its text where nothing has to be expanded, split or globbed, else ``None``."""

    parts: tuple[Part, ...]
    line: int
    span: Span
    text: str  # as written
    static: str | None


# --- arithmetic and tests ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ArithText:
    """An operand that is a word (``$x``, ``${x:-1}``, ``$(cmd)``) or, for ``name``, a bare variable name."""

    word: Word


@dataclass(frozen=True, slots=True)
class ArithName:
    name: str
    index: Word | None = None


@dataclass(frozen=True, slots=True)
class ArithNumber:
    value: int


@dataclass(frozen=True, slots=True)
class ArithOp:
    """``operands`` of ``op``: one, two, or three (``?:``); assignment operators and ``x++``/``++x`` (``post++``, ``pre++``) included."""

    op: str
    operands: tuple[Arith, ...]


Arith = Union[ArithText, ArithName, ArithNumber, ArithOp]


@dataclass(frozen=True, slots=True)
class TestUnary:
    op: str  # -n -z -f -d ...
    operand: Word


@dataclass(frozen=True, slots=True)
class TestBinary:
    """``right`` of ``==``, ``!=``, ``=`` is a pattern; of ``=~`` a regular expression (quoted parts are literal)."""

    op: str
    left: Word
    right: Word


@dataclass(frozen=True, slots=True)
class TestWord:
    operand: Word


@dataclass(frozen=True, slots=True)
class TestNot:
    operand: TestExpr


@dataclass(frozen=True, slots=True)
class TestAnd:
    left: TestExpr
    right: TestExpr


@dataclass(frozen=True, slots=True)
class TestOr:
    left: TestExpr
    right: TestExpr


TestExpr = Union[TestUnary, TestBinary, TestWord, TestNot, TestAnd, TestOr]

# --- statements ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Redirect:
    """``op``: ``<  >  >>  >|  <>  &>  &>>  >&  <&  <<  <<<``; ``fd`` is the number written before it, else ``None``.

    For ``<<`` (and ``<<-``, tabs already stripped) ``target`` is the body as one word: quoted where the delimiter was quoted,
    expanded otherwise; ``body_line`` is its first line. ``variable`` is the name in ``{name}>file``.
    """

    op: str
    fd: int | None
    target: Word
    line: int
    body_line: int = 0
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """``name=value``, ``name+=value``, ``name[index]=value``, ``name=(a b [k]=c)`` (``array``: pairs of subscript or ``None``, word)."""

    name: str
    line: int
    append: bool
    value: Word | None = None
    index: Word | None = None
    array: tuple[tuple[Word | None, Word], ...] | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    """A command, with its assignments; ``export``, ``local``, ``declare``, ``readonly`` are ``Declaration``."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Declaration:
    """``export A B=x``, ``local -a c=(...)``, ``declare -A m``: ``items`` keeps the written order; a word stays where it is not
    an assignment (options, names, ``"$x=1"``)."""

    keyword: str
    items: tuple[Assignment | Word, ...]
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class TestCommand:
    """``[[ ... ]]``. ``[ ... ]`` and ``test`` are ``Simple`` commands."""

    expression: TestExpr
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class ArithCommand:
    """``(( ... ))``."""

    expression: Arith
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """``[!] a | b``; with one part only where it is negated. ``both`` marks parts whose stderr joins the pipe (``|&``)."""

    parts: tuple[Statement, ...]
    negated: bool
    line: int
    end_line: int
    both: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class AndOr:
    """``first && a || b``, left associative: ``rest`` holds (``&&`` or ``||``, statement)."""

    first: Statement
    rest: tuple[tuple[str, Statement], ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Background:
    statement: Statement
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class If:
    """``arms`` are (condition, body) of ``if`` and each ``elif``."""

    arms: tuple[tuple[Block, Block], ...]
    otherwise: Block | None
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class For:
    """``words`` is ``None`` for ``for x`` over the positional parameters; ``select`` sets ``select``."""

    name: str
    words: tuple[Word, ...] | None
    body: Block
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int
    select: bool = False


@dataclass(frozen=True, slots=True)
class ArithFor:
    """``for ((start; condition; step))``."""

    start: Arith | None
    condition: Arith | None
    step: Arith | None
    body: Block
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class While:
    condition: Block
    body: Block
    until: bool
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class CaseArm:
    """``end`` is ``;;``, ``;&`` or ``;;&``."""

    patterns: tuple[Word, ...]
    body: Block
    end: str
    line: int


@dataclass(frozen=True, slots=True)
class Case:
    subject: Word
    arms: tuple[CaseArm, ...]
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Group:
    """``{ ...; }``."""

    body: Block
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Subshell:
    """``( ... )``."""

    body: Block
    redirects: tuple[Redirect, ...]
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Function:
    """``f() { ... }``; ``body`` is the compound statement with its redirects."""

    name: str
    body: Statement
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Broken:
    """A piece that could not be parsed: evaluation past it is not certain, and the trace says so."""

    text: str
    line: int
    end_line: int


Statement = Union[
    Simple, Declaration, TestCommand, ArithCommand, Pipeline, AndOr, Background, If, For, ArithFor, While, Case, Group, Subshell,
    Function, Broken,
]
Block = tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Comment:
    """``text`` without the ``#`` and one following blank; ``own_line`` where nothing but blanks stands before it."""

    text: str
    span: Span
    own_line: bool


@dataclass(frozen=True, slots=True)
class Script:
    """A parsed shell script."""

    body: Block
    comments: tuple[Comment, ...]
    problems: tuple[Problem, ...]
    text: str


def blocks(statement: Statement) -> Iterator[Block]:
    """The blocks of a compound statement, in their order."""
    if isinstance(statement, If):
        for condition, body in statement.arms:
            yield condition
            yield body
        if statement.otherwise:
            yield statement.otherwise
    elif isinstance(statement, Case):
        yield from (arm.body for arm in statement.arms)
    elif isinstance(statement, While):
        yield statement.condition
        yield statement.body
    elif isinstance(statement, (For, ArithFor, Group, Subshell)):
        yield statement.body
    elif isinstance(statement, Function):
        yield (statement.body,)
    elif isinstance(statement, Background):
        yield (statement.statement,)
    elif isinstance(statement, Pipeline):
        yield statement.parts
    elif isinstance(statement, AndOr):
        yield (statement.first, *(item for _, item in statement.rest))
