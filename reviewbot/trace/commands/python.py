"""``python3`` and ``pip``: never run; a helper that may rewrite files makes opaque edits."""

from __future__ import annotations

import posixpath

from reviewbot.trace.commands.machine import label, virtual_environment
from reviewbot.trace.effects import Exec, OpaqueEdit
from reviewbot.trace.protocol import Invocation, Outcome


def python(invocation: Invocation) -> Outcome:
    """``-c``, a here-document and scripts have unknown output and status; a module or a script is recorded as an ``Exec``."""
    shell = invocation.shell
    words = list(invocation.argv[1:])
    while words and words[0].startswith("-") and words[0] != "-" and words[0][:2] not in ("-c", "-m"):
        option = words.pop(0)
        if option in ("-W", "-X") and words:
            words.pop(0)
    unknown = Outcome(None, shell.hole(label(invocation), invocation.site))
    if words[:1] == ["--version"] or (not words and len(invocation.argv) > 1):
        return Outcome(0, shell.hole(label(invocation), invocation.site, nonempty=True) + "\n")
    if not words or words[0] == "-":
        if invocation.has_stdin:
            invocation.stdin()
        return unknown
    if words[0].startswith("-c"):
        return unknown
    stdin = None
    if words[0].startswith("-m"):
        module = words[0][2:] or (words[1] if len(words) > 1 else "")
        rest = words[1 if len(words[0]) > 2 else 2 :]
        if module == "venv":
            operands = [word for word in rest if not word.startswith("-")]
            if operands:
                virtual_environment(invocation, operands[-1])
            return Outcome(0)
        if module in ("pip", "ensurepip", "uv"):
            return Outcome(0)
    elif posixpath.basename(words[0]) in shell.settings.opaque:
        for word in words[1:]:
            value = word.partition("=")[2] if word.startswith("--") and "=" in word else word
            path = shell.absolute(value) if value and not value.startswith("-") else ""
            if path and shell.files.kind(path) == "file":
                shell.emit(OpaqueEdit(path, invocation.argv, invocation.site))
        return unknown
    if invocation.has_stdin:
        stdin = invocation.stdin()
    shell.emit(Exec(invocation.argv, shell.environment(), shell.cwd, invocation.site, invocation.background, stdin, inside=shell.inside))
    return unknown


def pip(invocation: Invocation) -> Outcome:
    if invocation.argv[1:2] and invocation.argv[1] in ("list", "show", "freeze", "config", "index"):
        return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))
    return Outcome(0)
