"""Expansion of words: parameters, substitutions, braces, splitting and globbing, on values that may hold holes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from reviewbot.documents.shell_syntax import Arithmetic, Braces, Literal, Parameter, Part, ProcessSubstitution, Substitution, Word
from reviewbot.trace import arithmetic
from reviewbot.trace.conditions import is_empty
from reviewbot.trace.control import Bound, Exit
from reviewbot.trace.effects import Located, Variable
from reviewbot.trace.state import Array
from reviewbot.trace.text import patterns
from reviewbot.trace.values import HOLE, is_known

if TYPE_CHECKING:
    from reviewbot.trace.shell import Evaluator

_GLOB = re.compile(r"[*?\[]")
_WILD = re.compile(r"[*?]|[@+!]\(")
_EXTGLOB = re.compile(r"[*?\[]|[@+!]\(")
_REGEX_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
_MAX_WORDS = 50_000


def words(sh: Evaluator, items: Sequence[Word], line: int) -> list[str]:
    """The arguments that words make. A word on another line than ``line`` knows its own."""
    out: list[str] = []
    for word in items:
        static = word.static
        if static is not None:
            out.append(static if word.line == line else Located(static, sh.site(word.line)))
            continue
        parts = word.parts
        if len(parts) == 1:
            part = parts[0]
            kind = type(part)
            if kind is Parameter:
                found = _set_variable(sh, part) if part.quoted else None  # type: ignore[arg-type,union-attr]
                if found is not None:
                    out.append(found if word.line == line or type(found) is Located else Located(found, sh.site(word.line)))
                    continue
            elif kind is Literal and part.text == "[":  # type: ignore[union-attr]
                out.append("[" if word.line == line else Located("[", sh.site(word.line)))
                continue
        before = len(out)
        _word(sh, word, out)
        if word.line != line:
            site = sh.site(word.line)
            for index in range(before, len(out)):
                if not isinstance(out[index], Located):
                    out[index] = Located(out[index], site)
        if len(out) > _MAX_WORDS:
            raise Bound("too many words", sh.site(line))
    return out


def _word(sh: Evaluator, word: Word, out: list[str]) -> None:
    parts = word.parts
    if len(parts) == 1:
        part = parts[0]
        if isinstance(part, Parameter) and part.quoted and not is_list(part):
            out.append(parameter(sh, part))
            return
        if isinstance(part, Substitution) and part.quoted:
            out.append(sh.substitute(part.body))
            return
    for part in parts:
        if isinstance(part, Braces):
            for variant in _brace_variants(parts):
                _fields(sh, variant, out)
            return
    _fields(sh, parts, out)


def _brace_variants(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    choices: list[list[tuple[Part, ...]]] = []
    count = 1
    for part in parts:
        if isinstance(part, Braces):
            options: list[tuple[Part, ...]] = []
            for inner in part.words:
                options.extend(_brace_variants(inner.parts))
            choices.append(options)
            count *= max(1, len(options))
            if count > _MAX_WORDS:
                return [tuple(parts)]
        else:
            choices.append([(part,)])
    return [tuple(piece for option in combination for piece in option) for combination in product(*choices)]


class _Fields:
    """Collects the fields of one word."""

    __slots__ = ("glob", "ifs", "out", "pieces", "present", "sh")

    def __init__(self, sh: Evaluator, out: list[str]) -> None:
        self.sh = sh
        self.out = out
        self.pieces: list[tuple[str, bool]] = []
        self.present = False
        self.glob = False
        self.ifs = sh.separators()

    def quoted(self, text: str) -> None:
        self.pieces.append((text, True))
        self.present = True

    def plain(self, text: str) -> None:
        self.pieces.append((text, False))
        self.present = True
        if not self.glob and _EXTGLOB.search(text):
            self.glob = True

    def split(self, text: str) -> None:
        """Unquoted expansion."""
        if not text:
            return
        if not is_known(text) and self.sh.may_split(text):
            self.sh.unsure = True
        ifs = self.ifs
        if ifs == " \t\n":
            if " " not in text and "\n" not in text and "\t" not in text:
                self.plain(text)
                return
            pieces = re.split("[ \t\n]+", text)
            if pieces[0] == "":
                self.finish()
                pieces.pop(0)
            for index, piece in enumerate(pieces):
                if index:
                    self.finish()
                if piece:
                    self.plain(piece)
            return
        if not ifs:
            self.plain(text)
            return
        white = "".join(char for char in ifs if char in " \t\n")
        if white and text[0] in white:
            text = text.lstrip(white)
            self.finish()
        current: list[str] = []
        index = 0
        while index < len(text):
            char = text[index]
            if char not in ifs:
                current.append(char)
                index += 1
                continue
            hard = False
            while index < len(text) and text[index] in ifs and not (hard and text[index] not in white):
                hard = hard or text[index] not in white
                index += 1
            if current:
                self.plain("".join(current))
            elif hard:
                self.present = True
            current = []
            self.finish()
        if current:
            self.plain("".join(current))

    def finish(self) -> None:
        if self.present:
            if self.glob and "f" not in self.sh.options:
                pattern = "".join(patterns.escape(text) if quoted else text for text, quoted in self.pieces)
                plain = "".join(text for text, _ in self.pieces)
                self.out.extend(glob(self.sh, pattern, plain))
            elif len(self.pieces) == 1:
                self.out.append(self.pieces[0][0])
            else:
                self.out.append("".join(text for text, _ in self.pieces))
        self.pieces = []
        self.present = False
        self.glob = False


def _fields(sh: Evaluator, parts: Sequence[Part], out: list[str]) -> None:
    fields = _Fields(sh, out)
    for index, part in enumerate(parts):
        if isinstance(part, Literal):
            if part.quoted:
                fields.pieces.append((part.text, True))
                fields.present = True
            else:
                text = part.text
                if index == 0 and "~" in text:
                    text = tilde(sh, text) if text[0] == "~" else _assigned_tilde(sh, text)
                fields.plain(text)
        elif isinstance(part, Parameter):
            found = _set_variable(sh, part)
            if found is None and is_list(part):
                _list_fields(sh, part, fields)
            else:
                value = parameter(sh, part) if found is None else found
                if part.quoted:
                    fields.pieces.append((value, True))
                    fields.present = True
                elif part.op and part.argument is not None and _takes_argument(sh, part):
                    _inner_fields(sh, part.argument, fields)
                else:
                    fields.split(sh.settled(value, part.line))
        elif isinstance(part, Substitution):
            value = sh.substitute(part.body)
            if part.quoted:
                fields.quoted(value)
            else:
                fields.split(sh.settled(value, part.line))
        elif isinstance(part, Arithmetic):
            fields.quoted(arithmetic_text(sh, part)) if part.quoted else fields.split(arithmetic_text(sh, part))
        elif isinstance(part, ProcessSubstitution):
            fields.quoted(sh.process_substitution(part))
        else:
            fields.plain("{" + ",".join(inner.text for inner in part.words) + "}")
    fields.finish()


def _takes_argument(sh: Evaluator, part: Parameter) -> bool:
    """Whether ``${x:-word}`` unquoted gives its word: then the word's own quotes decide about splitting."""
    if part.op not in (":-", "-", ":+", "+") or part.indirect or part.length:
        return False
    assert part.argument is not None
    if all(isinstance(item, Literal) and not item.quoted for item in part.argument.parts):
        return False
    value = sh.lookup(part.name, None if part.index is None else sh.text_of(part.index))
    unset = value is None or (part.op.startswith(":") and is_empty(sh, value) is True)
    return unset == part.op.endswith("-")


