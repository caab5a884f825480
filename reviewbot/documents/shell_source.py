"""Text with places, and the lexical skipping that finds where quotes, substitutions and here-documents end."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.positions import Span

MAX_DEPTH = 50  # nested constructs of any kind; real scripts stay below 12
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BARE = re.compile(r"[^\s'\"\\$`(){}<>|&;#]+")
_DQ_RUN = re.compile(r'[^"\\$`]+')
_BRACE_RUN = re.compile(r"[^'\"\\$`}]+")
_ARITH_RUN = re.compile(r"[^'\"\\$`()]+")
_BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
_OPENERS = frozenset({"then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "in"})


class ShellSyntaxError(Exception):
    """Text that bash would not accept (or a limit); ``start`` is the offset that the message is about."""

    def __init__(self, message: str, start: int, code: str = "shell-syntax") -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.code = code


@dataclass(frozen=True, slots=True)
class HereDocument:
    """``start``/``end`` bound the operator and its delimiter; the body ends before the line of the delimiter."""

    start: int
    end: int
    body: int
    body_end: int
    after: int
    delimiter: str
    quoted: bool
    strip: bool
    closed: bool


class Source:
    """A text whose offsets can be told as lines and columns of the file. A derived text (the body of ``<<-``, backquotes with
    escapes) maps its offsets to those of the text that it came from."""

    def __init__(self, text: str, parent: Source | None = None, origin: list[int] | int = 0) -> None:
        self.text = text
        self.parent = parent
        self.origin = origin
        self.heredocs: dict[int, HereDocument] = {}
        self.work = 0
        self.starts = [0, *(m.end() for m in re.finditer("\n", text))] if parent is None else []
        if "<<" in text:
            try:
                for _ in self.lex(0, len(text), 0, register=True):
                    pass
            except ShellSyntaxError:
                pass  # told by the parser, with the statement that it breaks

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, from 1."""
        if self.parent is None:
            line = bisect_right(self.starts, offset)
            return line, offset - self.starts[line - 1] + 1
        if isinstance(self.origin, int):
            return self.parent.place(offset + self.origin)
        return self.parent.place(self.origin[min(offset, len(self.origin) - 1)])

    def line(self, offset: int) -> int:
        if self.parent is None:
            return bisect_right(self.starts, offset)
        return self.place(offset)[0]

    def span(self, start: int, end: int) -> Span:
        return Span(*self.place(start), *self.place(end))

    # --- skipping: every function takes the offset of the opening character(s) and returns the offset behind the closing one

    def unclosed(self, what: str, start: int) -> ShellSyntaxError:
        return ShellSyntaxError(f"`{what}` of line {self.line(start)} is never closed", start)

    def spend(self, amount: int) -> None:
        """Looking ahead costs time; text made to be looked at again and again is given up."""
        self.work += amount
        if self.work > 500_000 + 60 * len(self.text):
            raise ShellSyntaxError("too tangled to be read", 0, "too-deep")

    def skip_single(self, start: int, end: int) -> int:
        found = self.text.find("'", start + 1, end)
        if found < 0:
            raise self.unclosed("'", start)
        return found + 1

    def skip_ansi(self, start: int, end: int) -> int:
        """``$'...'``."""
        i = start + 2
        while i < end:
            c = self.text[i]
            if c == "'":
                return i + 1
            i += 2 if c == "\\" else 1
        raise self.unclosed("$'", start)

    def skip_double(self, start: int, end: int, depth: int = 0) -> int:
        text = self.text
        i = start + 1
        while i < end:
            run = _DQ_RUN.match(text, i, end)
            if run:
                i = run.end()
                continue
            c = text[i]
            if c == '"':
                return i + 1
            if c == "\\":
                i += 2
            elif c == "$":
                i = self.skip_dollar(i, end, True, depth)
            else:
                i = self.skip_backquote(i, end)
        raise self.unclosed('"', start)

    def skip_backquote(self, start: int, end: int) -> int:
        i = start + 1
        while i < end:
            c = self.text[i]
            if c == "`":
                return i + 1
            i += 2 if c == "\\" else 1
        raise self.unclosed("`", start)

    def skip_dollar(self, start: int, end: int, quoted: bool, depth: int) -> int:
        text = self.text
        if depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        two = text[start + 1 : start + 2] if start + 1 < end else ""
        if two == "(":
            if text.startswith("$((", start):
                inner = self.close_arithmetic(start + 3, end, depth + 1)
                if inner is not None:
                    return inner + 2
            return self.close_paren(start + 2, end, depth + 1, start) + 1
        if two == "{":
            return self.close_brace(start + 2, end, quoted, depth + 1) + 1
        if two == "'" and not quoted:
            return self.skip_ansi(start, end)
        return start + 1

    def close_brace(self, start: int, end: int, quoted: bool, depth: int) -> int:
        """The offset of the ``}`` that ends ``${`` whose text begins at ``start``."""
        text = self.text
        i = start
        while i < end:
            run = _BRACE_RUN.match(text, i, end)
            if run:
                i = run.end()
                continue
            c = text[i]
            if c == "}":
                return i
            if c == "\\":
                i += 2
            elif c == "'":
                i = self.skip_single(i, end)  # inside double quotes too, where the quotes themselves stay as text
            elif c == '"':
                i = self.skip_double(i, end, depth)
            elif c == "$":
                i = self.skip_dollar(i, end, quoted, depth)
            else:
                i = self.skip_backquote(i, end)
        self.spend(end - start)
        raise self.unclosed("${", start - 2)

    def close_arithmetic(self, start: int, end: int, depth: int) -> int | None:
        """The offset of the ``))`` that ends the arithmetic beginning at ``start``; ``None`` where it is no arithmetic."""
        text = self.text
        level = 0
        i = start
        self.spend(16)
        while i < end:
            run = _ARITH_RUN.match(text, i, end)
            if run:
                i = run.end()
                continue
            c = text[i]
            if c == "(":
                level += 1
                i += 1
            elif c == ")":
                if level == 0:
                    self.spend(i - start)
                    return i if text.startswith("))", i) and i + 2 <= end else None
                level -= 1
                i += 1
            elif c == "\\":
                i += 2
            else:
                try:
                    i = self.skip_any(i, end, depth)
                except ShellSyntaxError:
                    return None
        self.spend(end - start)
        return None

    def skip_any(self, start: int, end: int, depth: int) -> int:
        """Skip one quoted or expanded piece outside double quotes."""
        c = self.text[start]
        if c == "'":
            return self.skip_single(start, end)
        if c == '"':
            return self.skip_double(start, end, depth)
        if c == "`":
            return self.skip_backquote(start, end)
        if c == "$":
            return self.skip_dollar(start, end, False, depth)
        return start + (2 if c == "\\" else 1)

    def skip_word(self, start: int, end: int, depth: int = 0) -> int:
        """The end of the word that begins at ``start``, the value of an array included."""
        text = self.text
        i = start
        while i < end and text[i] not in " \t\n;&|<>":
            if text[i] == "(":
                i = self._skip_group(i, end, depth)
            elif text[i] == ")":
                break
            else:
                i = self.skip_any(i, end, depth)
        return min(i, end)

    def close_paren(self, start: int, end: int, depth: int, opened: int) -> int:
        """The offset of the ``)`` that ends the command list beginning at ``start``."""
        if depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", opened, "too-deep")
        for offset, token, _ in self.lex(start, end, depth):
            if token == ")close":
                self.spend(offset - start)
                return offset
        self.spend(end - start)
        raise self.unclosed(self.text[opened : opened + 1] + "(" if self.text[opened] in "$<>" else "(", opened)

    def lex(self, start: int, end: int, depth: int, register: bool = False) -> Iterator[tuple[int, str, bool]]:
        """Tokens of a command list: (offset, token, stands where a command may begin). A ``)`` that closes what was open before
        ``start`` comes as ``)close``."""
        text = self.text
        stack: list[str] = []
        pending: list[tuple[int, int, str, bool, bool]] = []
        command = True
        i = start
        while i < end:
            blanks = _BLANKS.match(text, i, end)
            if blanks:
                i = blanks.end()
                continue
            c = text[i]
            if c == "\n":
                command = True
                i += 1
                if register:
                    for doc in pending:
                        i = self._register(doc, i, end)
                    pending.clear()
                else:
                    for doc in pending:
                        known = self.heredocs.get(doc[0])
                        i = max(i, known.after if known else i)
                    pending.clear()
                yield i, "\n", False
                continue
            if c == "#":
                found = text.find("\n", i, end)
                i = end if found < 0 else found
                continue
            if c in ";&|":
                command = True
                j = i + 1
                while j < end and text[j] in ";&|":
                    j += 1
                yield i, text[i:j], False
                i = j
                continue
            if c == "(":
                if text.startswith("((", i):
                    inner = self.close_arithmetic(i + 2, end, depth)
                    if inner is not None:
                        i = inner + 2
                        command = False
                        continue
                yield i, "(", command
                stack.append("(")
                command = True
                i += 1
                continue
            if c == ")":
                if stack and stack[-1] == "(":
                    stack.pop()
                    yield i, ")", False
                elif stack:
                    yield i, ")case", False
                else:
                    yield i, ")close", False
                command = True
                i += 1
                continue
            if c in "<>":
                if text.startswith("<<", i) and not text.startswith("<<<", i):
                    strip = text.startswith("<<-", i)
                    j = i + (3 if strip else 2)
                    blanks = _BLANKS.match(text, j, end)
                    j = blanks.end() if blanks else j
                    delimiter, quoted, j = self._delimiter(j, end)
                    if delimiter or quoted:
                        pending.append((i, j, delimiter, quoted, strip))
                    i = j
                    continue
                if text.startswith("<<<", i):
                    i += 3
                    continue
                j = i + 1
                if text.startswith("(", j):
                    i = self.close_paren(j + 1, end, depth + 1, i) + 1 if not register else self._within(j + 1, end, depth + 1, i)
                    command = False
                    continue
                i = j + 1 if j < end and text[j] in "&>|" else j
                continue
            # a word
            word_start = i
            bare = True
            while i < end:
                run = _BARE.match(text, i, end)
                if run:
                    i = run.end()
                    continue
                c = text[i]
                if c in " \t\n;&|()<>":
                    if c == "(" and i > word_start and text[i - 1] in "?*+@!=":  # an extended pattern, the value of an array
                        i = self._skip_group(i, end, depth)
                        bare = False
                        continue
                    break
                if c in "'\"\\$`":
                    bare = False
                    if register and c in '"$':
                        i = self._within_word(i, end, depth)
                    else:
                        i = self.skip_any(i, end, depth)
                else:
                    i += 1
            word = text[word_start:i] if bare else ""
            yield word_start, word or "word", command
            if command and word == "case":
                stack.append("case")
            elif word == "esac" and command and stack and stack[-1] == "case":
                stack.pop()
                command = False
                continue
            command = (command and word in _OPENERS) or (bool(stack) and stack[-1] == "case" and word == "in")
        if register:
            for doc in pending:
                self._register(doc, end, end)

    def _within_word(self, start: int, end: int, depth: int) -> int:
        """Skip like ``skip_any`` while registering the here-documents of the substitutions inside."""
        text = self.text
        if depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", start, "too-deep")
        if text[start] == '"':
            i = start + 1
            while i < end:
                run = _DQ_RUN.match(text, i, end)
                if run:
                    i = run.end()
                elif text[i] == '"':
                    return i + 1
                elif text[i] == "\\":
                    i += 2
                elif text[i] == "`":
                    i = self.skip_backquote(i, end)
                elif text.startswith("$(", i):
                    i = self._within_word(i, end, depth + 1)
                else:
                    i = self.skip_dollar(i, end, True, depth)
            raise self.unclosed('"', start)
        if text.startswith("$((", start):
            inner = self.close_arithmetic(start + 3, end, depth)
            if inner is not None:
                return inner + 2
        if text.startswith("$(", start):
            return self._within(start + 2, end, depth + 1, start)
        return self.skip_any(start, end, depth)

    def _within(self, start: int, end: int, depth: int, opened: int) -> int:
        if depth > MAX_DEPTH:
            raise ShellSyntaxError("nested too deeply to be read", opened, "too-deep")
        for offset, token, _ in self.lex(start, end, depth, register=True):
            if token == ")close":
                return offset + 1
        raise self.unclosed(self.text[opened] + "(", opened)

    def _skip_group(self, start: int, end: int, depth: int) -> int:
        """Skip a parenthesised group inside a word: an array value or an extended pattern."""
        text = self.text
        i = start + 1
        fresh = True
        while i < end:
            c = text[i]
            if c == ")":
                return i + 1
            if c == "#" and fresh:
                found = text.find("\n", i, end)
                i = end if found < 0 else found
            elif c == "(":
                i = self._skip_group(i, end, depth + 1) if depth <= MAX_DEPTH else i + 1
            else:
                i = self.skip_any(i, end, depth)
            fresh = c in " \t\n"
        raise self.unclosed("(", start)

    def _delimiter(self, start: int, end: int) -> tuple[str, bool, int]:
        text = self.text
        i = start
        out: list[str] = []
        quoted = False
        while i < end and text[i] not in " \t\n;&|()<>":
            c = text[i]
            if c == "'":
                j = self.skip_single(i, end)
                out.append(text[i + 1 : j - 1])
                quoted = True
            elif c == '"':
                j = self.skip_double(i, end)
                out.append(text[i + 1 : j - 1])
                quoted = True
            elif c == "\\":
                j = i + 2
                out.append(text[i + 1 : j])
                quoted = True
            else:
                j = i + 1
                out.append(c)
            i = j
        return "".join(out), quoted, min(i, end)

    def _register(self, doc: tuple[int, int, str, bool, bool], body: int, end: int) -> int:
        text = self.text
        start, stop, delimiter, quoted, strip = doc
        i = body
        closed = False
        body_end = after = end
        while i < end:
            newline = text.find("\n", i, end)
            line_end = end if newline < 0 else newline
            line = text[i:line_end]
            if (line.lstrip("\t") if strip else line) == delimiter:
                closed = True
                body_end, after = i, min(line_end + 1, end)
                break
            i = line_end + 1
        self.heredocs[start] = HereDocument(start, stop, min(body, end), min(body_end, end), after, delimiter, quoted, strip, closed)
        return after
