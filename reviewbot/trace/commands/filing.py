"""Commands on files: ``cp``, ``mv``, ``rm``, ``mkdir``, ``ln``, ``touch``, ``chmod``, ``ls``, ``find``, ``mktemp``."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from reviewbot.trace.commands.support import NotKnown, error, join_lines, options, target_of
from reviewbot.trace.effects import Copy
from reviewbot.trace.filesystem import VirtualFiles, written
from reviewbot.trace.protocol import Invocation, Outcome
from reviewbot.trace.text.patterns import matches
from reviewbot.trace.values import is_known


def cp(invocation: Invocation) -> Outcome:
    found = options(
        invocation.argv[1:],
        "rRaTfpPvnLHdiul",
        "t",
        "recursive=r archive=a no-target-directory=T force=f preserve=p verbose=v no-clobber=n dereference=L update=u",
        "target-directory=t",
    )
    shell, files = invocation.shell, invocation.shell.files
    operands = list(found.operands)
    if "n" in found or "u" in found or "i" in found or "l" in found:
        raise NotKnown
    if "t" in found:
        target = found.last("t")
    elif len(operands) < 2:
        return error(invocation, "missing file operand")
    else:
        target = operands.pop()
    recursive = any(letter in found for letter in "rRa")
    plain = "T" in found
    if len(operands) > 1 and plain:
        return error(invocation, "extra operand")
    if len(operands) > 1 and files.kind(shell.absolute(target)) in ("missing", "file"):
        return error(invocation, f"target '{target}' is not a directory")
    status: int | None = 0
    stderr = ""
    for operand in operands:
        source = shell.absolute(operand)
        kind = files.kind(source)
        contents = operand.endswith("/.") or operand == "."
        if kind == "missing":
            stderr += f"cp: cannot stat '{operand}': No such file or directory\n"
            status = 1
            continue
        if kind == "dir" and not recursive:
            stderr += f"cp: -r not specified; omitting directory '{operand}'\n"
            status = 1
            continue
        where = shell.absolute(target) if plain or ("t" in found and not operand) else ""
        if not where:
            if "t" in found:
                where = posixpath.join(shell.absolute(target), posixpath.basename(source))
            elif contents:
                where = shell.absolute(target)
            else:
                where = target_of(invocation, source, target)
        if kind == "file" and files.kind(where) == "dir":
            stderr += f"cp: cannot overwrite directory '{target}' with non-directory\n"
            status = 1
            continue
        parent = posixpath.dirname(where)
        if files.kind(parent) == "missing":
            stderr += f"cp: cannot create '{target}': No such file or directory\n"
            status = 1
            continue
        if kind == "dir" and files.kind(where) == "file":
            stderr += f"cp: cannot overwrite non-directory '{target}' with directory '{operand}'\n"
            status = 1
            continue
        if (kind == "unknown" and recursive) or kind == "dir":
            files.copy_tree(source, where)
        else:
            files.copy_file(source, where)
        if kind == "unknown":
            shell.assume(f"{operand} exists", invocation.site)
        shell.emit(Copy(source, where, invocation.site))
    return Outcome(status, "", stderr)


def mv(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "fTnv", "t", "force=f no-target-directory=T no-clobber=n verbose=v", "target-directory=t")
    shell, files = invocation.shell, invocation.shell.files
    operands = list(found.operands)
    if "n" in found:
        raise NotKnown
    if "t" in found:
        target = found.last("t") + "/"
    elif len(operands) < 2:
        return error(invocation, "missing file operand")
    else:
        target = operands.pop()
    status = 0
    stderr = ""
    for operand in operands:
        source = shell.absolute(operand)
        kind = files.kind(source)
        if kind == "missing":
            stderr += f"mv: cannot stat '{operand}': No such file or directory\n"
            status = 1
            continue
        where = shell.absolute(target) if "T" in found else target_of(invocation, source, target)
        if files.kind(posixpath.dirname(where)) == "missing":
            stderr += f"mv: cannot move '{operand}' to '{target}': No such file or directory\n"
            status = 1
            continue
        if kind == "unknown":
            shell.assume(f"{operand} exists", invocation.site)
        files.move(source, where)
        shell.emit(Copy(source, where, invocation.site))
    return Outcome(status, "", stderr)


def rm(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "rRfvdi", "", "recursive=r force=f verbose=v dir=d one-file-system no-preserve-root preserve-root")
    shell, files = invocation.shell, invocation.shell.files
    status: int | None = 0
    stderr = ""
    for operand in found.operands:
        path = shell.absolute(operand)
        kind = files.kind(path)
        if kind == "missing":
            if "f" not in found:
                stderr += f"rm: cannot remove '{operand}': No such file or directory\n"
                status = 1
            continue
        if kind == "dir" and not ("r" in found or "R" in found):
            stderr += f"rm: cannot remove '{operand}': Is a directory\n"
            status = 1
            continue
        if kind == "unknown" and "f" not in found:
            status = None if status == 0 else status
        if path == "/" or shell.settings.workspace.startswith(path + "/") or path == shell.settings.workspace:
            shell.limit(f"rm of {path} is not followed", invocation.site)
            continue
        files.remove(path)
    return Outcome(status, "", stderr)


def rmdir(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "pv", "", "parents=p ignore-fail-on-non-empty")
    status: int | None = 0
    for operand in found.operands:
        path = invocation.shell.absolute(operand)
        names = invocation.shell.files.list(path)
        if names is None:
            return Outcome(None)
        if names or invocation.shell.files.kind(path) != "dir":
            status = 1
        else:
            invocation.shell.files.remove(path)
    return Outcome(status)


def mkdir(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "pv", "m", "parents=p verbose=v", "mode=m")
    shell, files = invocation.shell, invocation.shell.files
    status: int | None = 0
    stderr = ""
    for operand in found.operands:
        path = shell.absolute(operand)
        kind = files.kind(path)
        if kind == "file" or (kind == "dir" and "p" not in found):
            stderr += f"mkdir: cannot create directory '{operand}': File exists\n"
            status = 1
        elif "p" not in found and files.kind(posixpath.dirname(path)) == "missing":
            stderr += f"mkdir: cannot create directory '{operand}': No such file or directory\n"
            status = 1
        else:
            if kind == "unknown" and "p" not in found:
                status = None if status == 0 else status
            files.make_directory(path)
    return Outcome(status, "", stderr)


def ln(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "sfnTvr", "", "symbolic=s force=f no-dereference=n no-target-directory=T")
    if len(found.operands) != 2:
        raise NotKnown
    shell, files = invocation.shell, invocation.shell.files
    target, link = found.operands
    where = shell.absolute(link) if "n" in found or "T" in found else target_of(invocation, target, link)
    source = shell.absolute(target if target.startswith("/") or "r" in found else posixpath.join(posixpath.dirname(where), target))
    if files.kind(where) == "file" and "f" not in found:
        return error(invocation, f"failed to create symbolic link '{link}': File exists")
    if files.kind(source) == "file":
        files.copy_file(source, where)
        if "s" in found and isinstance(files, VirtualFiles):
            files.mark_link(where)
    else:
        files.remove(where)
        files.alias(where, source)
    return Outcome(0)


def touch(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "acm", "dtr", "no-create=c", "date=d reference=r")
    for operand in found.operands:
        path = invocation.shell.absolute(operand)
        kind = invocation.shell.files.kind(path)
        if kind == "missing" and "c" not in found:
            invocation.shell.files.write(path, written("", invocation.site))
        elif kind == "unknown" and "c" not in found:
            invocation.shell.files.write(path, None)
    return Outcome(0)


def chmod(invocation: Invocation) -> Outcome:
    words = [word for word in invocation.argv[1:] if word not in ("-R", "-f", "-v", "--recursive", "--")]
    files = invocation.shell.files
    if not words:
        return error(invocation, "missing operand")
    mode, status = words[0], 0
    for operand in words[1:]:
        path = invocation.shell.absolute(operand)
        if files.kind(path) == "missing":
            status = 1
        elif isinstance(files, VirtualFiles) and files.kind(path) == "file":
            if ("+" in mode and "x" in mode) or (mode.isdigit() and int(mode[-3:][:1] or "0") % 2):
                files.set_executable(path, True)
            elif ("-" in mode and "x" in mode) or mode.isdigit():
                files.set_executable(path, False)
    return Outcome(status)


def ls(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "1aAldhtrRSsF", "", "all=a almost-all=A directory=d")
    shell, files = invocation.shell, invocation.shell.files
    kinds = [(word, files.kind(shell.absolute(word))) for word in found.operands or ["."]]
    if any(kind == "unknown" for _, kind in kinds):
        return invocation.unknown()
    missing = [word for word, kind in kinds if kind == "missing"]
    stderr = "".join(f"ls: cannot access '{word}': No such file or directory\n" for word in missing)
    status = 2 if missing else 0
    detailed = any(letter in found for letter in "lhtRSsFa")
    out: list[str] = []
    for word, kind in sorted(kinds):
        if kind == "file" or (kind == "dir" and "d" in found):
            out.append(word)
        elif kind == "dir":
            names = files.list(shell.absolute(word))
            if names is None or len(kinds) > 1:
                detailed = True
            else:
                out.extend(name for name in names if "A" in found or not name.startswith("."))
                if len({name.lower() for name in names}) != len(names) or any(
                    not name.isascii() or "_" in name or "-" in name for name in names
                ):
                    detailed = detailed or not all(name == name.lower() and name.replace("-", "").isalnum() for name in names)
    if detailed:
        text = shell.hole("output of ls", invocation.site, nonempty=bool(out)) + "\n" if len(missing) < len(kinds) else ""
        return Outcome(status, text, stderr)
    if "r" in found:
        out.reverse()
    return Outcome(status, join_lines(out), stderr)


def mktemp(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "dtqu", "p", "directory=d quiet=q dry-run=u", "tmpdir=p suffix")
    shell = invocation.shell
    path = shell.hole("path made by mktemp", invocation.site, nonempty=True)
    if found.operands:
        template = found.operands[0]
        prefix = template.rstrip("X")
        if ("X" in template and not is_known(prefix)) or "X" not in template or not template.endswith("XXX"):
            prefix = template.partition("XXX")[0]
        path = prefix + path
        if ("t" in found or "p" in found) and not prefix.startswith("/"):
            path = posixpath.join(found.last("p") or "/tmp", path)
    else:
        path = posixpath.join(found.last("p") or "/tmp", "tmp." + path)
    path += found.last("suffix")
    absolute = shell.absolute(path)
    if "d" in found:
        shell.files.make_directory(absolute)
        shell.files.remove(absolute)  # a new directory is empty
        shell.files.make_directory(absolute)
    elif "u" not in found:
        shell.files.write(absolute, written("", invocation.site))
    return Outcome(0, path + "\n")


@dataclass(slots=True)
class _Found:
    shown: str
    path: str
    kind: str
    depth: int


def find(invocation: Invocation) -> Outcome:
    shell, files = invocation.shell, invocation.shell.files
    words = list(invocation.argv[1:])
    roots: list[str] = []
    while words and words[0] in ("-L", "-H", "-P"):
        words.pop(0)
    while words and not words[0].startswith("-") and words[0] not in ("(", "!", ")"):
        roots.append(words.pop(0))
    depths = {"-maxdepth": 10_000, "-mindepth": 0}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word in depths:
            if not words or not words[0].isdigit():
                raise NotKnown
            depths[word] = int(words.pop(0))
        else:
            rest.append(word)
    expression = _Expression(invocation, rest)
    found: list[_Found] = []
    status: int | None = 0
    stderr = ""
    unknown = False
    for root in roots or ["."]:
        path = shell.absolute(root)
        kind = files.kind(path)
        if kind == "missing":
            stderr += f"find: '{root}': No such file or directory\n"
            status = 1
            continue
        if kind == "unknown":
            unknown = True
            continue
        found.append(_Found(root, path, kind, 0))
        if kind == "dir" and depths["-maxdepth"]:
            unknown = not _descend(invocation, root, path, 1, depths["-maxdepth"], found) or unknown
    out: list[str] = []
    batches: dict[int, list[str]] = {}
    for one in found:
        if one.depth >= depths["-mindepth"]:
            expression.apply(one, out, batches)
            if expression.quit:
                break
    for index, paths in batches.items():
        outcome = shell.run([word for word in expression.commands[index] if word != "{}"] + paths, invocation.site)
        out.append(outcome.stdout)
        stderr += outcome.stderr
        if outcome.status is None:
            status = None
        elif outcome.status:
            status = 1
    if unknown:
        if expression.acts:
            shell.limit("find over files that are not known", invocation.site)
        if "-delete" in rest:
            return Outcome(None, "", stderr)
        return Outcome(None, "".join(out) + shell.hole("output of find", invocation.site), stderr)
    return Outcome(status, "".join(out), stderr)


def _descend(invocation: Invocation, shown: str, path: str, depth: int, limit: int, found: list[_Found]) -> bool:
    files = invocation.shell.files
    names = files.list(path)
    if names is None or len(found) > 50_000 or depth > 60:
        return False
    known = True
    for name in names:
        below = posixpath.join(path, name)
        kind = files.kind(below)
        label = shown + name if shown.endswith("/") else f"{shown}/{name}"
        found.append(_Found(label, below, kind, depth))
        if kind == "unknown":
            known = False
        elif kind == "dir" and depth < limit:
            known = _descend(invocation, label, below, depth + 1, limit, found) and known
    return known


class _Expression:
    """``find``'s tests and actions: alternatives (``-o``) of sequences of (test or action, negated)."""

    def __init__(self, invocation: Invocation, words: Sequence[str]) -> None:
        self.invocation = invocation
        self.words = list(words)
        self.at = 0
        self.commands: list[list[str]] = []
        self.acts = False
        self.prints = False
        self.quit = False
        self.tree = self._any()
        if self.at != len(self.words):
            raise NotKnown

    def _any(self) -> tuple[object, ...]:
        choices = [self._all()]
        while self.at < len(self.words) and self.words[self.at] in ("-o", "-or"):
            self.at += 1
            choices.append(self._all())
        return ("or", *choices)

    def _all(self) -> tuple[object, ...]:
        items: list[object] = []
        while self.at < len(self.words) and self.words[self.at] not in ("-o", "-or", ")"):
            if self.words[self.at] in ("-a", "-and"):
                self.at += 1
                continue
            items.append(self._one())
        return ("and", *items)

    def _next(self) -> str:
        if self.at >= len(self.words):
            raise NotKnown
        self.at += 1
        return self.words[self.at - 1]

    def _one(self) -> tuple[object, ...]:
        word = self._next()
        if word in ("!", "-not"):
            return ("not", self._one())
        if word == "(":
            inner = self._any()
            if self._next() != ")":
                raise NotKnown
            return inner
        if word in ("-name", "-iname", "-path", "-wholename", "-ipath", "-type"):
            return (word, self._next())
        if word in ("-print", "-print0", "-delete", "-quit", "-prune"):
            if word == "-prune":
                raise NotKnown
            self.prints = self.prints or word.startswith("-print") or word == "-delete"
            self.acts = self.acts or word == "-delete"
            return (word,)
        if word == "-empty":
            return (word,)
        if word in ("-exec", "-execdir"):
            command: list[str] = []
            while True:
                part = self._next()
                if part == ";" or (part == "+" and command and command[-1] == "{}"):
                    break
                command.append(part)
            if word == "-execdir":
                raise NotKnown
            self.prints = True
            self.acts = True
            self.commands.append(command)
            return ("exec+" if part == "+" else "exec", len(self.commands) - 1)
        raise NotKnown

    def apply(self, one: _Found, out: list[str], batches: dict[int, list[str]]) -> None:
        if self._eval(self.tree, one, out, batches) and not self.prints and not self.quit:
            out.append(one.shown + "\n")

    def _eval(self, node: object, one: _Found, out: list[str], batches: dict[int, list[str]]) -> bool:
        assert isinstance(node, tuple)
        kind = node[0]
        if kind == "or":
            return any(self._eval(choice, one, out, batches) for choice in node[1:])
        if kind == "and":
            return all(self._eval(item, one, out, batches) for item in node[1:])
        if kind == "not":
            return not self._eval(node[1], one, out, batches)
        if kind in ("-name", "-iname", "-path", "-wholename", "-ipath"):
            subject = posixpath.basename(one.shown.rstrip("/")) if "name" in kind and "whole" not in kind else one.shown
            answer = matches(subject, node[1], self.invocation.shell.holes, extglob=False, ignore_case=kind in ("-iname", "-ipath"))
            if answer is None:
                raise NotKnown
            return answer
        if kind == "-type":
            letters = node[1].split(",")
            if one.kind == "unknown":
                raise NotKnown
            files = self.invocation.shell.files
            if one.kind == "file" and isinstance(files, VirtualFiles) and files.is_link(one.path):
                return "l" in letters
            return ("f" if one.kind == "file" else "d") in letters
        if kind == "-empty":
            if one.kind == "dir":
                names = self.invocation.shell.files.list(one.path)
                if names is None:
                    raise NotKnown
                return not names
            content = self.invocation.shell.files.read_text(one.path)
            if content is None:
                raise NotKnown
            return not content.text
        if kind == "-print":
            out.append(one.shown + "\n")
        elif kind == "-print0":
            out.append(one.shown + "\0")
        elif kind == "-quit":
            self.quit = True
        elif kind == "-delete":
            self.invocation.shell.files.remove(one.path)
        elif kind == "exec+":
            batches.setdefault(node[1], []).append(one.shown)
        elif kind == "exec":
            argv = [word.replace("{}", one.shown) if word != "{}" else one.shown for word in self.commands[node[1]]]
            outcome = self.invocation.shell.run(argv, self.invocation.site)
            out.append(outcome.stdout)
            return outcome.status in (0, None)
        return True