def _inner_fields(sh: Evaluator, word: Word, fields: _Fields) -> None:
    for part in word.parts:
        if isinstance(part, Literal):
            fields.quoted(part.text) if part.quoted else fields.split(part.text)
        elif isinstance(part, Parameter) and is_list(part):
            _list_fields(sh, part, fields)
        else:
            text = part_text(sh, part)
            fields.quoted(text) if getattr(part, "quoted", True) else fields.split(text)


def is_list(part: Parameter) -> bool:
    """Whether an expansion gives a list: ``$@``, ``${a[@]}``, ``${!a[@]}``, ``${!prefix@}`` (or the same with ``*``)."""
    if part.length:
        return False
    if part.prefix or part.keys:
        return True
    if part.name in ("@", "*"):
        return True
    index = part.index
    return index is not None and index.text in ("@", "*") and not part.indirect


def _star(part: Parameter) -> bool:
    return part.name == "*" or (part.index is not None and part.index.text == "*")


def _list_fields(sh: Evaluator, part: Parameter, fields: _Fields) -> None:
    items = list_values(sh, part)
    if part.op != ":" and unsure_list(sh, part):
        sh.unsure = True
    if part.quoted and _star(part):
        fields.quoted(sh.joiner().join(items))
        return
    for index, item in enumerate(items):
        if index:
            fields.finish()
        if part.quoted:
            if isinstance(item, Located) and len(items) > 1 and not fields.pieces:
                fields.out.append(item)  # keeps its line; the next item starts a new field anyway
                if index == len(items) - 1:
                    # text behind the list would join the last item; there is none in all but odd words
                    fields.out.pop()
                    fields.pieces.append((item, True))
                    fields.present = True
            else:
                fields.quoted(item)
        else:
            fields.split(item)


