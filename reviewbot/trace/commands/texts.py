"""Commands that make text of text: ``cat``, ``echo``, ``printf``, ``cut``, ``tr``, ``head``, ``sort`` and their like."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from itertools import pairwise

from reviewbot.trace.commands.support import (
    NotKnown,
    error,
    inputs,
    join_lines,
    may_have_lines,
    options,
    own_hole_lines,
    split_lines,
    standard_input,
    witnessed,
)
from reviewbot.trace.files import LineOrigin
from reviewbot.trace.filesystem import written
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.values import HOLE, is_known


def cat(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "uAens", "", "number=n show-all=A show-ends=e squeeze-blank=s")
    if found.found:
        raise NotKnown
    pieces: list[str] = []
    origins: list[LineOrigin] = []
    texts, missing = inputs(invocation, found.operands)
    for one in texts:
        pieces.append(one.content.text)
        origins.extend(one.content.origins)
    known = all(piece.endswith("\n") or not piece for piece in pieces[:-1])
    stderr = "".join(f"cat: {name}: No such file or directory\n" for name in missing)
    return Outcome(1 if missing else 0, "".join(pieces), stderr, tuple(origins) if known else None)


_ECHO = {"\\": "\\", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def unescaped(text: str, octal_zero: bool = True) -> tuple[str, bool]:
    """Backslash escapes of ``echo -e`` and ``printf %b``: the text, and whether ``\\c`` ended it."""
    if "\\" not in text:
        return text, False
    out: list[str] = []
    at = 0
    while at < len(text):
        c = text[at]
        at += 1
        if c != "\\" or at >= len(text):
            out.append(c)
            continue
        c = text[at]
        at += 1
        if c == "c":
            return "".join(out), True
        if c in _ECHO:
            out.append(_ECHO[c])
            continue
        found = None
        if c == "x":
            found = re.compile("[0-9a-fA-F]{1,2}").match(text, at)
        elif c == "0" and octal_zero:
            found = re.compile("[0-7]{0,3}").match(text, at)
        elif c in "01234567" and not octal_zero:
            at -= 1
            found = re.compile("[0-7]{1,3}").match(text, at)
        elif c in "uU":
            found = re.compile("[0-9a-fA-F]{1,4}" if c == "u" else "[0-9a-fA-F]{1,8}").match(text, at)
        if found is None:
            out.append("\\" + c)
            continue
        value = int(found[0] or "0", 8 if c in "01234567" else 16)
        if (value > 127 and c not in "uU") or value > 0x10FFFF or value >= 0xF0000:
            raise NotKnown
        out.append(chr(value))
        at = found.end()
    return "".join(out), False


def echo(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    newline, escapes = True, False
    while words and re.fullmatch("-[neE]+", words[0]):
        for letter in words.pop(0)[1:]:
            if letter == "n":
                newline = False
            else:
                escapes = letter == "e"
    text = " ".join(words)
    if escapes:
        text, ended = unescaped(text)
        newline = newline and not ended
    return Outcome(0, text + ("\n" if newline else ""))


_DIRECTIVE = re.compile(r"%([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d+)?)?([diouxXeEfFgGcsbq%])|%\(([^)]*)\)T")


def _number(word: str) -> int:
    text = word.strip()
    if text[:1] in ("'", '"'):
        if len(text) != 2:
            raise NotKnown
        return ord(text[1])
    found = re.fullmatch(r"([+-]?)(0[xX][0-9a-fA-F]+|\d+)", text)
    if found is None:
        if not text:
            return 0
        raise NotKnown
    digits = found[2]
    value = int(digits, 16) if digits[:2] in ("0x", "0X") else int(digits, 8) if digits[0] == "0" and len(digits) > 1 else int(digits)
    return -value if found[1] == "-" else value


def quoted(text: str) -> str:
    """``printf %q``."""
    if not text:
        return "''"
    if not text.isascii() or any(ord(c) < 32 or ord(c) == 127 for c in text):
        raise NotKnown
    return re.sub(r"([^A-Za-z0-9_%+\-./:=@])", r"\\\1", text)


def formatted(template: str, words: Sequence[str]) -> str:
    """``printf``'s output. Raises ``NotKnown`` for errors and for numbers that are holes."""
    pending = list(words)
    out: list[str] = []
    if len(template) > 100_000:
        raise NotKnown
    while True:
        at = 0
        used = False
        while at < len(template):
            percent = template.find("%", at)
            end = len(template) if percent < 0 else percent
            text, ended = unescaped(template[at:end], octal_zero=False)
            out.append(text)
            if ended:
                raise NotKnown
            if percent < 0:
                break
            found = _DIRECTIVE.match(template, percent)
            if found is None or found[5] is not None:
                raise NotKnown
            at = found.end()
            flags, width, precision, letter = found[1], found[2], found[3], found[4]
            if letter == "%":
                out.append("%")
                continue
            has_precision = "." in found[0]
            if width == "*":
                width = str(_number(pending.pop(0) if pending else ""))
                used = True
            if precision == "*":
                precision = str(_number(pending.pop(0) if pending else ""))
                used = True
            word = pending.pop(0) if pending else ""
            used = True
            if letter in "sbqc":
                stop = False
                if letter == "b":
                    word, stop = unescaped(word)
                elif letter == "q":
                    word = quoted(word)
                elif letter == "c":
                    word = word[:1]
                if has_precision or (width and int(width)):
                    if not is_known(word):
                        raise NotKnown
                    if has_precision:
                        word = word[: int(precision or 0)]
                    size = int(width or 0)
                    if abs(size) > 10_000:
                        raise NotKnown
                    word = word.ljust(abs(size)) if "-" in flags or size < 0 else word.rjust(size)
                out.append(word)
                if stop:
                    return "".join(out)
                continue
            if HOLE.search(word):
                if found[0] in ("%d", "%i", "%s") and len(word) == 1:
                    out.append(word)  # the number as it is
                    continue
                raise NotKnown
            specification = "%" + flags + (width or "") + ("." + (precision or "0") if has_precision else "") + letter
            if len(width or "") > 4 or len(precision or "") > 3:
                raise NotKnown
            if letter in "diouxX":
                number = _number(word)
                if not -(2**63) <= number < 2**63 or (number < 0 and letter in "ouxX"):
                    raise NotKnown
                if "#" in flags:
                    raise NotKnown
                if has_precision and "0" in flags:
                    specification = specification.replace("0", "", 1)
                out.append(specification.replace("u", "d") % number)
            else:
                if not re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", word or "0"):
                    raise NotKnown
                out.append(specification % float(word or 0))
        if not pending or not used:
            return "".join(out)
        if len(out) > 200_000:
            raise NotKnown


