"""The launchers of a real benchmark repository by the evaluator and by bash: ``python -m tests.differential.real REPO [SRT_SLURM]``.

Every distinct job (launcher and environment) is run up to its first submission. What bash submits or starts must be one of the paths of the
trace. ``SRT_SLURM`` is a clone of NVIDIA/srt-slurm; without it the files of that repository are not known to either side.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from reviewbot.bench.repository import load_bench
from reviewbot.runs.collect import Collector
from reviewbot.trace.trace import Given, Trace
from reviewbot.trace.values import Hole
from reviewbot.tree import Tree, open_tree
from tests.differential.compare import disagreements, started
from tests.differential.harness import WORKSPACE, Record, available, run_in_bash

UPSTREAM = "NVIDIA/srt-slurm"
SECRET = "not-told"  # what a variable that cannot be known holds in bash
_MACHINE = frozenset({"HOME", "HOSTNAME", "PATH", "SHELL", "USER"})
# Directories of a cluster that launchers look for; files are never there.
_DIRECTORY = re.compile(r"(?<![\w}./-])(/(?:lustre|raid|data|scratch|shared|mnt|home|models|opt/models|images|nfs|it-share)[\w./-]*)")


@dataclass(frozen=True)
class Task:
    """A script and the environment it gets: what two jobs may have in common."""

    label: str
    script: str
    path: str
    line: int
    environment: tuple[tuple[str, str], ...]
    unknown: frozenset[str] = frozenset()


def tasks_of(repository: str) -> list[Task]:
    """The distinct jobs that a repository's masters and workflows give, normal and evaluating ones."""
    bench = load_bench(open_tree(repository))
    found: dict[tuple[object, ...], Task] = {}
    for evaluating in (False, True):
        for job in bench.jobs(eval_only=evaluating):
            # the point's name does not decide what a launcher does, but every point has its own
            environment = tuple(sorted(job.environment.items()))
            task = Task(f"{job.point.id} on {job.node}", job.script, job.site.path, job.site.line, environment, frozenset(job.unknown))
            found.setdefault((task.script, task.environment), task)
    return list(found.values())


def named_directories(repository: Path) -> tuple[str, ...]:
    found: set[str] = set()
    for path in (repository / "runners").glob("*.sh"):
        for name in _DIRECTORY.findall(path.read_text(encoding="utf-8", errors="replace")):
            if "." not in name.rpartition("/")[2]:
                found.add(name.rstrip("/"))
    return tuple(sorted(found))


def verdict(trace: Trace, record: Record) -> tuple[str, list[str]]:
    """``same``; ``nothing`` (neither submits nor starts anything); ``assumed`` (the trace assumes what is not so in this world, such
    as files of a clone that is not there, and bash refuses); or ``differs``, with what differs."""
    closest: list[str] | None = None
    for path in trace.paths:
        problems = disagreements(path, record, trace.holes, to_the_end=False)
        if not started(path) and any(call.argv[0] in ("sbatch", "srtctl") for call in record.submits):
            problems = [*problems, f"the trace ends ({path.outcome}: {path.message}) and bash submits"]
        if not problems:
            return ("same" if started(path) else "nothing"), []
        if closest is None or len(problems) < len(closest):
            closest = problems
    if record.status and not record.submits and any(path.assumptions for path in trace.paths):
        return "assumed", closest or []
    return "differs", closest or ["the trace has no path"]


def recipes_in(trace: Trace) -> tuple[int, int]:
    """How many recipes the paths submit, and of how many the text is known."""
    texts = [item.recipe for path in trace.paths for item in started(path) if item.submit]
    return len(texts), sum(text is not None for text in texts)


def compare_all(
    repository: Path, tree: Tree, tasks: Sequence[Task], clones: Mapping[str, Path], workers: int = 2, seconds: float = 30,
) -> Iterable[tuple[Task, str, list[str], tuple[int, int]]]:
    """Each task with its verdict (``timeout`` where bash did not end), what differs, and ``recipes_in``."""
    directories = named_directories(repository)
    collector = Collector(tree, {name: str(path) for name, path in clones.items()})

    def run(task: Task) -> Record | None:
        given = dict(task.environment)
        workspace = given.get("GITHUB_WORKSPACE") or WORKSPACE
        environment = {**dict.fromkeys(task.unknown - _MACHINE, SECRET), **given, "GITHUB_WORKSPACE": workspace}
        try:
            return run_in_bash(
                task.script, environment, repository, workspace=workspace, directories=directories, clones=clones, stop=True,
                seconds=seconds,
            )
        except subprocess.TimeoutExpired:
            return None

    with ThreadPoolExecutor(workers) as pool:
        for task, record in zip(tasks, pool.map(run, tasks), strict=True):
            if record is None:
                yield task, "timeout", ["bash did not end"], (0, 0)
                continue
            values: dict[str, Given] = dict(task.environment)
            values.update({name: Hole(f"${name}", None, nonempty=True) for name in task.unknown})
            trace = collector.traces.trace(task.script, task.path, task.line - 1, values, tree)
            answer, problems = verdict(trace, record)
            if problems:
                problems.append("bash said last: " + " / ".join(record.stderr.decode("utf-8", "replace").split("\n")[-4:-1]))
            yield task, answer, problems, recipes_in(trace)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential.real", description=__doc__)
    parser.add_argument("repository")
    parser.add_argument("srt_slurm", nargs="?")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth job")
    parser.add_argument("--only", default="", metavar="TEXT", help="only jobs whose label or script has TEXT")
    parser.add_argument("--verbose", action="store_true", help="show what is only assumed, too")
    options = parser.parse_args(arguments)
    if not available():
        print("bubblewrap (bwrap) is missing, or may not make namespaces here: nothing is compared")
        return 0
    clones = {UPSTREAM: Path(options.srt_slurm).resolve()} if options.srt_slurm else {}
    tasks = [task for task in tasks_of(options.repository) if options.only in task.label + task.script][:: options.every]
    counts: Counter[str] = Counter()
    recipes = known = 0
    with tempfile.TemporaryDirectory(prefix="repository-") as folder:
        copy = Path(folder) / "repository"
        tree = open_tree(options.repository)
        shutil.copytree(options.repository, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        for task, answer, problems, (some, told) in compare_all(copy, tree, tasks, clones):
            counts[answer] += 1
            recipes += some
            known += told
            if answer in ("differs", "timeout") or (options.verbose and answer == "assumed"):
                print(f"{task.label}: {answer}")
                for problem in problems[:4]:
                    print(f"    {problem[:400]}")
    print(f"{len(tasks)} distinct jobs: " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items())))
    print(f"{recipes} recipes submitted, the text of {known} known and compared byte by byte")
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
