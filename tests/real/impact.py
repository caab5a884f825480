"""Impact against the launchers themselves: for commits of a real benchmark repository both sides are run by bash under stub commands.

    PYTHONPATH=. python tests/real/impact.py REPO [SRT_SLURM] [--commits 20] [--last 150] [--changed 6] [--unchanged 6]

Of the last commits (by first parents) that touch launchers, scripts, recipes or masters, those with the smallest hash of their id are
taken. For points that impact calls changed, and for some that it calls unchanged (those whose launcher, script or recipe the commit
touches first), the launcher of base and of head is run up to its submission; a bench script that it starts is run too. What they submit and
start must differ exactly where impact says so. A difference is explained line by line; the exit status is 1 where there is one.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from reviewbot.bench.model import Job, Point
from reviewbot.change.command import ImpactReport, impact_report
from reviewbot.change.impact import matched
from reviewbot.change.sides import Sides
from reviewbot.parts import Session, default_parts
from reviewbot.runs.unseen import effective_name
from tests.differential.harness import WORKSPACE, Call, Record, available, run_in_bash
from tests.differential.real import SECRET, UPSTREAM, named_directories

PATHS = ("runners", "benchmarks", "configs", "utils/*.sh")
_MACHINE = frozenset({"HOME", "HOSTNAME", "PATH", "SHELL", "USER", "LANG", "OLDPWD", "PWD", "SHLVL", "_"})
_ENGINES = ("mpirun", "vllm", "sglang", "trtllm-serve", "python3", "python")
_VOLATILE = re.compile(r"\d{9,}|(?<=[-_.])\d{1,7}(?=[-_./]|$)")


@dataclass(frozen=True)
class Observed:
    """What bash submitted and started, in a form that can be compared: part -> what it is."""

    parts: Mapping[str, object]
    whole: bool = True  # false where a bench script ended before it started an engine: then what is equal says nothing

    def differences(self, other: Observed) -> list[str]:
        names = sorted(self.parts.keys() | other.parts.keys())
        return [
            f"{name}: {str(self.parts.get(name))[:200]} -> {str(other.parts.get(name))[:200]}"
            for name in names
            if self.parts.get(name) != other.parts.get(name)
        ]


def chosen_commits(repository: str, head: str, last: int, number: int) -> list[str]:
    """The commits with the smallest hashes among the last ones that touch what runs are made of."""
    command = ["git", "-C", repository, "log", "--first-parent", f"-n{last}", "--format=%H", head, "--", *PATHS]
    commits = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    chosen = sorted(commits, key=lambda commit: hashlib.sha256(commit.encode()).hexdigest())[:number]
    return sorted(chosen, key=commits.index)  # neighbours share what is traced


def export(repository: str, revision: str, folder: Path) -> None:
    folder.mkdir(parents=True)
    archive = subprocess.Popen(["git", "-C", repository, "archive", revision], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", str(folder)], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise RuntimeError(f"git archive {revision} failed")


# --- what bash does --------------------------------------------------------------------------------------------------


class World:
    """One revision on disk."""

    def __init__(self, folder: Path, clones: Mapping[str, Path], directories: Sequence[str]) -> None:
        self.folder = folder
        self._clones = clones
        self._directories = directories

    def observe(self, job: Job) -> Observed | None:
        """What the launcher of a job does, and the bench script that it starts; ``None`` where bash does not end."""
        workspace = job.environment.get("GITHUB_WORKSPACE") or WORKSPACE
        unknown = dict.fromkeys(set(job.unknown) - _MACHINE, SECRET)
        environment = {**unknown, **job.environment, "GITHUB_WORKSPACE": workspace}
        try:
            record = self._bash(job.script, environment, workspace)
            parts = _launched(record, environment)
            script = _script_of(record, self.folder)
            if script is not None and not any(call.argv[0] == "srtctl" for call in record.submits):
                path, call = script
                inner = {**environment, **_container(call)}
                inner = {name: value for name, value in inner.items() if name not in _MACHINE}
                served = _served(self._bash(f"exec bash {path}", inner, workspace))
                return Observed({**parts, **served}, bool(served))
        except subprocess.TimeoutExpired:
            return None
        return Observed(parts)

    def _bash(self, script: str, environment: Mapping[str, str], workspace: str) -> Record:
        return run_in_bash(
            script, environment, self.folder, workspace=workspace, directories=self._directories, clones=self._clones, stop=True, seconds=60
        )


def _launched(record: Record, given: Mapping[str, str]) -> dict[str, object]:
    parts: dict[str, object] = {}
    checkouts = [
        " ".join(word for word in call.argv[1:] if not word.startswith("-"))
        for call in record.calls
        if call.argv[0] == "git" and any(word in ("clone", "checkout") for word in call.argv[1:3])
    ]
    if checkouts:
        parts["checkouts"] = _plain(checkouts)
    for number, call in enumerate(record.submits):
        parts[f"submit {number}"] = _plain(call.argv)
        parts[f"recipe {number}"] = _parsed(call.recipe)
        parts[f"cluster {number}"] = _parsed(call.cluster)
        parts[f"environment {number}"] = {
            name: _plain([value])[0]
            for name, value in call.environment.items()
            if given.get(name) != value and name not in _MACHINE and effective_name(name)
        }
    starts = [
        call.argv for call in record.calls if call.argv[0] in ("srun", "docker") and any(word.endswith(".sh") for word in call.argv[1:])
    ]
    if starts:
        parts["starts"] = [_plain(argv) for argv in starts]
    if not record.submits and not starts:
        parts["refused"] = record.status != 0
        parts["said"] = _plain(record.stdout.decode("utf-8", "replace").strip().split("\n")[-1:])
    return parts


def _served(record: Record) -> dict[str, object]:
    """Servers and clients, by the flags and the variables that the script sets itself."""
    found = [call for call in record.calls if call.argv[0] in _ENGINES and len(call.argv) > 2 and not call.argv[1].startswith("-c")]
    return {f"engine {number}": (sorted(_plain(call.argv)), _parsed(call.recipe)) for number, call in enumerate(found)}


def _script_of(record: Record, folder: Path) -> tuple[str, Call] | None:
    for call in record.calls:
        if call.argv[0] in ("srun", "docker"):
            for word in call.argv[1:]:
                path = re.sub(r"^(?:/workspace/|/workspace-of-runner/|\./)", "", word)
                if path.endswith(".sh") and (folder / path).is_file():
                    return path, call
    return None


def _container(call: Call) -> dict[str, str]:
    """The environment inside the container that a call starts."""
    environment = dict(call.environment)
    words = list(call.argv)
    for place, word in enumerate(words[:-1]):
        if word in ("-e", "--env"):
            name, equals, value = words[place + 1].partition("=")
            if equals:
                environment[name] = value
        elif word.startswith("--export="):
            for item in word.partition("=")[2].split(","):
                name, equals, value = item.partition("=")
                if equals:
                    environment[name] = value
    return environment


def _plain(words: Sequence[str]) -> list[str]:
    """Words without numbers of processes and times."""
    return [_VOLATILE.sub("N", word) if re.search(r"\d{9,}|srt-slurm[-\w]*\d|\.\d{3,}", word) else word for word in words]


def _parsed(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return repr(yaml.safe_load(data))
    except yaml.YAMLError:
        return data


# --- comparing -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    point: Point
    before: Job
    after: Job
    expected: str  # changed, unproven, unchanged


def pairs_of(sides: Sides, report: ImpactReport, changed: int, unchanged: int) -> list[Pair]:
    """Some changed and some unchanged points, on each launcher that both sides have; chosen by hash."""
    said = {one.point.id: one for one in report.impact.changed}
    same, _, _ = matched(sides.base_bench.points, sides.head_bench.points)
    groups: dict[str, list[Pair]] = {"changed": [], "unproven": [], "unchanged": []}
    for before, after in same:
        one = said.get(after.id)
        jobs = {job.launcher: job for job in sides.base_bench.jobs_of(before)}
        for job in sides.head_bench.jobs_of(after):
            if job.launcher in jobs:
                here = [value for value in one.values if job.launcher in value.launchers] if one is not None else []
                kind = "unchanged" if not here else "changed" if any(value.proven for value in here) else "unproven"
                groups[kind].append(Pair(after, jobs[job.launcher], job, kind))
    touched = sides.diff.paths

    def rank(pair: Pair) -> tuple[bool, str]:
        text = str(pair.after.environment)
        concerned = pair.after.launcher in touched or any(
            path.rpartition("/")[2] in text for path in touched if path.endswith((".yaml", ".sh"))
        )
        return (not concerned, hashlib.sha256(f"{pair.point.id} {pair.after.launcher}".encode()).hexdigest())

    chosen = [*sorted(groups["changed"], key=rank)[:changed], *sorted(groups["unproven"], key=rank)[:2]]
    return [*chosen, *sorted(groups["unchanged"], key=rank)[:unchanged]]


def examine(repository: str, commit: str, clones: Mapping[str, Path], options: argparse.Namespace) -> Counter[str]:
    began = time.monotonic()
    session = Session(
        default_parts(), Path(repository), settings_revision=f"{commit}^", upstreams={name: str(path) for name, path in clones.items()},
        jobs=options.jobs, cache=True, progress=lambda what, done, total: None,
    )  # fmt: skip
    sides = Sides(session, f"{commit}^", commit)
    report = impact_report(sides)
    found = report.impact
    counts: Counter[str] = Counter()
    seconds = time.monotonic() - began
    line = f"{len(found.added)} added, {len(found.removed)} removed, {len(found.changed)} changed, {found.unchanged} unchanged"
    print(f"{commit[:12]}: {line} ({seconds:.1f} s)", flush=True)
    pairs = pairs_of(sides, report, options.changed, options.unchanged)
    with tempfile.TemporaryDirectory(prefix="impact-") as place:
        worlds: dict[str, World] = {}
        for side, revision in (("base", f"{commit}^"), ("head", commit)):
            folder = Path(place) / side
            export(repository, revision, folder)
            worlds[side] = World(folder, clones, ())
        directories = tuple(sorted({*named_directories(worlds["base"].folder), *named_directories(worlds["head"].folder)}))
        worlds = {side: World(world.folder, clones, directories) for side, world in worlds.items()}

        def both(pair: Pair) -> tuple[Observed | None, Observed | None]:
            return worlds["base"].observe(pair.before), worlds["head"].observe(pair.after)

        with ThreadPoolExecutor(options.jobs) as pool:
            for pair, (before, after) in zip(pairs, pool.map(both, pairs), strict=True):
                counts[judge(pair, before, after, said_of(report, pair))] += 1
    return counts


def said_of(report: ImpactReport, pair: Pair) -> list[str]:
    one = next((one for one in report.impact.changed if one.point.id == pair.point.id), None)
    return [f"{value.name}: {value.base} -> {value.head}" for value in one.values][:4] if one is not None else []


def judge(pair: Pair, before: Observed | None, after: Observed | None, said: Sequence[str]) -> str:
    """``equal (changed)``, ``equal (unchanged)``, ``unproven``, ``not seen by bash`` or what is wrong, which is printed."""
    if before is None or after is None:
        return "timeout"
    differing = before.differences(after)
    if not differing and not (before.whole and after.whole):
        return "not seen by bash"
    if pair.expected == "unproven":
        return "unproven"
    if bool(differing) == (pair.expected == "changed"):
        return f"equal ({pair.expected})"
    print(f"    {pair.point.id} on {pair.after.launcher}: impact says {pair.expected}")
    for text in differing[:4] if differing else said:
        print(f"        {text}", flush=True)
    return "missed" if differing else "too much"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="compare impact with what bash does on both sides")
    parser.add_argument("repository")
    parser.add_argument("srt_slurm", nargs="?")
    parser.add_argument("--head", default="HEAD")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--commit", action="append", metavar="REV", help="this commit instead (repeatable)")
    parser.add_argument("--last", type=int, default=150)
    parser.add_argument("--changed", type=int, default=6, metavar="N", help="changed points of each commit")
    parser.add_argument("--unchanged", type=int, default=6, metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args(arguments)
    if not available():
        print("bubblewrap (bwrap) is missing, or may not make namespaces here: nothing is compared")
        return 0
    clones: dict[str, Any] = {UPSTREAM: Path(options.srt_slurm).resolve()} if options.srt_slurm else {}
    total: Counter[str] = Counter()
    for commit in options.commit or chosen_commits(options.repository, options.head, options.last, options.commits):
        counts = examine(options.repository, commit, clones, options)
        print("    " + (", ".join(f"{number} {name}" for name, number in sorted(counts.items())) or "nothing to compare"), flush=True)
        total += counts
    print(f"{sum(total.values())} points: " + ", ".join(f"{number} {name}" for name, number in sorted(total.items())))
    return 1 if total["missed"] or total["too much"] else 0


if __name__ == "__main__":
    sys.exit(main())
