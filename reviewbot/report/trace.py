"""Runs for people and, as version 1 of ``schemas/trace-report.schema.json``, for programs.

In the JSON form a value is a text where it is known, a list of texts where it is one of several, and ``null`` where it is unknown; a piece
of a text that is unknown is U+FFFD. ``provenance`` tells of the same values how they came about, oldest layer first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reviewbot.documents.positions import Site
from reviewbot.report.common import counted, visible, without_holes
from reviewbot.runs.model import Run, Server, Setting
from reviewbot.trace.effects import Assume, Edit, Limit, OpaqueEdit

VERSION = 1


def render_trace_json(runs: Iterable[Run], *, with_text: bool = False) -> str:
    return json.dumps(trace_report(runs, with_text=with_text), indent=2, ensure_ascii=True) + "\n"


def trace_report(runs: Iterable[Run], *, with_text: bool = False) -> dict[str, Any]:
    """The runs as plain data. ``recipe_text`` is there only where it is asked for."""
    return {"version": VERSION, "runs": [_run(run, with_text) for run in runs]}


def render_trace_text(runs: Iterable[Run], *, with_text: bool = False) -> str:
    runs = tuple(runs)
    out = [line for run in runs for line in _run_lines(run, with_text)]
    out.append(counted(len(runs), "run"))
    return "\n".join(out) + "\n"


def _run(run: Run, with_text: bool) -> dict[str, Any]:
    effects = run.effects
    return {
        "key": run.point.key,
        "point": run.point.id,
        "runner": run.runner,
        "node": run.node,
        "launcher": run.launcher,
        "outcome": run.outcome,
        "recipe": _text(run.recipe_path or run.recipe_argument),
        "recipe_text": _text(run.text.text) if with_text and run.text is not None else None,
        "edits": [
            {"path": _text(e.path), "line": e.line, "before": _text(e.before), "after": _text(e.after), "by": _site(e.site)}
            for e in effects
            if isinstance(e, Edit)
        ],
        "script": _text(run.script),
        "argv": [without_holes(word) for word in run.argv],
        "servers": [_server(server) for server in run.servers],
        "image": _value(run.image),
        "model_path": _value(run.model_path),
        "opaque": [_site(e.site) for e in effects if isinstance(e, OpaqueEdit)],
        "assumptions": [{**_site(e.site), "text": without_holes(e.text)} for e in effects if isinstance(e, Assume)],
        "limits": [{**_site(e.site), "text": without_holes(e.text)} for e in effects if isinstance(e, Limit)],
        "message": without_holes(run.message),
        "digest": run.digest,
        "provenance": {name: _layers(setting) for name, setting in _settings(run) if setting.layers},
    }


def _server(server: Server) -> dict[str, Any]:
    return {
        "role": server.role,
        "engine": server.engine,
        "flags": {name: _value(setting) for name, setting in server.flags.items()},
        "env": {name: _value(setting) for name, setting in server.env.items()},
        "gpus": server.gpus,
        "nodes": server.nodes,
        "workers": server.workers,
    }


def _settings(run: Run) -> Iterator[tuple[str, Setting]]:
    for name, setting in (("image", run.image), ("model_path", run.model_path)):
        if setting is not None:
            yield name, setting
    for number, server in enumerate(run.servers):
        yield from ((f"servers[{number}].flags.{name}", setting) for name, setting in server.flags.items())
        yield from ((f"servers[{number}].env.{name}", setting) for name, setting in server.env.items())


def _layers(setting: Setting) -> list[dict[str, Any]]:
    return [{**_site(layer.site), "operation": layer.operation, "value": without_holes(layer.value)} for layer in setting.layers]


def _value(setting: Setting | None) -> str | list[str] | None:
    if setting is None or setting.unknown or not setting.values:
        return None
    values = [without_holes(value) for value in setting.values]
    return values[0] if len(values) == 1 else values


def _site(site: Site) -> dict[str, Any]:
    return {"path": without_holes(site.path), "line": site.line}


def _text(text: str | None) -> str | None:
    return None if text is None else without_holes(text)


def _run_lines(run: Run, with_text: bool) -> Iterator[str]:
    yield f"{visible(run.point.id)} on {visible(run.runner)}: {run.outcome}{': ' + visible(run.message) if run.message else ''}"
    yield f"    launcher  {visible(run.launcher)}"
    if run.where is not None:
        yield f"    decided   {visible(str(run.where))}"
    recipe = run.recipe_path or run.recipe_argument
    for label, value in (("recipe", recipe), ("script", run.script)):
        if value:
            yield f"    {label:<9} {visible(value)}"
    for label, setting in (("image", run.image), ("model", run.model_path)):
        if setting is not None:
            yield f"    {label:<9} {_shown(setting)}"
    if run.argv:
        yield f"    argv      {' '.join(visible(word) for word in run.argv)}"
    for server in run.servers:
        size = ", ".join(f"{name} {'?' if n is None else n}" for name, n in _sizes(server).items())
        yield f"    server    {visible(server.role)} ({visible(server.engine or 'unknown engine')}; {size})"
        for prefix, settings in (("--", server.flags), ("", server.env)):
            yield from _setting_lines(prefix, settings)
    for effect in run.effects:
        if isinstance(effect, Edit):
            yield f"    edit      {visible(str(effect.site))}: {visible(effect.path)}:{effect.line}"
            yield from (f"        {sign} {visible(text)}" for sign, text in (("-", effect.before), ("+", effect.after)) if text is not None)
        elif isinstance(effect, (Assume, Limit, OpaqueEdit)):
            label = {Assume: "assumed", Limit: "limit", OpaqueEdit: "opaque"}[type(effect)]
            yield f"    {label:<9} {visible(str(effect.site))}: {visible(effect.path if isinstance(effect, OpaqueEdit) else effect.text)}"
    if with_text and run.text is not None:
        yield from (f"    | {visible(line)}" for line in run.text.text.rstrip("\n").split("\n"))


def _sizes(server: Server) -> dict[str, int | None]:
    return {"workers": server.workers, "gpus a worker": server.gpus, "nodes": server.nodes}


def _setting_lines(prefix: str, settings: Mapping[str, Setting]) -> Iterator[str]:
    for name, setting in settings.items():
        yield f"        {prefix}{visible(name)}{' ' if prefix else '='}{_shown(setting)}"


def _shown(setting: Setting) -> str:
    values = [visible(value) for value in setting.values]
    if setting.unknown:
        values.append("unknown")
    by = f"  ({visible(str(setting.site))})" if setting.site is not None else ""
    return (" or ".join(values) or "unknown") + by
