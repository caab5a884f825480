"""What decides a run beside its recipe, servers and clients: exported variables, other programs, steps on files of unknown text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from reviewbot.documents.positions import Site
from reviewbot.runs.engines import recognise
from reviewbot.trace.effects import Copy, EditCommand, Exec, OpaqueEdit, Submit
from reviewbot.trace.values import HOLE

if TYPE_CHECKING:
    from reviewbot.runs.model import Run

Steps = tuple[tuple[str, Site], ...]

# Programs of a bench script that change what its servers and clients are made of; the rest is housekeeping.
_INSTALLERS = frozenset(
    {"pip", "pip3", "uv", "apt", "apt-get", "npm", "cargo", "patch", "make", "cmake", "hf", "huggingface-cli", "conda", "wget", "curl"}
)
_NOT_EFFECTIVE = frozenset({"RUNNER_NAME", "RECIPE_FINGERPRINT", "PWD", "OLDPWD", "SHLVL", "_"})


def plain(text: str) -> str:
    """A value with every unknown piece written alike: which piece it was cannot be compared between traces."""
    return HOLE.sub("\u27e8?\u27e9", text)


def effective_name(name: str) -> bool:
    """Whether an environment variable says something about what runs."""
    return name not in _NOT_EFFECTIVE and not name.startswith("GITHUB_")


def exported(run: Run) -> Mapping[str, tuple[str, Site]]:
    """The variables that the launcher itself sets and hands to the submitted job, with the line of each."""
    for effect in run.effects:
        if isinstance(effect, Submit):
            changes = {name: one for name, one in effect.environment.items() if one.site is not None and one.exported}
            return {name: (plain(one.value), one.site) for name, one in changes.items() if effective_name(name) and one.site is not None}
    return {}


def programs(run: Run) -> dict[str, Steps]:
    """What a bench script installs, patches and starts beside servers and clients, by program."""
    found: dict[str, list[tuple[str, Site]]] = {}
    for effect in run.effects:
        if not isinstance(effect, Exec) or effect.site.path == run.launcher or not effect.argv:
            continue
        program = recognise(effect.argv)
        if program.kind in ("server", "client"):
            continue
        name = program.name.rsplit("/", 1)[-1]
        if program.kind == "router" or name in _INSTALLERS or name.endswith(".py"):
            found.setdefault(name, []).append((plain(" ".join(effect.argv)), effect.site))
    return {name: tuple(steps) for name, steps in found.items()}


def unseen_steps(run: Run) -> dict[str, Steps]:
    """The steps that act on a recipe in a way that is not known: programs that rewrite it, and all edits and copies where its text is not
    at hand."""
    found: dict[str, list[tuple[str, Site]]] = {}
    if run.outcome != "submit":
        return {}
    for effect in run.effects:
        if isinstance(effect, OpaqueEdit):
            found.setdefault("rewritten", []).append((plain(" ".join(effect.argv)), effect.site))
        elif run.text is None and isinstance(effect, EditCommand):
            found.setdefault("edits", []).append((plain(effect.program), effect.site))
        elif run.text is None and isinstance(effect, Copy):
            found.setdefault("copies", []).append((plain(f"{effect.source} -> {effect.target}"), effect.site))
    return {name: tuple(steps) for name, steps in found.items()}
