"""Plans: the points of a sweep, each with all that is needed to execute it, and its receipt."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from reviewbot import __version__
from reviewbot.sweep.errors import SweepError

VERSION = 1
_HEAD = 4096
_IDENTITY = re.compile(rb'^\{\s*"version":\s*(\d+),\s*"id":\s*"([0-9a-f]{64})"')


@dataclass(frozen=True, slots=True)
class PlanPoint:
    """One point on one launcher. ``argv`` is executed in a copy of the repository; ``{reviewbot:folder}`` and ``{reviewbot:work}`` in it
    stand for the job's folder and that copy. ``files`` are written into the job's folder first. ``passed`` are variables whose value comes
    from the runner's environment. ``time_limit`` is in seconds; ``outputs`` are globs of result files."""

    key: str
    point: str
    config: str
    runner: str
    node: str
    launcher: str
    kind: str  # launcher, script, recipe
    scenario: str
    row: Mapping[str, Any]
    argv: tuple[str, ...]
    files: Mapping[str, str]
    environment: Mapping[str, str]
    passed: tuple[str, ...]
    gpus: int
    nodes: int
    time_limit: float
    gpu_hours: float
    outputs: tuple[str, ...]
    health: Mapping[str, Any] | None
    receipt: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A selected point that is not executed, and why; ``findings`` are the errors about it."""

    key: str
    reason: str
    findings: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan as it stands in its file. ``options`` is what the planning was told, so that receipts can be made again in the same way."""

    id: str
    made: str
    repository: str
    commit: str
    revision: str | None
    tool: str
    options: Mapping[str, Any]
    points: tuple[PlanPoint, ...]
    left_out: tuple[LeftOut, ...] = ()
    by_key: Mapping[str, PlanPoint] = field(default_factory=dict, compare=False, repr=False)

    @property
    def gpu_hours(self) -> float:
        return sum(point.gpu_hours for point in self.points)


def make_plan(
    points: Iterable[PlanPoint],
    left_out: Iterable[LeftOut],
    *,
    made: str,
    repository: str,
    commit: str,
    revision: str | None,
    options: Mapping[str, Any],
) -> Plan:
    """A plan with its id, which is a digest of all of it."""
    plan = Plan("", made, repository, commit, revision, __version__, options, tuple(points), tuple(left_out))
    return _identified(plan)


def _identified(plan: Plan) -> Plan:
    body = _data(plan)
    identity = hashlib.sha256(json.dumps({**body, "id": ""}, sort_keys=True).encode()).hexdigest()
    return Plan(
        identity, plan.made, plan.repository, plan.commit, plan.revision, plan.tool, plan.options, plan.points, plan.left_out,
        {point.key: point for point in plan.points},
    )  # fmt: skip


def _data(plan: Plan) -> dict[str, Any]:
    return {
        "version": VERSION, "id": plan.id, "made": plan.made, "tool": plan.tool, "repository": plan.repository, "commit": plan.commit,
        "revision": plan.revision, "options": dict(plan.options), "gpu_hours": round(plan.gpu_hours, 6),
        "points": [_plain(_fields(point)) for point in plan.points], "left_out": [_plain(_fields(one)) for one in plan.left_out],
    }  # fmt: skip


EXECUTED = ("argv", "files", "environment", "passed", "gpus", "nodes", "time_limit", "outputs", "health")


def altered(written: PlanPoint, made: PlanPoint) -> list[str]:
    """The fields that decide what is executed and that are not in the plan as they are made from the repository."""
    return [name for name in EXECUTED if _plain(getattr(written, name)) != _plain(getattr(made, name))]


def _fields(one: PlanPoint | LeftOut) -> dict[str, Any]:
    return {entry.name: getattr(one, entry.name) for entry in fields(one)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def plan_text(plan: Plan) -> str:
    """The plan as JSON; ``version`` and ``id`` come first, so that they can be read without the rest."""
    return json.dumps(_data(plan), indent=1, ensure_ascii=True) + "\n"


def read_plan(path: Path) -> Plan:
    """Reads and checks a plan. Raises ``SweepError`` with one line about what is wrong."""
    data = _load(path)
    try:
        points = tuple(
            PlanPoint(**{**point, "argv": tuple(point["argv"]), "passed": tuple(point["passed"]), "outputs": tuple(point["outputs"])})
            for point in data["points"]
        )
        left_out = tuple(LeftOut(one["key"], one["reason"], tuple(one["findings"])) for one in data["left_out"])
        plan = Plan("", data["made"], data["repository"], data["commit"], data["revision"], data["tool"], data["options"], points, left_out)
    except (KeyError, TypeError) as error:
        raise SweepError(f"{path}: not a sweep plan: {error}") from None
    found = _identified(plan)
    if found.id != data["id"]:
        raise SweepError(f"{path}: the plan was changed after it was made: its id does not fit what is in it; make a new one")
    if len(found.by_key) != len(points):
        raise SweepError(f"{path}: not a sweep plan: a point stands in it twice")
    return found


def plan_identity(path: Path) -> str:
    """The id of a plan, from the first bytes of its file."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror}") from None
    match = _IDENTITY.match(head)
    if match is None:
        return str(_load(path)["id"])
    if int(match[1]) != VERSION:
        raise SweepError(f"{path}: a plan of version {int(match[1])}; this program knows version {VERSION}")
    return match[2].decode()


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise SweepError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise SweepError(f"{path}: not a sweep plan: {error}") from None
    if not isinstance(data, dict) or "version" not in data or "points" not in data:
        raise SweepError(f"{path}: not a sweep plan")
    if data["version"] != VERSION:
        raise SweepError(f"{path}: a plan of version {data['version']}; this program knows version {VERSION}")
    problem = next(iter(_schema().iter_errors(data)), None)
    if problem is not None:
        place = "/".join(map(str, problem.instance_path))
        raise SweepError(f"{path}: not a sweep plan: {place or 'top'}: {' '.join(problem.message.split())[:200]}")
    return data


@lru_cache(maxsize=1)
def _schema() -> Any:
    import jsonschema_rs

    text = (Path(__file__).parent.parent / "schemas" / "sweep-plan.schema.json").read_text("utf-8")
    return jsonschema_rs.validator_for(json.loads(text))


def paths_of(plan_path: Path) -> tuple[Path, Path]:
    """The ledger and the folder of a plan, both beside it."""
    stem = plan_path.name.removesuffix(".json")
    absolute = Path(os.path.abspath(plan_path))
    return absolute.with_name(f"{stem}.ledger"), absolute.with_name(f"{stem}.sweep")
