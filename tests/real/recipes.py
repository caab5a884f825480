"""Load every recipe of a clone with this project and with the real srtctl, and compare.

    python tests/real/recipes.py REPO SRT_SLURM [--python PYTHON] [--tag TAG]

REPO is a directory with recipes, SRT_SLURM a clone of srt-slurm at the release to compare with, PYTHON an interpreter that has
srtctl's own dependencies (marshmallow, marshmallow_dataclass, pyyaml, ruamel.yaml, jinja2, requests, rich). Pass or fail must
agree for every variant, and where both pass the name, nodes, workers, GPUs and concurrencies. Ends with 1 where they do not.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reviewbot.bench.model import Recipe, Value
from reviewbot.bench.recipes import effective, load_recipe, looks_like_recipe
from reviewbot.bench.srt_values import whole
from reviewbot.documents.yaml import parse_yaml

# Runs in the other interpreter: reads paths, writes {path: [[suffix, error or null, facts], ...]}.
_ORACLE = r"""
import json, logging, sys, yaml
logging.disable(logging.CRITICAL)
from srtctl.core import config as core
from srtctl.core.schema import SrtConfig
from srtctl.core.sweep import generate_sweep_configs
schema = SrtConfig.Schema()

def facts(loaded):
    r = loaded.resources
    roles = {"prefill": (r.num_prefill, r.gpus_per_prefill), "decode": (r.num_decode, r.gpus_per_decode), "agg": (r.num_agg, r.gpus_per_agg)}
    dedicated = [loaded.infra.etcd_nats_dedicated_node] + [
        getattr(part, name, False) for part, name in ((loaded.frontend, "dedicated_node"), (loaded.benchmark, "client_dedicated_node"))]
    het = r.het_components(infra_dedicated=loaded.infra.etcd_nats_dedicated_node)
    total = loaded.total_nodes if hasattr(loaded, "total_nodes") else r.total_nodes
    if any(dedicated):
        total += 1 if getattr(loaded.benchmark, "colocate_with_frontend", True) else sum(dedicated)
    if het is not None:
        total = sum(part.nodes for part in het)
    try:
        levels = loaded.benchmark.get_concurrency_list()
    except ValueError:
        levels = None
    return {"name": loaded.name, "total": total, "roles": roles, "engine": loaded.backend.type, "concurrencies": levels,
            "per_node": r.gpus_per_node, "isl": loaded.benchmark.isl, "osl": loaded.benchmark.osl,
            "attempts": loaded.health_check.max_attempts, "container": loaded.model.container, "frontend": loaded.frontend.type}

def one(make):
    try:
        return None, facts(make())
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300], None

found = {}
for path in json.load(sys.stdin):
    try:
        raw = yaml.load(open(path), yaml.CSafeLoader)
    except Exception as error:
        found[path] = [["", f"yaml: {error}"[:200], None]]
        continue
    rows = found[path] = []
    if not isinstance(raw, dict):
        rows.append(["", "not a mapping", None])
    elif "base" in raw:
        try:
            variants = core.generate_override_configs(raw)
        except Exception as error:
            rows.append(["*", f"{type(error).__name__}: {error}"[:300], None])
            continue
        for suffix, data in variants:
            rows.append([suffix, *one(lambda: schema.load(core.resolve_config_with_defaults(data, None)))])
    elif "sweep" in raw:
        try:
            jobs = [data for data, _ in generate_sweep_configs(raw)]
        except Exception as error:
            rows.append(["*", f"{type(error).__name__}: {error}"[:300], None])
            continue
        for number, data in enumerate(jobs):
            rows.append([str(number), *one(lambda: schema.load(data))])
    else:
        rows.append(["", *one(lambda: core.load_config(path))])