def list_values(sh: Evaluator, part: Parameter) -> list[str]:
    """The values of a list expansion, operators applied to each."""
    if part.prefix:
        return sorted(name for name in sh.variables if name.startswith(part.name))
    if part.name in ("@", "*"):
        items = list(sh.positional)
        start = 1
    else:
        slot = sh.slot(part.name)
        if isinstance(slot, Array):
            if part.keys:
                return [str(key) for key in slot.items]
            items = list(slot.items.values())
        elif slot is None:
            sh.note_read(part.name)
            items = []
        else:
            value = sh.lookup(part.name)
            items = [] if value is None else ["0"] if part.keys else [value]
        start = 0
    op = part.op
    if not op:
        return items
    if op in (":-", "-", ":+", "+", ":=", "=", ":?", "?"):
        empty = not items or (op.startswith(":") and all(item == "" for item in items))
        if op.endswith("+"):
            return [] if empty else argument_list(sh, part)
        return argument_list(sh, part) if empty else items
    if op == ":":
        return _list_slice(sh, part, items, start)
    return [operate(sh, part, item) for item in items]


def unsure_list(sh: Evaluator, part: Parameter) -> bool:
    """Whether nobody knows how many items a list has."""
    if part.prefix:
        return False
    if part.name in ("@", "*"):
        return sh.unsure_positional and any(map(sh.may_split, sh.positional))
    slot = sh.slot(part.name)
    return isinstance(slot, Array) and slot.open


def argument_list(sh: Evaluator, part: Parameter) -> list[str]:
    """The word of ``${a[@]+word}`` as arguments."""
    if part.argument is None:
        return []
    out: list[str] = []
    _word(sh, part.argument, out)
    return out


def _list_slice(sh: Evaluator, part: Parameter, items: list[str], start: int) -> list[str]:
    offset = _slice_number(sh, part.argument, part.line)
    size = None if part.replacement is None else _slice_number(sh, part.replacement, part.line)
    if offset is None or (part.replacement is not None and size is None):
        return items
    if start:  # positional parameters count from 1, and 0 is the script
        items = [sh.name, *items]
    if unsure_list(sh, part) and (offset < 0 or size is None or offset + size > sh.first_unsure(items)):
        sh.unsure = True
        first = sh.first_unsure(items)
        if size is None and 0 <= offset <= first:
            return items[offset:]
        sure = items[offset:first] if 0 <= offset <= first else []
        return [*sure, sh.hole(f"items of {part.name}", sh.site(part.line))]
    if offset < 0:
        offset += len(items)
        if offset < 0:
            return []
    return items[offset:] if size is None else items[offset:offset + max(0, size)]


def _slice_number(sh: Evaluator, word: Word | None, line: int) -> int | None:
    if word is None:
        return 0
    try:
        return arithmetic.of_text(sh, text(sh, word), line)
    except arithmetic.ShellArithmeticError as error:
        sh.fail(str(error), line)
        return 0


def tilde(sh: Evaluator, value: str) -> str:
    head, slash, rest = value.partition("/")
    if head == "~":
        home = sh.lookup("HOME")
        return (home or "") + slash + rest
    if head == "~+":
        return sh.cwd + slash + rest
    return value


def _set_variable(sh: Evaluator, part: Parameter) -> str | None:
    """The value where an expansion is nothing but the name of a variable that is set; ``None`` for all others."""
    if part.op or part.index is not None or part.length or part.indirect or part.keys or part.prefix:
        return None
    found = sh.variables.get(part.name)
    if type(found) is not Variable:
        return None
    if found.site is None:
        sh.context.reads.add(part.name)
    return found.value


_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _assigned_tilde(sh: Evaluator, value: str) -> str:
    """``NAME=~/x:~/y`` as an argument: tildes are expanded as in an assignment."""
    found = _ASSIGNMENT.match(value)
    if found is None:
        return value
    return found.group() + ":".join(tilde(sh, piece) if piece[:1] == "~" else piece for piece in value[found.end():].split(":"))