def printf(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    if words and words[0] == "-v":
        raise NotKnown  # the shell's own; it sets the variable itself
    if words and words[0] == "--":
        words.pop(0)
    if not words or words[0].startswith("-"):
        raise NotKnown
    return Outcome(0, formatted(words[0], words[1:]))


def tee(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "aip", "", "append=a ignore-interrupts=i")
    content = standard_input(invocation)
    stderr = ""
    for name in found.operands:
        if name == "/dev/stderr":
            stderr += content.text
            continue
        path = invocation.shell.absolute(name)
        new = written(content.text, invocation.site)
        if "a" in found:
            invocation.shell.files.append(path, new)
        else:
            invocation.shell.files.write(path, new)
    return Outcome(0, content.text, stderr, content.origins)


def filtering(invocation: Invocation, names: Sequence[str], command: Callable[[str], str | None]) -> Outcome:
    """A command that reads all its input and prints ``command`` of it; ``NotKnown`` where holes have no witness that survives it."""
    texts, missing = inputs(invocation, names)
    text = "".join(one.content.text for one in texts)
    result = witnessed(text, invocation.shell.holes, command)
    if result is None:
        raise NotKnown
    name = posixpath.basename(invocation.argv[0])
    return Outcome(1 if missing else 0, result, "".join(f"{name}: {one}: No such file or directory\n" for one in missing))


def _ranges(text: str) -> list[tuple[int, int | None]]:
    result: list[tuple[int, int | None]] = []
    for part in text.split(","):
        found = re.fullmatch(r"(\d+)?(-)?(\d+)?", part)
        if found is None or not (found[1] or found[3]):
            raise NotKnown
        low = int(found[1] or 1)
        high = int(found[3]) if found[3] else None if found[2] else low
        if low < 1 or (high is not None and high < low) or (not found[2] and found[3]):
            raise NotKnown
        result.append((low, high))
    return result


def cut(invocation: Invocation) -> Outcome:
    found = options(
        invocation.argv[1:], "sn", "dfcb", "only-delimited=s complement", "delimiter=d fields=f characters=c bytes=b output-delimiter"
    )
    if "complement" in found or sum(letter in found for letter in "fcb") != 1:
        raise NotKnown
    if "f" not in found and ("d" in found or "s" in found):
        return error(invocation, "an input delimiter may be specified only when operating on fields")
    ranges = _ranges(found.last("f") or found.last("c") or found.last("b"))
    delimiter = found.last("d", "\t")
    if len(delimiter) != 1 or HOLE.match(delimiter):
        raise NotKnown
    joiner = found.last("output-delimiter", delimiter)

    def chosen(position: int) -> bool:
        return any(low <= position and (high is None or position <= high) for low, high in ranges)

    def run(text: str) -> str | None:
        out: list[str] = []
        for line in split_lines(text):
            if "f" not in found:
                if not line.isascii() or "output-delimiter" in found:
                    return None
                out.append("".join(c for position, c in enumerate(line, 1) if chosen(position)))
            elif delimiter not in line:
                if "s" not in found:
                    out.append(line)
            else:
                out.append(joiner.join(piece for position, piece in enumerate(line.split(delimiter), 1) if chosen(position)))
        return join_lines(out)

    return filtering(invocation, found.operands, run)


def _tr_set(text: str) -> list[str]:
    classes = {
        "alpha": str.isalpha,
        "digit": str.isdigit,
        "alnum": str.isalnum,
        "space": str.isspace,
        "upper": str.isupper,
        "lower": str.islower,
    }
    out: list[str] = []
    at = 0

    def one() -> str:
        nonlocal at
        c = text[at]
        at += 1
        if c == "\\" and at < len(text):
            c = text[at]
            at += 1
            octal = re.compile("[0-7]{1,3}").match(text, at - 1)
            if octal:
                at = octal.end()
                return chr(int(octal[0], 8))
            return _ECHO.get(c, c)
        return c

    while at < len(text):
        found = re.compile(r"\[:(\w+):\]").match(text, at)
        if found:
            if found[1] == "punct":
                out.extend(c for c in map(chr, range(33, 127)) if not c.isalnum())
            elif found[1] == "blank":
                out.extend("\t ")
            elif found[1] == "cntrl":
                out.extend(chr(n) for n in (*range(32), 127))
            elif found[1] not in classes:
                raise NotKnown
            else:
                out.extend(c for c in map(chr, range(128)) if classes[found[1]](c) and (found[1] != "space" or c in " \t\n\r\f\v"))
            at = found.end()
            continue
        if re.compile(r"\[(.)\*\d*\]|\[=.=\]", re.DOTALL).match(text, at):
            raise NotKnown
        low = one()
        if text[at : at + 1] == "-" and at + 1 < len(text):
            at += 1
            high = one()
            if high < low or ord(high) - ord(low) > 300:
                raise NotKnown
            out.extend(map(chr, range(ord(low), ord(high) + 1)))
        else:
            out.append(low)
    return out


def tr(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "cCds", "", "delete=d squeeze-repeats=s complement=c", permute=False)
    sets = [_tr_set(word) for word in found.operands]
    if not all(word.isascii() for word in found.operands):
        raise NotKnown
    complement = "c" in found or "C" in found
    delete, squeeze = "d" in found, "s" in found
    if len(sets) != (1 if (delete != squeeze) and len(sets) == 1 else 2) or (delete and len(sets) == 2 and not squeeze):
        raise NotKnown
    first = set(sets[0])

    def member(c: str) -> bool:
        return (c in first) != complement

    table: dict[str, str] = {}
    if len(sets) == 2 and not delete:
        if not sets[1] or (complement and len(set(sets[1])) != 1):
            raise NotKnown
        if "[:" in found.operands[1] and found.operands[1] not in ("[:upper:]", "[:lower:]"):
            raise NotKnown
        for index, c in enumerate(sets[0]):
            table[c] = sets[1][min(index, len(sets[1]) - 1)]
    squeezed = set(sets[1]) if len(sets) == 2 else first

    def run(text: str) -> str | None:
        if complement and any(not c.isascii() for c in text):
            return None
        out: list[str] = []
        for c in text:
            if delete:
                if member(c):
                    continue
            elif len(sets) == 2:
                c = (sets[1][-1] if member(c) else c) if complement else table.get(c, c)
            if squeeze and out and out[-1] == c and ((c in squeezed) if len(sets) == 2 else member(c)):
                continue
            out.append(c)
        return "".join(out)

    return filtering(invocation, [], run)


def _count(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"([+-]?)(\d+)", text)
    if found is None:
        raise NotKnown
    return found[1], int(found[2])


def _old_style(words: Sequence[str]) -> list[str]:
    """``head -5`` as ``head -n 5``."""
    out: list[str] = []
    for word in words:
        found = re.fullmatch(r"-(\d+)", word) if not out or out[-1] not in ("-n", "-c", "--lines", "--bytes") else None
        out.extend(["-n", found[1]] if found else [word])
    return out


def _ends(invocation: Invocation, head: bool) -> Outcome:
    words = _old_style(invocation.argv[1:])
    if not head and any(word.startswith(("--pid", "-s")) or word in ("-f", "-F", "--follow", "--retry") for word in words):
        for name in words:
            if not name.startswith("-") and not name.isdigit():
                invocation.shell.files.read_text(invocation.shell.absolute(name))
        return Outcome(0, invocation.shell.hole(f"output of {invocation.argv[0]}", invocation.site))
    found = options(words, "q", "nc", "quiet=q silent=q", "lines=n bytes=c")
    if (len(found.operands) > 1 and "q" not in found) or ("n" in found and "c" in found):
        raise NotKnown
    sign, count = _count(found.last("n") or found.last("c") or "10")
    texts, missing = inputs(invocation, found.operands)
    out: list[str] = []
    origins: list[LineOrigin] = []
    for one in texts:
        text = one.content.text
        if "c" in found:
            if not text.isascii():
                raise NotKnown
            size = len(text)
            if head:
                out.append(text[: max(size - count, 0)] if sign == "-" else text[:count])
            else:
                out.append(text[max(count - 1, 0) :] if sign == "+" else text[max(size - count, 0) :])
            continue
        lines = text.split("\n")
        complete = lines[-1] == ""
        if complete:
            lines.pop()
        size = len(lines)
        if head:
            chosen = range(max(size - count, 0) if sign == "-" else min(count, size))
        else:
            chosen = range(min(max(count - 1, 0), size) if sign == "+" else max(size - count, 0), size)
        if len(chosen) < size and own_hole_lines("\n".join(lines), invocation.shell.holes):
            raise NotKnown
        if not lines[0:1] and not text:
            continue
        if own_hole_lines("\n".join(lines), invocation.shell.holes):
            raise NotKnown
        body = "\n".join(lines[index] for index in chosen)
        if chosen and (complete or chosen[-1] < size - 1):
            body += "\n"
        out.append(body)
        origins.extend(one.content.origins[index] for index in chosen)
    result = "".join(out)
    name = "head" if head else "tail"
    stderr = "".join(f"{name}: cannot open '{one}' for reading: No such file or directory\n" for one in missing)
    return Outcome(1 if missing else 0, result, stderr, tuple(origins) if "c" not in found and len(texts) == 1 else None)


def head(invocation: Invocation) -> Outcome:
    return _ends(invocation, True)


def tail(invocation: Invocation) -> Outcome:
    return _ends(invocation, False)


def _numeric(text: str) -> float:
    found = re.match(r"[ \t]*(-?\d*\.?\d*)", text)
    digits = found[1] if found else ""
    return float(digits) if re.search(r"\d", digits) else 0.0


def _version_key(text: str) -> list[tuple[int, str, int]]:
    if not re.fullmatch(r"[A-Za-z0-9._\-]*", text) or "~" in text:
        raise NotKnown
    return [(0, part, 0) if not part.isdigit() else (1, "", int(part)) for part in re.findall(r"\d+|\D+", text)]


def _depends_on_locale(lines: Sequence[str]) -> bool:
    """Whether locales may order the lines differently. All agree where two neighbours first differ in digits, in letters of one case, or
    in a digit and a letter, and where one is the beginning of the other."""
    ordered = sorted(set(lines))
    for one, other in pairwise(ordered):
        a, b = next(((a, b) for a, b in zip(one, other, strict=False) if a != b), ("0", "1"))
        if not ((a.isdigit() and b.isalnum()) or (a.islower() and b.islower()) or (a.isupper() and b.isupper())):
            return True
    return False


def sort(invocation: Invocation) -> Outcome:
    found = options(
        invocation.argv[1:],
        "unrVfsbz",
        "kto",
        "unique=u numeric-sort=n reverse=r version-sort=V ignore-case=f stable=s zero-terminated=z",
        "key=k field-separator=t output=o",
    )
    if any(letter in found for letter in "ofb") or len(found.all("k")) > 1:
        raise NotKnown
    end_of_line = "\0" if "z" in found else "\n"
    get = invocation.shell.get
    by_bytes = (get("LC_ALL") or get("LC_COLLATE") or get("LANG") or "") in ("C", "POSIX", "C.UTF-8")
    key = found.last("k")
    flags = {letter for letter in "nrV" if letter in found}
    start, end = 0, None
    if key:
        parts = re.fullmatch(r"(\d+)([nrV]*)(?:,(\d+)([nrV]*))?", key)
        if parts is None or int(parts[1]) < 1:
            raise NotKnown
        start, end = int(parts[1]) - 1, int(parts[3]) if parts[3] else None
        own = set(parts[2] or "") | set(parts[4] or "")
        flags = own or flags
    separator = found.last("t")
    if separator and len(separator) != 1:
        raise NotKnown
    whole_reverse = "r" in found

    def field_of(line: str) -> str:
        if not key:
            return line
        pieces = line.split(separator) if separator else re.findall(r"[ \t]*[^ \t]+|[ \t]+$", line)
        return (separator or "").join(pieces[start:end])

    def run(text: str) -> str | None:
        lines = split_lines(text) if end_of_line == "\n" else text.removesuffix("\0").split("\0") if text else []
        if any(not line.isascii() for line in lines):
            return None
        keys: list[object] = [_numeric(field_of(line)) if "n" in flags else field_of(line) for line in lines]
        if not flags & {"n", "V"} and not by_bytes and _depends_on_locale([field_of(line) for line in lines]):
            return None
        if not by_bytes and not found.found.keys() & {"s", "u"} and len(set(keys)) < len(set(lines)) and _depends_on_locale(lines):
            return None  # equal keys are ordered by the whole line

        def compare(one: str, other: str) -> int:
            a, b = field_of(one), field_of(other)
            order = 0
            if "n" in flags:
                order = (_numeric(a) > _numeric(b)) - (_numeric(a) < _numeric(b))
            elif "V" in flags:
                order = (_version_key(a) > _version_key(b)) - (_version_key(a) < _version_key(b))
            else:
                order = (a > b) - (a < b)
            return -order if "r" in flags else order

        if "u" in found:
            unique: list[str] = []
            for line in sorted(lines, key=cmp_to_key(compare)):
                if not unique or compare(unique[-1], line):
                    unique.append(line)
            return "".join(line + end_of_line for line in unique)

        def full(one: str, other: str) -> int:
            order = compare(one, other)
            if order or "s" in found:
                return order
            order = (one > other) - (one < other)
            return -order if whole_reverse else order

        return "".join(line + end_of_line for line in sorted(lines, key=cmp_to_key(full)))

    return filtering(invocation, found.operands, run)


def uniq(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "cdui", "", "count=c repeated=d unique=u")
    if "i" in found or len(found.operands) > 1:
        raise NotKnown

    def run(text: str) -> str | None:
        groups: list[list[str]] = []
        for line in split_lines(text):
            if groups and groups[-1][0] == line:
                groups[-1].append(line)
            else:
                groups.append([line])
        chosen = [group for group in groups if ("d" not in found or len(group) > 1) and ("u" not in found or len(group) == 1)]
        return join_lines([f"{len(group):7d} {group[0]}" if "c" in found else group[0] for group in chosen])

    return filtering(invocation, found.operands, run)


def wc(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "lwcm", "", "lines=l words=w bytes=c chars=m")
    if len(found.operands) > 1 or len(found.found) != 1:
        raise NotKnown
    texts, missing = inputs(invocation, found.operands)
    if missing:
        return error(invocation, f"{missing[0]}: No such file or directory")
    text = texts[0].content.text
    if not is_known(text) and ("l" not in found or may_have_lines(text, invocation.shell.holes)):
        return Outcome(0, invocation.shell.hole("output of wc", invocation.site, nonempty=True, numeric=not found.operands) + "\n")
    if "l" in found:
        count = text.count("\n")
    elif "w" in found:
        if not text.isascii():
            raise NotKnown
        count = len(text.split())
    else:
        count = len(text.encode("utf-8", "surrogateescape")) if "c" in found else len(text)
    return Outcome(0, f"{count} {found.operands[0]}\n" if found.operands else f"{count}\n")


def paste(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "s", "d", "serial=s", "delimiters=d")
    delimiters = [_PASTE.get(one, one[-1]) for one in re.findall(r"\\.|[^\\]", found.last("d", "\t"), re.DOTALL)]
    names = found.operands or ["-"]
    if "s" not in found and set(names) == {"-"}:
        size = len(names)

        def columns(text: str) -> str | None:
            lines = split_lines(text)
            rows = [lines[at : at + size] for at in range(0, len(lines), size)]
            return join_lines([_pasted([*row, *[""] * (size - len(row))], delimiters) for row in rows])

        return filtering(invocation, ["-"], columns)
    texts, missing = inputs(invocation, names)
    if missing:
        return error(invocation, f"{missing[0]}: No such file or directory")
    if any(may_have_lines(one.content.text, invocation.shell.holes) for one in texts):
        raise NotKnown
    columns_of = [split_lines(one.content.text) for one in texts]
    if "s" in found:
        return Outcome(0, join_lines([_pasted(lines, delimiters) for lines in columns_of]))
    rows = [[lines[at] if at < len(lines) else "" for lines in columns_of] for at in range(max(map(len, columns_of)))]
    return Outcome(0, join_lines([_pasted(row, delimiters) for row in rows]))


_PASTE = {"\\n": "\n", "\\t": "\t", "\\0": "", "\\\\": "\\"}


def _pasted(items: Sequence[str], delimiters: Sequence[str]) -> str:
    out: list[str] = []
    for index, item in enumerate(items):
        if index:
            out.append(delimiters[(index - 1) % len(delimiters)] if delimiters else "")
        out.append(item)
    return "".join(out)


def rev(invocation: Invocation) -> Outcome:
    return filtering(
        invocation,
        options(invocation.argv[1:]).operands,
        lambda text: "\n".join(line[::-1] for line in text.split("\n")) if is_known(text) else None,
    )


def tac(invocation: Invocation) -> Outcome:
    def run(text: str) -> str | None:
        return join_lines(split_lines(text)[::-1]) if text.endswith("\n") or not text else None

    return filtering(invocation, options(invocation.argv[1:]).operands, run)


def seq(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    separator, width = "\n", False
    while words and words[0].startswith("-") and not re.fullmatch(r"-\d+", words[0]):
        word = words.pop(0)
        if word in ("-s", "--separator") and words:
            separator = words.pop(0)
        elif word.startswith(("-s", "--separator=")):
            separator = word[2:] if word[1] == "s" else word.partition("=")[2]
        elif word == "-w":
            width = True
        else:
            raise NotKnown
    if not 1 <= len(words) <= 3 or not all(re.fullmatch(r"[+-]?\d{1,9}", word) for word in words):
        raise NotKnown
    numbers = [int(word) for word in words]
    first, step, last = (1, 1, numbers[0]) if len(numbers) == 1 else (numbers[0], 1, numbers[1]) if len(numbers) == 2 else tuple(numbers)
    if not step or abs((last - first) // step) > 100_000:
        raise NotKnown
    out = [str(number) for number in range(first, last + (1 if step > 0 else -1), step)]
    if width:
        if any(number < 0 for number in numbers):
            raise NotKnown
        out = [text.zfill(max(len(str(number)) for number in (first, last))) for text in out]
    return Outcome(0, separator.join(out) + "\n" if out else "")


def basename_of(path: str) -> str:
    stripped = path.rstrip("/")
    return stripped.rpartition("/")[2] if stripped else "/" if path else ""


def dirname_of(path: str) -> str:
    stripped = path.rstrip("/")
    if not stripped:
        return "/" if path else "."
    head_, slash, _ = stripped.rpartition("/")
    if not slash:
        return "."
    return head_.rstrip("/") or "/"


def basename(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "az", "s", "multiple=a", "suffix=s", permute=False)
    words, suffix = found.operands, found.last("s")
    several = "a" in found or "s" in found
    if not words or "z" in found or (not several and len(words) > 2):
        raise NotKnown
    if not several and len(words) == 2:
        suffix = words.pop()
    out: list[str] = []
    for word in words:
        name = basename_of(word)
        if not _plain_ends(invocation, word, name):
            return Outcome(0, invocation.shell.hole("output of basename", invocation.site, nonempty=True) + "\n")
        if suffix and name.endswith(suffix) and name != suffix:
            name = name[: -len(suffix)]
        elif suffix and HOLE.search(name[-len(suffix) :]):
            raise NotKnown
        out.append(name)
    return Outcome(0, join_lines(out))


def _plain_ends(invocation: Invocation, word: str, name: str) -> bool:
    """Whether no hole of ``word`` that could hold a slash or be empty decides where its last component begins."""
    tail_ = word[len(word.rstrip("/")) - len(name) :] if name != "/" else word
    holes = [invocation.shell.holes.of(c) for c in HOLE.findall(tail_)]
    return all(hole.numeric or hole.witness is not None for hole in holes)


def dirname(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "z", "", "zero=z", permute=False)
    if not found.operands or "z" in found:
        raise NotKnown
    out: list[str] = []
    for word in found.operands:
        if not _plain_ends(invocation, word, basename_of(word)):
            return Outcome(0, invocation.shell.hole("output of dirname", invocation.site, nonempty=True) + "\n")
        out.append(dirname_of(word))
    return Outcome(0, join_lines(out))


def realpath(invocation: Invocation) -> Outcome:
    found = options(
        invocation.argv[1:], "mesLPqz", "", "canonicalize-missing=m canonicalize-existing=e no-symlinks=s", "relative-to relative-base"
    )
    if "z" in found or "relative-base" in found or not found.operands:
        raise NotKnown
    paths = [invocation.shell.absolute(word) for word in found.operands]
    if "e" in found and any(invocation.shell.files.kind(path) == "missing" for path in paths):
        return error(invocation, f"{found.operands[0]}: No such file or directory")
    if "relative-to" in found:
        base = invocation.shell.absolute(found.last("relative-to"))
        paths = [posixpath.relpath(path, base) for path in paths]
    return Outcome(0, join_lines(paths))


def readlink(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "femn", "", "canonicalize=f")
    if not any(letter in found for letter in "fem") or len(found.operands) != 1:
        raise NotKnown
    return Outcome(0, invocation.shell.absolute(found.operands[0]) + ("" if "n" in found else "\n"))


def digest(algorithm: str) -> Callable[[Invocation], Outcome]:
    """``sha256sum`` and its like."""

    def command(invocation: Invocation) -> Outcome:
        found = options(invocation.argv[1:], "bt")
        texts, missing = inputs(invocation, found.operands)
        out: list[str] = []
        for one in texts:
            if is_known(one.content.text):
                value = hashlib.new(algorithm, one.content.text.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()
            else:
                value = invocation.shell.hole(f"{algorithm} of a text that is not known", invocation.site, nonempty=True)
            out.append(f"{value}  {one.name}")
        return Outcome(1 if missing else 0, join_lines(out))

    return command
