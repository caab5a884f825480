"""``grep`` and ``sed``."""

from __future__ import annotations

import fnmatch
import posixpath
import re

from reviewbot.trace.commands.support import (
    Input,
    NotKnown,
    Options,
    edits,
    error,
    inputs,
    may_have_lines,
    options,
    own_hole_lines,
    split_lines,
    witnessed,
)
from reviewbot.trace.effects import EditCommand, OpaqueEdit
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.filesystem import line_count
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.text.regex import Kind, Regex, Undecided, compile_regex
from reviewbot.trace.text.sed import parse_sed
from reviewbot.trace.values import is_known

_GREP_LONG = (
    "extended-regexp=E fixed-strings=F basic-regexp=G perl-regexp=P ignore-case=i invert-match=v word-regexp=w line-regexp=x count=c "
    "files-with-matches=l files-without-match=L only-matching=o quiet=q silent=q no-messages=s line-number=n no-filename=h with-filename=H "
    "recursive=r text=a"
)


def grep(invocation: Invocation) -> Outcome:
    name = posixpath.basename(invocation.argv[0])
    words = [re.sub(r"^--colou?r(=.*)?$", "--text", word) if word.startswith("--colo") else word for word in invocation.argv[1:]]
    found = options(words, "EFGPivwxclLoqsnhHrRaI", "efmABC", _GREP_LONG, "regexp=e file=f max-count=m include exclude exclude-dir "
                    "after-context=A before-context=B context=C")
    if any(option in found for option in ("f", "exclude", "exclude-dir")):
        raise NotKnown
    context = [found.last(letter, found.last("C", "0")) for letter in "BA"]
    if not all(re.fullmatch(r"\d{1,6}", size) for size in context):
        raise NotKnown
    behind_before = (int(context[0]), int(context[1]))
    operands = list(found.operands)
    if "e" in found:
        patterns = "\n".join(found.all("e")).split("\n")
    elif operands:
        patterns = operands.pop(0).split("\n")
    else:
        return Outcome(2)
    kind: Kind = "pcre" if "P" in found else "ere" if "E" in found or name == "egrep" else "bre"
    fixed = "F" in found or name == "fgrep"
    limit = int(found.last("m")) if found.last("m").isdigit() else None
    if "m" in found and limit is None:
        raise NotKnown
    if "w" in found and "o" in found:
        raise NotKnown
    if not all(is_known(pattern) for pattern in patterns):
        return _literal_hole(invocation, found, patterns, operands)
    if "P" in found and len(patterns) > 1:
        raise NotKnown
    regexes: list[Regex] = []
    for pattern in patterns:
        regex = compile_regex(pattern, kind, "i" in found, fixed, "w" in found, "x" in found)
        if regex is None:
            raise NotKnown
        regexes.append(regex)
    recursive = "r" in found or "R" in found
    texts, missing, unsure = _sources(invocation, operands, recursive, found.all("include"))
    named = ("H" in found or (recursive or len(operands) > 1)) and "h" not in found
    out: list[str] = []
    origins: list[LineOrigin] = []
    matched = False
    for one in texts:
        try:
            chosen = _lines(invocation, one, regexes, found, limit)
        except Undecided:
            text = one.content.text
            plain = "o" in found and "c" not in found and "n" not in found and not named and limit is None and len(texts) == 1
            plain = plain and not any(behind_before)
            result = witnessed(text, invocation.shell.holes, lambda t: _plain_run(t, regexes, found)) if plain or "q" not in found else None
            if result is None or named or "c" in found or "l" in found or "n" in found or limit is not None or len(texts) > 1:
                raise NotKnown from None
            status = 0 if result else 1
            return Outcome(status, "" if "q" in found else result)
        matched = matched or bool(chosen)
        prefix = f"{one.name}:" if named else ""
        if "q" in found:
            continue
        if "l" in found or "L" in found:
            if bool(chosen) == ("l" in found):
                out.append(one.name + "\n")
        elif "c" in found:
            if may_have_lines(one.content.text, invocation.shell.holes):
                raise NotKnown
            out.append(f"{prefix}{len(chosen)}\n")
        elif any(behind_before) and "o" not in found:
            out.extend(_with_context(one, [index for index, _ in chosen], behind_before, named, "n" in found, bool(out)))
        else:
            for index, pieces in chosen:
                number = f"{index + 1}:" if "n" in found else ""
                for piece in pieces:
                    out.append(f"{prefix}{number}{piece}\n")
                    origins.append(one.content.origins[index])
    if unsure and not (matched and "q" in found):
        raise NotKnown
    stderr = "" if "s" in found else "".join(f"grep: {one}: No such file or directory\n" for one in missing)
    status = 0 if matched and ("q" in found or not missing) else 2 if missing else 0 if matched else 1
    if "L" in found:
        raise NotKnown
    return Outcome(status, "".join(out), stderr, tuple(origins) if len(origins) == len(out) and not named else None)


