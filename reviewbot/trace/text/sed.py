"""GNU ``sed``, exactly or not at all: a program that is not understood does not parse, a result that cannot be known is ``None``.

Known: ``s`` (flags ``g p i I N``, case conversions), ``y a i c d D p P n N q Q = h H g G x b t T : { }`` and all addresses. Refused: files
(``r w``), execution (``e``), ``l``, ``F``, ``z``, multi-line mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from reviewbot.trace.text.regex import Kind, Regex, Undecided, compile_regex
from reviewbot.trace.values import HOLE, is_known

_MAX_STEPS = 1_000_000
_MAX_SPACE = 4_000_000
_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "f": "\f", "v": "\v", "a": "\a", "r": "\r"}


@dataclass(frozen=True, slots=True)
class SedResult:
    """``text`` is what the program printed (the file's new content for ``-i``); ``origins`` has for each of its lines the index of the
    input line that it came from, or ``None`` where the program wrote it. ``status`` is the exit status of ``q``."""

    text: str
    origins: tuple[int | None, ...]
    status: int = 0


@dataclass(frozen=True, slots=True)
class _Address:
    kind: str  # line, last, regex, step, plus, zero
    number: int = 0
    step: int = 0
    regex: Regex | None = None


def _last_used(command: _Command, ignore: bool) -> Regex:
    """What an empty expression stands for: the one used last, which is certain where the command's own address was it."""
    address = command.first if command.second is None else command.second if command.first and command.first.kind == "zero" else None
    if address is None or address.regex is None or command.negated or ignore:
        raise _Refused
    return address.regex


@dataclass(slots=True)
class _Command:
    name: str
    first: _Address | None = None
    second: _Address | None = None
    negated: bool = False
    text: str = ""
    regex: Regex | None = None
    replacement: tuple[tuple[str, str], ...] = ()  # (kind, text): text, group, case
    nth: int = 1
    every: bool = False
    prints: bool = False
    table: dict[str, str] = field(default_factory=dict)
    target: int = -1  # index to go to: of a block's end, of a label
    number: int = 0
    index: int = 0


class _Refused(Exception):
    pass


class _Parser:
    def __init__(self, text: str, extended: bool) -> None:
        self.text = text
        self.at = 0
        self.kind: Kind = "sed-ere" if extended else "sed-bre"
        self.extended = extended
        self.commands: list[_Command] = []

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def blanks(self) -> None:
        while self.peek() in (" ", "\t") and self.peek():
            self.at += 1

    def parse(self) -> list[_Command]:
        blocks: list[_Command] = []
        labels: dict[str, int] = {}
        if self.text.startswith("#n\n") or self.text == "#n":
            raise _Refused
        while True:
            while self.peek() and self.peek() in " \t\n;":
                self.at += 1
            if not self.peek():
                break
            if self.peek() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
                continue
            command = self.command(blocks, labels)
            command.index = len(self.commands)
            self.commands.append(command)
        if blocks:
            raise _Refused
        for command in self.commands:
            if command.name in "btT" and command.name:
                if command.text and command.text not in labels:
                    raise _Refused
                command.target = labels.get(command.text, len(self.commands))
        return self.commands

    def command(self, blocks: list[_Command], labels: dict[str, int]) -> _Command:
        command = _Command("")
        command.first = self.address(second=False)
        if command.first is not None:
            self.blanks()
            if self.peek() == ",":
                self.at += 1
                self.blanks()
                command.second = self.address(second=True)
                if command.second is None:
                    raise _Refused
        if command.first is not None and command.first.kind == "zero" and (command.second is None or command.second.kind != "regex"):
            raise _Refused
        self.blanks()
        if self.peek() == "!":
            command.negated = True
            self.at += 1
            self.blanks()
        name = self.peek()
        self.at += 1
        command.name = name
        if name == "{":
            blocks.append(command)
            return command
        if name == "}":
            if not blocks or command.first is not None:
                raise _Refused
            blocks.pop().target = len(self.commands)
            self.finish()
        elif name and name in "dDpPnNhHgGx=":
            self.finish()
        elif name and name in "qQ":
            if command.second is not None:
                raise _Refused
            self.blanks()
            digits = self.digits()
            command.number = int(digits or 0) & 255
            self.finish()
        elif name == "s":
            self.substitute(command)
        elif name == "y":
            self.transliterate(command)
        elif name and name in "aic":
            command.text = self.block_text()
        elif name == ":":
            if command.first is not None:
                raise _Refused
            label = self.label(whole=True)
            if not label or label in labels:
                raise _Refused
            labels[label] = len(self.commands)
        elif name and name in "btT":
            command.text = self.label(whole=False)
        else:
            raise _Refused
        return command

    def label(self, whole: bool) -> str:
        self.blanks()
        start = self.at
        while self.peek() and self.peek() not in " \t\n;}":
            self.at += 1
        label = self.text[start : self.at]
        if not is_known(label):
            raise _Refused
        self.finish()
        return label

    def finish(self) -> None:
        """What may follow a command."""
        self.blanks()
        c = self.peek()
        if c in ("", "}", "#"):
            return
        if c in ";\n":
            self.at += 1
            return
        raise _Refused

    def digits(self) -> str:
        start = self.at
        while self.peek().isdigit() and self.peek().isascii():
            self.at += 1
        if self.at - start > 9:
            raise _Refused
        return self.text[start : self.at]

    def address(self, second: bool) -> _Address | None:
        c = self.peek()
        if c == "$":
            self.at += 1
            return _Address("last")
        if second and c == "+":
            self.at += 1
            digits = self.digits()
            if not digits:
                raise _Refused
            return _Address("plus", int(digits))
        if c.isdigit() and c.isascii():
            number = int(self.digits())
            if self.peek() == "~":
                if second:
                    raise _Refused
                self.at += 1
                digits = self.digits()
                if not digits:
                    raise _Refused
                step = int(digits)
                if not number and not step:
                    raise _Refused
                return _Address("step", number, step) if step else _Address("line", number)
            if number == 0 and not second:
                return _Address("zero")
            return _Address("line", number)
        if c == "/" or c == "\\":
            self.at += 1
            if c == "\\":
                c = self.peek()
                self.at += 1
                if not c or c.isalnum() or c in "\\\n":
                    raise _Refused
            pattern = self.delimited(c, regex=True)
            ignore = False
            while self.peek() and self.peek() in "IM":
                if self.peek() == "M":
                    raise _Refused
                ignore = True
                self.at += 1
            return _Address("regex", regex=self.compile(pattern, ignore))
        return None

    def compile(self, pattern: str, ignore: bool) -> Regex:
        if not pattern:
            raise _Refused  # the last expression used at run time
        regex = compile_regex(pattern, self.kind, ignore)
        if regex is None:
            raise _Refused
        return regex

    def delimited(self, delimiter: str, regex: bool) -> str:
        """Text up to the delimiter; escaped delimiters are resolved, other escapes kept."""
        pieces: list[str] = []
        while True:
            c = self.peek()
            if not c or (c == "\n" and regex):
                raise _Refused
            self.at += 1
            if c == delimiter:
                return "".join(pieces)
            if c == "\\":
                following = self.peek()
                self.at += 1
                if not following:
                    raise _Refused
                if following == delimiter:
                    if delimiter in "|+?(){}.*^$[]&\\n" or delimiter.isalnum():
                        raise _Refused  # special or not: versions differ
                    pieces.append(following)
                elif following == "\n" and regex:
                    raise _Refused
                else:
                    pieces.append("\\" + following)
            elif c == "\n" and not regex:
                raise _Refused
            else:
                pieces.append(c)

    def substitute(self, command: _Command) -> None:
        delimiter = self.peek()
        self.at += 1
        if not delimiter or delimiter in "\\\n" or HOLE.match(delimiter):
            raise _Refused
        pattern = self.delimited(delimiter, regex=True)
        replacement = self.delimited(delimiter, regex=False)
        ignore = numbered = False
        while True:
            c = self.peek()
            if c in ("g", "p", "i", "I"):
                if (c == "g" and command.every) or (c == "p" and command.prints):
                    raise _Refused
                command.every |= c == "g"
                command.prints |= c == "p"
                ignore |= c in "iI"
                self.at += 1
            elif c.isdigit() and c.isascii():
                command.nth = int(self.digits())
                if numbered or command.nth == 0:
                    raise _Refused
                numbered = True
            else:
                break
        self.finish()
        command.regex = self.compile(pattern, ignore) if pattern else _last_used(command, ignore)
        command.replacement = self.replacement(replacement, command.regex.groups)

    def replacement(self, text: str, groups: int) -> tuple[tuple[str, str], ...]:
        parts: list[tuple[str, str]] = []
        plain: list[str] = []
        at = 0

        def flush() -> None:
            if plain:
                parts.append(("text", "".join(plain)))
                plain.clear()

        while at < len(text):
            c = text[at]
            at += 1
            if c == "&":
                flush()
                parts.append(("group", "0"))
            elif c == "\\":
                c = text[at]
                at += 1
                if c.isdigit() and c.isascii():
                    if int(c) > groups:
                        raise _Refused
                    flush()
                    parts.append(("group", c))
                elif c in "LUlE" or c == "u":
                    flush()
                    parts.append(("case", c))
                elif c in _SIMPLE_ESCAPES:
                    plain.append(_SIMPLE_ESCAPES[c])
                elif c in "cdox":
                    raise _Refused
                else:
                    plain.append(c)
            else:
                plain.append(c)
        flush()
        return tuple(parts)

    def transliterate(self, command: _Command) -> None:
        delimiter = self.peek()
        self.at += 1
        if not delimiter or delimiter in "\\\n":
            raise _Refused
        sides: list[list[str]] = []
        for _ in range(2):
            text = self.delimited(delimiter, regex=True)
            letters: list[str] = []
            at = 0
            while at < len(text):
                c = text[at]
                at += 1
                if c == "\\":
                    c = text[at]
                    at += 1
                    if c == "n":
                        c = "\n"
                    elif c != "\\":
                        raise _Refused
                letters.append(c)
            sides.append(letters)
        if len(sides[0]) != len(sides[1]) or any(HOLE.match(c) for side in sides for c in side):
            raise _Refused
        for one, other in zip(*sides, strict=False):
            command.table.setdefault(one, other)
        self.finish()

    def block_text(self) -> str:
        self.blanks()
        if not self.peek():
            raise _Refused
        if self.peek() == "\\":
            self.at += 1
            start = self.at
            self.blanks()
            if self.peek() == "\n":
                if self.at != start:
                    raise _Refused
                self.at += 1
                if not self.peek():
                    raise _Refused
            elif not self.peek():
                raise _Refused
            else:
                self.at = start
                if self.peek() == "\\":
                    raise _Refused
        elif self.peek() == "\n":
            raise _Refused
        pieces: list[str] = []
        while True:
            c = self.peek()
            self.at += 1
            if not c or c == "\n":
                break
            if c == "\\":
                c = self.peek()
                self.at += 1
                if not c or c in "cdox" or c.isdigit():
                    raise _Refused
                c = _SIMPLE_ESCAPES.get(c, c)
            pieces.append(c)
        return "".join(pieces) + "\n"


@dataclass(slots=True)
class _Line:
    text: str
    origins: list[int | None]
    newline: bool


class _Stop(Exception):
    pass


class Program:
    """A parsed program; immutable from outside, so that it can be shared."""

    def __init__(self, commands: Sequence[_Command], quiet: bool) -> None:
        self._commands = tuple(commands)
        self._quiet = quiet

    def run(self, text: str) -> SedResult | None:
        """What the program makes of ``text``; ``None`` where that cannot be known (a hole decides, or a bound is hit)."""
        if "\0" in text:
            return None
        return _run(self, text)

    def execute(self, text: str) -> SedResult:
        return _Execution(self._commands, self._quiet, text).run()


@lru_cache(maxsize=2048)
def _run(program: Program, text: str) -> SedResult | None:
    try:
        return program.execute(text)
    except (Undecided, RecursionError):
        return None


class _Execution:
    def __init__(self, commands: tuple[_Command, ...], quiet: bool, text: str) -> None:
        self.commands = commands
        self.quiet = quiet
        lines = text.split("\n")
        self.complete = lines[-1] == ""
        if self.complete:
            lines.pop()
        self.lines = lines
        self.number = 0  # lines read
        self.space = _Line("", [], True)
        self.hold = _Line("", [None], True)
        self.out: list[str] = []
        self.origins: list[int | None] = []
        self.missing = False
        self.pending: list[str] = []
        self.active: dict[int, int] = {}  # command -> end line of an open range (-1: by expression)
        self.started: set[int] = set()
        self.hidden = False  # the last line printed has no text and no line end
        self.replaced = False
        self.steps = 0
        self.status = 0

    # -- output -----------------------------------------------------------------------------------------------------------

    def emit(self, text: str, origins: Sequence[int | None], newline: bool) -> None:
        if self.missing:
            self.out.append("\n")
            self.missing = False
            if self.hidden:
                self.origins.append(None)
        pieces = text.count("\n") + 1
        if len(origins) == pieces:
            self.origins.extend(origins)
        else:
            self.origins.extend([origins[0] if origins else None, *[None] * (pieces - 1)])
        self.hidden = not newline and (not text or text.endswith("\n"))
        if self.hidden:
            self.origins.pop()
        self.out.append(text + "\n" if newline else text)
        self.missing = not newline

    def emit_own(self, text: str) -> None:
        body = text[:-1]
        self.emit(body, [None] * (body.count("\n") + 1), True)

    def print_space(self) -> None:
        self.emit(self.space.text, self.space.origins, self.space.newline)

    def flush(self) -> None:
        for text in self.pending:
            self.emit_own(text)
        self.pending.clear()

    # -- input ------------------------------------------------------------------------------------------------------------

    def last(self) -> bool:
        return self.number >= len(self.lines)

    def read(self) -> _Line | None:
        self.flush()
        if self.last():
            return None
        line = _Line(self.lines[self.number], [self.number], self.complete or self.number + 1 < len(self.lines))
        self.number += 1
        return line

    # -- running ----------------------------------------------------------------------------------------------------------

    def run(self) -> SedResult:
        try:
            restart = False
            while True:
                if not restart:
                    line = self.read()
                    if line is None:
                        break
                    self.space = line
                self.replaced = self.replaced and restart
                restart = self.cycle()
        except _Stop:
            pass
        self.flush()
        return SedResult("".join(self.out), tuple(self.origins), self.status)

    def end_cycle(self) -> None:
        if not self.quiet:
            self.print_space()

    def cycle(self) -> bool:
        """One cycle; whether the next starts without reading."""
        at = 0
        while at < len(self.commands):
            self.steps += 1 + (len(self.space.text) + len(self.hold.text)) // 64  # work, so that a growing space ends too
            if self.steps > _MAX_STEPS or len(self.space.text) > _MAX_SPACE:
                raise Undecided
            command = self.commands[at]
            at += 1
            name = command.name
            if name in ":}":
                continue
            if self.selects(command) == command.negated:
                if name == "{":
                    at = command.target + 1
                continue
            if name == "{":
                continue
            if name == "s":
                self.substitute(command)
            elif name == "d":
                return False
            elif name == "D":
                if "\n" not in self.space.text:
                    return False
                self.drop_first()
                self.flush()
                return True
            elif name == "p":
                self.print_space()
            elif name == "P":
                first, more, _ = self.space.text.partition("\n")
                self.emit(first, self.space.origins[:1], bool(more) or self.space.newline)
            elif name == "n":
                if self.last():
                    self.end_cycle()
                    raise _Stop
                self.end_cycle()
                line = self.read()
                assert line is not None
                self.space = line
            elif name == "N":
                if self.last():
                    self.end_cycle()
                    raise _Stop
                line = self.read()
                assert line is not None
                self.space = _Line(self.space.text + "\n" + line.text, self.lined(self.space) + line.origins, line.newline)
            elif name == "a":
                self.pending.append(command.text)
            elif name == "i":
                self.emit_own(command.text)
            elif name == "c":
                if command.second is None or command.negated or self.range_ended(command):
                    self.emit_own(command.text)
                return False
            elif name == "=":
                self.emit(str(self.number), [None], True)
            elif name == "q":
                self.end_cycle()
                self.flush()
                if self.missing:
                    if self.hidden:
                        raise Undecided
                    self.out.append("\n")
                    self.missing = False
                self.status = command.number
                raise _Stop
            elif name == "Q":
                if self.missing:
                    raise Undecided
                self.status = command.number
                self.pending.clear()
                raise _Stop
            elif name == "y":
                if not is_known(self.space.text):
                    raise Undecided
                table = command.table
                self.space.text = "".join(table.get(c, c) for c in self.space.text)
            elif name == "h":
                self.hold = _Line(self.space.text, self.lined(self.space), self.space.newline)
            elif name == "H":
                origins = self.lined(self.hold) + self.lined(self.space)
                self.hold = _Line(self.hold.text + "\n" + self.space.text, origins, self.space.newline)
            elif name == "g":
                self.space = _Line(self.hold.text, self.lined(self.hold), self.hold.newline)
            elif name == "G":
                self.space = _Line(
                    self.space.text + "\n" + self.hold.text, self.lined(self.space) + self.lined(self.hold), self.hold.newline
                )
            elif name == "x":
                if not self.space.newline:
                    raise Undecided  # where the missing line end goes is not worth knowing
                self.hold, self.space = self.space, self.hold
            elif name == "b":
                at = command.target
            elif name in "tT":
                if self.replaced == (name == "t"):
                    at = command.target
                self.replaced = False
        self.end_cycle()
        return False

    def lined(self, line: _Line) -> list[int | None]:
        pieces = line.text.count("\n") + 1
        if len(line.origins) == pieces:
            return list(line.origins)
        return [line.origins[0] if line.origins else None, *[None] * (pieces - 1)]

    def drop_first(self) -> None:
        origins = self.lined(self.space)[1:]
        self.space = _Line(self.space.text.partition("\n")[2], origins, self.space.newline)

    def range_ended(self, command: _Command) -> bool:
        return self.active.get(command.index, -2) == -2

    # -- addresses --------------------------------------------------------------------------------------------------------

    def matches(self, address: _Address) -> bool:
        kind = address.kind
        if kind == "line":
            return self.number == address.number
        if kind == "last":
            return self.last()
        if kind == "step":
            return self.number >= address.number and (self.number - address.number) % address.step == 0
        if kind == "regex":
            assert address.regex is not None
            answer = address.regex.test(self.space.text)
            if answer is None:
                raise Undecided
            return answer
        return False

    def selects(self, command: _Command) -> bool:
        first, second = command.first, command.second
        if first is None:
            return True
        if second is None:
            return self.matches(first)
        index = command.index
        if first.kind == "zero" and index not in self.active:
            self.active[index] = -1
        if index in self.active:
            end = self.active[index]
            if end == -2:  # a range that began at 0 and is over
                return False
            if end == -1:
                over = self.matches(second)
                if over:
                    del self.active[index]
                    if first.kind == "zero":
                        self.active[index] = -2
                return True
            if self.number > end:
                raise Undecided  # the end was passed while the command did not run
            if self.number == end:
                del self.active[index]
            return True
        return self.starts(command, first, second)

    def starts(self, command: _Command, first: _Address, second: _Address) -> bool:
        if first.kind == "line" and self.number > first.number and command.index not in self.started:
            raise Undecided  # the start was passed while the command did not run
        if first.kind == "zero" or not self.matches(first):
            return False
        self.started.add(command.index)
        if second.kind == "line":
            if second.number > self.number:
                self.active[command.index] = second.number
        elif second.kind == "plus":
            if second.number:
                self.active[command.index] = self.number + second.number
        elif second.kind == "last":
            if not self.last():
                self.active[command.index] = len(self.lines)
        else:
            self.active[command.index] = -1
        return True

    # -- s ----------------------------------------------------------------------------------------------------------------

    def substitute(self, command: _Command) -> None:
        regex, text = command.regex, self.space.text
        assert regex is not None
        if regex.touches(text):
            raise Undecided
        groups = any(kind == "group" and number != "0" for kind, number in command.replacement)
        pieces: list[str] = []
        at = count = 0
        previous = -1
        done = False
        while at <= len(text):
            found = regex.search(text, at, groups)
            if found is None:
                break
            start, end = found.start, found.end
            if start == end == previous:  # empty, right behind the last match
                if start >= len(text):
                    break
                pieces.append(text[start])
                at = start + 1
                previous = -1
                continue
            pieces.append(text[at:start])
            count += 1
            if count < command.nth:
                pieces.append(text[start:end])
            else:
                pieces.append(self.expand(command, found.groups, text[start:end]))
                done = True
            previous = end
            if start == end:
                if start < len(text):
                    pieces.append(text[start])
                at = start + 1
            else:
                at = end
            if done and not command.every:
                break
        if not done:
            return
        pieces.append(text[at:])
        self.space.text = "".join(pieces)
        self.replaced = True
        if command.prints:
            self.print_space()

    def expand(self, command: _Command, groups: object, whole: str) -> str:
        case = once = ""
        out: list[str] = []
        for kind, text in command.replacement:
            if kind == "case":
                if text in "lu":
                    once = text
                else:
                    case = "" if text == "E" else text
                    if text == "E":
                        once = ""
                continue
            if kind == "group":
                text = whole if text == "0" else (groups.group(int(text)) or "")  # type: ignore[attr-defined]
            if (case or once) and text:
                if not is_known(text):
                    raise Undecided
                if case:
                    text = text.upper() if case == "U" else text.lower()
                if once:
                    text = (text[0].upper() if once == "u" else text[0].lower()) + text[1:]
                    once = ""
            out.append(text)
        return "".join(out)


@lru_cache(maxsize=1024)
def _parsed(script: str, extended: bool, quiet: bool) -> Program | None:
    try:
        return Program(_Parser(script, extended).parse(), quiet)
    except (_Refused, IndexError, RecursionError):
        return None


def parse_sed(scripts: Sequence[str], extended: bool = False, quiet: bool = False) -> Program | None:
    """The program of ``sed``'s ``-e`` arguments (``extended``: ``-E``, ``quiet``: ``-n``); ``None`` where it is not understood."""
    script = "\n".join(scripts)
    return None if len(script) > 100_000 else _parsed(script, extended, quiet)
