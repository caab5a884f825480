"""Plans that execute small scripts, and a runner for them without a repository."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reviewbot.sweep.ledger import Ledger
from reviewbot.sweep.plan import Plan, PlanPoint, make_plan, paths_of, plan_text, read_plan
from reviewbot.sweep.receipt import receipt_digest
from reviewbot.sweep.runner import Limits, Runner

ROOT = Path(__file__).parent.parent.parent


def receipt(**more: Any) -> dict[str, Any]:
    body = {"commit": "", "run": "", "files": {}, "lines": {}, "values": "", "rules": "", "findings": [], **more}
    return {"digest": receipt_digest(body), **body}


def point(key: str, script: str = "true", **more: Any) -> PlanPoint:
    fields: dict[str, Any] = {
        "key": key,
        "point": key,
        "config": "toy",
        "runner": "lab",
        "node": "lab_00",
        "launcher": "runners/launch_lab.sh",
        "kind": "launcher",
        "scenario": "fixed-seq-len",
        "row": {"model": "m", "precision": "bf16", "framework": "vllm"},
        "argv": ("bash", "-e", "{reviewbot:folder}/step.sh"),
        "files": {"step.sh": script + "\n"},
        "environment": {"POINT": key},
        "passed": (),
        "gpus": 0,
        "nodes": 1,
        "time_limit": 60.0,
        "gpu_hours": 0.0,
        "outputs": (),
        "health": None,
        "receipt": receipt(run=key),
        **more,
    }
    return PlanPoint(**fields)


def plan(points: Sequence[PlanPoint]) -> Plan:
    return make_plan(points, (), made="2026-01-01T00:00:00Z", repository="/nowhere", commit="", revision=None, options={})


def write_plan(path: Path, points: Sequence[PlanPoint]) -> Path:
    path.write_text(plan_text(plan(points)))
    return path


def ledger_of(path: Path) -> Ledger:
    """The ledger of a plan, made where there is none."""
    found = read_plan(path)
    place = paths_of(path)[0]
    if place.exists():
        return Ledger.open(place, found.id)
    return Ledger.create(place, found.id, ((one.key, str(one.receipt["digest"]), one.gpus) for one in found.points))


def execute(path: Path, executor: Any, report: Any = lambda text: None, verify: Any = lambda point: [], **limits: Any) -> dict[str, int]:
    """Run a plan to its end. Gives how many points are in which state."""
    ledger = ledger_of(path)
    try:
        settings = Limits(**{"poll": 0.05, **limits})
        Runner(
            read_plan(path), ledger, paths_of(path)[1], executor, verify=verify, snapshot=lambda: None, limits=settings, report=report
        ).run()
        return {state: count for state, count in ledger.status().counts.items() if count}
    finally:
        ledger.close()


def main(argv: Sequence[str]) -> int:
    """``PLAN EXECUTOR [JOBS]``: a runner as a process of its own, to be killed."""
    if argv[1] == "slurm":
        from reviewbot.sweep.executors.slurm import SlurmExecutor as Chosen
    else:
        from reviewbot.sweep.executors.local import LocalExecutor as Chosen  # type: ignore[assignment]
    print(execute(Path(argv[0]), Chosen(), jobs=int(argv[2]) if len(argv) > 2 else None))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main(sys.argv[1:]))
