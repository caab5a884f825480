"""A flag is written short

What
A flag is the beginning of exactly one flag of the engine, which takes it for that one.

Why
It works until a release adds a second flag that begins in the same way; then the engine refuses to start. Whoever searches for the flag
does not find it.

Example
    decode:
      speculative-algo: NEXTN

Instead
    decode:
      speculative-algorithm: NEXTN

Fix
The flag is written out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.engine.context import Context
from reviewbot.engine.engine_settings import flag_status, flags, full_names
from reviewbot.engine.model import Finding, Fix, Level, Rule
from reviewbot.engine.recipes import replaced, word_span

RULE = Rule("abbreviated-flag", Level.NOTE, frozenset({"runs", "change"}), scope="run")

_NAME = re.compile(r"[A-Za-z][\w-]*\Z")


def check(context: Context) -> Iterator[Finding]:
    for named in flags(context):
        if not _NAME.match(named.name) or flag_status(named).known:
            continue
        full = full_names(named)
        if len(full) != 1:
            continue
        replacement = replaced(context, named.site, named.name, full[0])
        yield context.finding(
            RULE,
            f"`{named.name}` is short for `{full[0]}` in {named.releases}{named.because}"
            ": it works as long as no other flag begins like this",
            word_span(context, named.site, named.name) or named.site,
            path=named.site.path,
            help=f"write `{full[0]}`",
            touches=named.runs,
            fix=Fix(f"write `{full[0]}`", (replacement,), safe=True) if replacement is not None else None,
            structure=f"{named.server.role}.{named.name}",
            subject=named.name,
        )