def text(sh: Evaluator, word: Word) -> str:
    """A word as one text, unsplit (assignments, here-documents, ``[[ ]]``)."""
    static = word.static
    if static is not None:
        return static
    parts = word.parts
    if len(parts) == 1:
        only = parts[0]
        if type(only) is Parameter:
            found = _set_variable(sh, only)
            return part_text(sh, only) if found is None else found
        if isinstance(only, Literal):
            return tilde(sh, only.text) if only.text.startswith("~") and not only.quoted else only.text
        return part_text(sh, only)
    out: list[str] = []
    for index, part in enumerate(parts):
        if isinstance(part, Literal):
            out.append(tilde(sh, part.text) if index == 0 and not part.quoted and part.text.startswith("~") else part.text)
        else:
            out.append(part_text(sh, part))
    result = "".join(out)
    if len(result) > sh.settings.bounds.text:
        raise Bound("a text grew too long", sh.site(word.line))
    return result


def part_text(sh: Evaluator, part: Part) -> str:
    if isinstance(part, Parameter):
        found = _set_variable(sh, part)
        if found is not None:
            return found
        if is_list(part):
            return (sh.joiner() if _star(part) else " ").join(list_values(sh, part))
        return parameter(sh, part)
    if isinstance(part, Literal):
        return part.text
    if isinstance(part, Substitution):
        return sh.substitute(part.body)
    if isinstance(part, Arithmetic):
        return arithmetic_text(sh, part)
    if isinstance(part, ProcessSubstitution):
        return sh.process_substitution(part)
    return "{" + ",".join(inner.text for inner in part.words) + "}"


def pattern(sh: Evaluator, word: Word) -> str:
    """A word as a pattern: quoted text is literal."""
    return _escaped(sh, word, patterns.escape)


def regex(sh: Evaluator, word: Word) -> str:
    """A word as a regular expression: quoted text is literal."""
    return _escaped(sh, word, lambda value: _REGEX_SPECIAL.sub(r"\\\g<0>", value))


def _escaped(sh: Evaluator, word: Word, escape: Callable[[str], str]) -> str:
    out: list[str] = []
    for part in word.parts:
        value = part.text if isinstance(part, Literal) else part_text(sh, part)
        out.append(escape(value) if getattr(part, "quoted", True) else value)
    return "".join(out)


def arithmetic_text(sh: Evaluator, part: Arithmetic) -> str:
    try:
        result = arithmetic.value(sh, part.expression, part.line)
    except arithmetic.ShellArithmeticError as error:
        sh.fail(str(error), part.line)
        raise Exit(1, sh.site(part.line), str(error)) from None
    if result is None:
        return sh.hole("result of arithmetic", sh.site(part.line), nonempty=True, numeric=True)
    return str(result)


def parameter(sh: Evaluator, part: Parameter) -> str:
    """The value of a scalar expansion. Ends the script where ``set -u`` or ``${x:?}`` say so."""
    name, op = part.name, part.op
    index = None
    if part.index is not None:
        if part.length and part.index.text in ("@", "*"):
            slot = sh.slot(name)
            if isinstance(slot, Array) and slot.open:
                return sh.hole(f"number of items of {name}", sh.site(part.line), nonempty=True, numeric=True)
            return str(len(slot.items)) if isinstance(slot, Array) else "0" if sh.lookup(name) is None else "1"
        index = text(sh, part.index)
    if part.length and name in ("@", "*", "#") and name != "#":
        return str(len(sh.positional))
    if index is None and not op and not part.length and not part.indirect:
        value = sh.lookup(name)
        if value is None:
            if sh.nounset and name not in ("@", "*"):
                sh.check_set(name, part.line)
            return ""
        return value
    value = sh.lookup(name, index)
    if part.indirect:
        if value is None:
            value = _unset(sh, part, op)
            if value is None:
                return ""
        if not is_known(value):
            return sh.hole(f"value of ${{!{name}}}", sh.site(part.line))
        target, _, inner = value.partition("[")
        if inner in ("@]", "*]"):
            slot = sh.slot(target)
            return " ".join(slot.items.values()) if isinstance(slot, Array) else sh.lookup(target) or ""
        value = sh.lookup(target, inner[:-1] if inner else None) if target else ""
        if value is None and not op:
            sh.check_set(target, part.line)
    if not op and not part.length:
        if value is None:
            if sh.nounset and name not in ("@", "*"):
                sh.check_set(name if index is None else f"{name}[{index}]", part.line)
            return ""
        return value
    if part.length:
        if value is None:
            sh.check_set(name, part.line)
            return "0"
        if not is_known(value):
            return sh.hole(f"length of {name}", sh.site(part.line), nonempty=True, numeric=True)
        return str(len(value))
    return _default(sh, part, value, index)


