"""The trace of a script: all paths through it that differ in something that can be seen."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Union

from reviewbot.documents.positions import Site
from reviewbot.documents.shell import parse_shell, parsed_like
from reviewbot.documents.shell_syntax import Script
from reviewbot.trace.builtins import BUILTINS, declare
from reviewbot.trace.control import Bound, Control, Exit, Fork, Stop
from reviewbot.trace.effects import Assign, Assume, Effect, Enter, Exec, Limit, Refuse, Submit, Variable
from reviewbot.trace.environment import Environment
from reviewbot.trace.filesystem import TextCache, VirtualFiles
from reviewbot.trace.protocol import CommandTable
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.shell import Context, Evaluator, place_of
from reviewbot.trace.state import Place
from reviewbot.trace.values import Hole, Holes, without_forged_holes
from reviewbot.tree import Tree

Given = Union[str, Hole]
Upstream = Callable[[Union[str, None]], Union[Tree, None]]

# What every machine has; its value is not known unless the job says so.
_MACHINE = (
    "HOME", "USER", "LOGNAME", "HOSTNAME", "PATH", "SHELL", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY",
    "RUNNER_TEMP",
)
_RECURSION = 12_000


@dataclass(frozen=True, slots=True)
class TracePath:
    """One way through the script.

    ``outcome`` is ``submit`` (a job was handed to a scheduler), ``script`` (a bench script was entered), ``refused`` (it ended with a
    status that
    is not 0 before either), ``ended`` (it ended otherwise) or ``unknown`` (a bound was hit). ``message`` is why it was refused, ``where``
    the line
    that decided the outcome, ``variables`` what was set at the end.
    """

    effects: tuple[Effect, ...]
    outcome: str
    status: int | None
    message: str
    where: Site | None
    variables: Mapping[str, Variable]

    @property
    def assumptions(self) -> tuple[Assume, ...]:
        return tuple(effect for effect in self.effects if isinstance(effect, Assume))

    @property
    def limits(self) -> tuple[Limit, ...]:
        return tuple(effect for effect in self.effects if isinstance(effect, Limit))


@dataclass(frozen=True, slots=True)
class Trace:
    """All paths. ``reads`` are the names of initial variables that were looked at (also those that were not set), ``seen`` their values
    then
    (``None``: not set), ``files_read`` the files of the repository, ``holes`` what the unknown pieces of all values stand for."""

    paths: tuple[TracePath, ...]
    reads: frozenset[str]
    seen: Mapping[str, Given | None]
    files_read: frozenset[str]
    holes: Holes
    complete: bool = True  # false where the bound on paths was hit
    initial: Mapping[str, Variable] = field(default_factory=dict, repr=False, compare=False)
    executed: tuple[Site, ...] = field(default=(), repr=False, compare=False)  # first lines of executed statements, where recorded

    def rebased(self, environment: Mapping[str, Given]) -> Trace:
        """The same trace for another initial environment that agrees in every name of ``reads``."""
        base = {name: found for name, found in self.initial.items() if name in _MACHINE and found.site is None}
        base.update({name: Variable(without_forged_holes(value), True, None) for name, value in environment.items() if isinstance(value,
            str)})
        for name in environment:
            if not isinstance(environment[name], str) and name in self.initial:
                base[name] = self.initial[name]
        if "GITHUB_WORKSPACE" in self.initial and "GITHUB_WORKSPACE" not in base:
            base["GITHUB_WORKSPACE"] = self.initial["GITHUB_WORKSPACE"]
        paths = tuple(_rebased_path(path, base, self.initial) for path in self.paths)
        return replace(self, paths=paths, initial=base)


def _rebased_path(path: TracePath, base: Mapping[str, Variable], old: Mapping[str, Variable]) -> TracePath:
    effects: list[Effect] = []
    known: dict[int, Environment] = {}
    first: set[str] = set()
    for effect in path.effects:
        if isinstance(effect, (Exec, Submit, Enter)) and isinstance(effect.environment, Environment):
            key = id(effect.environment)
            if key not in known:
                known[key] = effect.environment.with_base(base)
            effects.append(replace(effect, environment=known[key]))
        elif isinstance(effect, Assign) and effect.name not in first:
            first.add(effect.name)
            was, now = old.get(effect.name), base.get(effect.name)
            if effect.before == (was.value if was else None) and was is not now:
                effect = replace(effect, before=now.value if now else None)
            effects.append(effect)
        else:
            effects.append(effect)
    variables = path.variables.with_base(base) if isinstance(path.variables, Environment) else path.variables
    return replace(path, effects=tuple(effects), variables=variables)


@dataclass(slots=True)
class ParseCache:
    """Parsed scripts by text, shared by traces."""

    scripts: dict[str, Script] = field(default_factory=dict)
    texts: TextCache = field(default_factory=TextCache)
    size: int = 0
    _models: dict[int, list[Script]] = field(default_factory=dict)  # whole parses by their number of lines, newest first

    def parse(self, text: str, path: str) -> Script:
        found = self.scripts.get(text)
        if found is None:
            if self.size > 50_000_000:
                self.scripts.clear()
                self._models.clear()
                self.size = 0
            found = self._like(text)
            if found is None:
                found = parse_shell(text, path)
            self.scripts[text] = found
            self.size += len(text)
        return found

    def _like(self, text: str) -> Script | None:
        lines = text.count("\n")
        if lines < _LONG:
            return None
        models = self._models.setdefault(lines, [])
        for model in models:
            found = parsed_like(model, text)
            if found is not None:
                return found
        found = parse_shell(text)
        self._models[lines] = [found, *models][:_MODELS]
        return found


_LONG = 10  # lines from which on it pays to look for a like script
_MODELS = 6  # of one number of lines
_SHARED = ParseCache()


def trace_script(
    script_text: str, path: str, line_offset: int, environment: Mapping[str, Given], tree: Tree, *,
    upstreams: Mapping[str, Upstream] | None = None, settings: TraceSettings | None = None, stop: str = "submit",
    cache: ParseCache | None = None, commands: CommandTable | None = None, options: frozenset[str] = frozenset("e"),
    record: bool = False,
) -> Trace:
    """Evaluates a script (the text of a workflow step) in a checkout of ``tree``.

    ``path`` and ``line_offset`` say where the text stands: line *n* of it is line *n* + ``line_offset`` of ``path``. ``environment`` is
    all that
    the job sets; a ``Hole`` stands for a value that is not known. ``upstreams`` gives the files of other repositories by URL and ref.
    With ``stop``
    ``submit`` a path ends at the first job it submits, or when the bench script that it enters has ended; with ``end`` it goes on to
    its end. ``options`` are those of the shell at the start (a workflow step runs in ``bash -e``). With ``record`` the trace tells which
    statements were executed. Never raises on any script.
    """
    settings = settings or TraceSettings()
    cache = cache or _SHARED
    if commands is None:
        from reviewbot.trace.commands import COMMANDS

        commands = COMMANDS
    given: dict[str, Given] = {**settings.environment, **environment}
    workspace = given.get("GITHUB_WORKSPACE")
    if isinstance(workspace, str) and workspace.startswith("/") and len(workspace) > 1:
        settings = replace(settings, workspace=workspace.rstrip("/"))
    holes = Holes()
    initial: dict[str, Variable] = {}
    interned: dict[tuple[object, ...], str] = {}
    for name in _MACHINE:
        if name not in given:
            initial[name] = Variable(holes.new(Hole(f"${name}", None, nonempty=True)), True, None)
    for name, value in given.items():
        initial[name] = Variable(without_forged_holes(value) if isinstance(value, str) else holes.new(value), True, None)
    if not isinstance(workspace, str):
        initial["GITHUB_WORKSPACE"] = Variable(settings.workspace, True, None)
    sources = upstreams or {}

    def upstream(url: str, ref: str | None) -> Tree | None:
        found = sources.get(url) or sources.get(url.removesuffix("/").removesuffix(".git")) or sources.get(url.removesuffix("/") + ".git")
        return found(ref) if found is not None else None

    context = Context(settings, commands, BUILTINS, cache.parse, upstream, initial, stop, declare, holes, interned)
    context.deadline = time.thread_time() + settings.bounds.seconds
    limit = sys.getrecursionlimit()
    if limit < _RECURSION:
        sys.setrecursionlimit(_RECURSION)
    try:
        return _all_paths(context, without_forged_holes(script_text), path, line_offset, tree, cache, given, options, record)
    finally:
        if limit < _RECURSION:
            sys.setrecursionlimit(limit)


def _all_paths(context: Context, text: str, path: str, offset: int, tree: Tree, cache: ParseCache, given: Mapping[str, Given],
               options: frozenset[str], record: bool) -> Trace:
    script = context.parse(text, path)
    place = place_of(script, path, "", offset)
    settings = context.settings
    waiting: list[dict[tuple[object, ...], int]] = [{}]
    paths: list[TracePath] = []
    files_read: set[str] = set()
    complete = True
    executed: dict[Site, None] = {}
    while waiting:
        decisions = waiting.pop()
        files = VirtualFiles(tree, settings.workspace, cache=cache.texts, bound=settings.bounds.text)
        shell: Evaluator
        if record:
            from reviewbot.trace.recording import RecordingEvaluator

            shell = RecordingEvaluator(context, files, decisions)
            shell.executed = executed
        else:
            shell = Evaluator(context, files, decisions)
        shell.options.update(options)
        try:
            found = _run(shell, script, place)
        except Fork as fork:
            if len(paths) + len(waiting) + fork.answers > settings.bounds.paths or time.thread_time() > context.deadline:
                complete = False
                waiting.append({**decisions, fork.question: 0})
                if time.thread_time() > context.deadline:
                    paths.append(_cut(shell, "too many undecided conditions"))
                    break
            else:
                waiting.extend({**decisions, fork.question: answer} for answer in range(fork.answers - 1, -1, -1))
            continue
        finally:
            files_read |= files.files_read()
        if not any(_equal(found, other) for other in paths):
            paths.append(found)
    if any(item.outcome in ("submit", "script") for item in paths):
        # an undecided condition one way of which only leads to a refusal is taken for the other, as where both ways stand side by side
        paths = [item for item in paths if item.outcome != "refused"]
    if not complete:
        site = Site(path, 1 + offset)
        note = Limit(f"more than {settings.bounds.paths} paths", site)
        paths = [replace(item, effects=(*item.effects, note)) for item in paths]
    reads = frozenset(context.reads)
    seen: dict[str, Given | None] = {name: given.get(name) for name in reads}
    return Trace(tuple(paths), reads, seen, frozenset(files_read), context.holes, complete, context.initial, tuple(executed))


def _cut(shell: Evaluator, message: str) -> TracePath:
    return TracePath((*shell.effects, Limit(message, shell.site_now)), "unknown", None, message, shell.site_now, {})


def _run(shell: Evaluator, script: Script, place: Place) -> TracePath:
    shell.place = place
    outcome, status, message = "ended", None, ""
    where: Site | None = None
    try:
        try:
            shell._problems(script, place)
            shell.block(script.body)
            status = shell.status
            where = shell.site_now
        except Exit as end:
            status, where, message = end.status, end.site, end.message or ""
        if shell.exit_site is not None and status and not message:
            where, message = shell.exit_site, shell.exit_message or ""
        shell.place = place
        printed = shell.message()
        shell.status = status
        shell.run_exit_trap()
        message = message or printed
    except Stop as end:
        outcome, status, where = end.outcome, end.status, end.site
        message = (shell.exit_message or shell.message()) if outcome == "refused" else ""
    except Bound as bound:
        shell.effects.append(Limit(bound.text, bound.site))
        outcome, message, where = "unknown", bound.text, bound.site
    except RecursionError:
        shell.effects.append(Limit("nested too deeply", shell.site_now))
        outcome, message, where = "unknown", "nested too deeply", shell.site_now
    except Exit as end:
        status, where, message = end.status, end.site, end.message or message
    except Control:
        where = shell.site_now
    if outcome == "ended":
        if any(isinstance(effect, Submit) for effect in shell.effects):
            outcome = "submit"
        elif any(isinstance(effect, Enter) for effect in shell.effects):
            started = any(isinstance(effect, Exec) and effect.background for effect in shell.effects)
            outcome = "refused" if status and not started else "script"
        elif status:
            outcome = "refused"
    if outcome == "refused" and where is not None:
        shell.effects.append(Refuse(status, message, where))
    if outcome != "refused":
        message = message if outcome == "unknown" else ""
    initial = shell.context.initial
    changes: dict[str, Variable | None] = {
        name: found
        for (name, found), was in zip(shell.variables.items(), map(initial.get, shell.variables), strict=True)
        if found is not was and isinstance(found, Variable)
    }
    changes.update({name: None for name in initial if name not in shell.variables})
    return TracePath(tuple(shell.effects), outcome, status, message, where, Environment(initial, changes))


def _equal(one: TracePath, two: TracePath) -> bool:
    """Whether two paths differ in nothing but assumptions and variables that nobody sees."""
    if (one.outcome, one.status, one.message) != (two.outcome, two.status, two.message):
        return False
    return _visible(one) == _visible(two)


def _visible(path: TracePath) -> list[Effect]:
    return [effect for effect in path.effects if not isinstance(effect, (Assume, Assign))]


__all__ = ["Given", "ParseCache", "Trace", "TracePath", "Upstream", "trace_script"]