def _with_context(one: Input, chosen: list[int], sizes: tuple[int, int], named: bool, numbered: bool, later: bool) -> list[str]:
    """Chosen lines with ``sizes`` lines before and behind, and ``--`` between groups."""
    lines = split_lines(one.content.text)
    out: list[str] = []
    matches = set(chosen)
    shown = -1
    for index in chosen:
        start = max(index - sizes[0], 0)
        if start > shown + 1 if shown >= 0 else later:
            out.append("--\n")
        for number in range(max(start, shown + 1), min(index + sizes[1] + 1, len(lines))):
            mark = ":" if number in matches else "-"
            out.append((f"{one.name}{mark}" if named else "") + (f"{number + 1}{mark}" if numbered else "") + lines[number] + "\n")
            shown = number
    return out


def _literal_hole(invocation: Invocation, found: Options, patterns: list[str], operands: list[str]) -> Outcome:
    """A pattern with a hole: only the plain presence of that very text can be seen (``grep -q "$JOB_ID"``)."""
    if len(patterns) == 1 and "q" in found and "v" not in found and not re.search(r"[\\^$.*\[\]+?{}|()]", patterns[0]):
        texts, missing = inputs(invocation, operands)
        if not missing and any(patterns[0] in one.content.text for one in texts):
            return Outcome(0)
        if not missing and all(not one.content.text for one in texts):
            return Outcome(1)
    raise NotKnown


def _sources(invocation: Invocation, operands: list[str], recursive: bool, include: list[str]) -> tuple[list[Input], list[str], bool]:
    if not recursive:
        texts, missing = inputs(invocation, operands)
        return texts, missing, False
    files = invocation.shell.files
    texts = []
    missing = []
    unsure = False
    for operand in operands or ["."]:
        root = invocation.shell.absolute(operand)
        kind = files.kind(root)
        if kind == "missing":
            missing.append(operand)
            continue
        walked = [(root, "file")] if kind == "file" else files.walk(root)
        if walked is None:
            unsure = True
            continue
        for path, kind in walked:
            if kind != "file" or (include and not any(fnmatch.fnmatchcase(posixpath.basename(path), pattern) for pattern in include)):
                continue
            content = files.read_text(path)
            if content is None:
                unsure = True
            else:
                shown = operand.rstrip("/") + path[len(root) :] if operands else path[len(root) + 1 :]
                texts.append(Input(shown, path, content))
    return texts, missing, unsure


def _lines(invocation: Invocation, one: Input, regexes: list[Regex], found: Options, limit: int | None) -> list[tuple[int, list[str]]]:
    text = one.content.text
    lines = split_lines(text)
    if not one.path and own_hole_lines(text, invocation.shell.holes):
        raise Undecided
    chosen: list[tuple[int, list[str]]] = []
    doubtful = False
    for index, line in enumerate(lines):
        answers = [regex.test(line) for regex in regexes]
        answer = True if True in answers else None if None in answers else False
        if answer is None:
            if "q" not in found:
                raise Undecided
            doubtful = True
            continue
        if answer == ("v" in found):
            continue
        pieces = [line]
        if "o" in found and "v" not in found and "q" not in found and "c" not in found and "l" not in found:
            pieces = _occurrences(line, regexes)
        chosen.append((index, pieces))
        if limit is not None and len(chosen) >= limit:
            break
        if "q" in found or "l" in found:
            break
    if doubtful and not chosen:
        raise Undecided
    return chosen


def _occurrences(line: str, regexes: list[Regex]) -> list[str]:
    if any(regex.touches(line) for regex in regexes):
        raise Undecided
    pieces: list[str] = []
    at = 0
    while at <= len(line):
        best: tuple[int, int] | None = None
        for regex in regexes:
            match = regex.search(line, at)
            if match is not None and (best is None or (match.start, -match.end) < (best[0], -best[1])):
                best = (match.start, match.end)
        if best is None:
            break
        if best[1] > best[0]:
            pieces.append(line[best[0] : best[1]])
            at = best[1]
        else:
            at = max(best[0], at) + 1
    return pieces


def _plain_run(text: str, regexes: list[Regex], found: Options) -> str | None:
    out: list[str] = []
    for line in split_lines(text):
        if any(regex.test(line) for regex in regexes) == ("v" in found):
            continue
        try:
            out.extend(piece + "\n" for piece in (_occurrences(line, regexes) if "o" in found and "v" not in found else [line]))
        except Undecided:
            return None
    return "".join(out)