def _unset(sh: Evaluator, part: Parameter, op: str) -> str | None:
    if op in (":-", "-", ":+", "+"):
        return None
    sh.check_set(part.name, part.line)
    return None


def _default(sh: Evaluator, part: Parameter, value: str | None, index: str | None) -> str:
    op = part.op
    if op in (":-", "-", ":=", "=", ":?", "?", ":+", "+"):
        colon = op[0] == ":"
        kind = op[-1]
        empty: bool | None = value is None
        if value is not None and colon:
            empty = is_empty(sh, value)
        if empty is None:
            assert value is not None
            return _perhaps_empty(sh, part, value, kind)
        if kind == "+":
            return "" if empty else argument(sh, part)
        if not empty:
            return value or ""
        if kind == "-":
            return argument(sh, part)
        if kind == "=":
            default = argument(sh, part)
            if index is None:
                sh.assign(part.name, default, sh.site(part.line))
            else:
                sh.assign_element(part.name, index, default, sh.site(part.line))
            return default
        message = argument(sh, part) or "parameter null or not set"
        text_ = f"{part.name}: {message}"
        sh.complain(text_)
        raise Exit(127 if sh.interactive_status else 1, sh.site(part.line), text_)
    if value is None:
        sh.check_set(part.name, part.line)
        value = ""
    return operate(sh, part, value)


def _perhaps_empty(sh: Evaluator, part: Parameter, value: str, kind: str) -> str:
    """``${x:-word}`` where nobody knows whether ``x`` is empty."""
    choices = sh.alternatives(value)
    if kind == "?":
        sh.assume(f"{part.name} is not empty", sh.site(part.line))
        return value
    other = argument(sh, part)
    if kind == "+":
        return sh.one_of(["", other], part.name, part.line)
    if choices is None:
        if kind == "-" and other == "":
            return value
        return sh.one_of([value, other], part.name, part.line)
    mapped = [choice if choice else other for choice in choices]
    return sh.one_of(mapped, part.name, part.line)


def argument(sh: Evaluator, part: Parameter) -> str:
    return "" if part.argument is None else text(sh, part.argument)


def operate(sh: Evaluator, part: Parameter, value: str) -> str:
    """The text operators: trimming, replacing, case, substrings, ``@Q``."""
    if not is_known(value):
        choices = sh.alternatives(value)
        if choices is not None:
            return sh.one_of([_operate(sh, part, choice) for choice in choices], part.name, part.line)
    return _operate(sh, part, value)


_MODES = {"/": "first", "//": "all", "/#": "prefix", "/%": "suffix"}


def _part_of(sh: Evaluator, part: Parameter) -> str:
    return sh.hole(f"part of {part.name}", sh.site(part.line))


def _operate(sh: Evaluator, part: Parameter, value: str) -> str:
    op = part.op
    if op in ("#", "##", "%", "%%"):
        wanted = pattern(sh, part.argument) if part.argument else ""
        found = patterns.trim(value, wanted, op[0] == "%", len(op) == 2, sh.holes)
        return _part_of(sh, part) if found is None else found
    if op in ("/", "//", "/#", "/%"):
        wanted = pattern(sh, part.argument) if part.argument else ""
        put = text(sh, part.replacement) if part.replacement else ""
        if not wanted:
            return put + value if op == "/#" else value + put if op == "/%" else value
        found = patterns.replace(value, wanted, put, _MODES[op], sh.holes)
        return _part_of(sh, part) if found is None else found
    if op == ":":
        offset = _slice_number(sh, part.argument, part.line)
        size = None if part.replacement is None else _slice_number(sh, part.replacement, part.line)
        if not is_known(value) or offset is None or (part.replacement is not None and size is None):
            if offset == 0 and part.replacement is None:
                return value
            return _part_of(sh, part)
        if offset < 0:
            offset += len(value)
            if offset < 0:
                return ""
        if size is None:
            return value[offset:]
        if size < 0:
            return value[offset:len(value) + size] if len(value) + size >= offset else ""
        return value[offset:offset + size]
    if op in ("^^", "^", ",,", ",", "~~", "~"):
        return _case(sh, part, value)
    if op.startswith("@"):
        kind = op[1:]
        if kind == "Q":
            return quoted(value)
        if kind in ("U", "L", "u"):
            return value.upper() if kind == "U" else value.lower() if kind == "L" else value[:1].upper() + value[1:]
        if kind in ("P", "E", "K", "A", "a", "k"):
            return sh.hole(f"${{{part.name}{op}}}", sh.site(part.line)) if kind not in ("P", "E") or "\\" in value else value
    sh.limit(f"operator {op!r} of an expansion is not understood", sh.site(part.line))
    return sh.hole(f"value of {part.name}", sh.site(part.line))


