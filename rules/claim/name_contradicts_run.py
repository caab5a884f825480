"""The name of a recipe contradicts what it runs

What
The file name or the `name` of a recipe says how many workers there are (`1p2d`), how they are spread (`tp8pp2`, `dep8`) or what
concurrency they get (`c16`), and the recipe or its rows say something else. Both readings of a data-parallel layout are accepted.

Why
Rows, results and reviews speak of a recipe by its name. After a copy the name is the thing that nobody changes back.

Example
    # disagg-b200-1p2d-tp4-tp4-c16.yaml
    resources: {prefill_workers: 1, decode_workers: 4}

Instead
    # disagg-b200-1p4d-tp4-tp4-c16.yaml
    resources: {prefill_workers: 1, decode_workers: 4}
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reviewbot.documents.claims import NameClaims, name_claims
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.recipes import Use, brought, concurrencies, own, uses
from reviewbot.runs.model import Run, Server
from reviewbot.runs.parallel import Parallelism, parallelism

RULE = Rule("name-contradicts-run", Level.WARNING)


def check(context: Context) -> Iterator[Finding]:
    known: dict[str, set[int]] = {}
    said: list[tuple[Run | None, Any]] = [*context.gathered(RULE), *((None, fact) for use in brought(context) for fact in _said(context, use))]
    for _, (path, numbers, _) in said:
        known.setdefault(path, set()).update(numbers)
    for run, (path, _, contradictions) in said:
        for what, text, site, claim, fact, related, numbers in contradictions:
            if numbers:
                if known[path] & set(numbers):
                    continue
                fact = f"concurrency {', '.join(map(str, sorted(known[path])))}"
            yield context.finding(
                RULE,
                f"the {what} `{text}` says {claim}, the run has {fact}",
                Site(*site),
                help="rename it, or correct the recipe",
                touches=[run] if run is not None else [],
                related=[Related(Site(*related), fact)] if related is not None and related != site else [],
                structure=what,
                subject=f"{claim} / {fact}",
            )


def gather(context: Context) -> Iterator[object]:
    """Path and concurrencies of the recipe of one run, and what its names say that the run is not."""
    for use in uses(context):
        yield from _said(context, use)


def _said(context: Context, use: Use) -> Iterator[Any]:
    known = {number for run in use.runs for number in concurrencies(run)}
    written = use.recipe.concurrencies
    if written is not None and isinstance(written.value, tuple):
        known.update(written.value)
    found: list[list[Any]] = []
    stem = use.path.rpartition("/")[2].rpartition(".")[0]
    name, value = use.name, use.recipe.name
    places: list[tuple[str, str, Site | None]] = [] if use.multiple or ":" in use.path else [("file name", stem, Site(use.path, 1))]
    if name is not None and value is not None and name != stem and ":" not in use.path:
        places.append(("name", name, use.written(value)))
    for what, text, site in places:
        if site is None or not use.path or not own(context, site):
            continue
        claims = name_claims(text)
        for claim, fact, related in _contradictions(claims, use, known):
            numbers = list(claims.concurrencies or ()) if claim.startswith("concurrency ") else []
            found.append([what, text, list(site), claim, fact, list(related) if related is not None and own(context, related) else None, numbers])
    if use.path:
        yield [use.path, sorted(known), found]


def _contradictions(claims: NameClaims, use: Use, known: set[int]) -> Iterator[tuple[str, str, Site | None]]:
    servers = {server.role: server for server in use.servers}
    prefill, decode = servers.get("prefill"), servers.get("decode")
    if claims.workers is not None and prefill is not None and decode is not None:
        counts = (prefill.workers, decode.workers)
        if None not in counts and claims.workers not in (counts, (prefill.nodes, decode.nodes)):  # some count nodes
            role = "prefill" if counts[0] != claims.workers[0] else "decode"
            value = use.recipe.roles[role].workers if role in use.recipe.roles else None
            yield (
                f"{claims.workers[0]}p{claims.workers[1]}d",
                f"{counts[0]} prefill and {counts[1]} decode workers",
                use.site(value) if value is not None else None,
            )
    for server, group in _assigned(claims, servers):
        for label, number in group:
            accepted = _accepted(label, parallelism(server))
            if accepted and None not in accepted and number not in accepted:
                shown = " or ".join(str(value) for value in sorted({value for value in accepted if value is not None}))
                yield f"{label}{number}", f"{label} {shown} for {server.role}", _flag_site(server)
    if claims.concurrencies and known and not use.multiple and not known & set(claims.concurrencies):
        written = use.recipe.concurrencies
        yield (
            f"concurrency {claims.concurrencies[-1]}",
            f"concurrency {', '.join(map(str, sorted(known)))}",
            use.site(written) if written is not None else None,
        )


def _assigned(claims: NameClaims, servers: dict[str, Server]) -> Iterator[tuple[Server, tuple[tuple[str, int], ...]]]:
    """The servers that the groups of a name speak of: in order for prefill and decode, the only one otherwise."""
    if len(servers) == 1 and len(claims.groups) == 1:
        yield next(iter(servers.values())), claims.groups[0]
    elif set(servers) == {"prefill", "decode"} and len(claims.groups) == 2:
        yield servers["prefill"], claims.groups[0]
        yield servers["decode"], claims.groups[1]


def _accepted(label: str, it: Parallelism) -> set[int | None]:
    """The numbers that a label may have for a layout; with an unknown one nothing is said."""
    ranks = it.tp * it.dp * (it.pcp or 1) if it.tp is not None and it.dp is not None else None
    if label == "tp":
        return {it.tp, ranks, it.world}
    if label in ("dep", "tep", "ep"):
        return {it.ep, ranks, it.world}
    if label == "dp":
        return {it.dp, ranks}
    return {{"pp": it.pp, "dcp": it.dcp, "pcp": it.pcp}.get(label)}


def _flag_site(server: Server) -> Site | None:
    for name in ("tensor-parallel-size", "data-parallel-size", "pipeline-parallel-size"):
        setting = server.flags.get(name)
        if setting is not None and setting.layers:
            return setting.layers[-1].site
    return server.site
