"""Schedulers: ``srtctl``, ``sbatch``, ``salloc``, ``srun``, ``squeue`` and their helpers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from reviewbot.trace.commands.machine import label
from reviewbot.trace.effects import Exec, Submit
from reviewbot.trace.filesystem import written
from reviewbot.trace.protocol import Invocation, Outcome

_ALLOCATIONS = "/run/reviewbot/allocations"  # jobs that the script made by salloc: name, id and number of nodes, one a line
_NODE_LISTS = "/run/reviewbot/nodes"  # a file for every list of nodes that squeue printed: their number

_SHORT_VALUES = "ApNnctJwxoeiGDmCdqMLBTWS"
_LONG_FLAGS = frozenset(
    [
        "exclusive",
        "no-shell",
        "overlap",
        "label",
        "unbuffered",
        "pty",
        "verbose",
        "quiet",
        "no-kill",
        "no-container-mount-home",
        "container-mount-home",
        "container-remap-root",
        "no-container-remap-root",
        "container-writable",
        "container-readonly",
        "no-container-entrypoint",
        "container-entrypoint",
        "kill-on-bad-exit",
        "hold",
        "immediate",
        "multi-prog",
        "oversubscribe",
        "overcommit",
        "preserve-env",
        "propagate",
        "share",
        "contiguous",
        "spread-job",
        "use-min-nodes",
        "whole",
        "disable-status",
        "requeue",
        "no-requeue",
        "test-only",
        "parsable",
        "get-user-env",
        "reboot",
        "help",
        "usage",
        "version",
        "wait",
        "exact",
        "external-launcher",
        "interactive",
        "container-entrypoint-log",
        "nice",
        "no-container-entrypoint-log",
        "no-bell",
    ]
) - {"wait"}


@dataclass(slots=True)
class JobOptions:
    """Options of Slurm's commands by long name (short ones by letter), and the words behind them."""

    found: dict[str, str] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)

    def get(self, *names: str) -> str | None:
        return next((self.found[name] for name in names if name in self.found), None)


def job_options(words: Sequence[str]) -> JobOptions:
    result = JobOptions()
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word == "--":
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and name not in _LONG_FLAGS and pending:
                value = pending.pop(0)
            result.found[name] = value
        elif word.startswith("-") and len(word) > 1:
            if word[1] in _SHORT_VALUES:
                value = word[2:].removeprefix("=") if len(word) > 2 else pending.pop(0) if pending else ""
                result.found[word[1]] = value
            else:
                for letter in word[1:]:
                    result.found[letter] = ""
        else:
            pending.insert(0, word)
            break
    result.rest = pending
    return result


def mounts_of(text: str | None) -> list[tuple[str, str]]:
    """``host:container[:flags],...`` as pairs."""
    pairs: list[tuple[str, str]] = []
    for item in (text or "").split(","):
        host, colon, rest = item.partition(":")
        if host:
            pairs.append((host, rest.partition(":")[0] if colon else host))
    return pairs


def exported(text: str | None) -> tuple[dict[str, str], bool]:
    """``--export``: variables that are set, and whether nothing else is handed on."""
    if text is None:
        return {}, False
    names = text.split(",")
    added: dict[str, str] = {}
    for item in names:
        name, equals, value = item.partition("=")
        if equals:
            added[name] = value
    return added, "ALL" not in names


_WRAPPERS = {
    "env": "uC",
    "timeout": "ks",
    "stdbuf": "ioe",
    "nice": "n",
    "nohup": "",
    "numactl": "NmCilp",
    "exec": "",
    "time": "",
    "sudo": "ugCh",
}


def script_of(words: Sequence[str]) -> tuple[str | None, dict[str, str], str | None]:
    """The script that a command starts, through shells and wrappers: (path, variables set on the way, text of ``-c``)."""
    pending = list(words)
    added: dict[str, str] = {}
    while pending:
        word = pending.pop(0)
        name = posixpath.basename(word)
        if re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word):
            key, _, value = word.partition("=")
            added[key] = value
        elif name in _WRAPPERS:
            while pending and pending[0].startswith("-"):
                option = pending.pop(0)
                if len(option) == 2 and option[1] in _WRAPPERS[name] and pending:
                    pending.pop(0)
            if name == "timeout" and pending:
                pending.pop(0)
        elif name in ("bash", "sh", "dash"):
            while pending and pending[0][:1] in ("-", "+") and len(pending[0]) > 1:
                option = pending.pop(0)
                if not option.startswith("--") and "c" in option:
                    return None, added, pending[0] if pending else ""
                if option in ("-o", "-O", "+o", "--rcfile", "--init-file") and pending:
                    pending.pop(0)
            return (pending[0] if pending else None), added, None
        else:
            return (word if word.endswith(".sh") else None), added, None
    return None, added, None