def _case(sh: Evaluator, part: Parameter, value: str) -> str:
    wanted = pattern(sh, part.argument) if part.argument else "?"
    change: Callable[[str], str] = str.upper if part.op[0] == "^" else str.lower if part.op[0] == "," else str.swapcase
    if len(part.op) == 1:
        return change(value[:1]) + value[1:] if value and patterns.matches(value[0], wanted) else value
    if wanted == "?":
        return change(value)
    return "".join(change(char) if patterns.matches(char, wanted) else char for char in value)


_SAFE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+\Z")


def quoted(value: str) -> str:
    """``${x@Q}``."""
    return "'" + value.replace("'", "'\\''") + "'"


def printf_quoted(value: str) -> str:
    """``printf %q``."""
    if not value:
        return "''"
    if "\n" in value or "\t" in value:
        body = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t")
        return f"$'{body}'"
    return re.sub(r"[^A-Za-z0-9_@%+=:./\-\x80-\U0010ffff]", r"\\\g<0>", value) if not _SAFE.match(value) or "," in value else value


def glob(sh: Evaluator, wanted: str, plain: str) -> list[str]:
    """The paths that match a pattern; the word itself where there is none (nothing with ``nullglob``); a hole where nobody can know."""
    if patterns.literal(wanted) is not None or ("]" not in wanted and _WILD.search(wanted) is None):
        return [plain]
    absolute = wanted.startswith("/")
    components = wanted.split("/")
    found: list[tuple[str, str]] = [("/", "/")] if absolute else [("", sh.cwd)]
    for number, component in enumerate(components):
        if component == "" and number < len(components) - 1:
            continue
        last = number == len(components) - 1
        only = patterns.literal(component)
        following: list[tuple[str, str]] = []
        for shown, directory in found:
            if only is not None:
                path = sh.absolute(directory + "/" + only) if only else directory
                kind = sh.files.kind(path)
                if kind == "unknown" and last:
                    return _files_matching(sh, plain)
                if kind in ("file", "dir") or (kind == "unknown" and not last):
                    following.append((f"{shown}{only}" + ("" if last else "/"), path))
                continue
            kind = sh.files.kind(directory)
            if kind in ("file", "missing"):
                continue
            names = sh.files.list(directory)
            if names is None:
                return _files_matching(sh, plain)
            for name in names:
                if name.startswith(".") and not component.startswith((".", "\\.")) and "dotglob" not in sh.options:
                    continue
                if patterns.matches(name, component):
                    path = sh.absolute(directory + "/" + name)
                    if last or sh.files.kind(path) != "file":
                        following.append((f"{shown}{name}" + ("" if last else "/"), path))
        found = following
        if len(found) > _MAX_WORDS:
            raise Bound("too many files", sh.site_now)
    if found:
        return sorted(shown for shown, _ in found)
    return [] if "nullglob" in sh.options else [plain]


def _files_matching(sh: Evaluator, plain: str) -> list[str]:
    sh.unsure = True
    return [sh.hole(f"files matching {plain}", sh.site_now)]


def heredoc(sh: Evaluator, word: Word, first: int) -> tuple[str, tuple[int, ...]]:
    """The text of a here-document and the script line of each of its lines."""
    out: list[str] = []
    lines: list[int] = []
    current = first
    for part in word.parts:
        if isinstance(part, Literal):
            out.append(part.text)
            for _ in range(part.text.count("\n")):
                lines.append(current)
                current += 1
        else:
            value = part_text(sh, part)
            line = getattr(part, "line", current)
            current = max(current, line)
            lines.extend([current] * value.count("\n"))
            out.append(value)
    result = "".join(out)
    if result and not result.endswith("\n"):
        lines.append(current)
    return result, tuple(lines)


def unescape(text_: str) -> str:
    """``text_`` with holes shown as ``?`` (messages)."""
    return HOLE.sub("?", text_)
