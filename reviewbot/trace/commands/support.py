"""What the commands share: options, inputs, origins of lines, texts with holes."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Edit
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.filesystem import line_count, written
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.values import HOLE, Holes


class NotKnown(Exception):
    """The command is not understood here, or its result depends on something unknown: the outcome is unknown."""


@dataclass(slots=True)
class Options:
    """Options by canonical name (the first of its spellings), each with all its values (``""`` for a flag), and the other words."""

    found: dict[str, list[str]] = field(default_factory=dict)
    operands: list[str] = field(default_factory=list)

    def __contains__(self, name: str) -> bool:
        return name in self.found

    def last(self, name: str, default: str = "") -> str:
        return self.found[name][-1] if name in self.found else default

    def all(self, name: str) -> list[str]:
        return self.found.get(name, [])


def options(
    words: Sequence[str], flags: str = "", values: str = "", long_flags: str = "", long_values: str = "", *, permute: bool = True
) -> Options:
    """Getopt: ``flags`` and ``values`` are letters, the long forms are ``name`` or ``name=letter`` for the letter it stands for.

    With ``permute`` options may follow operands. Raises ``NotKnown`` for any other option.
    """
    longs = {name.partition("=")[0]: (name.partition("=")[2] or name.partition("=")[0]) for name in long_flags.split()}
    takers = {name.partition("=")[0]: (name.partition("=")[2] or name.partition("=")[0]) for name in long_values.split()}
    result = Options()
    at = 0
    words = list(words)
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            result.operands.extend(words[at:])
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name in longs and not equals:
                result.found.setdefault(longs[name], []).append("")
            elif name in takers:
                if not equals:
                    if at >= len(words):
                        raise NotKnown
                    value = words[at]
                    at += 1
                result.found.setdefault(takers[name], []).append(value)
            else:
                raise NotKnown
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in flags:
                    result.found.setdefault(letter, []).append("")
                elif letter in values:
                    if not letters:
                        if at >= len(words):
                            raise NotKnown
                        letters = words[at]
                        at += 1
                    result.found.setdefault(letter, []).append(letters)
                    letters = ""
                else:
                    raise NotKnown
        else:
            result.operands.append(word)
            if not permute:
                result.operands.extend(words[at:])
                break
    return result


def error(invocation: Invocation, text: str, status: int = 1) -> Outcome:
    return Outcome(status, "", f"{posixpath.basename(invocation.argv[0])}: {text}\n")


@dataclass(slots=True)
class Input:
    """A text that a command reads: ``path`` is empty for the standard input."""

    name: str
    path: str
    content: FileText


def standard_input(invocation: Invocation) -> FileText:
    text = invocation.stdin()
    return FileText(text, (LineOrigin(None, ((invocation.site, None),)),) * line_count(text))


def inputs(invocation: Invocation, names: Sequence[str]) -> tuple[list[Input], list[str]]:
    """The texts of the files named (the standard input for none and for ``-``) and the names of the missing ones.

    Raises ``NotKnown`` where a file's existence or content is unknown.
    """
    found: list[Input] = []
    missing: list[str] = []
    for name in names or ["-"]:
        if name == "-" or name in ("/dev/stdin", "/proc/self/fd/0"):
            found.append(Input(name, "", standard_input(invocation)))
            continue
        path = invocation.shell.absolute(name)
        content = invocation.shell.files.read_text(path)
        if content is None:
            if invocation.shell.files.kind(path) in ("missing", "dir"):
                missing.append(name)
                continue
            raise NotKnown
        found.append(Input(name, path, content))
    return found, missing


def split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def join_lines(lines: Sequence[str]) -> str:
    return "".join(line + "\n" for line in lines)


def own_hole_lines(text: str, holes: Holes) -> bool:
    """Whether a hole of ``text`` may stand for several lines: nothing but holes that are no single words on a line."""
    for line in text.split("\n"):
        found = HOLE.findall(line)
        if found and not HOLE.sub("", line):
            for c in found:
                hole = holes.of(c)
                if not (hole.numeric or hole.witness is not None):
                    return True
    return False


def may_have_lines(text: str, holes: Holes) -> bool:
    """Whether a hole of ``text`` may hold line ends: one that is neither a number nor of a known form."""
    return any(not (holes.of(c).numeric or holes.of(c).witness is not None) for c in HOLE.findall(text))


def witnessed(text: str, holes: Holes, command: Callable[[str], str | None]) -> str | None:
    """The result of a text command on a text whose holes all have digits as witness: the command runs on the witness and on another number,
    and only if both results say the same about the hole it stands. ``None`` where that fails."""
    found = sorted(set(HOLE.findall(text)))
    if not found:
        return command(text)
    results = []
    for turn in (0, 1):
        swapped = text
        back: list[tuple[str, str]] = []
        for index, c in enumerate(found):
            witness = holes.of(c).witness
            if witness is None or not witness.isdigit():
                return None
            number = f"{witness}{index}7" if turn == 0 else f"9{index}8{witness[::-1]}06"
            if number in HOLE.sub("", text):
                return None
            swapped = swapped.replace(c, number)
            back.append((number, c))
        result = command(swapped)
        if result is None:
            return None
        for number, c in back:
            result = result.replace(number, c)
        results.append(result)
    return results[0] if results[0] == results[1] else None


def edits(
    path: str, before: FileText, lines: Sequence[str], indexes: Sequence[int | None], site: Site
) -> tuple[list[Edit], tuple[LineOrigin, ...]]:
    """The ``Edit`` effects of a text command that turned ``before`` into ``lines``, and the new origins.

    ``indexes`` gives for every new line the old line that it came from.
    """
    old = split_lines(before.text)
    effects: list[Edit] = []
    origins: list[LineOrigin] = []
    kept = {index for index in indexes if index is not None}
    seen: set[int] = set()
    at = 0  # old lines up to here are told
    for line, index in zip(lines, indexes, strict=False):
        if index is not None and index < len(old) and index not in seen:
            for gone in range(at, index):
                if gone not in kept:
                    effects.append(Edit(path, gone + 1, old[gone], None, before.origins[gone].site, site))
            at = max(at, index + 1)
            seen.add(index)
            origin = before.origins[index]
            if line != old[index]:
                effects.append(Edit(path, index + 1, old[index], line, origin.site, site))
                origin = LineOrigin(origin.site, (*origin.by, (site, old[index])))
            origins.append(origin)
        else:
            effects.append(Edit(path, at or 1, None, line, None, site))
            origins.append(LineOrigin(None, ((site, None),)))
    for gone in range(at, len(old)):
        if gone not in kept:
            effects.append(Edit(path, gone + 1, old[gone], None, before.origins[gone].site, site))
    return effects, tuple(origins)


def target_of(invocation: Invocation, source: str, target: str) -> str:
    """Where ``cp``/``mv`` put ``source`` for the operand ``target`` (into it where it is a directory). Raises ``NotKnown``."""
    path = invocation.shell.absolute(target)
    if target.endswith("/") or invocation.shell.files.kind(path) == "dir":
        return posixpath.join(path, posixpath.basename(source.rstrip("/")) or "/")
    return path


def put(invocation: Invocation, path: str, text: str | None, origins: tuple[LineOrigin, ...] | None = None) -> None:
    """Write a file."""
    if text is None:
        invocation.shell.files.write(path, None)
    elif origins is not None and len(origins) == line_count(text):
        invocation.shell.files.write(path, FileText(text, origins))
    else:
        invocation.shell.files.write(path, written(text, invocation.site))