def launched(
    invocation: Invocation,
    by: str,
    inner: Sequence[str],
    *,
    image: str | None,
    mounts: Sequence[tuple[str, str]],
    environment: dict[str, str],
    only: bool,
    cwd: str | None,
) -> Outcome:
    """The inner command of ``srun`` and ``docker run``: a script is entered, anything else recorded."""
    shell = invocation.shell
    script, added, text = script_of(inner)
    environment = {**environment, **added}
    if script is None and text is not None:
        found = re.fullmatch(
            r"\s*(?:cd\s+(?P<cd>[^\s;&|]+)\s*(?:&&|;)\s*)?(?:exec\s+)?(?:bash|sh)\s+(?P<script>[^\s;&|<>'\"$()]+)\s*", text
        )
        if found is not None:
            script = found["script"]
            cwd = found["cd"] or cwd
    if script is not None:
        return shell.enter(
            script,
            invocation.argv,
            invocation.site,
            by=by,
            image=image,
            mounts=mounts,
            environment=environment,
            only=only,
            cwd=cwd,
            background=invocation.background,
        )
    stdin = invocation.stdin() if invocation.has_stdin else None
    shell.emit(
        Exec(invocation.argv, shell.environment(), shell.cwd, invocation.site, invocation.background, stdin, inside=(*shell.inside, by))
    )
    return Outcome(None, shell.hole(label(invocation), invocation.site))


def srun(invocation: Invocation) -> Outcome:
    found = job_options(invocation.argv[1:])
    environment, only = exported(found.get("export"))
    return launched(
        invocation,
        "srun",
        found.rest,
        image=found.get("container-image"),
        mounts=mounts_of(found.get("container-mounts")),
        environment=environment,
        only=only,
        cwd=found.get("container-workdir", "chdir", "D"),
    )


def _job_id(invocation: Invocation) -> str:
    shell = invocation.shell
    return shell.hole("job id", invocation.site, nonempty=True, numeric=True, witness=shell.settings.witnesses.get("job", "12345"))


def _allocated(invocation: Invocation, row: str) -> None:
    files = invocation.shell.files
    before = files.read_text(_ALLOCATIONS) if files.kind(_ALLOCATIONS) == "file" else None
    files.write(_ALLOCATIONS, written((before.text if before is not None else "") + row, invocation.site))


def salloc(invocation: Invocation) -> Outcome:
    shell = invocation.shell
    found = job_options(invocation.argv[1:])
    job = _job_id(invocation)
    name = found.get("job-name", "J") or ""
    nodes = found.get("nodes", "N") or ""
    _allocated(invocation, f"{name}\t{job}\t{nodes}\n")
    shell.emit(Exec(invocation.argv, shell.environment(), shell.cwd, invocation.site, invocation.background, None))
    if "no-shell" not in found.found and found.rest:
        return shell.run(
            found.rest, invocation.site, environment={"SLURM_JOB_ID": job, "SLURM_JOBID": job}, background=invocation.background
        )
    return Outcome(0, "", f"salloc: Granted job allocation {job}\n")


def squeue(invocation: Invocation) -> Outcome:
    """Knows the allocations that ``salloc`` made; else its output is unknown."""
    shell = invocation.shell
    words = list(invocation.argv[1:])
    content = shell.files.read_text(_ALLOCATIONS) if shell.files.kind(_ALLOCATIONS) == "file" else None
    form = name = number = ""
    header = True
    understood = True
    pending = words
    while pending:
        word = pending.pop(0)
        option, equals, value = word.partition("=")
        if option in ("-h", "--noheader"):
            header = False
        elif option in ("-o", "--format", "-n", "--name", "-u", "--user", "-j", "--jobs", "-p", "--partition", "-t", "--states"):
            if not equals:
                value = pending.pop(0) if pending else ""
            if option in ("-o", "--format"):
                form = value
            elif option in ("-n", "--name"):
                name = value
            elif option in ("-j", "--jobs"):
                number = value
        elif option == "--me":
            continue
        else:
            understood = False
    if content is not None and understood and not header and (name or number):
        rows = [line.split("\t") for line in content.text.splitlines()]
        jobs = [row for row in rows if len(row) == 3 and (not name or row[0] == name) and (not number or row[1] == number)]
        if jobs and form in ("%A", "%i") and name:
            return Outcome(0, "".join(f"{row[1]}\n" for row in reversed(jobs)))
        if len(jobs) == 1 and form == "%N":
            nodes = shell.hole("list of nodes", invocation.site, nonempty=True)
            shell.files.write(posixpath.join(_NODE_LISTS, nodes), written(jobs[0][2], invocation.site))
            return Outcome(0, nodes + "\n")
    return Outcome(None, shell.hole(label(invocation), invocation.site))


