"""Compares the expansion of a checkout's masters with the repository's own generator, row by row and field by field.

    python tests/real/expansion.py REPO

The generator is a program of the checkout that the caller names; it is run here for the comparison and nowhere else. Prints every
difference; exit status 1 on any, 2 where there is nothing to compare.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from reviewbot.bench.repository import load_bench
from reviewbot.tree import open_tree

GENERATOR = "utils/matrix_logic/generate_sweep_configs.py"
NONE = "<none>"


def own_rows(root: Path, masters: list[str], runners: str) -> list[dict[str, Any]]:
    """What the repository's generator makes of its masters. Raises ``RuntimeError`` where it does not run."""
    base = [sys.executable, "-B", GENERATOR, "full-sweep"]
    files = ["--config-files", *masters, "--runner-config", runners]
    errors = []
    # Older generators want to be told the kind of node, and some take one kind at a time.
    ways: list[list[list[str]]] = [[[]], [["--single-node", "--multi-node"]], [["--single-node"], ["--multi-node"]]]
    for variants in ways:
        rows: list[dict[str, Any]] = []
        for flags in variants:
            done = subprocess.run([*base, *flags, *files], cwd=root, capture_output=True, text=True, timeout=600, check=False)
            if done.returncode:
                errors.append(done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"])
                break
            rows.extend(json.loads(done.stdout))
        else:
            return rows
    raise RuntimeError(f"{GENERATOR} does not run: {errors}")


def difference(theirs: dict[str, Any], mine: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Field to (theirs, mine) where they differ."""
    pairs = {name: (theirs.get(name, NONE), mine.get(name, NONE)) for name in sorted(theirs.keys() | mine.keys())}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = Path(arguments[0])
    bench = load_bench(open_tree(str(root), None))
    masters = [master.path for master in bench.masters.files if not master.deprecated]
    if not masters or not (root / GENERATOR).is_file():
        print(f"{root}: no masters, or no {GENERATOR}", file=sys.stderr)
        return 2
    status = 0
    for problem in bench.problems:
        print(f"problem: {problem.site}: {problem.message}")
    for master in masters:
        points = [point for point in bench.points if point.master == master]
        mine = [json.loads(json.dumps(point.row)) for point in points]
        try:
            theirs = own_rows(root, [master], bench.runners.path)
        except RuntimeError as error:
            print(f"{master}: {error}", file=sys.stderr)
            status = 2
            continue
        by_order = len(mine) == len(theirs)
        wrong = [(point.id, difference(a, b)) for point, a, b in zip(points, theirs, mine, strict=True) if a != b] if by_order else []
        if wrong and not _same_rows(theirs, mine):
            for identity, fields in wrong:
                print(f"{master}: {identity}: " + ", ".join(f"{name}: {a!r} here {b!r}" for name, (a, b) in fields.items()))
            status = 1
        if not by_order:
            left = Counter(map(_canonical, theirs))
            left.subtract(map(_canonical, mine))
            for row, count in left.items():
                if count:
                    print(f"{master}: {'missing' if count > 0 else 'too many'}: {row}")
            status = 1
        print(f"{master}: {len(theirs)} rows, {len(mine)} here, {len(wrong) if status else 0} differ")
    return status


def _same_rows(theirs: list[dict[str, Any]], mine: list[dict[str, Any]]) -> bool:
    """Whether the rows are the same in another order (a generator that takes one kind of node at a time)."""
    return Counter(map(_canonical, theirs)) == Counter(map(_canonical, mine))


def _canonical(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
