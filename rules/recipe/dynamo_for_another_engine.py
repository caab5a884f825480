"""Dynamo and the engine in the image are of different times

What
A change sets a release of Dynamo, or an image, so that the image holds another release of the engine than the one that this Dynamo is
built for, by more than a few releases.

Why
Dynamo's worker calls the engine's inside. Across many releases it breaks when the worker starts, or worse, in the middle of a run.

Example
    # image: lmsysorg/sglang:v0.5.19
    dynamo: {version: "0.8.1.post3"}

Instead
    # image: lmsysorg/sglang:v0.5.19
    dynamo: {version: "1.4.2"}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewbot.catalog.names import names_of
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import Use, brought, engine_window, own, uses
from reviewbot.runs.model import Run

RULE = Rule("dynamo-for-another-engine", Level.NOTE, frozenset({"runs", "change"}), guess=True)

_NEAR = 4  # releases of the engine between two that usually work together


def check(context: Context) -> Iterator[Finding]:
    if context.changed is None:
        return
    said: list[tuple[Run | None, Any]] = [
        *context.gathered(RULE),
        *((None, fact) for use in brought(context) for fact in _said(context, use)),
    ]
    for run, (path, key, message, place) in said:
        if path in context.changed or (run is not None and run.point.master in context.changed):
            site = Site(*place) if place is not None else run.point.site if run is not None else Site(path, 1)
            yield context.finding(
                RULE,
                message,
                site,
                help="take the release of Dynamo that belongs to the image's engine",
                touches=[run] if run is not None else [],
                structure=key,
                subject=message,
            )


def gather(context: Context) -> Iterator[object]:
    """Path of the recipe of one run, key, message, and place, where Dynamo and the engine in the image are far apart."""
    for use in uses(context):
        yield from _said(context, use)


def _said(context: Context, use: Use) -> Iterator[Any]:
    dynamo = names_of("dynamo")
    version = next((value for key in _KEYS if (value := use.recipe.settings.get(key)) is not None), None)
    asked = dynamo.requires.get(str(version.value), {}) if version is not None and dynamo is not None else {}
    for engine in sorted({server.engine for server in use.servers} & asked.keys()) if version is not None else ():
        assert version is not None
        found = engine_window(engine, use.image)
        at = found[0].at(asked[engine]) if found is not None else None
        if found is None or at is None or not found[2]:
            continue
        names, window, _ = found
        if window.first - at.last <= _NEAR and at.first - window.last <= _NEAR:
            continue
        site = use.written(version)
        message = f"Dynamo {version.value} is built for {engine} {asked[engine]}, the image `{use.image}` holds {names.describe(window)}"
        yield [use.path, version.key, message, list(site) if site is not None and own(context, site) else None]


_KEYS = ("dynamo.wheel", "dynamo.version", "dynamo.source.wheel", "dynamo.source.pypi")
