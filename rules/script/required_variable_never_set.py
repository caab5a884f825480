"""A script requires a variable that nothing sets

What
A name in `check_env_vars` (or `: "${NAME:?}"`) that no workflow, launcher, recipe or script of the repository sets or passes on.

Why
The script ends at that check on every run. In a script that many recipes share, all of them end.

Example
    check_env_vars MODEL NUM_PROMPTS   # NUM_PROMPTS is set nowhere

Instead
    check_env_vars MODEL
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.documents.positions import Site
from reviewbot.engine.commands import required_names
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.places import is_retired
from reviewbot.engine.shell_facts import facts_of
from reviewbot.engine.wording import counted

RULE = Rule("required-variable-never-set", Level.ERROR, frozenset({"documents"}))

_GIVEN_BY_SYSTEM = re.compile(
    r"(?:SLURM|GITHUB|RUNNER|CUDA|HIP|ROCR|NCCL|RCCL|UCX|OMPI|PMI|PMIX|LWS|KUBERNETES|POD|XDG|SSH|CONDA|HF)_\w+\Z"
    r"|(?:CI|HOME|PATH|USER|LOGNAME|PWD|SHELL|TMPDIR|HOSTNAME|LANG|RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT|PORT)\Z"
)


def check(context: Context) -> Iterator[Finding]:
    required: dict[str, list[Site]] = {}
    own: dict[str, set[str]] = {}
    for path, (asked, assigned) in context.surveyed(RULE):
        for name, line in asked:
            required.setdefault(name, []).append(Site(path, line))
        own.setdefault(_top(path), set()).update(assigned)
    near = {name: {_top(site.path) for site in sites} for name, sites in required.items()}
    wanted = {name for name in required if not any(name in own[top] for top in near[name] | {"runners"} if top in own)}
    for name in sorted(wanted - _mentioned(context, wanted, near)):
        sites = required[name]
        for site in sites:
            others = [other for other in sites if other != site]
            more = f", as {counted(len(others), 'other script')} {'does' if len(others) == 1 else 'do'}" if others else ""
            yield context.finding(
                RULE,
                f"this script requires `{name}`{more}, and nothing in the repository sets it",
                site,
                help=f"take `{name}` out of the list, or set it where the script is started",
                related=[(other, "requires it too") for other in others[:3]],
                structure="check_env_vars",
                subject=name,
                level=Level.NOTE if is_retired(site.path) else None,
            )


def _top(path: str) -> str:
    return path.partition("/")[0]


def survey(context: Context) -> Iterator[object]:
    """The names that a script requires, with lines, and those that it assigns."""
    for path in context.documents.paths("shell"):
        facts = facts_of(context.documents.shell(path))
        asked = [[name, word.line] for name, word in required_names(facts).items() if not _GIVEN_BY_SYSTEM.match(name)]
        yield [asked, sorted({one.name for one in facts.assigned})]


def _mentioned(context: Context, names: set[str], near: dict[str, set[str]]) -> set[str]:
    """The names that some file gives a value or passes on: ``NAME:``, ``NAME=``, ``-e NAME``, ``"NAME"``. Scripts and programs of another
    part of the repository do not count."""
    if not names:
        return set()
    choice = "|".join(sorted(names))
    pattern = re.compile(rf"(?<![\w${{])({choice})(?:[\"']?\s*[:=]|[\"'])")
    passed = re.compile(rf"(?:-e|--env|--export=\S*)[ =,]?({choice})\b")
    anything = re.compile(choice)
    found: set[str] = set()
    for kind in ("workflow", "launcher", "recipe", "master", "runners", "script", "python"):
        for path in context.documents.paths(kind):
            if found == names:
                return found
            lines = context.lines(path)
            if not anything.search("\n".join(lines)):
                continue
            for line in lines:
                if anything.search(line) and not line.lstrip().startswith("#"):
                    there = {*pattern.findall(line), *passed.findall(line)}
                    anywhere = kind not in ("script", "python") or _top(path) in ("runners", "utils")
                    found.update(name for name in there if anywhere or _top(path) in near[name])
    return found
