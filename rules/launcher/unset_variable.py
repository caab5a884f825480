"""A variable is read that nothing sets

What
A launcher reads a variable that neither it, nor a script that it sources, nor a workflow, a row or a recipe sets. In other scripts only a
name is reported that differs in case alone from one that is set: the container may set others.

Why
It is empty. `rmdir $DIR` fails or does nothing, `--port=$port` takes the next word, and under `set -u` the script ends.

Example
    export PORT=8888
    vllm serve "$MODEL" --port=$port

Instead
    vllm serve "$MODEL" --port=$PORT
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Facts, declared, facts_of, first_word, prefixes, words

RULE = Rule("unset-variable", Level.WARNING, frozenset({"documents", "bench"}))

_GIVEN = re.compile(
    r"(?:SLURM\w*|SBATCH|SALLOC|GITHUB|RUNNER|ACTIONS|BASH|XDG|CONDA|CUDA|NVIDIA|ROCR|HIP|ROCM|ENROOT|PYXIS|OMPI|PMIX?|HF|AWS|LC|SSH|DBUS|SUDO|SRT)_\w+|"
    r"HOME|USER|LOGNAME|PATH|PWD|OLDPWD|SHELL|HOSTNAME|LANG|TERM|TMPDIR|UID|EUID|GROUPS|RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|EPOCHREALTIME|PPID|IFS|"
    r"LINENO|FUNCNAME|PIPESTATUS|OPTARG|OPTIND|OPTERR|REPLY|BASHPID|BASH|BASHOPTS|SHELLOPTS|SHLVL|HOSTTYPE|OSTYPE|MACHTYPE|COLUMNS|LINES|PS4|DIRSTACK|"
    r"COPROC|MAPFILE|CI|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|DISPLAY|EDITOR|HISTFILE|MANPATH|PKG_CONFIG_PATH|LIBRARY_PATH|CPATH|_"
)


@dataclass(frozen=True, slots=True)
class _Script:
    """What a script sets (``handed``: also for programs that it starts), the names of scripts that it sources (``None``: it runs text that
    is not known), and the first line of each variable that it reads without a guard, with whether ``set -u`` holds there."""

    sets: list[str]
    declares: list[str]
    handed: list[str]
    sources: list[str] | None
    reads: list[tuple[str, int, bool]]


def check(context: Context) -> Iterator[Finding]:
    launchers = frozenset(context.documents.paths("launcher"))
    scripts = {path: _Script(*fact) for path, fact in context.surveyed(RULE)}
    handed = {name for script in scripts.values() for name in script.handed}
    texts: list[set[str]] = []
    for path, script in scripts.items():
        sourced = _sourced(script, scripts)
        if sourced is None:
            continue
        known = handed.union(script.sets, script.declares, *(scripts[other].sets for other in sourced))
        for name, line, strict in script.reads:
            if name in known:
                continue
            if not texts:
                texts.append(_words(context))
            if name.isupper() and name in texts[0]:
                continue
            twin = next((other for other in (name.upper(), name.lower()) if other != name and (other in known or other in texts[0])), None)
            if twin is not None and twin.islower() and twin not in known:
                twin = None
            if path in launchers or (twin is not None and not name.isupper()):
                yield _finding(context, path, line, name, twin, strict)


def survey(context: Context) -> Iterator[object]:
    """The fields of ``_Script``."""
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        asked = {read.name for read in facts.reads if read.guarded}
        first: dict[str, int] = {}
        for read in facts.reads:
            if not read.guarded and read.name not in asked and not _GIVEN.fullmatch(read.name):
                first.setdefault(read.name, read.line)
        stops = [
            placed.statement.line
            for placed in facts.statements
            if first_word(placed.statement) == "set"
            and any(re.match(r"-\w*u|nounset\Z", word.text) for word in words(placed.statement)[1:])
        ]
        yield [
            sorted({one.name for one in facts.assigned}),
            sorted(declared(facts)),
            sorted({one.name for one in facts.assigned if one.exported} | prefixes(facts)),
            _sources(facts),
            [[name, line, any(stop < line for stop in stops)] for name, line in first.items()],
        ]


def _finding(context: Context, path: str, line: int, name: str, twin: str | None, strict: bool) -> Finding:
    ends = ": `set -u` ends the script here" if strict else ", so it is empty"
    return context.finding(
        RULE,
        f"`${name}` is read here and nothing in the repository sets it{ends}",
        Site(path, line),
        help=f"did you mean `${twin}`?" if twin else "set it, give it a default, or take the command out",
        structure=name,
        subject=name,
    )


def _sources(facts: Facts) -> list[str] | None:
    """The texts by which a script sources others; ``None`` where it runs text that is not known."""
    found: list[str] = []
    for placed in facts.statements:
        name = first_word(placed.statement)
        if name == "eval":
            return None
        if name in (".", "source") and len(words(placed.statement)) > 1:
            found.append(words(placed.statement)[1].text.strip("\"'"))
    return found


def _sourced(script: _Script, scripts: dict[str, _Script], depth: int = 4) -> set[str] | None:
    """The scripts of the repository that a script sources; ``None`` where it runs text that is not known."""
    if script.sources is None:
        return None
    found: set[str] = set()
    for text in script.sources:
        others = [path for path in scripts if path.rpartition("/")[2] == text.rpartition("/")[2]]
        if not others and "/bin/" not in text:
            return None
        for other in others:
            if other not in found and depth:
                found.add(other)
                found |= _sourced(scripts[other], scripts, depth - 1) or set()
    return found


def _words(context: Context) -> set[str]:
    """All words in capitals of workflows, masters, recipes and Python files, and what jobs are given where no workflow says it."""
    paths = {*context.documents.paths("yaml"), *context.documents.paths("python")}
    pattern = re.compile(rb"[A-Z][A-Z0-9_]+")
    given = {name for job in context.bench.jobs() for name in (*job.environment, *job.unknown)}
    return given.union(word.decode() for path in sorted(paths) for word in set(pattern.findall(context.data(path))))