def scancel(invocation: Invocation) -> Outcome:
    return Outcome(0)


def sbatch(invocation: Invocation) -> Outcome:
    shell = invocation.shell
    found = job_options(invocation.argv[1:])
    job = _job_id(invocation)
    script = found.rest[0] if found.rest else None
    path = shell.absolute(script) if script else None
    for name in ("output", "o", "error", "e"):
        target = found.get(name)
        if target:
            log = target.replace("%j", job).replace("%A", job).replace("%J", job)
            if "%" not in log:
                shell.files.write(shell.absolute(log), None)
    name = found.get("job-name", "J") or ""
    _allocated(invocation, f"{name}\t{job}\t{found.get('nodes', 'N') or ''}\n")
    text = shell.files.read_text(path) if path else None
    stdin = None
    if script is None and "wrap" not in found.found and invocation.has_stdin:
        stdin = invocation.stdin()
        text = written(stdin, invocation.site)
    shell.emit(
        Submit(
            "sbatch", invocation.argv, shell.environment(), shell.cwd, invocation.site, script, path, text,
            origin=shell.files.origin(path) if path is not None else None,
        )
    )
    return Outcome(0, f"{job}\n" if "parsable" in found.found else f"Submitted batch job {job}\n")


_SRTCTL_VALUES = {
    "-f", "--file", "--tags", "--setup-script", "-o", "--output", "--output-dir", "--config-dir", "-c", "--cluster-config", "--profile",
}


def srtctl(invocation: Invocation) -> Outcome:
    shell = invocation.shell
    words = list(invocation.argv[1:])
    verb = next((word for word in words if not word.startswith("-")), "")
    recipe: str | None = None
    changes: dict[str, list[str]] = {"--set": [], "--unset": []}
    pending = list(words)
    while pending:
        word = pending.pop(0)
        name, equals, value = word.partition("=")
        if name in ("-f", "--file"):
            recipe = value if equals else pending.pop(0) if pending else None
        elif word.startswith("-f") and not word.startswith("--") and len(word) > 2:
            recipe = word[2:]
        elif name in changes:
            if equals or pending:
                changes[name].append(value if equals else pending.pop(0))
        elif name in _SRTCTL_VALUES and not equals and pending:
            pending.pop(0)
    if verb != "apply":
        return Outcome(0 if verb in ("validate", "dry-run", "preflight", "setup") else None, shell.hole(label(invocation), invocation.site))
    path = None
    if recipe is not None:
        path = shell.absolute(recipe)
        if shell.files.kind(path) != "file" and ":" in recipe:
            path = shell.absolute(recipe.partition(":")[0])
    job = _job_id(invocation)
    logs = shell.absolute(posixpath.join("outputs", job, "logs"))
    shell.files.make_directory(logs)
    shell.files.write(posixpath.join(logs, f"sweep_{job}.log"), None)
    cluster = shell.files.read_text(shell.absolute("srtslurm.yaml"))
    text = shell.files.read_text(path) if path is not None else None
    if recipe is not None and path is not None and shell.files.kind(path) == "missing":
        shell.missing(recipe, "srtctl", invocation.site)
        return Outcome(1, "", f"Error: config not found: {recipe}\n")
    origin = shell.files.origin(path) if path is not None else None
    shell.emit(
        Submit(
            "srtctl", invocation.argv, shell.environment(), shell.cwd, invocation.site, recipe, path, text, cluster, True, origin,
            tuple(changes["--set"]), tuple(changes["--unset"]),
        )
    )
    return Outcome(0, f"✅ Job {job} submitted!\n")


def scontrol(invocation: Invocation) -> Outcome:
    """``scontrol show hostnames LIST`` knows how many names it prints where the allocation said so."""
    shell = invocation.shell
    if invocation.argv[1:3] == ("show", "hostnames") and len(invocation.argv) == 4:
        path = posixpath.join(_NODE_LISTS, invocation.argv[3])
        known = shell.files.read_text(path) if shell.files.kind(path) == "file" else None
        if known is not None and known.text.isdigit() and 0 < int(known.text) <= 64:
            names = [
                shell.hole(f"name of node {index}", invocation.site, nonempty=True, witness="node") for index in range(int(known.text))
            ]
            return Outcome(0, "".join(f"{name}\n" for name in names))
    return asked(invocation)


def asked(invocation: Invocation) -> Outcome:
    """``sinfo``, ``sacct`` and their like: unknown output."""
    return Outcome(None, invocation.shell.hole(label(invocation), invocation.site))
