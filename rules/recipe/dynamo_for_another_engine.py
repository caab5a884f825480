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

from reviewbot.catalog.names import names_of
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import Use, engine_window, own, uses

RULE = Rule("dynamo-for-another-engine", Level.NOTE, frozenset({"runs", "change"}), guess=True)

_NEAR = 4  # releases of the engine between two that usually work together


def check(context: Context) -> Iterator[Finding]:
    dynamo = names_of("dynamo")
    if dynamo is None or context.changed is None:
        return
    for use in uses(context):
        version = next((value for key in _KEYS if (value := use.recipe.settings.get(key)) is not None), None)
        asked = dynamo.requires.get(str(version.value), {}) if version is not None else {}
        if version is None or not asked or not _touched(context, use):
            continue
        for engine in sorted({server.engine for server in use.servers} & asked.keys()):
            found = engine_window(engine, use.image)
            at = found[0].at(asked[engine]) if found is not None else None
            if found is None or at is None or not found[2]:
                continue
            names, window, _ = found
            if window.first - at.last <= _NEAR and at.first - window.last <= _NEAR:
                continue
            site = use.written(version)
            yield context.finding(
                RULE,
                f"Dynamo {version.value} is built for {engine} {asked[engine]}, the image `{use.image}` holds {names.describe(window)}",
                site if site is not None and own(context, site) else _row(use),
                help="take the release of Dynamo that belongs to the image's engine",
                touches=use.runs,
                structure=version.key,
                subject=f"{version.value} {use.image}",
            )


_KEYS = ("dynamo.wheel", "dynamo.version", "dynamo.source.wheel", "dynamo.source.pypi")


def _touched(context: Context, use: Use) -> bool:
    assert context.changed is not None
    return use.path in context.changed or any(run.point.master in context.changed for run in use.runs)


def _row(use: Use) -> Site:
    return use.runs[0].point.site if use.runs else Site(use.path, 1)