def sed(invocation: Invocation) -> Outcome:
    words: list[str] = []
    in_place: str | None = None
    taking = False
    for word in invocation.argv[1:]:
        cluster = re.fullmatch(r"-([nErszu]*)i(.*)", word, re.DOTALL) if not taking else None
        long = re.fullmatch(r"--in-place(?:=(.*))?", word) if not taking else None
        if "--" in words:
            cluster = long = None
        if cluster:
            in_place = cluster[2]
            if cluster[1]:
                words.append("-" + cluster[1])
        elif long:
            in_place = long[1] or ""
        else:
            words.append(word)
            taking = not taking and word in ("-e", "-f", "--expression", "--file")
    found = options(
        words,
        "nErszu",
        "efl",
        "quiet=n silent=n regexp-extended=E separate=s null-data=z unbuffered=u sandbox posix",
        "expression=e file=f",
    )
    operands = list(found.operands)
    scripts = list(found.all("e"))
    understood = not any(option in found for option in ("z", "l", "posix"))
    if "f" in found:
        if scripts or len(found.all("f")) > 1:
            raise NotKnown
        content = invocation.shell.files.read_text(invocation.shell.absolute(found.last("f")))
        if content is None:
            raise NotKnown
        scripts = [content.text.removesuffix("\n")]
    elif not scripts:
        if not operands:
            return Outcome(1)
        scripts = [operands.pop(0)]
    program = parse_sed(scripts, "E" in found or "r" in found, "n" in found) if understood else None
    if in_place is not None:
        return _in_place(invocation, "\n".join(scripts), program, operands, in_place)
    if program is None:
        raise NotKnown
    if "s" in found and len(operands) > 1:
        raise NotKnown
    texts, missing = inputs(invocation, operands)
    if len(texts) > 1 and any(one.content.text and not one.content.text.endswith("\n") for one in texts[:-1]):
        raise NotKnown
    text = "".join(one.content.text for one in texts)
    origins = tuple(origin for one in texts for origin in one.content.origins)
    stdin = any(not one.path for one in texts)
    result = None if stdin and own_hole_lines(text, invocation.shell.holes) else program.run(text)
    stderr = "".join(f"sed: can't read {name}: No such file or directory\n" for name in missing)
    if result is None:

        def run(plain: str) -> str | None:
            answer = program.run(plain)
            return None if answer is None or answer.status else answer.text

        printed = witnessed(text, invocation.shell.holes, run)
        if printed is None:
            raise NotKnown
        return Outcome(2 if missing else 0, printed, stderr)
    lines = tuple(
        origins[index] if index is not None and index < len(origins) else LineOrigin(None, ((invocation.site, None),))
        for index in result.origins
    )
    return Outcome(2 if missing else result.status, result.text, stderr, lines if line_count(result.text) == len(lines) else None)


def _in_place(invocation: Invocation, script: str, program: object, operands: list[str], suffix: str) -> Outcome:
    files = invocation.shell.files
    status: int | None = 0
    stderr = ""
    done: list[str] = []
    counts: list[int] = []
    if not operands:
        return error(invocation, "no input files", 1)
    for name in operands:
        path = invocation.shell.absolute(name)
        kind = files.kind(path)
        if kind in ("missing", "dir"):
            stderr += (
                f"sed: can't read {name}: No such file or directory\n"
                if kind == "missing"
                else f"sed: couldn't edit {name}: not a regular file\n"
            )
            status = 2 if kind == "missing" else 4
            if kind == "missing":
                invocation.shell.missing(name, "sed", invocation.site)
            continue
        content = files.read_text(path)
        if suffix and "*" not in suffix:
            files.copy_file(path, path + suffix)
        result = program.run(content.text) if program is not None and content is not None else None  # type: ignore[attr-defined]
        if result is None:
            if kind == "unknown":
                invocation.shell.assume(f"{name} exists", invocation.site)
            else:
                if content is not None:
                    invocation.shell.limit(f"the result of sed on {name} is not computed", invocation.site)
                invocation.shell.emit(OpaqueEdit(path, invocation.argv, invocation.site))
            files.write(path, None)
            continue
        assert content is not None
        lines = split_lines(result.text)
        effects, origins = edits(path, content, lines, result.origins, invocation.site)
        for effect in effects:
            invocation.shell.emit(effect)
        done.append(path)
        counts.append(len(effects))
        if result.text != content.text:
            files.write(path, FileText(result.text, origins))
        if result.status:
            status = result.status
            break
    if done:
        invocation.shell.emit(EditCommand(script, tuple(done), tuple(counts), invocation.site))
    return Outcome(status, "", stderr)
