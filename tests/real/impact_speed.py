"""Time of ``impact`` for changes of one launcher, by how many points are launched by it: without a cache, and again with what was kept.

    PYTHONPATH=. python tests/real/impact_speed.py REPO [SRT_SLURM]

A line that exports a variable is put into the launcher, in a clone that shares the objects of REPO, which stays as it is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reviewbot.bench.repository import load_bench
from reviewbot.tree import open_tree
from tests.differential.real import UPSTREAM

STEPS = 5  # launchers, from the one with the fewest points to the one with the most


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments], cwd=folder, check=True, capture_output=True)


def launchers(repository: str) -> list[tuple[str, int]]:
    """Some launchers and the number of points of each, rising."""
    bench = load_bench(open_tree(repository, "HEAD"))
    counts = Counter(name for point in bench.points for name in {job.launcher for job in bench.jobs_of(point)})
    known = sorted(((name, number) for name, number in counts.items() if bench.tree.is_file(name)), key=lambda item: item[1])
    known = [(name, number) for name, number in known if not bench.tree.is_link(name)]
    picked = {round(step * (len(known) - 1) / (STEPS - 1)) for step in range(STEPS)}
    return [known[place] for place in sorted(picked)]


def seconds(clone: Path, upstreams: Sequence[str], cache: Path) -> float:
    began = time.monotonic()
    command = [sys.executable, "-m", "reviewbot", "-C", str(clone), "impact", "--base", "HEAD~1", "--head", "HEAD", *upstreams]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "REVIEWBOT_CACHE": str(cache)})
    return time.monotonic() - began


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="time impact for changes of one launcher")
    parser.add_argument("repository")
    parser.add_argument("srt_slurm", nargs="?")
    options = parser.parse_args(arguments)
    upstreams = ["--upstream", f"{UPSTREAM}={options.srt_slurm}"] if options.srt_slurm else []
    with tempfile.TemporaryDirectory(prefix="impact-") as place:
        clone = Path(place) / "clone"
        subprocess.run(["git", "clone", "-q", "--shared", options.repository, str(clone)], check=True)
        print("points of the launcher, and seconds: cold, warm")
        for name, number in launchers(options.repository):
            path = clone / name
            lines = path.read_text("utf-8", "surrogateescape").split("\n")
            path.write_text("\n".join([lines[0], "export REVIEWBOT_PROBE=1", *lines[1:]]), "utf-8", "surrogateescape")
            git(clone, "commit", "-qam", name)
            cache = Path(place) / f"cache-{number}"
            cold = seconds(clone, upstreams, cache)
            print(f"{number:6} {name:32} {cold:5.1f}s {seconds(clone, upstreams, cache):5.1f}s", flush=True)
            git(clone, "reset", "-q", "--hard", "HEAD~1")
    return 0


if __name__ == "__main__":
    sys.exit(main())
