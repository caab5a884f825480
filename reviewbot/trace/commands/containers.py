"""``docker`` and ``podman``: what runs inside is entered with the mounts, variables and working directory that the options give."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reviewbot.trace.commands.machine import label
from reviewbot.trace.commands.scheduler import launched
from reviewbot.trace.effects import Exec
from reviewbot.trace.protocol import Invocation, Outcome

_SHORT_VALUES = "evwuphmlc"
_LONG_FLAGS = frozenset(
    [
        "rm",
        "detach",
        "interactive",
        "tty",
        "privileged",
        "init",
        "read-only",
        "no-healthcheck",
        "publish-all",
        "oom-kill-disable",
        "sig-proxy",
        "quiet",
        "replace",
    ]
)
_GLOBAL_VALUES = {"-H", "--host", "--context", "-l", "--log-level", "--config"}


def docker(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    while words and words[0].startswith("-"):
        if words.pop(0) in _GLOBAL_VALUES and words:
            words.pop(0)
    if words[:1] == ["container"]:
        words.pop(0)
    if not words:
        return Outcome(0)
    verb, rest = words[0], words[1:]
    if verb in ("run", "create"):
        return _run(invocation, rest)
    if verb == "exec":
        shell = invocation.shell
        stdin = invocation.stdin() if invocation.has_stdin else None
        shell.emit(
            Exec(
                invocation.argv,
                shell.environment(),
                shell.cwd,
                invocation.site,
                invocation.background,
                stdin,
                inside=(*shell.inside, "docker"),
            )
        )
        return Outcome(None, shell.hole(label(invocation), invocation.site))
    if verb in (
        "pull",
        "rm",
        "stop",
        "kill",
        "login",
        "logout",
        "rmi",
        "tag",
        "push",
        "load",
        "save",
        "volume",
        "network",
        "system",
        "wait",
        "build",
    ):
        return Outcome(0)
    return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))


def _run(invocation: Invocation, words: Sequence[str]) -> Outcome:
    shell = invocation.shell
    environment: dict[str, str] = {}
    mounts: list[tuple[str, str]] = []
    entrypoint = ""
    cwd: str | None = None
    pending = list(words)

    def variable(text: str) -> None:
        name, equals, value = text.partition("=")
        if equals:
            environment[name] = value
            return
        known = shell.environment().get(name)
        if known is not None:
            shell.get(name)
            environment[name] = known.value

    while pending:
        word = pending[0]
        if not word.startswith("-") or word == "-":
            break
        pending.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name in _LONG_FLAGS:
                continue
            if not equals:
                value = pending.pop(0) if pending else ""
        else:
            letters = word[1:]
            while letters and letters[0] not in _SHORT_VALUES:
                letters = letters[1:]
            if not letters:
                continue
            name = letters[0]
            value = letters[1:].removeprefix("=") if len(letters) > 1 else pending.pop(0) if pending else ""
        if name in ("e", "env"):
            variable(value)
        elif name == "env-file":
            content = shell.files.read_text(shell.absolute(value))
            for line in content.text.splitlines() if content is not None else ():
                if line.strip() and not line.lstrip().startswith("#"):
                    variable(line.strip())
        elif name in ("v", "volume"):
            host, _, inside = value.partition(":")
            mounts.append((host, inside.partition(":")[0] or host))
        elif name == "mount":
            pairs = dict(re.findall(r"(\w+)=([^,]*)", value))
            source = pairs.get("source") or pairs.get("src")
            target = pairs.get("target") or pairs.get("destination") or pairs.get("dst")
            if source and target:
                mounts.append((source, target))
        elif name in ("w", "workdir"):
            cwd = value
        elif name == "entrypoint":
            entrypoint = value
    image = pending.pop(0) if pending else None
    inner = ([entrypoint] if entrypoint else []) + pending
    return launched(invocation, "docker", inner, image=image, mounts=mounts, environment=environment, only=True, cwd=cwd)
