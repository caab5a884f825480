"""Checks known defects: each case names a commit of a benchmark repository, the place of a defect there, and whether it must be found.

    python tests/real/cases.py REPO CASES [--upstream OWNER/NAME=PATH] [--only ID] [--jobs N]

``CASES`` is a folder with ``*.jsonl`` files. A row with ``intro_commit`` is checked on that commit against its parent; one with ``merged_commit`` on that
commit, or on its parent where ``defect_in_merge`` is ``parent``. A case counts as found where a finding that is not a note of doubt stands in the same file
within two lines of a given place. The table says which rule found it; the exit status is 1 below 90 % of the decidable ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOLERANCE = 2  # lines


@dataclass(frozen=True)
class Case:
    id: str
    kind: str
    commit: str
    base: str | None
    places: tuple[tuple[str, int | None], ...]
    what: str


def read_cases(folder: Path) -> Iterator[Case]:
    """The rows that a program can decide from a tree."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            case = _history(row) if "intro_commit" in row else _review(row) if "merged_commit" in row else None
            if case is not None:
                yield case


def _history(row: dict[str, Any]) -> Case | None:
    if row["decidable"] not in ("static", "static+catalog"):
        return None
    places = tuple(_place(text) for text in row["lines"] if not text.startswith("HEAD:")) or tuple((name, None) for name in row["files"])
    return Case(row["id"], row["kind"], row["intro_commit"], row.get("intro_parent"), places, row["what"])


def _review(row: dict[str, Any]) -> Case | None:
    if row["reviewer_wrong"] or row["merged_commit"] is None or row["decidable"] == "judgement":
        return None
    where = row["defect_in_merge"]
    commit = row["merged_commit"]
    if where not in (True, "parent"):
        return None
    if where == "parent":
        return Case(row["id"], row["kind"], f"{commit}^", None, ((row["file"], row["line"]),), row["summary"])
    return Case(row["id"], row["kind"], commit, f"{commit}^", ((row["file"], row["line"]),), row["summary"])


def _place(text: str) -> tuple[str, int | None]:
    path, _, line = text.rpartition(":")
    return (path, int(line)) if path and line.isdigit() else (text, None)


def check(repository: str, commit: str, base: str | None, upstreams: tuple[str, ...]) -> list[dict[str, Any]]:
    """All findings at a commit, in a process of its own."""
    argv = [
        sys.executable,
        "-m",
        "reviewbot",
        "-C",
        repository,
        "check",
        "--head",
        commit,
        "--format",
        "json",
        "--fail-on",
        "never",
        "--no-cache",
        "--jobs",
        "1",
    ]
    if base is not None:
        argv += ["--base", base]
    for upstream in upstreams:
        argv += ["--upstream", upstream]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=600)
    try:
        findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    except (ValueError, KeyError):
        raise RuntimeError(f"{commit}: {done.stderr.decode('utf-8', 'replace')[-800:]}") from None
    return findings


def found_by(case: Case, findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings at, or with a related place at, one of the case's places."""
    hits = []
    for finding in findings:
        spans = [(finding["path"], finding["line"], finding["end_line"])]
        spans += [(related["path"], related["line"], related["line"]) for related in finding["related"]]
        if any(
            path == wanted and (line is None or first - TOLERANCE <= line <= last + TOLERANCE)
            for path, first, last in spans
            for wanted, line in case.places
        ):
            hits.append(finding)
    return hits


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="check known defects")
    parser.add_argument("repository")
    parser.add_argument("cases", type=Path)
    parser.add_argument("--upstream", action="append", default=[])
    parser.add_argument("--only", action="append")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args(argv)
    cases = [case for case in read_cases(arguments.cases) if arguments.only is None or case.id in arguments.only]
    with ProcessPoolExecutor(arguments.jobs) as pool:
        checks = {
            pair: pool.submit(check, arguments.repository, *pair, tuple(arguments.upstream))
            for pair in {(case.commit, case.base) for case in cases}
        }
        found = Counter[bool]()
        for case in cases:
            try:
                hits = found_by(case, checks[case.commit, case.base].result())
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                print(f"ERROR  {case.id}: {error}")
                found[False] += 1
                continue
            found[bool(hits)] += 1
            rules = ", ".join(sorted({f"{hit['rule']} ({hit['level']}, {hit['status']})" for hit in hits}))
            place = ", ".join(f"{path}:{line or ''}" for path, line in case.places[:2])
            print(f"{'found ' if hits else 'MISSED'} {case.id} [{case.kind}] {place}: {rules or case.what[:160]}", flush=True)
    total = sum(found.values())
    print(f"{found[True]} of {total} found ({found[True] / max(total, 1):.0%})")
    return 0 if found[True] >= 0.9 * total else 1


if __name__ == "__main__":
    raise SystemExit(main())
