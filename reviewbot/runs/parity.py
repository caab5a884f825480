"""Does a row of the matrix say what the servers of its run do?

Rows write parallelism in several accepted ways (see ``accepted_tp``); a difference is reported only where no accepted reading of the
row fits the servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reviewbot.bench.model import Point
from reviewbot.runs.model import Run, Server
from reviewbot.runs.parallel import Parallelism, parallelism


@dataclass(frozen=True, slots=True)
class RowRole:
    """What a row says about one role: ``field`` is where it is written (``prefill`` or ``""`` for a single-node row)."""

    role: str
    field: str
    workers: int
    tp: int
    pp: int
    ep: int
    dp_attention: bool
    dcp: int
    pcp: int

    @property
    def worlds(self) -> frozenset[int]:
        """GPUs of one worker in each accepted reading: ``tp`` counts all ranks, or ranks of one data-parallel replica with
        ``ep`` over all."""
        stages = self.pp * self.pcp
        return frozenset({self.tp * stages, max(self.tp, self.ep) * self.pp, max(self.tp, self.ep) * stages})


@dataclass(frozen=True, slots=True)
class Difference:
    """``field`` of the row (dotted) says ``row``, the server has ``server``; ``flags`` are the names that decide it there."""

    field: str
    name: str
    row: str
    server: str
    flags: tuple[str, ...]
    of: Server | None


def row_roles(point: Point) -> list[RowRole]:
    """The roles that a row describes; a role without workers is left out."""
    row = point.row
    if not point.multinode:
        return [_role(row, "agg", "", 1)]
    roles: list[RowRole] = []
    for name in ("prefill", "decode", "worker"):
        part = row.get(name)
        if isinstance(part, Mapping):
            workers = _integer(part.get("num-worker"), 1)
            if workers:
                roles.append(_role(part, name, name, workers))
    if len(roles) == 1 and not row.get("disagg"):
        only = roles[0]
        roles = [RowRole("agg", only.field, only.workers, only.tp, only.pp, only.ep, only.dp_attention, only.dcp, only.pcp)]
    return roles


def _role(part: Mapping[str, Any], role: str, field: str, workers: int) -> RowRole:
    return RowRole(
        role=role,
        field=field,
        workers=workers,
        tp=_integer(part.get("tp"), 1),
        pp=_integer(part.get("pp"), 1),
        ep=_integer(part.get("ep"), 1),
        dp_attention=str(part.get("dp-attn", False)).lower() == "true",
        dcp=_integer(part.get("dcp-size"), 1),
        pcp=_integer(part.get("pcp-size"), 1),
    )


def _integer(value: object, default: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return default
    try:
        return int(value)
    except ValueError:
        return default


def pairs(run: Run) -> Iterator[tuple[RowRole, Server]]:
    """The roles of the row with the servers that play them; nothing where the two sides do not have the same roles."""
    roles = row_roles(run.point)
    servers = {server.role: server for server in run.servers}
    if len(servers) != len(run.servers):
        return
    if {role.role for role in roles} != set(servers):
        return
    for role in roles:
        yield role, servers[role.role]


def differences(role: RowRole, server: Server) -> list[Difference]:
    """Where no accepted reading of the row's role fits the server. Unknown values differ from nothing."""
    it = parallelism(server)
    found: list[Difference] = []
    if it.pp is not None and role.pp != it.pp:
        found.append(_difference(role, "pp", role.pp, it.pp, ("pipeline-parallel-size",), server))
    accepted = accepted_tp(role, it)
    if accepted is not None and role.tp not in accepted:
        found.append(
            _difference(role, "tp", role.tp, _alternatives(accepted), ("tensor-parallel-size", "data-parallel-size"), server)
        )
    experts = accepted_ep(it)
    if experts is not None and role.ep not in experts:
        names = ("expert-parallel-size", "enable-expert-parallel", "moe-expert-parallel-size", "data-parallel-size", "tensor-parallel-size")
        found.append(_difference(role, "ep", role.ep, _alternatives(experts), names, server))
    if it.dp_attention is not None and role.dp_attention != it.dp_attention:
        switches = ("enable-dp-attention", "enable-attention-dp", "data-parallel-size")
        found.append(_difference(role, "dp-attn", _switch(role.dp_attention), _switch(it.dp_attention), switches, server))
    if it.dcp is not None and role.dcp != it.dcp and server.engine in ("vllm", "atom"):
        found.append(_difference(role, "dcp-size", role.dcp, it.dcp, ("decode-context-parallel-size",), server))
    return found


def accepted_tp(role: RowRole, it: Parallelism) -> frozenset[int] | None:
    """The numbers that a row may give as ``tp`` for a server: the ranks of one attention replica, or all ranks of a pipeline stage; with
    prefill context parallelism also without the ranks that it takes. ``None`` where the server's numbers are unknown."""
    if it.tp is None or it.dp is None or it.pcp is None:
        return None
    ranks = it.tp * it.dp * it.pcp
    accepted = {it.tp, it.tp * it.dp, ranks}
    if role.pcp > 1:
        accepted |= {number // role.pcp for number in accepted if number % role.pcp == 0}
    return frozenset(accepted)


def accepted_ep(it: Parallelism) -> frozenset[int] | None:
    """The numbers that a row may give as ``ep``. Without expert parallelism a row may say 1 only; ``None`` where it is unknown."""
    return None if it.ep is None else frozenset({it.ep})


def _difference(role: RowRole, name: str, row: object, server: object, flags: tuple[str, ...], of: Server) -> Difference:
    return Difference(f"{role.field}.{name}" if role.field else name, name, str(row), str(server), flags, of)


def _alternatives(numbers: frozenset[int]) -> str:
    return " or ".join(str(number) for number in sorted(numbers))


def _switch(on: bool) -> str:
    return "true" if on else "false"


def row_gpus(roles: list[RowRole]) -> frozenset[int]:
    """GPUs of the whole run in each accepted reading of the row."""
    totals = {0}
    for role in roles:
        totals = {total + role.workers * world for total in totals for world in role.worlds}
    return frozenset(totals)


def server_gpus(servers: tuple[Server, ...]) -> int | None:
    """GPUs of all workers of a run."""
    total = 0
    for server in servers:
        if server.gpus is None or server.workers is None:
            return None
        total += server.gpus * server.workers
    return total
