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
from collections.abc import Iterable, Iterator

from reviewbot.documents.positions import Site
from reviewbot.documents.shell_syntax import Declaration, Simple, Word
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.shell_facts import Facts, facts_of, first_word, words

RULE = Rule("unset-variable", Level.WARNING, frozenset({"documents"}))

_GIVEN = re.compile(
    r"(?:SLURM\w*|SBATCH|SALLOC|GITHUB|RUNNER|ACTIONS|BASH|XDG|CONDA|CUDA|NVIDIA|ROCR|HIP|ROCM|ENROOT|PYXIS|OMPI|PMIX?|HF|AWS|LC|SSH|DBUS|SUDO|SRT)_\w+|"
    r"HOME|USER|LOGNAME|PATH|PWD|OLDPWD|SHELL|HOSTNAME|LANG|TERM|TMPDIR|UID|EUID|GROUPS|RANDOM|SRANDOM|SECONDS|EPOCHSECONDS|EPOCHREALTIME|PPID|IFS|"
    r"LINENO|FUNCNAME|PIPESTATUS|OPTARG|OPTIND|OPTERR|REPLY|BASHPID|BASH|BASHOPTS|SHELLOPTS|SHLVL|HOSTTYPE|OSTYPE|MACHTYPE|COLUMNS|LINES|PS4|DIRSTACK|"
    r"COPROC|MAPFILE|CI|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|VIRTUAL_ENV|DISPLAY|EDITOR|HISTFILE|MANPATH|PKG_CONFIG_PATH|LIBRARY_PATH|CPATH|_"
)


def check(context: Context) -> Iterator[Finding]:
    launchers = frozenset(context.documents.paths("launcher"))
    facts = {path: facts_of(context.documents.shell(path)) for path in context.documents.paths("shell")}
    handed = {one.name for found in facts.values() for one in found.assigned if one.exported} | _prefixes(facts.values())
    texts: list[set[str]] = []
    for path, found in facts.items():
        own = {one.name for one in found.assigned} | _declared(found)
        sourced = _sourced(found, facts)
        if sourced is None:
            continue
        known = own | handed | {one.name for other in sourced for one in facts[other].assigned}
        asked = {read.name for read in found.reads if read.guarded}
        said: set[str] = set()
        for read in found.reads:
            name = read.name
            if read.guarded or name in known or name in asked or name in said or _GIVEN.fullmatch(name):
                continue
            if not texts:
                texts.append(_words(context))
            if name.isupper() and name in texts[0]:
                continue
            twin = next((other for other in (name.upper(), name.lower()) if other != name and (other in known or other in texts[0])), None)
            if twin is not None and twin.islower() and twin not in known:
                twin = None
            if path in launchers or (twin is not None and not name.isupper()):
                said.add(name)
                yield _finding(context, path, read.line, name, twin, found)


def _finding(context: Context, path: str, line: int, name: str, twin: str | None, facts: Facts) -> Finding:
    strict = any(
        first_word(placed.statement) == "set" and placed.statement.line < line
        and any(re.match(r"-\w*u|nounset\Z", word.text) for word in words(placed.statement)[1:])
        for placed in facts.statements
    )  # fmt: skip
    ends = ": `set -u` ends the script here" if strict else ", so it is empty"
    return context.finding(
        RULE,
        f"`${name}` is read here and nothing in the repository sets it{ends}",
        Site(path, line),
        help=f"did you mean `${twin}`?" if twin else "set it, give it a default, or take the command out",
        structure=name,
        subject=name,
    )


def _prefixes(all_facts: Iterable[Facts]) -> set[str]:
    """Names that are set for one command: its children have them."""
    return {
        one.name
        for facts in all_facts
        for placed in facts.statements
        if isinstance(placed.statement, Simple) and placed.statement.words
        for one in placed.statement.assignments
    }


def _declared(facts: Facts) -> set[str]:
    """Names of ``local x``, ``export X``, ``declare -A m``."""
    return {
        item.text
        for placed in facts.statements
        if isinstance(placed.statement, Declaration)
        for item in placed.statement.items
        if isinstance(item, Word)
    }


def _sourced(facts: Facts, files: dict[str, Facts], depth: int = 4) -> set[str] | None:
    """The scripts of the repository that a script sources; ``None`` where it runs text that is not known."""
    found: set[str] = set()
    for placed in facts.statements:
        name = first_word(placed.statement)
        if name == "eval":
            return None
        if name not in (".", "source") or len(words(placed.statement)) < 2:
            continue
        text = words(placed.statement)[1].text.strip("\"'")
        others = [path for path in files if path.rpartition("/")[2] == text.rpartition("/")[2]]
        if not others and "/bin/" not in text:
            return None
        for other in others:
            if other not in found and depth:
                found.add(other)
                found |= _sourced(files[other], files, depth - 1) or set()
    return found


def _words(context: Context) -> set[str]:
    """All words in capitals of workflows, masters, recipes and Python files."""
    paths = {*context.documents.paths("yaml"), *context.documents.paths("python")}
    pattern = re.compile(rb"[A-Z][A-Z0-9_]+")
    return {word.decode() for path in sorted(paths) for word in set(pattern.findall(context.tree.read(path)))}
