"""The name of a recipe contradicts the recipe

What
The file name or the `name:` of a recipe holds a topology (`1p2d`, `tp8pp2`, `dep4-dep8`, `c16`), and the recipe has other numbers of
workers, ranks or another concurrency. Where a name has more groups than the recipe has roles, nothing is said about them.

Why
Names are how recipes are chosen and how results are labelled: a run with another topology is published under the wrong name.

Example
    # disagg-1p2d-tp8.yaml
    resources:
      prefill_workers: 1
      decode_workers: 1

Instead
    # disagg-1p1d-tp8.yaml
    resources:
      prefill_workers: 1
      decode_workers: 1
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model import Recipe, Role
from reviewbot.documents.claims import NameClaims, name_claims
from reviewbot.documents.nodes import Mapping, Scalar
from reviewbot.documents.positions import Site
from reviewbot.documents.yaml import YamlDocument
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule
from reviewbot.engine.recipes import written_variants
from reviewbot.runs.topology import Contradiction, Shape, is_one_worker

RULE = Rule("name-contradicts-recipe", Level.WARNING, frozenset({"documents"}), scope="document")

_PAIR = ("prefill", "decode")


def check(context: Context) -> Iterator[Finding]:
    for path in context.documents.paths("recipe"):
        document = context.documents.yaml(path)
        names = [(what, name, site, claims) for what, name, site in _names(document, path) if _says_something(claims := name_claims(name))]
        if not names:
            continue
        variants = written_variants(context, path)
        if len(variants) != 1 or not isinstance(variants[0], Recipe):
            continue
        shape = Shape(variants[0])
        said: set[str] = set()
        for what, name, site, claims in names:
            for claim, found in _contradictions(claims, shape):
                if claim not in said:
                    said.add(claim)
                    yield _finding(context, path, what, name, site, claim, found)


def _names(document: YamlDocument, path: str) -> Iterator[tuple[str, str, Site]]:
    root = document.root
    entry = root.entry("name") if isinstance(root, Mapping) else None
    if entry is not None and isinstance(entry.value, Scalar):
        yield "name", entry.value.text, Site(path, entry.key.span.line)
    yield "file name", path.rpartition("/")[2].rpartition(".")[0], Site(path, 1)


def _says_something(claims: NameClaims) -> bool:
    return claims.workers is not None or bool(claims.groups) or bool(claims.concurrencies)


def _finding(context: Context, path: str, what: str, name: str, site: Site, claim: str, found: Contradiction) -> Finding:
    at = Site(path, found.at.line) if found.at is not None and found.at.line else None
    return context.finding(
        RULE,
        f"the {what} `{name}` says {claim}, the recipe {found.has}",
        at if at is not None and what == "file name" else site,
        help="rename it, or correct the recipe",
        related=[(at, "this decides it")] if at is not None and what != "file name" else [],
        structure=what,
        subject=f"{name} {claim}",
    )


def _contradictions(claims: NameClaims, shape: Shape) -> Iterator[tuple[str, Contradiction]]:
    roles = [role for name, role in shape.roles.items() if name in (*_PAIR, "agg")]
    if len(roles) != len(shape.roles):
        return
    if claims.workers is not None:
        for name, number in zip(_PAIR, claims.workers, strict=True):
            role = shape.roles.get(name)
            found = shape.workers(role, number, nodes=True) if role is not None else None
            if found is not None:
                yield f"{claims.workers[0]}p{claims.workers[1]}d", found
    yield from _groups(claims, shape, roles)
    if len(claims.concurrencies) == 1 and (claims.workers is not None or set(shape.roles) == {"agg"}):  # others count per worker
        found = shape.concurrency(claims.concurrencies[0])
        if found is not None:
            yield f"c{claims.concurrencies[0]}", found


def _groups(claims: NameClaims, shape: Shape, roles: list[Role]) -> Iterator[tuple[str, Contradiction]]:
    groups = claims.groups
    if not all(map(is_one_worker, groups)):
        return
    if len(groups) == len(roles) == 1 or (len(groups) == len(roles) == 2 and claims.workers is not None):
        ordered = [shape.roles[name] for name in (_PAIR if len(roles) == 2 else [roles[0].name]) if name in shape.roles]
        for group, role in zip(groups, ordered, strict=False):
            found = shape.group(role, group)
            if found is not None:
                yield _shown(group), found
    elif len(groups) == 1:
        found_all = [shape.group(role, groups[0]) for role in roles]
        if found_all and all(found is not None for found in found_all):
            first = found_all[-1]
            assert first is not None
            yield _shown(groups[0]), first


def _shown(group: tuple[tuple[str, int], ...]) -> str:
    return "".join(f"{name}{value}" for name, value in group)