json.dump(found, sys.stdout)
"""


def oracle(paths: list[str], clone: Path, python: str) -> dict[str, list[list[Any]]]:
    """What the real tool says about each file."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(clone.resolve() / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SRTSLURM_CONFIG": "/nonexistent",
    }
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            [python, "-W", "ignore", "-c", _ORACLE],
            input=json.dumps(paths),
            check=False,
            capture_output=True,
            text=True,
            env=environment,
            cwd=scratch,
        )
    if result.returncode:
        raise SystemExit(result.stderr[-2000:])
    found: dict[str, list[list[Any]]] = json.loads(result.stdout)
    return found


def _got(value: Value | None) -> Any:
    return None if value is None else value.value


def facts(recipe: Recipe, tag: str | None) -> dict[str, Any]:
    """The same facts as the oracle's, from a recipe."""
    per_node = whole(effective(recipe, "resources.gpus_per_node", tag)[0])
    roles = {}
    for name in ("prefill", "decode", "agg"):
        role = recipe.roles.get(name)
        roles[name] = [0 if role is None else _got(role.workers) or 0, per_node if role is None else role.gpus_per_worker]
    levels = _got(recipe.concurrencies)
    return {
        "name": _got(recipe.name),
        "total": recipe.total_nodes,
        "roles": roles,
        "engine": recipe.engine,
        "concurrencies": [] if levels is None else list(levels) if isinstance(levels, tuple) else None,
        "per_node": per_node,
        "isl": _got(recipe.isl),
        "osl": _got(recipe.osl),
        "attempts": whole(effective(recipe, "health_check.max_attempts", tag)[0]),
        "container": _got(recipe.container),
        "frontend": effective(recipe, "frontend.type", tag)[0],
    }


def compare(paths: list[str], clone: Path, python: str, tag: str | None) -> tuple[int, int, list[str]]:
    """Variants that load, variants that do not, and every disagreement."""
    real = oracle(paths, clone, python)
    good = bad = 0
    differences: list[str] = []
    for path in paths:
        document = parse_yaml(Path(path).read_bytes(), path)
        ours: dict[str, Any] = {}
        fatal = document.root is None or any(problem.fatal for problem in document.problems)
        for result in [] if fatal or document.root is None else load_recipe(document, tag=tag):
            if isinstance(result, Recipe):
                ours[result.variant] = facts(result, tag)
            else:
                ours.setdefault(result.variant, result.message)
        mine = list(ours.values()) or ["nothing"]
        theirs = real[path]
        if theirs and theirs[0][0] == "*":
            bad += 1
            if not any(isinstance(value, str) for value in mine):
                differences.append(f"{path}: only the tool refuses: {theirs[0][1]}")
            continue
        if len(theirs) != len(mine):
            differences.append(f"{path}: {len(mine)} variants here, {len(theirs)} there")
            continue
        for (suffix, error, expected), value in zip(theirs, mine):
            if error is None:
                good += 1
                if value != expected:
                    differences.append(f"{path} [{suffix}]: here {value}, there {expected}")
            else:
                bad += 1
                if not isinstance(value, str):
                    differences.append(f"{path} [{suffix}]: only the tool refuses: {error}")
    return good, bad, differences


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("srt_slurm", type=Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--tag", default=None, help="the clone's release; found by git describe where left out")
    options = parser.parse_args()
    tag = options.tag
    if tag is None:
        command = ["git", "-C", str(options.srt_slurm), "describe", "--tags", "--exact-match"]
        described = subprocess.run(command, check=False, capture_output=True, text=True)
        tag = described.stdout.strip() or None
    paths = []
    for path in sorted(options.repo.rglob("*.y*ml")):
        if path.is_file() and looks_like_recipe(parse_yaml(path.read_bytes(), str(path)).root):
            paths.append(str(path))
    started = time.perf_counter()
    good, bad, differences = compare(paths, options.srt_slurm, options.python, tag)
    for difference in differences:
        print(difference)
    elapsed = time.perf_counter() - started
    print(f"{len(paths)} recipes, srt-slurm {tag}: {good} variants load, {bad} do not, {len(differences)} differences, {elapsed:.1f} s")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
