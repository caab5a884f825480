"""Comments that ignore findings.

``# reviewbot: ignore[rule, rule2] reason`` behind a line is about that line; on a line of its own it is about the next line that is neither
blank nor a comment. ``# reviewbot: ignore-file[rule] reason`` is about its whole file. A comment is a directive only where it begins with
the word: prose that mentions one is prose.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.own_rules import IGNORE_WITHOUT_REASON, UNKNOWN_IGNORE, UNUSED_IGNORE
from reviewbot.engine.registry import nearest

MARK = b"reviewbot:"
SUFFIXES = (".yaml", ".yml", ".sh", ".bash", ".py")

_BLOCK = 200  # lines of a comment block that a directive in it covers
_DIRECTIVE = re.compile(r"#\s*reviewbot:\s*(ignore(?:-file)?)(?![\w-])\s*(?:\[([^\]]*)\])?[ \t]*(.*?)\s*\Z")


@dataclass(frozen=True, slots=True)
class Directive:
    """An ignore comment. ``target`` is the line that it is about, ``None`` for the whole file."""

    path: str
    line: int
    column: int
    end_column: int
    target: int | None
    rules: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Suppression:
    """``kept`` are the findings that stay, ``ignored`` those that a comment hides, ``about`` those about the comments themselves."""

    kept: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    about: tuple[Finding, ...]


def directives(path: str, text: str, comments: Collection[tuple[int, int]] | None = None) -> Iterator[Directive]:
    """The ignore comments of a YAML, shell or Python text.

    ``comments`` are line and column of all comments, where a parser of the language told them: what looks like one inside of a
    here-document or a long string is then known to be text.
    """
    if "reviewbot:" not in text:
        return
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if "reviewbot:" not in line:
            continue
        start = _comment_start(line)
        found = _DIRECTIVE.match(line[start:]) if start is not None else None
        if found is None or start is None or (comments is not None and (number, start + 1) not in comments):
            continue
        target: int | None = number
        if found[1] == "ignore-file":
            target = None
        elif not line[:start].strip():
            target = next((n for n in range(number + 1, len(lines) + 1) if _is_content(lines[n - 1])), number)
        rules = tuple(name for name in re.split(r"[\s,]+", found[2] or "") if name)
        yield Directive(path, number, start + 1, len(line.rstrip()) + 1, target, rules, found[3])


def python_comments(text: str) -> set[tuple[int, int]] | None:
    """Line and column of every comment of a Python text, ``None`` where it is no Python."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        return None
    return {(token.start[0], token.start[1] + 1) for token in tokens if token.type == tokenize.COMMENT}


def suppress(
    findings: Iterable[Finding], comments: Iterable[Directive], known: Mapping[str, Rule], ran: Callable[[str], bool] = lambda rule: True
) -> Suppression:
    """Take the findings away that a comment ignores, and say what is wrong with the comments.

    ``known`` are all rules by name. ``ran`` tells whether a rule was run: a comment for one that was not is not called unused.
    """
    by_place: dict[tuple[str, int | None, str], list[tuple[Directive, str]]] = {}
    comments = tuple(comments)
    for comment in comments:
        for name in comment.rules:
            for line in _lines(comment):
                by_place.setdefault((comment.path, line, name), []).append((comment, name))
    used: set[tuple[Directive, str]] = set()
    kept, ignored = [], []
    for finding in findings:
        rule = known.get(finding.rule)
        hits = [*by_place.get((finding.path, finding.line, finding.rule), ()), *by_place.get((finding.path, None, finding.rule), ())]
        if hits and rule is not None and rule.ignorable:
            used.update(hits)
            ignored.append(finding)
        else:
            kept.append(finding)
    about = tuple(finding for comment in comments for finding in _about(comment, used, known, ran))
    return Suppression(tuple(kept), tuple(ignored), about)


def _lines(comment: Directive) -> Iterable[int | None]:
    """The lines that a directive is for: the target, and the comment block above it, since findings about comments stand there."""
    if comment.target is None:
        return (None,)
    return (*range(comment.line, min(comment.target, comment.line + _BLOCK)), comment.target)


def _about(
    comment: Directive, used: set[tuple[Directive, str]], known: Mapping[str, Rule], ran: Callable[[str], bool]
) -> Iterator[Finding]:
    if not comment.rules:
        yield _finding(comment, UNKNOWN_IGNORE, "the comment names no rule to ignore", "write ignore[rule] and the reason", "")
        return
    if not comment.reason:
        names = ", ".join(comment.rules)
        yield _finding(comment, IGNORE_WITHOUT_REASON, f"{names} is ignored without a reason", "say behind the bracket why", names)
    for name in comment.rules:
        rule = known.get(name)
        if rule is None:
            guess = nearest(name, known)
            yield _finding(comment, UNKNOWN_IGNORE, f"there is no rule {name!r}", f"the nearest is {guess}" if guess else "", name)
        elif not rule.ignorable:
            yield _finding(comment, UNUSED_IGNORE, f"{name} cannot be ignored", "", name)
        elif (comment, name) not in used and ran(name):
            place = "in this file" if comment.target is None else "here"
            yield _finding(comment, UNUSED_IGNORE, f"{name} finds nothing to ignore {place}", "take the comment away", name)


def _finding(comment: Directive, rule: Rule, message: str, help_: str, subject: str) -> Finding:
    return Finding(
        rule.name, Level(rule.level), comment.path, comment.line, comment.column, comment.line, comment.end_column, message, help_,
        subject=subject,
    )  # fmt: skip


def _is_content(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("#")


def _comment_start(line: str) -> int | None:
    """Where the comment of a line begins: a ``#`` at its start or behind a blank, outside of quotes."""
    quote = ""
    position = 0
    while position < len(line):
        character = line[position]
        if quote:
            if character == "\\" and quote == '"':
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'" and (position == 0 or line[position - 1] in " \t=([{,:"):
            quote = character  # a quote inside a word is an apostrophe: "don't"
        elif character == "\\":
            position += 1
        elif character == "#" and (position == 0 or line[position - 1] in " \t"):
            return position
        position += 1
    return None
