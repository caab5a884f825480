"""Helpers of the evaluator's tests: a small repository, a few commands, and what a script printed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewbot.trace.effects import Effect, Submit
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.protocol import Command, Invocation, Outcome
from reviewbot.trace.trace import Given, Trace, TracePath, trace_script
from reviewbot.tree import MemoryTree

OUT = "/printed"


def _cat(call: Invocation) -> Outcome:
    if len(call.argv) == 1:
        return Outcome(0, call.stdin())
    parts: list[str] = []
    lines: list[LineOrigin] = []
    for word in call.argv[1:]:
        content = call.shell.files.read_text(call.shell.absolute(word))
        if content is None:
            return Outcome(1, "", f"cat: {word}: No such file or directory\n")
        parts.append(content.text)
        lines.extend(content.origins)
    return Outcome(0, "".join(parts), "", tuple(lines))


def _remove(call: Invocation) -> Outcome:
    for word in call.argv[1:]:
        call.shell.files.remove(call.shell.absolute(word))
    return Outcome(0)


def _submit(call: Invocation) -> Outcome:
    path = call.shell.absolute(call.argv[-1])
    shell = call.shell
    shell.emit(Submit("srtctl", call.argv, shell.environment(), shell.cwd, call.site, str(call.argv[-1]), path,
        shell.files.read_text(path)))
    return Outcome(0, f"Job {shell.hole('job', call.site, nonempty=True, numeric=True, witness='12345')}\n")


def _enter(call: Invocation) -> Outcome:
    workspace = call.shell.settings.workspace
    return call.shell.enter(call.argv[1], call.argv, call.site, by="srun", image="img", mounts=[(workspace, "/workspace")],
                            environment={"ADDED": "1"}, cwd="/workspace")


def _broken(call: Invocation) -> Outcome:
    raise KeyError("a bug")


COMMANDS: Mapping[str, Command] = {
    "cat": _cat, "rm": _remove, "apply": _submit, "enter": _enter, "broken": _broken, "sleep": lambda call: 0, "maybe": lambda call: None,
}


def trace(script: str, files: Mapping[str, str] | None = None, environment: Mapping[str, Given] | None = None, **more: Any) -> Trace:
    tree = MemoryTree({path: text.encode() for path, text in (files or {}).items()})
    more.setdefault("commands", COMMANDS)
    more.setdefault("options", frozenset())
    return trace_script(script, "step.yml", 0, environment or {}, tree, **more)


def only(script: str, files: Mapping[str, str] | None = None, environment: Mapping[str, Given] | None = None, **more: Any) -> TracePath:
    found = trace(script, files, environment, **more)
    assert len(found.paths) == 1, [path.assumptions for path in found.paths]
    return found.paths[0]


def variable(path: TracePath, name: str) -> str | None:
    return path.variables[name].value if name in path.variables else None


def printed(script: str, files: Mapping[str, str] | None = None, environment: Mapping[str, Given] | None = None) -> str:
    """What a script prints on standard output, up to where it ends by ``exit``; ``SUBMIT`` runs last, so wrap it."""
    path = only(f"trap 'apply {OUT}' EXIT\nexec > {OUT}\n{script}\n", files, environment)
    submitted = [effect for effect in path.effects if isinstance(effect, Submit)]
    assert submitted and submitted[-1].text is not None
    return submitted[-1].text.text


def kinds(path: TracePath, kind: type) -> list[Any]:
    return [effect for effect in path.effects if isinstance(effect, kind)]


def effects_named(path: TracePath) -> list[str]:
    return [type(effect).__name__ for effect in path.effects]


def empty() -> FileText:
    return FileText("", ())


__all__ = ["COMMANDS", "Effect", "effects_named", "empty", "kinds", "only", "printed", "trace", "variable"]
