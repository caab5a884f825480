"""The workers of a recipe do not fit on its nodes

What
Workers times GPUs a worker exceed the GPUs of the nodes that the recipe asks for, or the parallelism of an engine takes more GPUs than
its worker has. Prefill and decode that share nodes are counted together.

Why
The tool finds out when the job runs and the nodes are there: it ends with an error, or an engine waits for ranks that never come.

Example
    resources: {gpus_per_node: 4, decode_nodes: 1, decode_workers: 1, gpus_per_decode: 4}
    backend:
      vllm_config:
        decode: {tensor-parallel-size: 8}

Instead
    resources: {gpus_per_node: 4, decode_nodes: 2, decode_workers: 1, gpus_per_decode: 8}
    backend:
      vllm_config:
        decode: {tensor-parallel-size: 8}
"""

from __future__ import annotations

from collections.abc import Iterator

from reviewbot.bench.model import Role
from reviewbot.bench.recipes import default_of
from reviewbot.documents.positions import Site
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Related, Rule
from reviewbot.engine.places import setting_site
from reviewbot.engine.recipes import Use, own, uses
from reviewbot.runs.model import Server
from reviewbot.runs.parallel import parallelism

RULE = Rule("nodes-do-not-fit", Level.ERROR, frozenset({"runs", "change"}), scope="run")


def check(context: Context) -> Iterator[Finding]:
    for use in uses(context):
        yield from _workers(context, use)
        for server in use.servers:
            yield from _parallelism(context, use, server)


def _workers(context: Context, use: Use) -> Iterator[Finding]:
    per_node = _number(
        use.recipe.gpus_per_node.value if use.recipe.gpus_per_node is not None else default_of(use.recipe, "resources.gpus_per_node")
    )
    roles = [role for role in use.recipe.roles.values() if _workers_of(role)]
    if per_node is None or not roles:
        return
    if any(role.colocated for role in roles):
        total, nodes = 0, (use.recipe.total_nodes or 0) - use.recipe.dedicated_nodes
        for role in roles:
            if role.gpus_per_worker is None:
                return
            total += _workers_of(role) * role.gpus_per_worker
        if nodes > 0 and total > nodes * per_node:
            yield _too_many(context, use, roles, total, nodes, per_node)
        return
    for role in roles:
        role_nodes = _number(role.nodes.value) if role.nodes is not None else 1 if role.name == "agg" else None
        if role_nodes is None or role.gpus_per_worker is None:
            continue
        needed = _workers_of(role) * role.gpus_per_worker
        if needed > role_nodes * per_node:
            yield _too_many(context, use, [role], needed, role_nodes, per_node)


def _too_many(context: Context, use: Use, roles: list[Role], needed: int, nodes: int, per_node: int) -> Finding:
    counts = " and ".join(
        f"{_workers_of(role)} {role.name} worker{'s' if _workers_of(role) > 1 else ''} of {role.gpus_per_worker} GPUs" for role in roles
    )
    values = [value for role in roles for value in (role.workers, role.gpus, role.nodes) if value is not None]
    role_nodes = next((role.nodes for role in reversed(roles) if role.nodes is not None), None)
    related = [
        Related(site, "the number of nodes")
        for site in [use.site(role_nodes) if role_nodes is not None else None]
        if own(context, site) and site is not None
    ]
    return context.finding(
        RULE,
        f"{counts} take {needed} GPUs, {nodes} node{'s' if nodes > 1 else ''} of {per_node} have {nodes * per_node}",
        _place(context, use, use.site(values[0]) if values else None),
        help="ask for more nodes, or for fewer or smaller workers",
        touches=use.runs,
        related=related,
        structure=values[0].key if values else "",
        subject=f"{needed} > {nodes * per_node}",
    )


def _parallelism(context: Context, use: Use, server: Server) -> Iterator[Finding]:
    world = parallelism(server).world
    if world is None or server.gpus is None or server.gpus <= 0 or world <= server.gpus:
        return
    setting = next(
        (server.flags[name] for name in ("tensor-parallel-size", "data-parallel-size", "pipeline-parallel-size") if name in server.flags),
        None,
    )
    role = use.recipe.roles.get(server.role)
    related = []
    for value in (role.gpus, role.nodes) if role is not None else ():
        site = use.site(value) if value is not None else None
        if site is not None and own(context, site):
            related.append(Related(site, f"{server.gpus} GPUs a worker"))
            break
    yield context.finding(
        RULE,
        f"{server.role} is spread over {world} GPUs, its worker has {server.gpus}",
        _place(context, use, setting.site if setting is not None else None),
        help=f"give each {server.role} worker {world} GPUs, or make tensor, data and pipeline parallelism {server.gpus} together",
        touches=use.runs,
        related=related,
        structure=f"{server.role}.parallelism",
        subject=f"{world} > {server.gpus}",
    )


def _place(context: Context, use: Use, site: Site | None) -> Site:
    if site is not None and (own(context, site) or not use.runs):
        return site
    return setting_site(use.runs[0].point, "CONFIG_FILE") if use.runs else Site(use.path, 1)


def _workers_of(role: Role) -> int:
    return _number(role.workers.value) or 0 if role.workers is not None else 0


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
