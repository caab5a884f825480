"""Time and memory of ``reviewbot check`` beside yamllint and shellcheck over the same files: ``python tests/bench_check.py [REPO]``.

A copy of the repository is checked without a cache, again, and again after one file has changed. Every bound is printed with whether it
holds; the exit status is 1 where one is broken. Seconds are those on the clock: linters and check, one after the other, on the same
machine, each as it comes (a linter is one process, a check several). On a machine that others use too the clock says nothing: ``--cpu``
then judges by seconds of processor time, those of the check over two cores, those of a linter, which uses one, as they are. Of the demo
repository, which stands in where none is named, the comparison with the linters is told and not judged.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "fixtures" / "demo"
CORES = 2

COLD_SECONDS = 6.0
WARM_SECONDS = 1.0
SHARE = 1 / 16  # of the time of the linters
MEGABYTES = 500.0


@dataclass(frozen=True)
class Cost:
    """``cpu`` counts all processes, ``memory`` is the highest sum over them (megabytes; a page that several share counts once)."""

    wall: float
    cpu: float
    memory: float

    def seconds(self, by_cpu: bool, cores: int = CORES) -> float:
        """On the clock, or what ``cores`` that nobody else uses would at least take."""
        return min(self.wall, self.cpu / cores) if by_cpu else self.wall

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s  {self.cpu:7.2f} s of processors  {self.memory:6.0f} MB"


def run(argv: Sequence[str], *, cwd: Path, environment: dict[str, str] | None = None, ok: Sequence[int]) -> Cost:
    """What a program costs. Raises ``SystemExit`` where it ends with a status that is not among ``ok``."""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(argv, cwd=cwd, env={**os.environ, **(environment or {})}, stdout=subprocess.DEVNULL, stderr=errors)
        highest, pause = 0, 0.005
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            highest = max(highest, _resident(process.pid))
            time.sleep(pause)
            pause = min(pause * 1.2, 0.1)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        if process.returncode not in ok:
            errors.seek(0)
            raise SystemExit(f"{argv[0]} ended with {process.returncode}: {errors.read()[-2000:].decode('utf-8', 'replace')}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(wall, usage.ru_utime + usage.ru_stime, max(highest, usage.ru_maxrss * unit) / 1e6)


def _resident(pid: int) -> int:
    """Bytes in memory of a process and all below it, as /proc tells, each its share of what several use; 0 where there is none."""
    total = 0
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(_resident(int(child)) for child in (task / "children").read_text().split())
    except (OSError, ValueError, IndexError):
        pass
    return total


def copy(root: Path, target: Path) -> tuple[list[str], list[str], list[str], list[str]]:
    """Copies the files of a repository and gives the paths of those that a check reads: YAML, shell, masters and recipes."""
    from reviewbot.bench.repository import load_bench
    from reviewbot.engine.store import DocumentStore
    from reviewbot.tree import open_tree

    tree = open_tree(str(root), None)
    for path in tree.paths():
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / path, target / path, follow_symlinks=False)
    store = DocumentStore(tree, lambda: load_bench(tree))
    kinds = [list(store.paths(kind)) for kind in ("yaml", "shell", "master", "recipe")]
    return kinds[0], kinds[1], kinds[2], kinds[3]


def program(name: str) -> str | None:
    """A program beside this Python, or on the path."""
    return shutil.which(name, path=os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))))


def linters(target: Path, yaml: Sequence[str], shell: Sequence[str]) -> Cost | None:
    """What yamllint and shellcheck cost together; ``None`` where one is not there."""
    wall = cpu = memory = 0.0
    for name, options, paths in (("yamllint", ["-d", "default", "-f", "parsable"], yaml), ("shellcheck", ["-f", "gcc"], shell)):
        found = program(name)
        if found is None:
            print(f"{name} is not installed: nothing is compared with it")
            return None
        if paths:
            cost = run([found, *options, *paths], cwd=target, ok=(0, 1, 2))
            print(f"{name + f', {len(paths)} files':<34}{cost}")
            wall, cpu, memory = wall + cost.wall, cpu + cost.cpu, max(memory, cost.memory)
    return Cost(wall, cpu, memory)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="measure a check")
    parser.add_argument("repository", nargs="?", type=Path)
    parser.add_argument("--upstream", action="append", default=[], metavar="OWNER/NAME=PATH")
    parser.add_argument("--cpu", action="store_true", help="judge by processor time")
    arguments = parser.parse_args(argv)
    root: Path = arguments.repository or DEMO
    if arguments.repository is None:
        print("no REPO is named: this is about fixtures/demo, which says little about a large repository")
    check = [sys.executable, "-m", "reviewbot", "check", "--format", "json", "--fail-on", "never"]
    for upstream in arguments.upstream:
        name, _, path = upstream.partition("=")
        check += ["--upstream", f"{name}={Path(path).resolve()}"]
    broken: list[str] = []

    def bound(what: str, value: float, most: float, unit: str) -> None:
        verdict = "pass" if value <= most else "FAIL"
        print(f"    {verdict}  {what}: {value:.2f} {unit}, at most {most:.2f}")
        if value > most:
            broken.append(what)

    with tempfile.TemporaryDirectory(prefix="reviewbot-bench-") as folder:
        target, cache = Path(folder) / "repository", Path(folder) / "cache"
        environment = {"REVIEWBOT_CACHE": str(cache), "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled")}
        environment["PYTHONDONTWRITEBYTECODE"] = ""
        yaml, shell, masters, recipes = copy(root, target)

        def checked(what: str) -> Cost:
            cost = run(check, cwd=target, environment=environment, ok=(0, 3))
            print(f"{what:<34}{cost}")
            return cost

        run([sys.executable, "-m", "reviewbot", "-C", str(DEMO), "check", "--no-cache"], cwd=target, environment=environment, ok=(0, 1, 3))
        cold = checked("check, no cache")
        bound("cold", cold.seconds(arguments.cpu), COLD_SECONDS, "s")
        bound("memory", cold.memory, MEGABYTES, "MB")
        others = linters(target, yaml, shell)
        if others is not None and arguments.repository is None:
            print("    cold against the linters: not judged on a demo, where starting a program is all there is to measure")
        elif others is not None:
            theirs = others.seconds(arguments.cpu, cores=1)
            bound(f"cold, against a sixteenth of the linters' {theirs:.1f} s", cold.seconds(arguments.cpu), theirs * SHARE, "s")
            longer = theirs / cold.seconds(arguments.cpu)
            print(f"          the linters take {longer:.1f} times as long, and {others.cpu / cold.cpu:.1f} times the processor time")
        warm = checked("check again")
        bound("warm", warm.seconds(arguments.cpu), WARM_SECONDS, "s")
        for kind, paths in (("recipe", recipes), ("master", masters)):
            if paths:
                path = paths[len(paths) // 2]
                with open(target / path, "r+b") as file:
                    text = file.read()
                    file.seek(0)
                    file.write(b"# A line more.\n" + text)
                changed = checked(f"check, one {kind} changed")
                bound(f"warm, {path} changed", changed.seconds(arguments.cpu), WARM_SECONDS, "s")
    print(f"{len(broken)} bounds are broken: {'; '.join(broken)}" if broken else "all bounds hold")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main())
