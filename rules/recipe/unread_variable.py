"""An engine does not read a variable

What
A recipe or a bench script sets an environment variable that belongs to the engine by its name, and the release in the image reads no such
variable: it was removed, never released, or is misspelt. A variable counts as read where it is named anywhere in the code of the release;
of a nightly build both neighbouring releases are asked.

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
from reviewbot.engine.engine_settings import Named, variable_status, variables
from reviewbot.engine.model import Finding, Fix, Level, Rule
from reviewbot.engine.recipes import replaced, word_span

RULE = Rule("unread-variable", Level.WARNING, frozenset({"runs", "change"}), scope="run")

_NAME = re.compile(r"[A-Z][A-Z0-9_]*\Z")


def check(context: Context) -> Iterator[Finding]:
    for named in variables(context):
        if not _NAME.match(named.name):
            continue
        status = variable_status(named)
        if status.known or (not named.settled and status.ever):
            continue
        yield _finding(context, named, status.before, status.after)


def _finding(context: Context, named: Named, before: str | None, after: str | None) -> Finding:
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
    replacement = replaced(context, named.site, name, near) if near is not None and before is None and after is None else None
    return context.finding(
        RULE,
        message,
        word_span(context, named.site, name) or named.site,
        path=named.site.path,
        help=help,
        touches=named.runs,
        fix=Fix(f"write `{near}`", (replacement,), safe=False) if replacement is not None else None,
        structure=f"{named.server.role}.{name}",
        subject=name,
        level=Level.WARNING if named.settled else Level.NOTE,  # a private build may read it
    )
