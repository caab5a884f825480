"""A flag that the repository does not accept

What
A bench script or recipe sets a flag of the list that is not accepted (`policy: {forbidden-flags: {FLAG: REASON}}`), such as
`--hf-overrides`. A line that the change brings is a warning; one that was there is a note.

Why
The reason is in the list; that of `--hf-overrides` is that it makes another model of the one that is measured.

Example
    vllm serve "$MODEL" --hf-overrides '{"num_hidden_layers": 30}'

Instead
    vllm serve "$MODEL"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.change.lines import Diff
from reviewbot.documents.positions import Site, Span
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.policy import policy

RULE = Rule("forbidden-flag", Level.WARNING, frozenset({"documents", "bench"}))


def check(context: Context) -> Iterator[Finding]:
    flags = {str(flag): str(reason) for flag, reason in policy(context.settings, "forbidden-flags").items()}
    if not flags:
        return
    diff = None if context.base is None else Diff(context.base.tree, context.tree, context.changed or ())
    names = "|".join(re.escape(flag.lstrip("-")) for flag in flags)
    shell = re.compile(rf"(?<![\w-])--(?P<name>{names})(?![\w-])")
    recipe = re.compile(rf"^\s*(?:-\s+)?[\"']?(?:--)?(?P<name>{names})[\"']?\s*:")
    for kind, pattern in (("shell", shell), ("recipe", recipe)):
        for path in context.documents.paths(kind):
            if "/deprecated/" in path:
                continue
            for number, line in enumerate(context.lines(path), 1):
                match = pattern.search(line)
                if match is None or line.lstrip().startswith("#") or " #" in line[: match.start()]:
                    continue
                flag = next(one for one in flags if one.lstrip("-") == match["name"])
                new = diff is not None and diff.added(Site(path, number)) is not None
                yield context.finding(
                    RULE,
                    f"`{flag}` is not accepted: {flags[flag]}",
                    Span(number, match.start("name") + 1, number, match.end("name") + 1),
                    path=path,
                    help="leave it out, or take it from `policy.forbidden-flags`",
                    level=None if new else Level.NOTE,
                    subject=f"{flag} {line.strip()[:60]}",
                )
