"""Commands that ask or change the machine: their output is unknown, of a known form; what they do is assumed to succeed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable

from reviewbot.trace.commands.support import NotKnown, options
from reviewbot.trace.filesystem import VirtualFiles, written
from reviewbot.trace.protocol import Command, Invocation, Outcome
from reviewbot.trace.values import is_known


def label(invocation: Invocation) -> str:
    words = " ".join(word for word in invocation.argv if is_known(word))
    return f"output of {words[:80]}"


def succeeds(invocation: Invocation) -> Outcome:
    """A command that is assumed to work and whose output nobody reads."""
    return Outcome(0)


def silent(invocation: Invocation) -> Outcome:
    """A command whose status is unknown and that prints nothing of interest."""
    return Outcome(None)


def unknown_output(invocation: Invocation) -> Outcome:
    return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))


def asks(*, nonempty: bool = True, numeric: bool = False) -> Command:
    """A command that succeeds and prints one line that nobody knows."""

    def command(invocation: Invocation) -> Outcome:
        return Outcome(0, invocation.shell.hole(label(invocation), invocation.site, nonempty=nonempty, numeric=numeric) + "\n")

    return command


def date(invocation: Invocation) -> Outcome:
    words = [word for word in invocation.argv[1:] if word.startswith("+")]
    form = words[0][1:] if words else ""
    digits = re.fullmatch(r"(%[YmdHMSsNjuw3])+", form) is not None
    shell = invocation.shell
    witness = shell.settings.witnesses.get("date") if form == "%Y%m%d" else None
    hole = shell.hole(label(invocation), invocation.site, nonempty=True, numeric=digits, witness=witness)
    return Outcome(0, hole + "\n")


def identity(invocation: Invocation) -> Outcome:
    words = invocation.argv[1:]
    numeric = bool(words) and words[0] in ("-u", "-g") and "-n" not in words
    return Outcome(0, invocation.shell.hole(label(invocation), invocation.site, nonempty=True, numeric=numeric) + "\n")


def whoami(invocation: Invocation) -> Outcome:
    user = invocation.shell.get("USER")
    return Outcome(0, (user or invocation.shell.hole(label(invocation), invocation.site, nonempty=True)) + "\n")


def pwd(invocation: Invocation) -> Outcome:
    return Outcome(0, invocation.shell.cwd + "\n")


def curl(invocation: Invocation) -> Outcome:
    """Output and status are unknown; a file named by ``-o`` has unknown content."""
    words = list(invocation.argv[1:])
    for index, word in enumerate(words[:-1]):
        if word in ("-o", "--output", "-O", "--output-document") and not words[index + 1].startswith("-"):
            path = invocation.shell.absolute(words[index + 1])
            invocation.shell.files.write(path, None)
            return Outcome(None)
    return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))


def rsync(invocation: Invocation) -> Outcome:
    operands = [word for word in invocation.argv[1:] if not word.startswith("-")]
    if operands and ":" not in operands[-1]:
        path = invocation.shell.absolute(operands[-1])
        if invocation.shell.files.kind(path) in ("missing", "unknown") and operands[-1].endswith("/"):
            invocation.shell.files.mount(path, None)
        elif invocation.shell.files.kind(path) in ("missing", "unknown"):
            invocation.shell.files.write(path, None)
    return Outcome(0)


def tar(invocation: Invocation) -> Outcome:
    """An archive is a file of unknown content; what is unpacked is not followed."""
    words = list(invocation.argv[1:])
    if not words:
        return Outcome(2)
    mode = words[0].lstrip("-")
    if "c" in mode and not words[0].startswith("--"):
        name = ""
        if "f" in mode and len(words) > 1:
            name = words[1]
        elif "-f" in words[:-1]:
            name = words[words.index("-f") + 1]
        if name and name != "-":
            invocation.shell.files.write(invocation.shell.absolute(name), None)
            return Outcome(0)
        return Outcome(0, invocation.shell.hole("an archive", invocation.site, nonempty=True))
    return Outcome(0)


def findmnt(invocation: Invocation) -> Outcome:
    return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))


def download(invocation: Invocation) -> Outcome:
    """``hf download REPO``: assumed to succeed; prints where the files are."""
    words = list(invocation.argv[1:])
    if words[:1] != ["download"]:
        return Outcome(0, invocation.shell.hole(label(invocation), invocation.site))
    if "--local-dir" in words[:-1]:
        target = words[words.index("--local-dir") + 1]
        path = invocation.shell.absolute(target)
        if invocation.shell.files.kind(path) != "dir":
            invocation.shell.files.mount(path, None)
        return Outcome(0, path + "\n")
    return Outcome(0, invocation.shell.hole("path of the downloaded model", invocation.site, nonempty=True) + "\n")


def _program(invocation: Invocation, path: str) -> None:
    files = invocation.shell.files
    files.write(path, None)
    if isinstance(files, VirtualFiles):
        files.set_executable(path, True)


def virtual_environment(invocation: Invocation, directory: str) -> None:
    """The files of a virtual environment that scripts ask for; nobody knows which others an installation will put there."""
    shell = invocation.shell
    root = shell.absolute(directory)
    shell.files.mount(root, None)
    shell.files.write(posixpath.join(root, "bin/activate"), written("", invocation.site))
    for name in ("python", "python3", "pip"):
        _program(invocation, posixpath.join(root, "bin", name))


_UV_VALUES = {
    "--python",
    "-p",
    "--prompt",
    "--index-url",
    "--cache-dir",
    "--directory",
    "--project",
    "--index-strategy",
    "--extra-index-url",
    "--color",
}


def uv(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    operands: list[str] = []
    while words:
        word = words.pop(0)
        if word in _UV_VALUES and words:
            words.pop(0)
        elif not word.startswith("-"):
            operands.append(word)
    if operands[:1] == ["venv"]:
        virtual_environment(invocation, operands[1] if len(operands) > 1 else ".venv")
        return Outcome(0)
    if operands[:1] == ["run"]:
        rest = list(invocation.argv[invocation.argv.index("run") + 1 :])
        while rest and rest[0].startswith("-"):
            option = rest.pop(0)
            if option in _UV_VALUES or option in ("--with", "--extra", "--group", "--env-file"):
                rest = rest[1:]
        return invocation.shell.run(rest, invocation.site) if rest else Outcome(0)
    if operands[:1] in (["pip"], ["sync"], ["python"], ["tool"], ["lock"], ["add"]):
        return Outcome(0)
    return Outcome(0, invocation.shell.hole(label(invocation), invocation.site))


def unsquashfs(invocation: Invocation) -> Outcome:
    return Outcome(None)


def enroot(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    if words[:1] == ["import"]:
        for option in ("-o", "--output"):
            if option in words[:-1]:
                invocation.shell.files.write(invocation.shell.absolute(words[words.index(option) + 1]), None)
    return Outcome(0)


def sleep(invocation: Invocation) -> Outcome:
    return Outcome(0)


def true(invocation: Invocation) -> Outcome:
    return Outcome(0)


def false(invocation: Invocation) -> Outcome:
    return Outcome(1)


def nproc(invocation: Invocation) -> Outcome:
    return Outcome(0, invocation.shell.hole(label(invocation), invocation.site, nonempty=True, numeric=True) + "\n")


def which(invocation: Invocation) -> Outcome:
    found = options(invocation.argv[1:], "as")
    shell = invocation.shell
    if len(found.operands) != 1:
        raise NotKnown
    if found.operands[0] in shell.settings.installed:
        return Outcome(0, shell.hole(f"path of {found.operands[0]}", invocation.site, nonempty=True) + "\n")
    return Outcome(None, shell.hole(label(invocation), invocation.site))


Table = dict[str, Callable[[Invocation], Outcome]]
