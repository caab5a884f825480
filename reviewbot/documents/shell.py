"""Shell scripts: from text to the tree of ``shell_syntax``.

tree-sitter-bash says where statements stand and how they nest. Each statement's words, redirects, tests and arithmetic are then read
from the source text (``shell_words``), which also settles what the grammar gets wrong: redirects always belong to the command that
they follow, ``!`` covers its pipeline, and here-documents are taken out of the text before the grammar sees it, so that nothing else
on their line is swallowed. Where the grammar and the text disagree, the piece is ``Broken`` and the problem says where.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import tree_sitter
import tree_sitter_bash

from reviewbot.documents.positions import Problem, Span
from reviewbot.documents.shell_arith import read_arithmetic
from reviewbot.documents.shell_source import MAX_DEPTH, ShellSyntaxError, Source
from reviewbot.documents.shell_syntax import (
    AndOr,
    Arith,
    ArithCommand,
    ArithFor,
    ArithText,
    Assignment,
    Background,
    Block,
    Broken,
    Case,
    CaseArm,
    Comment,
    Declaration,
    For,
    Function,
    Group,
    If,
    Literal,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Statement,
    Subshell,
    TestCommand,
    While,
    Word,
)
from reviewbot.documents.shell_words import Scanner

MAX_BYTES = 4_000_000

_DECLARATIONS = frozenset({"export", "local", "declare", "readonly", "typeset"})
_LEAVES = frozenset({"command", "test_command", "declaration_command", "unset_command", "variable_assignment", "variable_assignments"})
_STATEMENTS = _LEAVES | frozenset(
    {
        "redirected_statement",
        "list",
        "pipeline",
        "negated_command",
        "compound_statement",
        "subshell",
        "if_statement",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
        "case_statement",
        "function_definition",
    }
)
_SKIPPED = frozenset({";", "\n", ";;", "comment", "heredoc_body", "heredoc_end"})
_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_BETWEEN = re.compile(r"(?:[ \t]|\\\n)*[\n;]?\s*")
_GAP = re.compile(r"(?:[\s;]|\\\n)*\Z")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_KEYWORD = re.compile(r"(?:if|while|until|for|select|case)(?!\w)")
_ASSIGNMENT_HEAD = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_ASSIGNMENT_PLACE = re.compile(
    r"(?:^|[;&|(!{]|\b(?:then|do|else|if|elif|while|until)\b)[ \t]*(?=[A-Za-z_]\w*\+?=)", re.ASCII | re.MULTILINE
)
_REDIRECT_HEAD = re.compile(r"\d*(?:&>>|&>|>>|>\||>&|<&|<>|>|<(?![<(]))[ \t]*")
# `!` before a compound command or a function, which the grammar does not know
_NEGATION = re.compile(r"!(?=(?:[ \t]|\\\n)+(?:(?:[{(]|(?:if|for|while|until|case|select|function)\b|[\w.-]+[ \t]*\([ \t]*\))))")
_OPENED = re.compile(r"\b(?:then|do|else|if|elif|while|until)\Z", re.ASCII)
_LONE_DOLLAR = re.compile(r"\$(?=\s|\Z)")
_INNER_HASH = re.compile(r"(\$\{[!#]?\w+(?:\[[^\]\n]*\])?#+)|(?<=[\w.\-/:=@%+,~^*])\#")  # no comment, though the grammar takes it for one
_HIGH_PLANE = re.compile("[\U000f0000-\U000ffffd]")
_TIME = re.compile(r"(^|[;&|({\n])([ \t]*)time(?:[ \t]+-p)?(?=[ \t]+(?:[({]|if\b|for\b|while\b|until\b|case\b))", re.MULTILINE)
_FUNCTION = re.compile(r"(?:function[ \t]+)?([^\s()<>;&|$'\"]+)[ \t]*(?:\([ \t]*\))?(?:\s|\#[^\n]*\n|\\\n)*")
_BOUNDARY = frozenset(" \t\n;&|()<>`\\")
_RESERVED = frozenset(
    {
        "fi",
        "done",
        "esac",
        "then",
        "else",
        "elif",
        "do",
        "}",
        "if",
        "for",
        "while",
        "until",
        "case",
        "select",
        "function",
        "{",
        "]]",
    }
)


@lru_cache(maxsize=1)
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


@lru_cache(maxsize=1)
def _query() -> tree_sitter.Query:
    pattern = "(comment) @comment (command . (variable_assignment) (file_redirect)) @assignment"
    query: tree_sitter.Query = tree_sitter.Query(tree_sitter.Language(tree_sitter_bash.language()), pattern)
    return query


def parse_shell(data: bytes | str, path: str = "") -> Script:
    """The tree of a script. Never raises: what cannot be read is ``Broken`` in the tree and a ``Problem`` of the script.

    ``path`` is only for messages of other layers and may be empty. Codes of problems: ``invalid-utf8``, ``nul``, ``crlf``, ``bom``,
    ``too-large`` (fatal), ``too-deep``, ``shell-syntax``.
    """
    problems: list[Problem] = []
    text = _decoded(data, problems)
    if len(text) > MAX_BYTES:
        problems.append(Problem("too-large", f"the script has more than {MAX_BYTES:,} characters", Span(1, 1, 1, 1), fatal=True))
        return Script((), (), tuple(problems), text)
    reader = _Reader(problems)
    try:
        source = Source(text)
        body = reader.parse(source, 0, len(text), 0)
        problems.extend(_syntax_problems(reader, source))
    except RecursionError:
        span = Span(1, 1, text.count("\n") + 1, 1)
        problems.append(Problem("too-deep", "nested too deeply to be read", span))
        return Script((Broken(text, 1, span.end_line),), (), tuple(problems), text)
    for doc in source.heredocs.values():
        if not doc.closed:
            line = source.line(doc.start)
            message = f"the here-document `{doc.delimiter}` of line {line} is never ended"
            problems.append(Problem("shell-syntax", message, source.span(doc.start, doc.end)))
    comments = tuple(reader.comments[start] for start in sorted(reader.comments))
    problems.sort(key=lambda problem: problem.span)
    return Script(body, comments, tuple(problems), text)


# An export whose words have no meaning to the shell beside being words.
_PLAIN_EXPORT = re.compile(r"export(?: +[A-Za-z_]\w*=[\w./:@%+,-]*)+ *", re.ASCII)
_OTHER_LINES = 8


def parsed_like(model: Script, text: str) -> Script | None:
    """What ``parse_shell(text)`` gives, made of the tree of a script that has other values in a few plain ``export`` lines of its outermost
    level, line for line; ``None`` where ``text`` is not like this. Workflows fill in one template so for every point."""
    before, after = model.text.split("\n"), text.split("\n")
    if model.problems or len(before) != len(after):
        return None
    changed = [index for index, line in enumerate(before) if line != after[index]]
    if len(changed) > _OTHER_LINES or not all(_PLAIN_EXPORT.fullmatch(lines[index]) for index in changed for lines in (before, after)):
        return None
    body = list(model.body)
    places = {statement.line: place for place, statement in enumerate(body) if isinstance(statement, Declaration)}
    for index in changed:
        place = places.get(index + 1)
        piece = parse_shell("\n" * index + after[index])
        if place is None or body[place].end_line != index + 1 or piece.problems or len(piece.body) != 1:
            return None
        body[place] = piece.body[0]
    return Script(tuple(body), model.comments, (), text)


def parse_arithmetic(text: str) -> Arith:
    """The expression in a text that is known only at run time (the value of a variable, an operand of ``-eq``, ``let``).

    What is no expression is one ``ArithText`` of the whole text.
    """
    source = Source(text)
    scanner = Scanner(source, _Reader([]).parse)
    try:
        return read_arithmetic(scanner, 0, len(text))
    except (ShellSyntaxError, RecursionError):
        span = source.span(0, len(text))
        return ArithText(Word((Literal(text, True),), 1, span, text, text))


def _decoded(data: bytes | str, problems: list[Problem]) -> str:
    start = Span(1, 1, 1, 1)
    if isinstance(data, str):
        text = data
    else:
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            column = len(data[data.rfind(b"\n", 0, error.start) + 1 : error.start].decode("utf-8", "surrogateescape")) + 1
            problems.append(Problem("invalid-utf8", "these bytes are not UTF-8", Span(line, column, line, column + 1)))
            text = data.decode("utf-8", "surrogateescape")
    if text.startswith("\ufeff"):
        problems.append(Problem("bom", "the script begins with a byte order mark; a kernel finds no `#!` behind it", start))
        text = text[1:]
    if "\r\n" in text:
        line = text.count("\n", 0, text.index("\r\n")) + 1
        problems.append(Problem("crlf", "lines end in CR LF; bash takes the CR as part of the last word", Span(line, 1, line, 1)))
        text = text.replace("\r\n", "\n")
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        problems.append(Problem("nul", "the script holds a NUL byte, which bash drops", Span(line, 1, line, 1)))
        text = text.replace("\0", "")
    # the evaluator marks what it does not know by characters of this plane: a script must not forge them
    return _HIGH_PLANE.sub("\ufffd", text)


def _masked(source: Source) -> str:
    """The text for the grammar: one byte a character, here-documents replaced by a plain redirect and blank lines."""
    text = _LONE_DOLLAR.sub("x", _NOT_ASCII.sub("x", source.text))
    if "#" in text:
        text = _INNER_HASH.sub(lambda m: m.group(1) or "x", text)
    if ";&" in text:
        text = text.replace(";;&", ";; ").replace(";&", ";;")
    if "time" in text:
        text = _TIME.sub(lambda m: m.group(1) + " " * (m.end() - m.end(1)), text)
    if "!" in text:
        text = _NEGATION.sub(lambda m: " " if _begins_command(text, m.start()) else "!", text)
    if not source.heredocs:
        return text
    pieces: list[str] = []
    at = 0
    edits = []
    for doc in source.heredocs.values():
        edits.append((doc.start, doc.end, "<" + "/" * (doc.end - doc.start - 1)))
        edits.append((doc.body, doc.after, "".join("\n" if c == "\n" else " " for c in text[doc.body : doc.after])))
    for start, end, replacement in sorted(edits):
        if start < at:
            continue
        pieces += [text[at:start], replacement]
        at = end
    pieces.append(text[at:])
    return "".join(pieces)


def _begins_command(text: str, at: int) -> bool:
    """Whether a command can begin at a place."""
    while at > 0 and text[at - 1] not in ";&|({\n!" and not _OPENED.search(text, max(0, at - 7), at):
        if text[at - 1] not in " \t":
            return False
        at -= 1
    return True


def _assignment_redirects(source: Source, start: int, end: int) -> tuple[int, int] | None:
    """Where the redirects stand that follow assignments without a command (``x=$(y) 2>/dev/null``): the grammar wants a command behind
    them and takes it from the next line."""
    text = source.text
    i = start
    try:
        while found := _ASSIGNMENT_HEAD.match(text, i, end):
            blank = _BLANK.match(text, source.skip_word(found.end(), end), end)
            i = blank.end() if blank else i
        first = last = i
        while found := _REDIRECT_HEAD.match(text, i, end):
            last = source.skip_word(found.end(), end)
            blank = _BLANK.match(text, last, end)
            i = blank.end() if blank else last
    except ShellSyntaxError:
        return None
    if first == start or last == first or (i < end and text[i] not in "\n;&|)#"):
        return None
    return first, last


_CLOSERS = {"fi": ("if",), "done": ("for", "while", "until", "select"), "esac": ("case",), "}": ("{",), ")": ("(",)}
_OPENING = frozenset({"if", "for", "while", "until", "select", "case", "{", "("})
_MIDDLE = {"then": ("if",), "elif": ("if",), "else": ("if",), "do": ("for", "while", "until", "select")}


def _syntax_problems(reader: _Reader, source: Source) -> list[Problem]:
    """One mistake breaks many statements: its cause is told, or what the statements say where no cause is seen."""
    if not reader.faults and not reader.unexpected:
        return []
    cause = _cause(source)
    if cause:
        return [cause]
    told = list(dict.fromkeys(reader.faults))
    lines = {problem.span.line for problem in told}
    return told + [problem for problem in dict.fromkeys(reader.unexpected) if problem.span.line not in lines]


def _cause(source: Source) -> Problem | None:
    """The first thing that is wrong with the nesting of a script that has an error, by its keywords; ``None`` where that is right."""
    stack: list[tuple[str, int]] = []

    def told(message: str, start: int, length: int) -> Problem:
        return Problem("shell-syntax", message, source.span(start, start + length))

    def unclosed(word: str, start: int) -> Problem:
        return told(f"`{word}` of line {source.line(start)} is never closed", start, len(word))

    before = ("", "")
    try:
        for offset, token, command in source.lex(0, len(source.text), 0):
            word = token[0] if token in (")close", ")case") else token
            if token == ")case" or (not command and token not in ("(", ")", ")close") and not (token == "{" and before[0] == "function")):
                pass
            elif word in _OPENING:
                stack.append((word, offset))
            elif word in _CLOSERS:
                if stack and stack[-1][0] in _CLOSERS[word]:
                    stack.pop()
                elif any(opener in _CLOSERS[word] for opener, _ in stack):
                    return unclosed(*stack[-1])
                else:
                    return told(f"unexpected `{word}`", offset, len(word))
            elif word in _MIDDLE and not (stack and stack[-1][0] in _MIDDLE[word]):
                if any(opener in _MIDDLE[word] for opener, _ in stack):
                    return unclosed(*stack[-1])
                return told(f"unexpected `{word}`", offset, len(word))
            before = (before[1], token)
    except ShellSyntaxError as error:
        return Problem(error.code, error.message, source.span(error.start, min(error.start + 1, len(source.text))))
    return unclosed(*stack[-1]) if stack else None


@dataclass(slots=True)
class _Region:
    """A range of a source with what is needed to read it."""

    source: Source
    scanner: Scanner
    masked: str
    start: int
    end: int
    depth: int


@dataclass(slots=True)
class _Reader:
    problems: list[Problem]
    comments: dict[tuple[int, int], Comment] = field(default_factory=dict)
    masks: dict[int, tuple[Source, str]] = field(default_factory=dict)
    faults: list[Problem] = field(default_factory=list)  # statements whose text is wrong
    unexpected: list[Problem] = field(default_factory=list)  # pieces that no statement covers: mostly one mistake, seen several times

    def parse(self, source: Source, start: int, end: int, depth: int) -> Block:
        known = self.masks.get(id(source))
        masked = known[1] if known else _masked(source)
        if not known:
            self.masks[id(source)] = (source, masked)  # keeps the source alive, so its id stays its own
        tree = _parser().parse(masked[start:end].encode("ascii"))
        found = tree_sitter.QueryCursor(_query()).captures(tree.root_node)
        places = {node.start_byte + start for node in found.get("assignment", ())}
        if tree.root_node.has_error:
            places.update(match.end() for match in _ASSIGNMENT_PLACE.finditer(masked, start, end))
        redirects = [blank for place in sorted(places) if (blank := _assignment_redirects(source, place, end))]
        if redirects:
            for first, last in redirects:
                masked = masked[:first] + " " * (last - first) + masked[last:]
            self.masks[id(source)] = (source, masked)
            tree = _parser().parse(masked[start:end].encode("ascii"))
            found = tree_sitter.QueryCursor(_query()).captures(tree.root_node)
        if depth == 0 or source.parent is not None:  # else the tree of the text around has shown them already
            for node in found.get("comment", ()):
                self.comment(source, masked, node.start_byte + start, end)
        region = _Region(source, Scanner(source, self.parse, depth), masked, start, end, depth)
        return _Statements(self, region).block(tree.root_node.children, start, end)

    def comment(self, source: Source, masked: str, start: int, limit: int) -> None:
        text = source.text
        if masked[start] != "#" or (start and text[start - 1] not in " \t\n;&|()`"):
            return
        found = text.find("\n", start, limit)
        end = limit if found < 0 else found
        body = text[start + 1 : end]
        before = text[text.rfind("\n", 0, start) + 1 : start]
        span = source.span(start, end)
        self.comments[(span.line, span.column)] = Comment(body[1:] if body[:1] in (" ", "\t") else body, span, not before.strip(" \t"))


class _Statements:
    """Turns the grammar's nodes of one region into statements."""

    def __init__(self, reader: _Reader, region: _Region) -> None:
        self.reader = reader
        self.source = region.source
        self.text = region.source.text
        self.masked = region.masked
        self.scanner = region.scanner
        self.base = region.start
        self.limit = region.end
        self.depth = region.depth

    # --- places

    def at(self, node: tree_sitter.Node) -> int:
        return node.start_byte + self.base

    def to(self, node: tree_sitter.Node) -> int:
        return node.end_byte + self.base

    def line(self, offset: int) -> int:
        return self.source.line(offset)

    def last_line(self, end: int) -> int:
        return self.source.line(max(end - 1, 0))

    # --- blocks

    def block(self, nodes: list[tree_sitter.Node], start: int, end: int) -> Block:
        """The statements among ``nodes``, which stand between two offsets."""
        out: list[Statement] = []
        at = start
        ended = start  # behind the last statement, which a `;` or `&` may end
        queue = list(reversed(nodes))
        while queue:
            node = queue.pop()
            kind = node.type
            begin = self.at(node)
            ends = kind in (";", "&") and begin >= at and not node.is_missing
            if ends and (ended != at or not out or not _BLANK.fullmatch(self.masked, at, begin)):
                self.gap(out, at, begin)
                self.stray(out, begin, begin + 1)
                at = begin + 1
                continue
            if kind == "comment":
                if begin >= at:
                    at = self.gap(out, at, begin)
                    at = max(at, self.to(node))
                continue
            if begin < at and kind != "ERROR":
                continue  # read already, with the statement before
            if kind == "&":
                at = self.gap(out, at, begin)
                if out:
                    last = out.pop()
                    out.append(Background(last, last.line, self.line(begin)))
                at = begin + 1
            elif kind in _SKIPPED:
                at = self.gap(out, at, begin)
                at = max(at, self.to(node))
            elif kind in _STATEMENTS:
                at = self.gap(out, at, begin)
                statement, stop = self.guarded(node)
                out.append(statement)
                ended = at = max(at, stop)
            elif kind == "ERROR" and node.child_count:
                queue.extend(reversed(node.children))
            elif node.is_missing:
                continue
            # anything else is a piece that no statement covers: the next gap tells it
        if at > end:
            raise ShellSyntaxError(f"unexpected `{(self.text[end:at].split() or [''])[0][:40]}`", end)
        self.gap(out, at, end)
        return tuple(out)

    def gap(self, out: list[Statement], start: int, end: int) -> int:
        """Whatever stands between two statements must be blank, or a plain command that the grammar did not see as one."""
        if start >= end or not self.masked[start:end].strip(" \t\n;"):
            return max(start, end)
        if _GAP.match(self.masked, start, end):
            return end
        piece = self.text[start:end]
        first = start + len(piece) - len(piece.lstrip(" \t\n;"))
        last = start + len(piece.rstrip(" \t\n;"))
        while first < last:
            faults = len(self.reader.faults)
            try:
                statement, stop = self.simple(first)
            except ShellSyntaxError:
                break
            between = _BETWEEN.match(self.text, stop, last)
            if stop > last or len(self.reader.faults) > faults or not between or (stop < last and between.end() == stop):
                break
            out.append(statement)
            first = between.end()
        if first < last:
            self.stray(out, first, last)
        return end

    def stray(self, out: list[Statement], first: int, last: int) -> None:
        shown = self.text[first:last].split()
        message = f"unexpected `{shown[0][:40] if shown else ''}`"
        self.reader.unexpected.append(Problem("shell-syntax", message, self.source.span(first, last)))
        out.append(Broken(self.text[first:last], self.line(first), self.last_line(last)))

    def guarded(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        """A statement, or ``Broken`` where its text cannot be read."""
        start, end = self.at(node), self.to(node)
        try:
            return self.statement(node)
        except ShellSyntaxError as error:
            place = error.start if start <= error.start <= self.limit else start
            problem = Problem(error.code, error.message, self.source.span(place, max(place, min(self.limit, place + 1))))
            (self.reader.faults if error.code == "shell-syntax" else self.reader.problems).append(problem)
            return Broken(self.text[start:end], self.line(start), self.last_line(end)), end

    # --- statements

    def statement(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        """A statement and the offset behind it, redirects included."""
        kind = node.type
        start = self.at(node)
        if kind in _LEAVES:
            return self.simple(start)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.depth -= 1
            raise ShellSyntaxError("nested too deeply to be read", self.at(node), "too-deep")
        self.scanner.depth += 1
        try:
            statement, stop = self.compound(node, kind)
        finally:
            self.depth -= 1
            self.scanner.depth -= 1
        if kind not in ("list", "pipeline", "redirected_statement", "negated_command"):
            for begin in self.hidden_negations(start):
                statement = self.negation(statement, begin, stop)
        return statement, stop

    def hidden_negations(self, start: int) -> list[int]:
        """Offsets of the ``!`` before ``start`` that were taken out of the grammar's text."""
        found: list[int] = []
        i = start
        while True:
            while i > self.base and (self.text[i - 1] in " \t" or self.text.startswith("\\\n", i - 2)):
                i -= 1 if self.text[i - 1] in " \t" else 2
            if i <= self.base or self.text[i - 1] != "!" or self.masked[i - 1] != " ":
                return found
            i -= 1
            found.append(i)

    def compound(self, node: tree_sitter.Node, kind: str) -> tuple[Statement, int]:
        start = self.at(node)
        keyword = _KEYWORD.match(self.text, start, self.limit) if kind.endswith("_statement") else None
        if keyword and keyword.end() < self.limit and self.text[keyword.end()] not in _BOUNDARY:
            raise ShellSyntaxError(f"unexpected `{self.text[start : keyword.end() + 1]}`", start)
        if kind == "redirected_statement":
            first = node.children[0]
            return self.statement(first) if first.type in _STATEMENTS else self.simple(start)
        if kind == "list":
            return self.and_or(node)
        if kind == "pipeline":
            return self.pipeline(node)
        if kind == "negated_command":
            return self.negated(node)
        if kind == "function_definition":
            return self.function(node)
        if kind == "compound_statement" and self.text.startswith("((", start):
            return self.simple(start)
        if kind == "if_statement":
            return self.conditional(node)
        if kind == "while_statement":
            return self.loop(node)
        if kind in ("for_statement", "c_style_for_statement"):
            return self.counted(node)
        if kind == "case_statement":
            return self.case(node)
        # a group or a subshell; `((` that closes as two parentheses is arithmetic that the grammar took for subshells
        if kind == "subshell" and self.text.startswith("((", start) and self.source.close_arithmetic(start + 2, self.limit, 0) is not None:
            return self.simple(start)
        children = node.children
        closing = children[-1] if children else node
        body = self.block(children[1:-1] if closing.type in (")", "}") else children[1:], start + 1, self.close(node, closing, start))
        redirects, stop = self.scanner.redirects(self.to(node), self.limit)
        make = Subshell if kind == "subshell" else Group
        return make(body, redirects, self.line(start), self.last_line(stop)), stop

    def close(self, node: tree_sitter.Node, closing: tree_sitter.Node, start: int) -> int:
        """Where the closing word of a compound command stands; a missing one is a problem."""
        if closing.is_missing:
            word = self.masked[start : self.to(node)].split(None, 1)
            opener = re.match(r"[a-z]+|.", word[0]) if word else None
            name = opener.group() if opener else ""
            message = f"`{name}` of line {self.line(start)} is never closed"
            self.reader.unexpected.append(Problem("shell-syntax", message, self.source.span(start, start + len(name))))
        elif closing.type.isalpha() or closing.type == "}":
            after = self.to(closing)
            if after < self.limit and self.text[after] not in _BOUNDARY:
                raise ShellSyntaxError(f"unexpected `{self.text[self.at(closing) : after + 1]}`", self.at(closing))
        return self.at(closing)

    def operands(self, node: tree_sitter.Node, separators: frozenset[str]) -> list[tuple[str, Statement, int]]:
        """Statements of a list or a pipeline, each with the operator before it and the offset behind it; the rest must be blank."""
        out: list[tuple[str, Statement, int]] = []
        operator = ""
        at = self.at(node)
        lost: list[Statement] = []
        queue = list(reversed(node.children))
        while queue:
            child = queue.pop()
            kind = child.type
            begin = self.at(child)
            if kind == "comment":
                at = max(at, self.to(child))
            elif begin < at and kind != "ERROR":
                continue
            elif kind in separators:
                self.gap(lost, at, begin)
                operator = kind
                at = self.to(child)
            elif kind == "list" and "&&" in separators:
                queue.extend(reversed(child.children))  # a long list is nested to the left
            elif kind in _STATEMENTS:
                self.gap(lost, at, begin)
                statement, at = self.statement(child)
                out.append((operator, statement, at))
                operator = ""
            elif kind == "ERROR" and child.child_count:
                queue.extend(reversed(child.children))
        self.gap(lost, at, self.to(node))
        for piece in lost:
            out.append((";", piece, self.to(node)))
        return out

    def and_or(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        items = self.operands(node, frozenset({"&&", "||"}))
        if not items:
            raise ShellSyntaxError("a list without commands", start)
        first = items[0][1]
        rest: list[tuple[str, Statement]] = []
        for operator, statement, _ in items[1:]:
            if operator not in ("&&", "||"):
                raise ShellSyntaxError("a list with a piece that is no command", start)
            rest.append((operator, statement))
        stop = items[-1][2]
        if not rest:
            raise ShellSyntaxError("nothing follows `&&` or `||`", start)
        return AndOr(first, tuple(rest), self.line(start), self.last_line(stop)), stop

    def pipeline(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        items = self.operands(node, frozenset({"|", "|&"}))
        parts: list[Statement] = []
        both: list[bool] = []
        negated = False
        for position, (operator, statement, _) in enumerate(items):
            if position:
                if operator not in ("|", "|&"):
                    raise ShellSyntaxError("a pipeline with a piece that is no command", start)
                both.append(operator == "|&")
            elif isinstance(statement, Pipeline) and statement.negated:
                negated = True  # `!` covers the whole pipeline
            if isinstance(statement, Pipeline):
                parts.extend(statement.parts)
                both.extend(statement.both[: len(statement.parts) - 1])
            else:
                parts.append(statement)
        if len(parts) < 2:
            raise ShellSyntaxError("nothing follows `|`", start)
        stop = items[-1][2]
        return Pipeline(tuple(parts), negated, self.line(start), self.last_line(stop), (*both, False)), stop

    def negated(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        body = [child for child in node.children if child.type in _STATEMENTS]
        if len(body) != 1:
            raise ShellSyntaxError("nothing follows `!`", start)
        statement, stop = self.statement(body[0])
        return self.negation(statement, start, stop), stop

    def negation(self, statement: Statement, start: int, stop: int) -> Statement:
        line, end_line = self.line(start), self.last_line(stop)
        if isinstance(statement, Pipeline):
            if len(statement.parts) == 1 and statement.negated:
                return statement.parts[0]
            return Pipeline(statement.parts, not statement.negated, line, end_line, statement.both)
        return Pipeline((statement,), True, line, end_line)

    def function(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        found = _FUNCTION.match(self.text, start, self.limit)
        body = [child for child in node.children if child.type in _STATEMENTS]
        if not found or not body:
            raise ShellSyntaxError("a function without a body", start)
        statement, stop = self.statement(body[-1])
        return Function(found.group(1), statement, self.line(start), self.last_line(stop)), stop

    def divided(self, node: tree_sitter.Node, words: frozenset[str]) -> list[tuple[str, int, int, list[tree_sitter.Node]]]:
        """The children of a compound command, cut at its own keywords: (keyword, from, to, children)."""
        out: list[tuple[str, int, int, list[tree_sitter.Node]]] = []
        for child in node.children:
            if child.type in words and not child.is_named:
                if out:
                    word, begin, _, inner = out[-1]
                    out[-1] = (word, begin, self.at(child), inner)
                out.append((child.type, self.to(child), self.to(node), []))
            elif out:
                out[-1][3].append(child)
        return out

    def part(self, piece: tuple[str, int, int, list[tree_sitter.Node]]) -> Block:
        return self.block(piece[3], piece[1], piece[2])

    def conditional(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        arms: list[tuple[Block, Block]] = []
        otherwise: Block | None = None
        clauses = [child for child in node.children if child.type in ("elif_clause", "else_clause")]
        closing = node.children[-1]
        if closing.type == "fi":
            self.close(node, closing, start)
        own = self.divided(node, frozenset({"if", "then", "fi"}))
        if len(own) < 2 or own[1][0] != "then":
            raise ShellSyntaxError(f"`if` of line {self.line(start)} lacks its `then`", start)
        limit = self.at(clauses[0]) if clauses else own[1][2]
        inner = [child for child in own[1][3] if child.type not in ("elif_clause", "else_clause") and self.at(child) < limit]
        arms.append((self.part(own[0]), self.block(inner, own[1][1], limit)))
        for clause in clauses:
            if clause.type == "elif_clause":
                pieces = self.divided(clause, frozenset({"elif", "then"}))
                if len(pieces) < 2:
                    raise ShellSyntaxError(f"`elif` of line {self.line(self.at(clause))} lacks its `then`", self.at(clause))
                arms.append((self.part(pieces[0]), self.part(pieces[1])))
            else:
                otherwise = self.part(self.divided(clause, frozenset({"else"}))[0])
        redirects, stop = self.scanner.redirects(self.to(node), self.limit)
        return If(tuple(arms), otherwise, redirects, self.line(start), self.last_line(stop)), stop

    def group_of(self, node: tree_sitter.Node) -> tuple[Block, int]:
        """The body of a loop: ``do ... done`` or braces."""
        for child in node.children:
            if child.type in ("do_group", "compound_statement") and self.text.startswith(("do", "{"), self.at(child)):
                inner = child.children
                closing = inner[-1]
                end = self.close(node, closing, self.at(node))
                return self.block(inner[1:-1], self.to(inner[0]), end), self.to(child)
        raise ShellSyntaxError(f"the loop of line {self.line(self.at(node))} has no body", self.at(node))

    def loop(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        until = self.text.startswith("until", start)
        body_node = next((child for child in node.children if child.type == "do_group"), None)
        if body_node is None:
            raise ShellSyntaxError(f"the loop of line {self.line(start)} has no `do`", start)
        before = [child for child in node.children[1:] if self.to(child) <= self.at(body_node)]
        condition = self.block(before, start + 5, self.at(body_node))
        body, end = self.group_of(node)
        redirects, stop = self.scanner.redirects(end, self.limit)
        return While(condition, body, until, redirects, self.line(start), self.last_line(stop)), stop

    def counted(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        """``for`` in both forms, and ``select``."""
        start = self.at(node)
        select = self.text.startswith("select", start)
        i = self.blank(start + (6 if select else 3))
        line = self.line(start)
        if self.text.startswith("((", i):
            close = self.source.close_arithmetic(i + 2, self.limit, self.depth)
            if close is None:
                raise self.source.unclosed("((", i)
            pieces = self.cut(i + 2, close)
            if len(pieces) != 3:
                raise ShellSyntaxError("`for ((` needs two semicolons", start)
            first, second, third = (self.optional(begin, end) for begin, end in pieces)
            body, end = self.group_of(node)
            redirects, stop = self.scanner.redirects(end, self.limit)
            return ArithFor(first, second, third, body, redirects, line, self.last_line(stop)), stop
        name = re.compile(r"[^\s;]+").match(self.text, i, self.limit)
        if not name:
            raise ShellSyntaxError("`for` lacks a name", start)
        words: tuple[Word, ...] | None = None
        j = self.blank(name.end())
        while self.text.startswith("\n", j):
            j = self.blank(j + 1)
        if re.compile(r"in(?=[\s;\\])").match(self.text, j, self.limit):
            words = self.words(j + 2)
        body, end = self.group_of(node)
        redirects, stop = self.scanner.redirects(end, self.limit)
        return For(name.group(), words, body, redirects, line, self.last_line(stop), select), stop

    def optional(self, start: int, end: int) -> Arith | None:
        return read_arithmetic(self.scanner, start, end) if self.text[start:end].strip() else None

    def cut(self, start: int, end: int) -> list[tuple[int, int]]:
        """The pieces of ``a; b; c`` in ``for (( ))``."""
        out: list[tuple[int, int]] = []
        begin = i = start
        while i < end:
            c = self.text[i]
            if c == ";":
                out.append((begin, i))
                i += 1
                begin = i
            elif c in "'\"$`\\":
                i = self.source.skip_any(i, end, self.depth)
            else:
                i += 1
        out.append((begin, end))
        return out

    def words(self, start: int) -> tuple[Word, ...]:
        """Words up to the end of the line or a semicolon."""
        out: list[Word] = []
        i = self.blank(start)
        while i < self.limit and self.text[i] not in ";\n&|#":
            word, stop = self.scanner.word(i, self.limit)
            if stop == i:
                raise ShellSyntaxError(f"unexpected `{self.text[i]}`", i)
            out.append(word)
            i = self.blank(stop)
        return tuple(out)

    def case(self, node: tree_sitter.Node) -> tuple[Statement, int]:
        start = self.at(node)
        if node.children[-1].type == "esac":
            self.close(node, node.children[-1], start)
        subject, _ = self.scanner.word(self.blank(start + 4), self.limit, braces=False)
        arms: list[CaseArm] = []
        for child in node.children:
            if child.type == "case_item":
                arms.append(self.arm(child))
        redirects, stop = self.scanner.redirects(self.to(node), self.limit)
        return Case(subject, tuple(arms), redirects, self.line(start), self.last_line(stop)), stop

    def arm(self, node: tree_sitter.Node) -> CaseArm:
        start = self.at(node)
        i = self.blank(start)
        if self.text.startswith("(", i):
            i = self.blank(i + 1)
        patterns: list[Word] = []
        while True:
            word, stop = self.scanner.word(i, self.limit, braces=False)
            if stop == i:
                raise ShellSyntaxError("a case arm without a pattern", start)
            patterns.append(word)
            i = self.blank(stop)
            if self.text.startswith("|", i):
                i = self.blank(i + 1)
                continue
            break
        if not self.text.startswith(")", i):
            raise ShellSyntaxError(f"the pattern of line {self.line(start)} lacks its `)`", start)
        end = self.to(node)
        terminator = ";;"
        children = [child for child in node.children if self.at(child) > i]
        if children and children[-1].type in (";;", ";&", ";;&"):
            end = self.at(children[-1])
            children.pop()
            terminator = next(sign for sign in (";;&", ";;", ";&") if self.text.startswith(sign, end))
        return CaseArm(tuple(patterns), self.block(children, i + 1, end), terminator, self.line(start))

    # --- simple commands, read from the text alone

    def blank(self, i: int) -> int:
        found = _BLANK.match(self.text, i, self.limit)
        return found.end() if found else i

    def simple(self, start: int) -> tuple[Statement, int]:
        """A simple command, a declaration, ``[[ ]]`` or ``(( ))``, with its redirects; ends at an operator, a comment or the line's end."""
        text, limit, scanner = self.text, self.limit, self.scanner
        line = self.line(start)
        if text.startswith("[[", start) and start + 2 < limit and text[start + 2] in " \t\n\\":
            expression, i = scanner.test(start + 2, limit)
            redirects, stop = scanner.redirects(i, limit)
            return TestCommand(expression, redirects, line, self.last_line(stop)), stop
        if text.startswith("((", start):
            close = self.source.close_arithmetic(start + 2, limit, self.depth)
            if close is None:
                raise self.source.unclosed("((", start)
            redirects, stop = scanner.redirects(close + 2, limit)
            return ArithCommand(read_arithmetic(scanner, start + 2, close), redirects, line, self.last_line(stop)), stop
        assignments: list[Assignment] = []
        words: list[Word] = []
        items: list[Assignment | Word] = []
        found: list[Redirect] = []
        declaring = ""
        negated = False
        i = stop = start
        while i < limit:
            c = text[i]
            if c in "\n;|)#" or (c == "&" and not text.startswith("&>", i)):
                break
            if c in "<>&0123456789{":
                read = scanner.redirect(i, limit)
                if read is not None:
                    found.append(read[0])
                    stop = read[1]
                    i = self.blank(stop)
                    continue
                if c == "&":
                    break
            if c == "(":
                raise ShellSyntaxError("unexpected `(`", i)
            if not words or declaring:
                assigned = scanner.assignment(i, limit)
                if assigned is not None:
                    (items if declaring else assignments).append(assigned[0])
                    stop = assigned[1]
                    i = self.blank(stop)
                    continue
            word, stop = scanner.word(i, limit)
            if stop == i:
                raise ShellSyntaxError(f"unexpected `{c}`", i)
            i = self.blank(stop)
            if declaring:
                items.append(word)
            elif not words and not assignments and word.text in ("!", "time") and not found:
                negated ^= word.text == "!"
                if word.text == "time" and text.startswith("-p", i):
                    i = self.blank(i + 2)
            elif not words and not assignments and word.text in _RESERVED:
                raise ShellSyntaxError(f"unexpected `{word.text}`", start)
            else:
                words.append(word)
                if len(words) == 1 and not assignments and word.text in _DECLARATIONS:
                    declaring = word.text
        if stop == start:
            raise ShellSyntaxError("a command is missing", start)
        end_line = self.last_line(stop)
        statement: Statement
        if declaring:
            statement = Declaration(declaring, tuple(items), tuple(found), line, end_line)
        else:
            statement = Simple(tuple(assignments), tuple(words), tuple(found), line, end_line)
        return (Pipeline((statement,), True, line, end_line) if negated else statement), stop
