"""Commands that run another command: ``env``, ``timeout``, ``nohup``, ``sudo``, ``xargs``, ``flock`` ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reviewbot.trace.commands.support import NotKnown, options, own_hole_lines, split_lines
from reviewbot.trace.protocol import Invocation, Outcome

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


def _inner(invocation: Invocation, words: Sequence[str], environment: dict[str, str] | None = None) -> Outcome:
    if not words:
        return Outcome(0)
    stdin = invocation.stdin() if invocation.has_stdin else None
    return invocation.shell.run(words, invocation.site, stdin=stdin, environment=environment, background=invocation.background)


def env(invocation: Invocation) -> Outcome:
    words = list(invocation.argv[1:])
    cwd: str | None = None
    added: dict[str, str | None] = {}
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-u", "--unset") and words:
            added[words.pop(0)] = None
        elif word in ("-i", "-", "--ignore-environment"):
            added = dict.fromkeys(invocation.shell.environment(), None)
        elif word in ("-C", "--chdir") and words:
            cwd = invocation.shell.absolute(words.pop(0))
        elif word.startswith("-u"):
            added[word[2:]] = None
        elif word.startswith("--unset="):
            added[word[8:]] = None
        elif word == "--":
            break
        else:
            raise NotKnown
    while words and _NAME.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        added[name] = value
    if not words:
        variables = {name: variable.value for name, variable in invocation.shell.environment().items()}
        variables.update({name: value for name, value in added.items() if value is not None})
        known = "".join(f"{name}={value}\n" for name, value in sorted(variables.items()) if added.get(name, value) is not None)
        return Outcome(0, known + invocation.shell.hole("the rest of the environment", invocation.site) + "\n")
    stdin = invocation.stdin() if invocation.has_stdin else None
    return invocation.shell.run(words, invocation.site, stdin=stdin, environment=added or None, background=invocation.background, cwd=cwd)


def _skipping(values: str, longs: str, operands: int = 0) -> Callable[[Invocation], Outcome]:
    """A wrapper whose options are skipped: ``values`` are letters that take a value, ``longs`` long options that do; ``operands`` words
    stand before the command."""
    takers = set(longs.split())

    def command(invocation: Invocation) -> Outcome:
        words = list(invocation.argv[1:])
        while words and words[0].startswith("-") and words[0] != "-":
            word = words.pop(0)
            if word == "--":
                break
            if word.startswith("--"):
                if word in takers and words:
                    words.pop(0)
            elif word[-1] in values and len(word) == 2 and words:
                words.pop(0)
        del words[:operands]
        added: dict[str, str] = {}
        while words and _NAME.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            added[name] = value
        return _inner(invocation, words, added or None)

    return command


timeout = _skipping("ks", "--kill-after --signal", 1)
plain = _skipping("", "")
nice = _skipping("n", "--adjustment")
ionice = _skipping("cnp", "--class --classdata")
stdbuf = _skipping("ioe", "--input --output --error")
sudo = _skipping("ugCpTh", "--user --group --chdir")
numactl = _skipping("NmCilp", "--cpunodebind --membind --physcpubind --interleave --preferred")
taskset = _skipping("", "", 1)
setsid = _skipping("", "")


def flock(invocation: Invocation) -> Outcome:
    """A lock is always got; ``flock FILE COMMAND`` runs the command."""
    words = list(invocation.argv[1:])
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in ("-w", "--wait", "--timeout", "-E", "--conflict-exit-code") and words:
            words.pop(0)
    if len(words) <= 1:
        return Outcome(0)
    rest = words[1:]
    if rest[0] in ("-c", "--command") and len(rest) > 1:
        return invocation.shell.run_text(rest[1], invocation.site)
    return _inner(invocation, rest)


def xargs(invocation: Invocation) -> Outcome:
    found = options(
        invocation.argv[1:],
        "0rtx",
        "nIPLda",
        "null=0 no-run-if-empty=r",
        "max-args=n replace=I max-procs=P max-lines=L delimiter=d",
        permute=False,
    )
    if any(letter in found for letter in "Lad"):
        raise NotKnown
    text = invocation.stdin()
    if own_hole_lines(text, invocation.shell.holes):
        raise NotKnown
    if "0" in found:
        words = [word for word in text.split("\0") if word]
    elif "I" in found:
        words = [line.lstrip() for line in split_lines(text) if line.strip()]
    else:
        words = text.split()
    if "0" not in found and re.search(r"[\\'\"]", text):
        raise NotKnown
    command = found.operands or ["echo"]
    batches: list[list[str]]
    if "I" in found:
        mark = found.last("I")
        batches = [[part.replace(mark, word) for part in command] for word in words]
    else:
        size = int(found.last("n")) if found.last("n").isdigit() and int(found.last("n")) else max(len(words), 1)
        batches = [command + words[at : at + size] for at in range(0, len(words), size)]
        if not words and "r" not in found:
            batches = [command]
    out: list[str] = []
    stderr: list[str] = []
    status: int | None = 0
    for batch in batches[:5000]:
        outcome = invocation.shell.run(batch, invocation.site)
        out.append(outcome.stdout)
        stderr.append(outcome.stderr)
        if outcome.status is None:
            status = None
        elif outcome.status and status == 0:
            status = 123
    return Outcome(status, "".join(out), "".join(stderr))
