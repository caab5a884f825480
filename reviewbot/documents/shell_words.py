"""Words, expansions and tests of a shell script, read from the source text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from reviewbot.documents.shell_arith import read_arithmetic
from reviewbot.documents.shell_source import MAX_DEPTH, ShellSyntaxError, Source
from reviewbot.documents.shell_syntax import (
    Arithmetic,
    Assignment,
    Block,
    Braces,
    Literal,
    Parameter,
    Part,
    ProcessSubstitution,
    Redirect,
    Substitution,
    TestAnd,
    TestBinary,
    TestExpr,
    TestNot,
    TestOr,
    TestUnary,
    TestWord,
    Word,
)

MAX_BRACES = 10_000  # words that one sequence such as {1..9} may give

_PLAIN = re.compile(r"[\w./:=@%+\-^#!\]*?,~]+")
_TEXT_RUN = re.compile(r"[^\\'\"$`<>|&;() \t\n{},/\]\[?*+@!]+")
_DQ_RUN = re.compile(r'[^"\\$`]+')
_HERE_RUN = re.compile(r"[^\\$`]+")
_SIMPLE_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!\-]", re.ASCII)
_BRACED_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]+|[@*#?$!\-]", re.ASCII)
_LENGTH = re.compile(r"\#(?=[A-Za-z_]\w*[}\[]|[0-9]+\}|[@*#?$!\-]\})", re.ASCII)
_PARAM_OP = re.compile(r":[-=?+]|[-=?+]|##|#|%%|%|//|/\#|/%|/|\^\^|\^|,,|,|~~|~|@[A-Za-z]|:")
_BLANK = re.compile(r"(?:[ \t]|\\\n)*")
_SPACE = re.compile(r"(?:[ \t\n]|\\\n|(?<![^ \t\n(])\#[^\n]*)*")
_ASSIGN_NAME = re.compile(r"([A-Za-z_]\w*)(?:(\+?=)|(\[))", re.ASCII)
_REDIRECT = re.compile(r"(\d*)(&>>|&>|>>|>\||>&|<&|<>|<<<|<<-|<<|>|<)")
_VARIABLE_REDIRECT = re.compile(r"\{([A-Za-z_]\w*)\}(?=[<>])", re.ASCII)
_SEQUENCE = re.compile(r"(?:(-?\d{1,18})\.\.(-?\d{1,18})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,18}))?\Z", re.ASCII)
_TEST_BINARY = re.compile(r"(==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef))(?=[\s\"'$]|(?<=[<>])|\Z)")
_TEST_UNARY = re.compile(r"-[a-zA-Z](?=[ \t\n])")
_ANSI = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"',
    "?": "?",
}
_ANSI_NUMBER = re.compile(r"([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)", re.DOTALL)
_GLOB = re.compile(r"[*?\[]")

_META = frozenset(" \t\n;&|<>()")
_WORD_STOP = _META
_BRACE_STOP = frozenset("}")
_PATTERN_STOP = frozenset("/}")
_ELEMENT_STOP = _META | frozenset(",}")
_NO_STOP: frozenset[str] = frozenset()
_SUBSCRIPT_STOP = frozenset("]")
_OFFSET_STOP = frozenset(":}")

ParseBlock = Callable[[Source, int, int, int], Block]


@dataclass(slots=True)
class _Pieces:
    """Parts under construction; neighbouring literals of one kind are joined."""

    parts: list[Part]

    def text(self, text: str, quoted: bool) -> None:
        last = self.parts[-1] if self.parts else None
        if isinstance(last, Literal) and last.quoted == quoted:
            self.parts[-1] = Literal(last.text + text, quoted)
        else:
            self.parts.append(Literal(text, quoted))

    def add(self, part: Part) -> None:
        if isinstance(part, Literal):
            self.text(part.text, part.quoted)
        else:
            self.parts.append(part)


def ansi_text(body: str) -> str:
    """What ``$'body'`` means."""
    out: list[str] = []
    i = 0
    while i < len(body):
        c = body[i]
        if c != "\\" or i + 1 >= len(body):
            out.append(c)
            i += 1
            continue
        number = _ANSI_NUMBER.match(body, i + 1)
        if number:
            octal, hexa, four, eight, control = number.groups()
            if octal or hexa:
                code = int(octal, 8) & 0xFF if octal else int(hexa, 16)
                if code == 0:
                    return _bytes_joined("".join(out))
                out.append(chr(code) if code < 0x80 else chr(0xDC00 + code))
            elif control:
                out.append(chr(ord(control.upper()) & 0x1F) if control != "?" else "\x7f")
            else:
                code = int(four or eight, 16)
                if code == 0:
                    return _bytes_joined("".join(out))
                out.append(chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd")
            i = number.end()
            continue
        known = _ANSI.get(body[i + 1])
        out.append(known if known is not None else "\\" + body[i + 1])
        i += 2
    return _bytes_joined("".join(out))


def _bytes_joined(text: str) -> str:
    """Bytes written one by one (``\\xc3\\xa9``) that make a character together are that character."""
    if any("\udc80" <= c <= "\udcff" for c in text):
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    return text


_TILDE = re.compile(r"~|[A-Za-z_][A-Za-z0-9_]*=(?:.*:)?~", re.DOTALL)


def static_text(parts: tuple[Part, ...]) -> str | None:
    """The text of a word that needs no expansion, splitting or globbing."""
    out: list[str] = []
    for index, part in enumerate(parts):
        if not isinstance(part, Literal):
            return None
        if not part.quoted and ((index == 0 and "~" in part.text and _TILDE.match(part.text)) or _GLOB.search(part.text)):
            return None
        out.append(part.text)
    return "".join(out)


class Scanner:
    """Reads words from one ``Source``. Every reading function takes a start and a limit and returns what it read and where it stopped."""

    def __init__(self, source: Source, parse_block: ParseBlock, depth: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.parse_block = parse_block
        self.depth = depth
        self._no_brace: dict[int, int] = {}

    # --- words

    def make_word(self, parts: list[Part], start: int, end: int) -> Word:
        frozen = tuple(parts)
        span = self.source.span(start, end)
        return Word(frozen, span.line, span, self.text[start:end], static_text(frozen))

    def word(self, start: int, end: int, braces: bool = True) -> tuple[Word, int]:
        """One word of a command; ends at a blank or an operator."""
        parts, i = self.parts(start, end, _WORD_STOP, braces)
        return self.make_word(parts, start, i), i

    def parts(self, start: int, end: int, stop: frozenset[str], braces: bool = False) -> tuple[list[Part], int]:
        """Parts outside double quotes, up to a character of ``stop``."""
        text = self.text
        pieces = _Pieces([])
        part: Part
        i = start
        spaces = " " not in stop
        while i < end:
            run = _TEXT_RUN.match(text, i, end)
            if run and not (":" in stop and ":" in run.group()):
                pieces.text(run.group(), False)
                i = run.end()
                continue
            c = text[i]
            if c in stop:
                if c in "<>" and text.startswith("(", i + 1) and i + 1 < end:
                    part, i = self.process(i, end)
                    pieces.add(part)
                    continue
                if c == "(" and i > start and text[i - 1] in "?*+@!":
                    i = self.extended_pattern(i, end, pieces)
                    continue
                break
            if c == "\\":
                if i + 1 >= end:
                    pieces.text("\\", False)
                    i += 1
                elif text[i + 1] == "\n":
                    i += 2
                else:
                    pieces.text(text[i + 1], True)
                    i += 2
            elif c == "'":
                j = self.source.skip_single(i, end)
                pieces.text(text[i + 1 : j - 1], True)
                i = j
            elif c == '"':
                i = self.double(i, end, pieces)
            elif c == "$":
                i = self.dollar(i, end, False, pieces)
            elif c == "`":
                part, i = self.backquote(i, end, False)
                pieces.add(part)
            elif c == "{" and braces:
                i = self.brace(i, end, pieces)
            elif c in "<>" and spaces and text.startswith("(", i + 1) and i + 1 < end and "}" not in stop:
                part, i = self.process(i, end)
                pieces.add(part)
            else:
                pieces.text(c, False)
                i += 1
        return pieces.parts, i

    def extended_pattern(self, start: int, end: int, pieces: _Pieces) -> int:
        """``( ... )`` of ``@(a|b)``; the parentheses and bars stay as unquoted text."""
        pieces.text("(", False)
        i = start + 1
        level = 1
        while i < end:
            parts, i = self.parts(i, end, frozenset("()"))
            for part in parts:
                pieces.add(part)
            if i >= end:
                break
            pieces.text(self.text[i], False)
            level += 1 if self.text[i] == "(" else -1
            i += 1
            if level == 0:
                return i
        raise self.source.unclosed("(", start)

    def double(self, start: int, end: int, pieces: _Pieces) -> int:
        """``"..."`` from its opening quote."""
        text = self.text
        i = start + 1
        while i < end:
            run = _DQ_RUN.match(text, i, end)
            if run:
                pieces.text(run.group(), True)
                i = run.end()
                continue
            c = text[i]
            if c == '"':
                if i == start + 1:
                    pieces.text("", True)
                return i + 1
            i = self.quoted_piece(i, end, pieces, '$`"\\')
        raise self.source.unclosed('"', start)

    def quoted_piece(self, i: int, end: int, pieces: _Pieces, escapable: str) -> int:
        """A backslash, dollar or backquote inside double quotes or a here-document."""
        text = self.text
        c = text[i]
        if c == "\\":
            following = text[i + 1] if i + 1 < end else ""
            if following == "\n":
                return i + 2
            if following and following in escapable:
                pieces.text(following, True)
                return i + 2
            pieces.text("\\", True)
            return i + 1
        if c == "$":
            return self.dollar(i, end, True, pieces)
        part, i = self.backquote(i, end, True)
        pieces.add(part)
        return i

    def here_body(self, start: int, end: int) -> Word:
        """The text of a here-document whose delimiter was not quoted."""
        text = self.text
        pieces = _Pieces([])
        i = start
        while i < end:
            run = _HERE_RUN.match(text, i, end)
            if run:
                pieces.text(run.group(), True)
                i = run.end()
            else:
                i = self.quoted_piece(i, end, pieces, "$`\\")
        return self.make_word(pieces.parts, start, end)

    def double_argument(self, start: int, end: int) -> tuple[Word, int]:
        """The word behind ``:-`` and its kin inside double quotes: single quotes are text there, but hide a ``}``."""
        text = self.text
        pieces = _Pieces([])
        close = self.source.close_brace(start, end, True, self.depth)
        i = start
        while i < close:
            run = _DQ_RUN.match(text, i, close)
            if run:
                pieces.text(run.group(), True)
                i = run.end()
            elif text[i] == '"':
                i = self.double(i, close, pieces)
            else:
                i = self.quoted_piece(i, close, pieces, '$`"\\}')
        return self.make_word(pieces.parts, start, i), i

    # --- expansions

    def dollar(self, start: int, end: int, quoted: bool, pieces: _Pieces) -> int:
        """What begins with ``$``."""
        text = self.text
        following = text[start + 1] if start + 1 < end else ""
        if following == "{":
            part, i = self.braced(start, end, quoted)
            pieces.add(part)
            return i
        if following == "(":
            if text.startswith("$((", start):
                inner = self.source.close_arithmetic(start + 3, end, self.depth + 1)
                if inner is not None:
                    expression = read_arithmetic(self, start + 3, inner)
                    pieces.add(Arithmetic(expression, quoted, self.source.line(start)))
                    return inner + 2
            close = self.source.close_paren(start + 2, end, self.depth + 1, start)
            pieces.add(Substitution(self.block(start + 2, close), quoted, self.source.line(start)))
            return close + 1
        if following == "[":
            close = self.subscript_end(start + 1, end)
            pieces.add(Arithmetic(read_arithmetic(self, start + 2, close - 1), quoted, self.source.line(start)))
            return close
        if not quoted and following == "'":
            j = self.source.skip_ansi(start, end)
            pieces.text(ansi_text(text[start + 2 : j - 1]), True)
            return j
        if not quoted and following == '"':
            return self.double(start + 1, end, pieces)
        name = _SIMPLE_NAME.match(text, start + 1, end)
        if name:
            pieces.add(Parameter(name.group(), quoted, self.source.line(start)))
            return name.end()
        pieces.text("$", quoted)
        return start + 1

    def block(self, start: int, end: int) -> Block:
        if self.depth >= MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        return self.parse_block(self.source, start, end, self.depth + 1)

    def process(self, start: int, end: int) -> tuple[ProcessSubstitution, int]:
        close = self.source.close_paren(start + 2, end, self.depth + 1, start)
        return ProcessSubstitution(self.text[start], self.block(start + 2, close), self.source.line(start)), close + 1

    def backquote(self, start: int, end: int, quoted: bool) -> tuple[Substitution, int]:
        i = self.source.skip_backquote(start, end)
        raw = self.text[start + 1 : i - 1]
        line = self.source.line(start)
        if "\\" not in raw:
            return Substitution(self.block(start + 1, i - 1), quoted, line), i
        chars: list[str] = []
        origin: list[int] = []
        special = '$`\\"' if quoted else "$`\\"
        j = 0
        while j < len(raw):
            if raw[j] == "\\" and j + 1 < len(raw) and raw[j + 1] in special:
                j += 1
            chars.append(raw[j])
            origin.append(start + 1 + j)
            j += 1
        origin.append(i - 1)
        inner = Source("".join(chars), self.source, origin)
        if self.depth >= MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        return Substitution(self.parse_block(inner, 0, len(inner.text), self.depth + 1), quoted, line), i

    def braced(self, start: int, end: int, quoted: bool) -> tuple[Parameter, int]:
        """``${...}``."""
        if self.depth >= MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        self.depth += 1
        try:
            return self._braced(start, end, quoted)
        finally:
            self.depth -= 1

    def _braced(self, start: int, end: int, quoted: bool) -> tuple[Parameter, int]:
        text = self.text
        line = self.source.line(start)
        i = start + 2
        length = indirect = False
        if _LENGTH.match(text, i, end):
            length = True
            i += 1
        elif text.startswith("!", i) and _BRACED_NAME.match(text, i + 1, end) and not text.startswith(("!-", "!?"), i):
            indirect = True
            i += 1
        name = _BRACED_NAME.match(text, i, end)
        if not name:
            close = self.source.close_brace(start + 2, end, quoted, self.depth)
            raise ShellSyntaxError(f"`{text[start:close + 1]}` is not a valid expansion", start)
        i = name.end()
        index: Word | None = None
        keys = prefix = False
        if text.startswith("[", i) and i < end:
            close = self.subscript_end(i, end)
            index = self.subscript(i + 1, close - 1)
            i = close
            if indirect and index.text in "@*" and text.startswith("}", i):
                keys, indirect = True, False
        elif indirect and (text.startswith("*}", i) or text.startswith("@}", i)):
            prefix, indirect = True, False
            i += 1
        op = ""
        argument: Word | None = None
        replacement: Word | None = None
        if i >= end:
            raise self.source.unclosed("${", start)
        if text[i] != "}":
            found = _PARAM_OP.match(text, i, end)
            if not found:
                close = self.source.close_brace(start + 2, end, quoted, self.depth)
                raise ShellSyntaxError(f"`{text[start:close + 1]}` is not a valid expansion", start)
            op = found.group()
            i = found.end()
            if op[0] == "@":
                pass
            elif op == ":":
                argument, i = self.offset(i, end, True)
                if text.startswith(":", i):
                    replacement, i = self.offset(i + 1, end, False)
            elif op[-1] in "-=?+":
                argument, i = self.double_argument(i, end) if quoted else self.argument(i, end, _BRACE_STOP)
            elif op[0] == "/":
                argument, replacement, i = self.replace(i, end, op == "//")
            else:
                argument, i = self.argument(i, end, _BRACE_STOP)
                if op[0] in "^,~" and argument.text == "":
                    argument = None
            if not (i < end and text[i] == "}"):
                raise self.source.unclosed("${", start)
        parameter = Parameter(name.group(), quoted, line, op, argument, replacement, index, length, indirect, keys, prefix)
        return parameter, i + 1

    def argument(self, start: int, end: int, stop: frozenset[str]) -> tuple[Word, int]:
        parts, i = self.parts(start, end, stop)
        return self.make_word(parts, start, i), i

    def replace(self, start: int, end: int, everywhere: bool) -> tuple[Word, Word | None, int]:
        """Pattern and replacement; behind ``//`` a slash that stands first belongs to the pattern."""
        pieces = _Pieces([])
        i = start
        if everywhere and self.text.startswith("/", i) and i < end:
            pieces.text("/", False)
            i += 1
        parts, i = self.parts(i, end, _PATTERN_STOP)
        for part in parts:
            pieces.add(part)
        pattern = self.make_word(pieces.parts, start, i)
        if i < end and self.text[i] == "/":
            replacement, i = self.argument(i + 1, end, _BRACE_STOP)
            return pattern, replacement, i
        return pattern, None, i

    def offset(self, start: int, end: int, first: bool) -> tuple[Word, int]:
        """Offset or length of ``${x:offset:length}``: ends at a ``:`` that belongs to no ternary and no parenthesis."""
        text = self.text
        pieces = _Pieces([])
        i = start
        level = ternaries = 0
        while i < end:
            parts, i = self.parts(i, end, frozenset(":}?()"))
            for part in parts:
                pieces.add(part)
            if i >= end:
                break
            c = text[i]
            if (c == "}" and level <= 0) or (c == ":" and level == 0 and ternaries == 0 and first):
                break
            level += (c == "(") - (c == ")")
            ternaries += (c == "?") - (c == ":")
            pieces.text(c, False)
            i += 1
        return self.make_word(pieces.parts, start, i), i

    def subscript_end(self, start: int, end: int) -> int:
        """The offset behind the ``]`` of the ``[`` at ``start``."""
        text = self.text
        level = 0
        i = start
        while i < end:
            c = text[i]
            if c == "[":
                level += 1
                i += 1
            elif c == "]":
                level -= 1
                i += 1
                if level == 0:
                    return i
            elif c in "'\"\\$`":
                i = self.source.skip_any(i, end, self.depth)
            else:
                i += 1
        raise self.source.unclosed("[", start)

    def subscript(self, start: int, end: int) -> Word:
        parts, _ = self.parts(start, end, _NO_STOP)
        return self.make_word(parts, start, end)

    # --- pieces of arithmetic: quotes fall away, the rest is as inside double quotes

    def arithmetic_piece(self, start: int, end: int) -> tuple[list[Part], int]:
        pieces = _Pieces([])
        c = self.text[start]
        if c == "'":
            i = self.source.skip_single(start, end)
            pieces.text(self.text[start + 1 : i - 1], True)
        elif c == '"':
            i = self.double(start, end, pieces)
        else:
            i = self.quoted_piece(start, end, pieces, "")
        return pieces.parts, i

    def arithmetic_word(self, start: int, end: int) -> Word:
        pieces = _Pieces([])
        i = start
        while i < end:
            c = self.text[i]
            if c in "$`\"":
                parts, i = self.arithmetic_piece(i, end)
                for part in parts:
                    pieces.add(part)
            else:
                pieces.text(c, True)
                i += 1
        return self.make_word(pieces.parts, start, end)

    # --- braces

    def brace(self, start: int, end: int, pieces: _Pieces) -> int:
        """``{a,b}`` or ``{1..5}``; anything else that begins with ``{`` is text."""
        text = self.text
        if self.depth >= MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        if start in self._no_brace:
            pieces.text("{", False)
            return start + 1
        self.depth += 1
        try:
            elements: list[Word] = []
            i = start + 1
            while True:
                parts, stop = self.parts(i, end, _ELEMENT_STOP, True)
                elements.append(self.make_word(parts, i, stop))
                i = stop
                if i >= end or text[i] not in ",}":
                    self._no_brace[start] = 1
                    pieces.text("{", False)
                    return start + 1
                i += 1
                if text[i - 1] == "}":
                    break
        finally:
            self.depth -= 1
        if len(elements) > 1:
            pieces.add(Braces(tuple(elements)))
            return i
        sequence = self.sequence(elements[0], start, i)
        if sequence:
            pieces.add(Braces(sequence))
            return i
        pieces.text("{", False)
        for part in elements[0].parts:
            pieces.add(part)
        pieces.text("}", False)
        return i

    def sequence(self, element: Word, start: int, end: int) -> tuple[Word, ...] | None:
        found = _SEQUENCE.match(element.text)
        if not found:
            return None
        first, last, from_letter, to_letter, step_text = found.groups()
        step = abs(int(step_text)) if step_text else 1
        step = step or 1
        low, high = (ord(from_letter), ord(to_letter)) if from_letter else (int(first), int(last))
        if abs(high - low) // step >= MAX_BRACES:
            raise ShellSyntaxError(f"`{self.text[start:end]}` gives more than {MAX_BRACES} words", start, "too-large")
        numbers = range(low, high + 1, step) if low <= high else range(low, high - 1, -step)
        width = 0
        if first and any(re.match(r"-?0\d", side) for side in (first, last)):
            width = max(len(first), len(last))
        span = self.source.span(start, end)
        words: list[Word] = []
        for number in numbers:
            shown = chr(number) if from_letter else f"{number:0{width}d}" if width else str(number)
            words.append(Word((Literal(shown, not shown.lstrip('-').isalnum()),), span.line, span, shown, shown))
        return tuple(words)

    # --- redirects and assignments

    def redirect(self, start: int, end: int) -> tuple[Redirect, int] | None:
        """A redirect that begins exactly at ``start``, or ``None``."""
        text = self.text
        i = start
        variable = ""
        named = _VARIABLE_REDIRECT.match(text, i, end)
        if named:
            variable = named.group(1)
            i = named.end()
        found = _REDIRECT.match(text, i, end)
        if not found:
            return None
        digits, op = found.groups()
        if op in "<>" and text.startswith("(", found.end()) and found.end() < end:
            return None
        line = self.source.line(start)
        fd = int(digits[:9]) if digits else None
        i = found.end()
        if op in ("<<", "<<-"):
            return self.here_document(found.start(2), i, end, fd, line, variable)
        blank = _BLANK.match(text, i, end)
        i = blank.end() if blank else i
        word, stop = self.word(i, end, braces=op != "<<<")
        if stop == i:
            raise ShellSyntaxError(f"nothing follows `{op}`", start)
        return Redirect(op, fd, word, line, 0, variable), stop

    def here_document(self, operator: int, i: int, end: int, fd: int | None, line: int, variable: str) -> tuple[Redirect, int]:
        doc = self.source.heredocs.get(operator)
        if doc is None:
            raise ShellSyntaxError("the here-document has no delimiter that can be read", operator)
        raw = self.text[doc.body : doc.body_end]
        if doc.strip and "\t" in raw:
            chars: list[str] = []
            origin: list[int] = []
            at = doc.body
            for piece in raw.splitlines(keepends=True) if "\r" not in raw else raw.split("\n"):
                kept = piece.lstrip("\t")
                skipped = len(piece) - len(kept)
                chars.append(kept)
                origin.extend(range(at + skipped, at + len(piece)))
                at += len(piece)
            origin.append(doc.body_end)
            body = Source("".join(chars), self.source, origin)
        else:
            body = Source(raw, self.source, doc.body)
        scanner = Scanner(body, self.parse_block, self.depth)
        if doc.quoted:
            target = scanner.make_word([Literal(body.text, True)], 0, len(body.text))
        else:
            try:
                target = scanner.here_body(0, len(body.text))
            except ShellSyntaxError as error:  # its offset counts in the body
                raise ShellSyntaxError(error.message, doc.start, error.code) from None
        return Redirect("<<", fd, target, line, self.source.line(doc.body), variable), doc.end

    def redirects(self, start: int, end: int) -> tuple[tuple[Redirect, ...], int]:
        """All redirects behind a compound command."""
        found: list[Redirect] = []
        stop = start
        while True:
            blank = _BLANK.match(self.text, stop, end)
            read = self.redirect(blank.end() if blank else stop, end)
            if read is None:
                return tuple(found), stop
            found.append(read[0])
            stop = read[1]

    def assignment(self, start: int, end: int) -> tuple[Assignment, int] | None:
        """``name=...`` beginning at ``start``, or ``None``."""
        text = self.text
        found = _ASSIGN_NAME.match(text, start, end)
        if not found:
            return None
        name, operator, bracket = found.groups()
        i = found.end()
        index: Word | None = None
        if bracket:
            try:
                close = self.subscript_end(i - 1, end)
            except ShellSyntaxError:
                return None
            if text.startswith("=", close):
                operator = "="
            elif text.startswith("+=", close):
                operator = "+="
            else:
                return None
            index = self.subscript(i, close - 1)
            i = close + len(operator)
        line = self.source.line(start)
        append = operator == "+="
        if i < end and text[i] == "(":
            array, i = self.array(i, end)
            return Assignment(name, line, append, None, index, array), i
        value, i = self.word(i, end, braces=False)
        return Assignment(name, line, append, value, index, None), i

    def array(self, start: int, end: int) -> tuple[tuple[tuple[Word | None, Word], ...], int]:
        text = self.text
        items: list[tuple[Word | None, Word]] = []
        i = start + 1
        while True:
            space = _SPACE.match(text, i, end)
            i = space.end() if space else i
            if i >= end:
                raise self.source.unclosed("(", start)
            if text[i] == ")":
                return tuple(items), i + 1
            key: Word | None = None
            if text[i] == "[":
                try:
                    close = self.subscript_end(i, end)
                except ShellSyntaxError:
                    close = i
                if text.startswith("=", close) or text.startswith("+=", close):
                    key = self.subscript(i + 1, close - 1)
                    i = close + (1 if text[close] == "=" else 2)
            word, stop = self.word(i, end, braces=key is None)
            if stop == i and key is None:
                raise ShellSyntaxError(f"unexpected `{text[i]}` in an array", i)
            items.append((key, word))
            i = stop

    # --- [[ ]]

    def test(self, start: int, end: int) -> tuple[TestExpr, int]:
        """The expression behind ``[[``; returns the offset behind ``]]``."""
        expression, i = self._test_or(start, end, start)
        i = self._space(i, end)
        if not self.text.startswith("]]", i) or i + 2 > end:
            if i >= end:
                raise self.source.unclosed("[[", start - 2)
            raise ShellSyntaxError(f"unexpected `{self.text[i:i + 12].split(chr(10))[0]}` in `[[ ]]`", i)
        return expression, i + 2

    def _space(self, i: int, end: int) -> int:
        space = _SPACE.match(self.text, i, end)
        return space.end() if space else i

    def _test_or(self, i: int, end: int, opened: int) -> tuple[TestExpr, int]:
        left, i = self._test_and(i, end, opened)
        while True:
            j = self._space(i, end)
            if not self.text.startswith("||", j) or j + 2 > end:
                return left, i
            right, i = self._test_and(j + 2, end, opened)
            left = TestOr(left, right)

    def _test_and(self, i: int, end: int, opened: int) -> tuple[TestExpr, int]:
        left, i = self._test_term(i, end, opened)
        while True:
            j = self._space(i, end)
            if not self.text.startswith("&&", j) or j + 2 > end:
                return left, i
            right, i = self._test_term(j + 2, end, opened)
            left = TestAnd(left, right)

    def _test_term(self, i: int, end: int, opened: int) -> tuple[TestExpr, int]:
        text = self.text
        i = self._space(i, end)
        if i >= end:
            raise self.source.unclosed("[[", opened - 2)
        negations = 0
        while text[i] == "!" and i + 1 < end and text[i + 1] in " \t\n(":
            negations += 1
            i = self._space(i + 1, end)
            if i >= end:
                raise self.source.unclosed("[[", opened - 2)
        if text[i] == "(":
            if self.depth >= MAX_DEPTH:
                raise ShellSyntaxError("nested too deeply to be read", i, "too-deep")
            self.depth += 1
            try:
                expression, j = self._test_or(i + 1, end, opened)
            finally:
                self.depth -= 1
            j = self._space(j, end)
            if not text.startswith(")", j) or j >= end:
                raise self.source.unclosed("(", i)
            i = j + 1
        else:
            expression, i = self._test_primary(i, end, opened)
        return (TestNot(expression) if negations % 2 else expression), i

    def _test_primary(self, i: int, end: int, opened: int) -> tuple[TestExpr, int]:
        text = self.text
        unary = _TEST_UNARY.match(text, i, end)
        if unary:
            j = self._space(unary.end(), end)
            # `[[ -f == x ]]` compares the text -f
            if not text.startswith("]]", j) and not (_TEST_BINARY.match(text, j, end)) and not text.startswith(("&&", "||", ")"), j):
                operand, stop = self.word(j, end, braces=False)
                if stop > j:
                    return TestUnary(unary.group(), operand), stop
        left, stop = self.word(i, end, braces=False)
        if stop == i or left.text == "]]":
            raise ShellSyntaxError(f"`[[` of line {self.source.line(max(opened - 2, 0))} lacks an operand", i)
        j = self._space(stop, end)
        binary = _TEST_BINARY.match(text, j, end)
        if not binary:
            return TestWord(left), stop
        op = binary.group(1)
        j = self._space(binary.end(), end)
        right, stop = self._regex(j, end) if op == "=~" else self.word(j, end, braces=False)
        if stop == j or right.text == "]]":
            raise ShellSyntaxError(f"`{op}` lacks its right side", j)
        return TestBinary(op, left, right), stop

    def _regex(self, start: int, end: int) -> tuple[Word, int]:
        """The right side of ``=~``: parentheses, bars and, inside parentheses, blanks belong to it."""
        text = self.text
        pieces = _Pieces([])
        i = start
        level = 0
        while i < end:
            parts, i = self.parts(i, end, frozenset("() \t\n"))
            for part in parts:
                pieces.add(part)
            if i >= end:
                break
            c = text[i]
            if c == "(":
                level += 1
            elif c == ")":
                if level == 0:
                    break
                level -= 1
            elif level == 0 or c == "\n":
                break
            pieces.text(c, False)
            i += 1
        return self.make_word(pieces.parts, start, i), i
