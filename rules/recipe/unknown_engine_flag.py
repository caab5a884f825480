"""An engine does not know a flag

What
A recipe or a bench script gives an engine a flag that the release in its image does not have: misspelt, removed, or not there yet. The
releases are known from the engines' own packages; of a nightly build both neighbouring releases are asked, and of an image whose release
cannot be told only what no release at all has is reported.

Why
The engine ends with `unrecognized arguments`, after the job has waited for its nodes.

Example
    # image: vllm/vllm-openai:v0.21.0
    vllm serve "$MODEL" --no-enable-prefixcaching

Instead
    vllm serve "$MODEL" --no-enable-prefix-caching
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reviewbot.bench.model import Role
from reviewbot.catalog.trtllm import meant
from reviewbot.engine.context import Context
from reviewbot.engine.engine_settings import Named, flag_status, flags, full_names
from reviewbot.engine.model import Finding, Fix, Level, Rule
from reviewbot.engine.recipes import Use, own, replaced, uses, word_span

RULE = Rule("unknown-engine-flag", Level.ERROR, frozenset({"runs", "change"}), scope="run")

_NAME = re.compile(r"[A-Za-z][\w.-]*\Z")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        for role in use.recipe.roles.values():
            if role.engine == "trtllm":
                yield from _misspelt(context, use, role)
    for named in flags(context):
        if not _NAME.match(named.name):
            continue
        status = flag_status(named)
        if status.known or len(full_names(named)) == 1:
            continue
        if named.settled or _near(named, named.name.partition(".")[0]) is not None:  # a private build may have what no release has
            yield _finding(context, named, status.before, status.after)


def _finding(context: Context, named: Named, before: str | None, after: str | None) -> Finding:
    name = named.name.partition(".")[0]
    several = full_names(named)
    successor = named.names.replacement(f"--{name}", named.names.anywhere)
    near = _near(named, name)
    if before is not None:
        message = f"`--{name}` is no flag of {named.releases}{named.because} any more: the last release with it is {before}"
        help = f"write `--{successor.lstrip('-')}`" if successor else f"take it out{f', or write `--{near}`' if near else ''}"
    elif after is not None:
        message = f"`--{name}` is no flag of {named.releases}{named.because} yet: it comes with {after}"
        help = f"take a newer image{f', or write `--{near}`' if near else ''}"
    elif len(several) > 1:
        message = f"`--{name}` is no flag of {named.releases}{named.because} and short for several: {', '.join(several[:4])}"
        help = "write the flag out"
    else:
        message = (
            f"`--{name}` is no flag of {named.releases}{named.because}{', nor of any other release that is known' if named.settled else ''}"
        )
        help = f"did you mean `--{near}`?" if near else "take it out"
    return context.finding(
        RULE,
        message,
        word_span(context, named.site, name) or named.site,
        path=named.site.path,
        help=help,
        touches=named.runs,
        fix=_fix(context, named, name, near) if before is None and after is None and not several else None,
        structure=f"{named.server.role}.{name}",
        subject=name,
        level=_level(named, name, near),
    )


def _near(named: Named, name: str) -> str | None:
    """The flag that was probably meant; vLLM has an opposite of every switch."""
    if named.names.engine == "vllm" and name.startswith("no-"):
        opposite = named.names.similar_flag(name[3:], named.window)
        return f"no-{opposite}" if opposite is not None else None
    return named.names.similar_flag(name, named.window)


def _level(named: Named, name: str, near: str | None) -> Level:
    if named.window.exact and named.settled:
        return Level.ERROR
    if named.settled or (near is not None and near.replace("-", "") == name.replace("-", "")):
        return Level.WARNING
    return Level.NOTE


def _fix(context: Context, named: Named, name: str, near: str | None) -> Fix | None:
    replacement = replaced(context, named.site, name, near) if near is not None else None
    return Fix(f"write `{near}`", (replacement,), safe=False) if replacement is not None else None


def _misspelt(context: Context, use: Use, role: Role) -> Iterator[Finding]:
    """Settings of TensorRT-LLM that are but for a letter or two one that there is. Others are not judged: its packages cannot be read."""
    for key, value in role.args.items():
        near, site = meant(key), use.site(value)
        if near is None or near in role.args or site is None or not own(context, site):
            continue
        replacement = replaced(context, site, key, near)
        yield context.finding(
            RULE,
            f"`{key}` is no setting of TensorRT-LLM that is known, `{near}` is: an unknown one ends the start",
            word_span(context, site, key) or site,
            path=site.path,
            help=f"did you mean `{near}`?",
            touches=use.runs,
            fix=Fix(f"write `{near}`", (replacement,), safe=False) if replacement is not None else None,
            structure=value.key,
            subject=key,
            level=Level.WARNING,
        )
