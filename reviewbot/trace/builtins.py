"""Builtins of the shell: what changes the shell itself, or is asked so often that it must be fast."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Assignment, Declaration, Word
from reviewbot.trace import arithmetic, conditions, expand
from reviewbot.trace.control import Break, Continue, Exit, Return
from reviewbot.trace.effects import Variable
from reviewbot.trace.state import NULL, Array, Reference, Source
from reviewbot.trace.values import HOLE, is_known

if TYPE_CHECKING:
    from reviewbot.trace.shell import Evaluator

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "e": "\x1b", "E": "\x1b"}


def _true(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    return 0


def _false(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    return 1


def _echo(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    at = 1
    newline, escapes = True, False
    while at < len(argv) and re.fullmatch("-[neE]+", argv[at]):
        for letter in argv[at][1:]:
            if letter == "n":
                newline = False
            else:
                escapes = letter == "e"
        at += 1
    text = " ".join(argv[at:])
    if escapes and "\\" in text:
        text, ended = _unescape(text, echo=True)
        newline = newline and not ended
    sh.write(1, text + "\n" if newline else text)
    return 0


def _unescape(text: str, echo: bool) -> tuple[str, bool]:
    """Backslash sequences of ``echo -e`` or ``printf``; true where ``\\c`` ends the output."""
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        if char != "\\" or index + 1 >= len(text):
            out.append(char)
            index += 1
            continue
        following = text[index + 1]
        index += 2
        if following in _ESCAPES:
            out.append(_ESCAPES[following])
        elif following == "c":
            return "".join(out), True
        elif following in ("x", "u", "U"):
            found = re.match(f"[0-9a-fA-F]{{1,{2 if following == 'x' else 4 if following == 'u' else 8}}}", text[index:])
            if found:
                code = int(found.group(), 16)
                out.append(chr(code) if code < 0xF0000 and not 0xD800 <= code < 0xE000 else "\ufffd")
                index += found.end()
            else:
                out.append("\\" + following)
        elif following in "01234567":
            found = re.match("[0-7]{1,3}", text[index:] if following == "0" and echo else text[index - 1:])
            if found is None:
                out.append("\0")
            else:
                out.append(chr(int(found.group(), 8) & 255))
                index += found.end() - (0 if following == "0" and echo else 1)
        elif following in ("'", '"', "?") and not echo:
            out.append(following)
        else:
            out.append("\\" + following)
    return "".join(out), False


_CONVERSION = re.compile(r"%(?:%|([-+ #0]*)(\*|[0-9]+)?(?:\.(\*|[0-9]*))?(\([^)]*\)T|[a-zA-Z]))")


def _printf(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = argv[1:]
    target: str | None = None
    if len(words) >= 2 and words[0] == "-v":
        target = words[1]
        words = words[2:]
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        sh.complain("printf: usage: printf [-v var] format [arguments]")
        return 2
    text, status = _format(sh, words[0], words[1:], site)
    if target is None:
        sh.write(1, text)
    else:
        name, _, index = target.partition("[")
        if index:
            sh.assign_element(name, index[:-1], text, site)
        else:
            sh.assign(name, text, site)
    return status


def _format(sh: Evaluator, pattern: str, arguments: list[str], site: Site) -> tuple[str, int]:
    out: list[str] = []
    status = 0
    at = 0
    size = 0
    while True:
        start = at
        position = 0
        used = False
        for found in _CONVERSION.finditer(pattern):
            piece, ended = _unescape(pattern[position:found.start()], echo=False)
            out.append(piece)
            position = found.end()
            if ended:
                return "".join(out), status
            if found.group() == "%%":
                out.append("%")
                continue
            used = True
            flags, width, precision, kind = found.group(1) or "", found.group(2), found.group(3), found.group(4)
            if width == "*":
                width = arguments[at] if at < len(arguments) else "0"
                at += 1
            if precision == "*":
                precision = arguments[at] if at < len(arguments) else "0"
                at += 1
            value = arguments[at] if at < len(arguments) else None
            at += 1
            text, bad, ended = _convert(sh, kind, flags, width, precision, value, site)
            out.append(text)
            size += len(text)
            status = 1 if bad else status
            if ended:
                return "".join(out), status
        piece, ended = _unescape(pattern[position:], echo=False)
        out.append(piece)
        size += len(piece)
        if ended or at >= len(arguments) or not used or at == start or size > sh.settings.bounds.text:
            return "".join(out), status


def _convert(sh: Evaluator, kind: str, flags: str, width: str | None, precision: str | None, value: str | None,
             site: Site) -> tuple[str, bool, bool]:
    bad = ended = False
    columns = min(int(width), 100_000) if width and width.lstrip("-").isdigit() else 0
    if columns < 0:
        flags, columns = flags + "-", -columns
    if kind in ("s", "b", "q", "c"):
        text = value or ""
        if kind == "b":
            text, ended = _unescape(text, echo=True)
        elif kind == "q":
            text = expand.printf_quoted(text)
        elif kind == "c":
            text = text[:1]
        if precision is not None and kind == "s" and is_known(text):
            text = text[:int(precision or "0")] if (precision or "0").isdigit() else text
        return (text.ljust(columns) if "-" in flags else text.rjust(columns)), bad, ended
    if value is not None and not is_known(value):
        if kind in ("d", "i", "u") and not columns:
            return value, False, False
        return sh.hole("formatted number", site, nonempty=True), False, False
    if kind in ("d", "i", "u", "x", "X", "o"):
        number, bad = _number(value)
        digits = {"x": "x", "X": "X", "o": "o"}.get(kind, "d")
        shown = format(abs(number), digits)
        if precision is not None and precision.isdigit():
            shown = shown.rjust(min(int(precision), 1000), "0")
        if "#" in flags and digits in "xX" and number:
            shown = "0" + digits + shown
        sign = "-" if number < 0 else "+" if "+" in flags else " " if " " in flags else ""
        if "0" in flags and "-" not in flags and precision is None:
            shown = shown.rjust(columns - len(sign), "0")
        text = sign + shown
        return (text.ljust(columns) if "-" in flags else text.rjust(columns)), bad, False
    if kind in ("f", "F", "e", "E", "g", "G"):
        try:
            real = float(value or "0")
        except ValueError:
            real, bad = 0.0, True
        places = min(int(precision), 60) if precision is not None and precision.isdigit() else 0 if precision is not None else 6
        try:
            text = f"%{flags}.{places}{kind}" % real
        except (ValueError, OverflowError):
            return sh.hole("formatted number", site, nonempty=True), False, False
        if "0" in flags and "-" not in flags:
            text = text.zfill(columns)
        return (text.ljust(columns) if "-" in flags else text.rjust(columns)), bad, False
    if kind.endswith("T"):
        return sh.hole("time", site, nonempty=True, witness=sh.settings.witnesses.get("date")), False, False
    return "", True, False


def _number(value: str | None) -> tuple[int, bool]:
    if not value:
        return 0, False
    text = value.strip()
    if text[:1] in ("'", '"'):
        return (ord(text[1]) if len(text) > 1 else 0), False
    found = re.match(r"[-+]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)", text)
    if not found or len(text) > 40:
        return 0, True
    digits = found.group()
    sign = -1 if digits[0] == "-" else 1
    body = digits.lstrip("+-")
    number = int(body, 16) if body[:2] in ("0x", "0X") else int(body, 8) if body[0] == "0" else int(body)
    return sign * number, found.end() != len(text)


def _cd(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = [word for word in argv[1:] if word not in ("-P", "-L", "--", "-e")]
    target = words[0] if words else sh.lookup("HOME") or ""
    if target == "-":
        target = sh.lookup("OLDPWD") or sh.cwd
        sh.write(1, target + "\n")
    if not target:
        return 0
    path = sh.absolute(target)
    kind = sh.files.kind(path)
    if kind == "file":
        sh.complain(f"cd: {target}: Not a directory")
        return 1
    if kind == "missing" and is_known(path):
        sh.complain(f"cd: {target}: No such file or directory")
        return 1
    if kind == "unknown":
        sh.assume(f"directory {target} exists", site)
    sh.assign("OLDPWD", sh.cwd, site, record=False)
    if path != sh.cwd:
        sh.mutations += 1
    sh.cwd = path
    return 0


def _pushd(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    old = sh.cwd
    words = [word for word in argv[1:] if not word.startswith("-n")]
    if not words:
        if not sh.directories:
            return 1
        words = [sh.directories.pop()]
    status = _cd(sh, ["cd", *words], site)
    if status == 0:
        sh.directories.append(old)
        sh.write(1, " ".join([sh.cwd, *reversed(sh.directories)]) + "\n")
    return status


def _popd(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if not sh.directories:
        sh.complain("popd: directory stack empty")
        return 1
    sh.cwd = sh.directories.pop()
    sh.mutations += 1
    sh.write(1, " ".join([sh.cwd, *reversed(sh.directories)]) + "\n")
    return 0


def _pwd(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    sh.write(1, sh.cwd + "\n")
    return 0


def _status_argument(sh: Evaluator, argv: list[str]) -> int | None:
    if len(argv) < 2:
        return sh.status
    text = argv[1].strip()
    if re.fullmatch("[-+]?[0-9]{1,18}", text):
        return int(text) & 255
    if not is_known(text):
        choices = sh.alternatives(text)
        if choices is not None:
            statuses = {int(choice) & 255 if choice.isdigit() else -1 for choice in choices}
            if len(statuses) == 1 and -1 not in statuses:
                return statuses.pop()
        return None
    return 2


def _exit(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    raise Exit(_status_argument(sh, argv), site)


def _return(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if not sh.calls:
        sh.complain("return: can only `return' from a function or sourced script")
        return 2
    raise Return(_status_argument(sh, argv), site)


def _levels(argv: list[str]) -> int:
    return max(1, int(argv[1])) if len(argv) > 1 and argv[1].isdigit() and len(argv[1]) < 6 else 1


def _break(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if not sh.loops:
        return 0
    raise Break(_levels(argv))


def _continue(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if not sh.loops:
        return 0
    raise Continue(_levels(argv))


def _test(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = argv[1:]
    if argv[0] == "[":
        if not words or words[-1] != "]":
            sh.complain("[: missing `]'")
            return 2
        words = words[:-1]
    try:
        answer = conditions.bracket(sh, words)
    except conditions.TestSyntaxError as error:
        sh.complain(f"{argv[0]}: {error}")
        return 2
    return None if answer is None else 0 if answer else 1


def _export(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    """``export`` by words (``builtin export``, a keyword made by expansion)."""
    return _declare_words(sh, argv[0], list(argv[1:]), site)


def declare(sh: Evaluator, node: Declaration) -> None:
    """``export``, ``local``, ``declare``, ``typeset``, ``readonly``."""
    flags: set[str] = set()
    off: set[str] = set()
    printing = False
    for item in node.items:
        if isinstance(item, Word):
            static = item.static
            if static is not None and static[:1] in ("-", "+") and len(static) > 1:
                (flags if static[0] == "-" else off).update(static[1:])
                printing = printing or "p" in static
                continue
            for word in expand.words(sh, (item,), node.line):
                if word[:1] in ("-", "+") and len(word) > 1:
                    (flags if word[0] == "-" else off).update(word[1:])
                else:
                    _declare_word(sh, node.keyword, word, flags, off, sh.site(item.line))
        elif flags or off or item.array is not None or item.index is not None or item.append or not _plain(sh, node.keyword, item):
            _declare_assignment(sh, node.keyword, item, flags, off)
    if printing or not node.items:
        sh.write(1, sh.hole(f"output of {node.keyword}", sh.site(node.line)))
    sh.status = 0


def _plain(sh: Evaluator, keyword: str, item: Assignment) -> bool:
    """``local x=...`` and ``export x=...`` without options; false where it is another keyword."""
    if keyword == "export":
        exported: bool | None = True
    elif keyword == "local" and sh.frames:
        exported = None
    else:
        return False
    name = item.name
    value = "" if item.value is None else sh.text_of(item.value)  # before the name becomes local: local x=$x
    variables = sh.variables
    if exported is None:
        frame = sh.frames[-1]
        if name not in frame or variables.get(name) is frame[name]:
            sh.declare_local(name)
        if name in sh.integers:
            sh.integers = sh.integers - {name}
    if isinstance(variables.get(name), Array):
        sh.assign_element(name, "0", value, sh.site(item.line))
    else:
        sh.assign(name, value, sh.site(item.line), exported=exported)
    return True


def _declare_words(sh: Evaluator, keyword: str, words: list[str], site: Site) -> int | None:
    flags: set[str] = set()
    off: set[str] = set()
    for word in words:
        if word[:1] in ("-", "+") and len(word) > 1:
            (flags if word[0] == "-" else off).update(word[1:])
        else:
            _declare_word(sh, keyword, word, flags, off, site)
    return 0


def _is_local(sh: Evaluator, keyword: str, flags: set[str]) -> bool:
    return bool(sh.frames) and (keyword == "local" or (keyword in ("declare", "typeset") and "g" not in flags))


def _exported(keyword: str, flags: set[str], off: set[str]) -> bool | None:
    if keyword == "export":
        return "n" not in flags
    return True if "x" in flags else False if "x" in off else None


def _prepare(sh: Evaluator, keyword: str, name: str, flags: set[str], site: Site) -> None:
    if _is_local(sh, keyword, flags):
        if name not in sh.frames[-1] or sh.variables.get(name) is sh.frames[-1][name]:
            sh.declare_local(name)
    if "i" in flags:
        sh.integers = sh.integers | {name}
    if keyword in ("local", "declare", "typeset") and "i" not in flags and name in sh.integers and _is_local(sh, keyword, flags):
        sh.integers = sh.integers - {name}
    if "A" in flags or "a" in flags:
        if not isinstance(sh.variables.get(name), Array):
            old = sh.variables.get(name)
            items: dict[int | str, str] = {0: old.value} if isinstance(old, Variable) and "a" in flags else {}
            sh.variables[name] = Array(items, "A" in flags, site)


def _declare_word(sh: Evaluator, keyword: str, word: str, flags: set[str], off: set[str], site: Site) -> None:
    name, equals, value = word.partition("=")
    if name == "-" and keyword == "local":
        return
    if not _NAME.match(name):
        if not is_known(name):
            sh.limit(f"{keyword} of a name that is not known", site)
        return
    if "n" in flags and keyword != "export":
        if _is_local(sh, keyword, flags):
            sh.declare_local(name)
        if equals:
            sh.variables[name] = Reference(value)
        return
    if "f" in flags or "F" in flags:
        return
    _prepare(sh, keyword, name, flags, site)
    exported = _exported(keyword, flags, off)
    if equals:
        sh.assign(name, value, site, exported=exported)
    elif exported is not None:
        if name in sh.variables:
            sh.export(name, site, exported)
        else:
            sh.note_read(name)
            sh.marked = sh.marked | {name} if exported else sh.marked - {name}
    if keyword == "readonly" or "r" in flags:
        sh.readonly = sh.readonly | {name}


def _declare_assignment(sh: Evaluator, keyword: str, item: Assignment, flags: set[str], off: set[str]) -> None:
    site = sh.site(item.line)
    name = item.name
    if "n" in flags and keyword != "export":
        target = "" if item.value is None else sh.text_of(item.value)
        if _is_local(sh, keyword, flags):
            sh.declare_local(name)
        sh.variables[name] = Reference(target) if target != name else sh.variables.get(name) or Reference(target)
        return
    value: str | None = None
    if item.array is None and item.index is None and not item.append:
        value = "" if item.value is None else sh.text_of(item.value)  # before the name becomes local: local x=$x
    if item.array is not None and _is_local(sh, keyword, flags) and name in sh.variables and name not in sh.frames[-1]:
        outer = sh.variables[name]
        saved = sh.frames[-1]
        saved[name] = outer
        if "A" in flags:
            sh.variables.pop(name)
            _prepare(sh, keyword, name, flags, site)
        sh.perform(item)
        return
    _prepare(sh, keyword, name, flags, site)
    exported = _exported(keyword, flags, off)
    if value is not None:
        if isinstance(sh.variables.get(name), Array):
            sh.assign_element(name, "0", value, site)
        else:
            sh.assign(name, value, site, exported=exported)
    else:
        sh.perform(item, exported=exported)
        if exported:
            sh.export(name, site)
    if keyword == "readonly" or "r" in flags:
        sh.readonly = sh.readonly | {name}


def _unset(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    functions = False
    for word in argv[1:]:
        if word in ("-f", "-v", "-n"):
            functions = word == "-f"
        elif functions:
            sh.functions.pop(word, None)
        else:
            name, _, index = word.partition("[")
            if index:
                sh.unset(name, index[:-1])
            elif name in sh.variables:
                sh.unset(name)
            else:
                sh.note_read(name)
                sh.functions.pop(name, None)
    return 0


def _set(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = argv[1:]
    index = 0
    long_names = {"errexit": "e", "nounset": "u", "noglob": "f", "xtrace": "x", "allexport": "a", "noexec": "n",
                  "errtrace": "E"}
    while index < len(words):
        word = words[index]
        if word == "--":
            sh.positional, sh.unsure_positional = list(words[index + 1:]), sh.unsure
            return 0
        if word[:1] not in ("-", "+") or len(word) < 2:
            break
        index += 1
        for letter in word[1:]:
            if letter == "o":
                if index >= len(words):
                    return 0
                option = long_names.get(words[index], words[index])
                index += 1
            else:
                option = letter
            if word[0] == "-":
                sh.options.add(option)
            else:
                sh.options.discard(option)
    if index < len(words):
        sh.positional, sh.unsure_positional = list(words[index:]), sh.unsure
    return 0


def _shopt(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    names = [word for word in argv[1:] if not word.startswith("-")]
    letters = "".join(word[1:] for word in argv[1:] if word.startswith("-"))
    if "s" in letters:
        sh.options.update(names)
        return 0
    if "u" in letters:
        sh.options.difference_update(names)
        return 0
    return 0 if all(name in sh.options for name in names) else 1


def _shift(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    count = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() and len(argv[1]) < 9 else 1
    if sh.unsure_positional and count > sh.first_unsure(sh.positional) < len(sh.positional):
        sh.positional = [sh.hole("arguments", site)]
        sh.mutations += 1
        return None
    if count > len(sh.positional):
        return 1
    sh.positional = sh.positional[count:]
    sh.mutations += 1
    return 0


def _eval(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    text = " ".join(argv[1:])
    sh.status = 0
    if not is_known(text):
        plain = HOLE.sub("", text).strip()
        if not plain:
            sh.assume("eval of an unknown text changes nothing", site)
            return None
    sh.run_here(text, site)
    return sh.status


def _source(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if len(argv) < 2:
        return 2
    return sh.source_file(argv[1], argv[2:], site)


def _trap(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = argv[1:]
    if words and words[0] == "--":
        words = words[1:]
    if not words or (words[0].startswith("-") and len(words[0]) > 1):
        return 0
    action = words[0]
    signals = words[1:] or [words[0]]
    if len(words) == 1:
        action = "-"
    for signal in signals:
        signal = {"0": "EXIT"}.get(signal, signal.upper().removeprefix("SIG"))
        if action == "-":
            sh.traps.pop(signal, None)
        else:
            sh.traps[signal] = action
    return 0


def _read(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    raw = False
    delimiter = "\n"
    array: str | None = None
    names: list[str] = []
    count: int | None = None
    fd = 0
    words = list(argv[1:])
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        if word == "--":
            break
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter == "r":
                raw = True
            elif letter in "adinNptu":
                value = letters or (words.pop(0) if words else "")
                letters = ""
                if letter == "a":
                    array = value
                elif letter == "d":
                    delimiter = value[:1] or "\0"
                elif letter in "nN" and value.isdigit():
                    count = int(value)
                elif letter == "u" and value.isdigit():
                    fd = int(value[:6])
    names = words
    source = sh.fds.get(fd)
    ended = True
    if isinstance(source, Source):
        if source.position < len(source.text):
            sh.mutations += 1
        if count is not None:
            text = source.text[source.position:source.position + count]
            source.position += len(text)
            ended = len(text) == count
        else:
            text, ended = source.until(delimiter)
            while not raw and ended and text.endswith("\\") and delimiter == "\n" and not text.endswith("\\\\"):
                more, ended = source.until(delimiter)
                text = text[:-1] + more
        if not ended and text and not is_known(text) and HOLE.sub("", text) == "":
            ended = True  # an unknown text is read as one line
    elif source is NULL:
        text, ended = "", False
    else:
        text, ended = sh.hole("input", site), True
    if not raw:
        text = re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
    ifs = sh.separators()
    unsure = not is_known(text) and sh.may_split(text)
    sh.unsure_reads += unsure
    if array is not None:
        sh.set_array(array, _split(text, ifs), site, unsure)
    elif not names:
        sh.assign("REPLY", text, site)
    else:
        pieces = _pieces(text, ifs, len(names))
        if unsure and ifs and len(names) > 1:
            first = sh.first_unsure(pieces[:len(names)])
            shown = expand.unescape(text)[:40]
            pieces[first:] = [sh.hole(f"word {number} of {shown}", site) for number in range(first + 1, len(names) + 1)]
        for index, name in enumerate(names):
            value = pieces[index] if index < len(pieces) else ""
            base, _, subscript = name.partition("[")
            if subscript:
                sh.assign_element(base, subscript[:-1], value, site)
            elif _NAME.match(name):
                sh.assign(name, value, site)
    return 0 if ended else 1


def _split(text: str, ifs: str) -> list[str]:
    return _pieces(text, ifs, 0)


def _pieces(text: str, ifs: str, count: int) -> list[str]:
    """Fields of ``read``: the last of ``count`` names gets the rest (0: no limit)."""
    if not ifs:
        return [text] if text else []
    white = "".join(char for char in ifs if char in " \t\n")
    text = text.strip(white) if white else text
    out: list[str] = []
    index = 0
    while index < len(text):
        if count and len(out) == count - 1:
            rest = text[index:]
            if rest and rest[-1] in ifs and sum(char in ifs for char in rest) == 1:
                rest = rest[:-1]
            out.append(rest)
            return out
        start = index
        while index < len(text) and text[index] not in ifs:
            index += 1
        out.append(text[start:index])
        hard = False
        while index < len(text) and text[index] in ifs and not (hard and text[index] not in white):
            hard = hard or text[index] not in white
            index += 1
    return out


def _mapfile(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    strip = False
    delimiter = "\n"
    words = list(argv[1:])
    limit = 0
    while words and words[0].startswith("-") and len(words[0]) > 1:
        word = words.pop(0)
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter == "t":
                strip = True
            elif letter in "dnOsuCc":
                value = letters or (words.pop(0) if words else "")
                letters = ""
                if letter == "d":
                    delimiter = value[:1] or "\0"
                elif letter == "n" and value.isdigit():
                    limit = int(value)
    name = words[0] if words else "MAPFILE"
    text = sh.read_stdin()
    lines = text.split(delimiter)
    if lines and not lines[-1]:
        lines.pop()
        items = lines if strip else [line + delimiter for line in lines]
    else:
        items = lines if strip else [line + delimiter for line in lines[:-1]] + lines[-1:]
    if limit:
        items = items[:limit]
    sh.set_array(name, items, site, sh.may_split(text))
    return 0


def _getopts(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if len(argv) < 3:
        return 2
    spec, name = argv[1], argv[2]
    words = argv[3:] if len(argv) > 3 else list(sh.positional)
    place = sh.lookup("OPTIND") or "1"
    index = int(place) if place.isdigit() and len(place) < 6 else 1
    offset = int(sh.lookup("__OPTOFFSET") or "1")
    silent = spec.startswith(":")
    if index > len(words) or not words[index - 1].startswith("-") or words[index - 1] == "-":
        sh.assign(name, "?", site)
        return 1
    word = words[index - 1]
    if word == "--":
        sh.assign("OPTIND", str(index + 1), site)
        sh.assign(name, "?", site)
        return 1
    letter = word[offset:offset + 1]
    offset += 1
    at = spec.find(letter) if letter != ":" else -1
    status = 0
    if at < 0:
        sh.assign(name, "?", site)
        if silent:
            sh.assign("OPTARG", letter, site)
        else:
            sh.complain(f"illegal option -- {letter}")
            sh.unset("OPTARG")
    elif spec[at + 1:at + 2] == ":":
        rest = word[offset:]
        if rest:
            sh.assign("OPTARG", rest, site)
        elif index < len(words):
            index += 1
            sh.assign("OPTARG", words[index - 1], site)
        else:
            sh.assign(name, ":" if silent else "?", site)
            sh.assign("OPTARG", letter, site)
            sh.assign("OPTIND", str(index + 1), site)
            return 0
        offset = len(word)
        sh.assign(name, letter, site)
    else:
        sh.unset("OPTARG")
        sh.assign(name, letter, site)
    if offset >= len(word):
        index, offset = index + 1, 1
    sh.assign("OPTIND", str(index), site, record=False)
    sh.assign("__OPTOFFSET", str(offset), site, record=False)
    return status


def _let(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    result: int | None = 0
    for word in argv[1:]:
        try:
            result = arithmetic.of_text(sh, word, site.line)
        except arithmetic.ShellArithmeticError as error:
            sh.complain(f"let: {error}")
            return 1
    return None if result is None else 0 if result else 1


def _command(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = argv[1:]
    show = False
    while words and words[0] in ("-v", "-V", "-p", "--"):
        show = show or words[0] in ("-v", "-V")
        words = words[1:]
    if not words:
        return 0
    if not show:
        builtin = sh.context.builtins.get(words[0])
        if builtin is not None:
            return builtin(sh, list(words), site)
        sh.external(words, site)
        return sh.status
    statuses = [_locate(sh, word, site, True) for word in words]
    return 0 if 0 in statuses else None if None in statuses else 1


def _locate(sh: Evaluator, word: str, site: Site, path: bool) -> int | None:
    if word in sh.functions or word in sh.context.builtins:
        sh.write(1, word + "\n")
        return 0
    if word in sh.settings.installed:
        sh.write(1, f"/usr/bin/{word}\n" if path else word + "\n")
        return 0
    if "/" in word:
        kind = sh.files.kind(sh.absolute(word))
        if kind == "file":
            sh.write(1, word + "\n")
        return {"file": 0, "missing": 1, "dir": 1}.get(kind)
    sh.why = f"command -v {word}"
    return None


def _type(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    words = [word for word in argv[1:] if not word.startswith("-")]
    statuses = [_locate(sh, word, site, "-P" in argv or "-p" in argv) for word in words]
    return 1 if 1 in statuses else None if None in statuses else 0


def _builtin(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if len(argv) < 2:
        return 0
    found = sh.context.builtins.get(argv[1])
    return found(sh, argv[1:], site) if found is not None else 1


def _wait(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    if not [word for word in argv[1:] if not word.startswith("-")]:
        return 0
    sh.why = "status of a background job"
    return None


def _kill(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    sh.why = f"status of {' '.join(argv)}"
    return None


def _jobs(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    return 0


def _ulimit(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    return 0


def _umask(sh: Evaluator, argv: list[str], site: Site) -> int | None:
    return 0


BUILTINS: dict[str, Callable[[Evaluator, list[str], Site], int | None]] = {
    ":": _true, "true": _true, "false": _false, "echo": _echo, "printf": _printf, "cd": _cd, "pushd": _pushd, "popd": _popd, "pwd": _pwd,
    "exit": _exit, "return": _return, "break": _break, "continue": _continue, "[": _test, "test": _test, "export": _export,
    "local": _export,
    "declare": _export, "typeset": _export, "readonly": _export, "unset": _unset, "set": _set, "shopt": _shopt, "shift": _shift,
    "eval": _eval,
    "source": _source, ".": _source, "trap": _trap, "read": _read, "mapfile": _mapfile, "readarray": _mapfile, "getopts": _getopts,
    "let": _let,
    "command": _command, "type": _type, "builtin": _builtin, "wait": _wait, "kill": _kill, "jobs": _jobs, "disown": _jobs, "hash": _jobs,
    "ulimit": _ulimit, "umask": _umask, "alias": _jobs, "unalias": _jobs, "enable": _jobs, "times": _jobs, "dirs": _pwd,
}
