"""A flag or a variable has a new name

What
A recipe or a bench script uses a flag or an environment variable that the release in its image still takes, but has declared deprecated.

Why
The next image drops it: a flag then ends the start, a variable silently does nothing.

Example
    # image: lmsysorg/sglang:v0.5.16
    SGLANG_ENABLE_THINKING: "1"

Instead
    SGLANG_DEFAULT_THINKING: "1"

Fix
The new name, where there is one (unsafe: check that its values mean the same).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.engine_settings import Named, by_file, flags, variable_status, variables
from reviewbot.engine.model import Finding, Fix, Level, Related, Rule
from reviewbot.engine.recipes import replaced, word_span

RULE = Rule("deprecated-engine-name", Level.NOTE, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    successors = {(named.site, named.name): new for named, new in _deprecated(context)}
    for group in by_file(named for named, _ in _deprecated(context)):
        named = group[0]
        old, new = named.name, successors[named.site, named.name]
        instead = new.lstrip("-") if new.startswith("-") and not old.isupper() and "=" not in new and "<" not in new else new
        plain = bool(new) and "=" not in new and "<" not in new and new.startswith("-") == (not old.isupper())
        meant = [replaced(context, one.site, old, instead) for one in group] if plain else []
        replacements = tuple(one for one in meant if one is not None)
        yield context.finding(
            RULE,
            f"`{old}` is deprecated in {named.releases}{named.because}"
            + (f": `{new}` replaces it" if new else ", and nothing replaces it"),
            word_span(context, named.site, old) or named.site,
            path=named.site.path,
            help=f"write `{instead}`" if new else "take it out",
            touches=[run for one in group for run in one.runs],
            related=[Related(site, "here too") for site in sorted({one.site for one in group} - {named.site})],
            fix=Fix(f"write `{instead}`", replacements, safe=False) if replacements and len(replacements) == len(group) else None,
            structure=f"{named.server.role}.{old}",
            subject=old,
        )


def _deprecated(context: Context) -> Iterator[tuple[Named, str]]:
    yield from _renamed(flags(context), "--")
    for named, new in _renamed(variables(context), ""):
        if variable_status(named).known:
            yield named, new
    for named in variables(context):
        if (
            named.settled
            and named.name.startswith("SGL_")
            and not named.names.env(named.name, named.window).known
            and variable_status(named).known
        ):
            yield named, "SGLANG_" + named.name.removeprefix("SGL_")


def _renamed(settings: Iterable[Named], dashes: str) -> Iterator[tuple[Named, str]]:
    for named in settings:
        if named.settled:
            new = named.names.replacement(dashes + named.name, named.window)
            if new is not None:
                yield named, new
