"""An engine does not read a variable

What
A recipe or a bench script sets an environment variable that belongs to the engine by its name, and the release in the image reads no such
variable: it was removed, never released, or is misspelt. A variable counts as read where it is named anywhere in the code of the release;
of a nightly build both neighbouring releases are asked, and of an image whose release cannot be told only names that look misspelt are
reported.

Why
The setting looks tuned and does nothing, and is published as part of how the numbers were made. Nothing complains.

Example
    # image: lmsysorg/sglang:v0.5.14
    decode_environment:
      SGLANG_DECODE_BOOTSTRAP_TIMEOUT: "1000"

Instead
    decode_environment:
      SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT: "1000"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.engine_settings import Named, by_file, variable_status, variables
from reviewbot.engine.model import Finding, Fix, Level, Related, Rule
from reviewbot.engine.recipes import replaced, word_span

RULE = Rule("unread-variable", Level.WARNING, frozenset({"runs", "change"}), scope="run")

_NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")


def check(context: Context) -> Iterator[Finding]:
    for group in by_file(named for named in variables(context) if _NAME.match(named.name)):
        status = variable_status(group[0])
        named = group[0]
        if status.known or (not named.settled and (status.ever or named.names.similar_env(named.name, named.window) is None)):
            continue  # a private build may read what no release does, unless it looks misspelt
        yield _finding(context, group, status.before, status.after)


def _finding(context: Context, group: tuple[Named, ...], before: str | None, after: str | None) -> Finding:
    named = group[0]
    name = named.name
    near = named.names.similar_env(name, named.window)
    successor = named.names.replacement(name, named.names.anywhere)
    if before is not None:
        message = f"`{name}` is read by nothing in {named.releases}{named.because}: the last release that reads it is {before}"
        help = f"take it out{f'; `{successor}` replaced it' if successor else ''}"
    elif after is not None:
        first = f"{named.names.engine} {after} is the first release that reads it"
        message = f"`{name}` is read by nothing in {named.releases}{named.because}: {first}"
        help = "take a newer image, or take it out"
    else:
        ever = ", nor in any other release that is known" if named.settled else ""
        message = f"`{name}` is read by nothing in {named.releases}{named.because}{ever}"
        help = f"did you mean `{near}`?" if near else "take it out"
    meant = [replaced(context, one.site, name, near) for one in group] if near is not None and before is None and after is None else []
    replacements = tuple(one for one in meant if one is not None)
    return context.finding(
        RULE,
        message,
        word_span(context, named.site, name) or named.site,
        path=named.site.path,
        help=help,
        touches=[run for one in group for run in one.runs],
        related=[Related(site, "here too") for site in sorted({one.site for one in group} - {named.site})],
        fix=Fix(f"write `{near}`", replacements, safe=False) if replacements and len(replacements) == len(group) else None,
        structure=f"{named.server.role}.{name}",
        subject=name,
        level=Level.WARNING if named.settled else Level.NOTE,
    )
