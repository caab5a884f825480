"""What a recipe says about its own shape, to compare headers and names with.

A claim is contradicted only where no accepted reading of it fits: ``tp`` in a header may count the ranks of one attention replica or of a
whole worker, a total of GPUs may or may not count idle ones, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

from reviewbot.bench.model import Recipe, Role, Value
from reviewbot.documents.claims import Claim
from reviewbot.runs.parallel import Parallelism, parallelism
from reviewbot.runs.servers import recipe_servers
from reviewbot.trace.files import FileText

_FLAGS = {"tensor-parallel-size", "tp-size", "tp", "data-parallel-size", "dp-size", "pipeline-parallel-size", "pp-size"}
_ATTENTION = {"tp", "dep", "tep"}


@dataclass(frozen=True, slots=True)
class Contradiction:
    """``has`` says what the recipe has instead; ``at`` is the value that says so, where one does."""

    has: str
    at: Value | None


class Shape:
    """The roles of a recipe with their parallelism."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.roles: dict[str, Role] = {
            name: role for name, role in recipe.roles.items() if role.workers is None or role.workers.value != 0
        }
        self._spread = {server.role: parallelism(server) for server in recipe_servers(recipe, FileText("", ()))}

    def contradicts(self, claim: Claim) -> Contradiction | None:
        """What the recipe has instead of the claim; ``None`` where they agree or nothing is known."""
        if claim.role:
            role = self.roles.get(claim.role)
            return None if role is None else self._role(claim, role)
        if claim.name == "nodes":
            return self._nodes(claim.value)
        if claim.name == "gpus":
            return self._gpus(claim.value)
        if claim.name == "concurrency":
            return self.concurrency(claim.value)
        return None

    def _role(self, claim: Claim, role: Role) -> Contradiction | None:
        if claim.name == "workers":
            return self.workers(role, claim.value, nodes=claim.short)
        if claim.name == "nodes":
            return None if role.colocated else _number(claim.value, role.nodes, f"{role.name} node")
        return self.parallel(role, claim.name, claim.value)

    def workers(self, role: Role, claimed: int, *, nodes: bool) -> Contradiction | None:
        """Whether a role has a number of workers, or, where that is an accepted way of counting, of nodes."""
        if nodes and role.nodes is not None and role.nodes.value == claimed:
            return None
        return _number(claimed, role.workers, f"{role.name} worker")

    def parallel(self, role: Role, name: str, value: int) -> Contradiction | None:
        """Whether a role runs with ``tep4``, ``dep8``, ``tp8``, ``pp2`` and the like."""
        spread = self._spread.get(role.name)
        accepted = None if spread is None else accepted_numbers(spread, name)
        if spread is None or accepted is None or value in accepted:
            return None
        return Contradiction(f"runs {role.name} with {described(spread)}", self._flag(role))

    def _flag(self, role: Role) -> Value | None:
        return next((value for key, value in role.args.items() if key.replace("_", "-") in _FLAGS), None)

    def _nodes(self, value: int) -> Contradiction | None:
        total = self.recipe.total_nodes
        if total is None or value in (total, total - self.recipe.dedicated_nodes):
            return None
        return Contradiction(f"has {total} nodes", next((role.nodes for role in self.roles.values() if role.nodes is not None), None))

    def _gpus(self, value: int) -> Contradiction | None:
        used = 0
        for role in self.roles.values():
            if role.gpus_per_worker is None or role.workers is None or not isinstance(role.workers.value, int):
                return None
            used += role.gpus_per_worker * role.workers.value
        accepted = {used}
        total, each = self.recipe.total_nodes, self.recipe.gpus_per_node
        if total is None or each is None or not isinstance(each.value, int):
            return None
        accepted |= {total * each.value, (total - self.recipe.dedicated_nodes) * each.value}
        return None if value in accepted else Contradiction(f"takes {used} GPUs", each)

    def concurrency(self, value: int) -> Contradiction | None:
        """Whether the recipe's benchmark runs a concurrency."""
        runs = self.recipe.concurrencies
        if runs is None or not isinstance(runs.value, tuple) or not runs.value or value in runs.value:
            return None
        return Contradiction(f"runs {', '.join(map(str, runs.value))}", runs)

    def group(self, role: Role, group: tuple[tuple[str, int], ...]) -> Contradiction | None:
        """Whether a role runs with all parts of a group of a name (``tp8pp2``)."""
        for name, value in group:
            found = self.parallel(role, name, value)
            if found is not None:
                return found
        return None


def is_one_worker(group: tuple[tuple[str, int], ...]) -> bool:
    """Whether a group speaks of one kind of worker: ``tp8pp2`` does, ``dep4tp4`` speaks of two."""
    return len({name for name, _ in group} & _ATTENTION) <= 1 and len({name for name, _ in group}) == len(group)


def accepted_numbers(spread: Parallelism, name: str) -> frozenset[int] | None:
    """The numbers that a name or header may give for a kind of parallelism; ``None`` where they cannot be known."""
    world = spread.world
    if spread.tp is None or spread.dp is None or world is None:
        return None
    ranks = spread.tp * spread.dp
    if name == "tp":
        return frozenset({spread.tp, ranks, world})
    if name == "ep":
        return None if spread.ep is None else frozenset({spread.ep})
    if name in ("dep", "tep"):
        return None if spread.ep is None else frozenset({spread.ep, ranks, world})
    if name == "dp":
        return frozenset({spread.dp, ranks, world})
    number = {"pp": spread.pp, "dcp": spread.dcp, "pcp": spread.pcp}.get(name)
    return None if number is None else frozenset({number})


def described(spread: Parallelism) -> str:
    """``tp 1, dp 8, ep 8``, without what is 1 and not the tp."""
    numbers = (("tp", spread.tp), ("pp", spread.pp), ("dp", spread.dp), ("ep", spread.ep), ("dcp", spread.dcp), ("pcp", spread.pcp))
    return ", ".join(f"{name} {number}" for name, number in numbers if number is not None and (number > 1 or name == "tp"))


def _number(claimed: int, value: Value | None, noun: str) -> Contradiction | None:
    if value is None or not isinstance(value.value, int) or isinstance(value.value, bool) or value.value == claimed:
        return None
    return Contradiction(f"has {value.value} {noun}{'' if value.value == 1 else 's'}", value)
