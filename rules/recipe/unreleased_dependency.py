"""A recipe depends on code that is no release

What
A recipe takes Dynamo from a commit or from the top of its tree, or a command, a setup or a script that it names clones a repository
without a fixed commit or from somebody's own fork.

Why
Nobody can run the same again: a branch moves, a fork goes away. Reviewers ask for a release, or for the reason.

Example
    dynamo:
      hash: 2d5d7eb0c0ffee

Instead
    dynamo:
      version: "1.3.1"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reviewbot.bench.model import Value
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import Use, brought, own, uses
from reviewbot.runs.model import Run

RULE = Rule("unreleased-dependency", Level.NOTE, guess=True)

_CLONE = re.compile(r"git\s+clone\s+(?:-\S+\s+(?:[^-\s]\S*\s+)??)*?(?P<url>(?:https?://|git@)[\w.@:/~-]+)")
_PIP = re.compile(r"pip3?\s+install\s[^;&|\n]*?git\+(?P<url>https?://[\w./-]+?)(?:\.git)?(?:@(?P<ref>[\w./-]+))?(?=[\s\"'#;]|$)")
_OWNERS = frozenset(
    [
        "semianalysisai",
        "nvidia",
        "ai-dynamo",
        "vllm-project",
        "sgl-project",
        "rocm",
        "kvcache-ai",
        "lmcache",
        "flashinfer-ai",
        "deepseek-ai",
        "deepep",
        "huggingface",
        "eleutherai",
        "openai",
        "llm-d",
        "inferencemax",
    ]
)


def check(context: Context) -> Iterator[Finding]:
    said: list[tuple[Run | None, Any]] = list(context.gathered(RULE))
    said += [(None, fact) for use in brought(context) for fact in _said(context, use)]
    found: dict[str, list[tuple[Run | None, str, str, Site]]] = {}
    for run, (key, message, help, place) in said:
        site = Site(*place)
        if site.path in context.changed if context.changed is not None else not key.startswith("dynamo."):
            found.setdefault(message, []).append((run, key, help, site))
    for message, places in found.items():
        _, key, help, site = places[0]
        yield context.finding(
            RULE,
            message,
            site,
            help=help,
            touches=[run for run, *_ in places if run is not None],
            related=[Related(other, "here too") for other in dict.fromkeys(place[3] for place in places) if other != site],
            structure=key,
            subject=message,
        )


def gather(context: Context) -> Iterator[object]:
    """Key, message, help and place of each dependency of the recipe of one run."""
    for use in uses(context):
        yield from _said(context, use)


def _said(context: Context, use: Use) -> Iterator[Any]:
    for key, value, message, help in _dependencies(use):
        site = use.written(value)
        if site is not None and own(context, site):
            yield [key, message, help, list(site)]


def _dependencies(use: Use) -> Iterator[tuple[str, Value, str, str]]:
    settings = use.recipe.settings
    for key in ("dynamo.hash", "dynamo.source.rev"):
        value = settings.get(key)
        if value is not None and value.value:
            yield (
                key,
                value,
                f"`{key}` builds Dynamo from the commit `{str(value.value)[:40]}`, which is no release",
                "use a release, or say why it takes this commit",
            )
    value = settings.get("dynamo.top_of_tree")
    if value is not None and value.value is True:
        yield "dynamo.top_of_tree", value, "`dynamo.top_of_tree` builds whatever is newest that day", "use a release or a commit"
    for key, value in settings.items():
        if isinstance(value.value, str) and ("git clone" in value.value or "git+" in value.value):
            yield from _command(key, value, value.value)


def _command(key: str, value: Value, text: str) -> Iterator[tuple[str, Value, str, str]]:
    for match in (*_CLONE.finditer(text), *_PIP.finditer(text)):
        url = match["url"].removesuffix(".git")
        owner = re.split(r"[/:]", url)[-2].lower() if len(re.split(r"[/:]", url)) > 1 else ""
        name = url.rsplit("/", 1)[-1]
        pinned = (
            re.search(r"(?:checkout|reset --hard)\s+[\"']?(?:[0-9a-f]{7,40}|v\d)", text[match.end() :]) is not None
            or "@" in match.group().rpartition(name)[2]
        )
        if owner and owner not in _OWNERS:
            yield (
                key,
                value,
                f"`{key}` takes `{owner}/{name}`, which is somebody's own copy{'' if pinned else ', at no fixed commit'}",
                "use the project's own repository, at a commit",
            )
        elif not pinned:
            yield key, value, f"`{key}` takes `{owner}/{name}` at no fixed commit", "check out a commit or a tag"
