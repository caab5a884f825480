"""Receipts: everything that decided one run, so that what is executed is exactly what was validated."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import reviewbot
from reviewbot.bench.model import Job
from reviewbot.documents.positions import Site
from reviewbot.engine.model import Finding, Level
from reviewbot.runs.model import Run
from reviewbot.trace.effects import Exec, OpaqueEdit
from reviewbot.trace.values import is_known
from reviewbot.tree import Tree, TreeError

Receipt = dict[str, Any]
"""``digest`` over the rest: ``commit``, ``run`` (digest of the run), ``files`` (path to content id), ``lines`` (path to line to digest of
its text), ``values`` (digest of script and environment), ``rules`` (version of the rules) and ``findings`` (what was found about it
then)."""

_SHOWN = 6  # reasons of one kind that a refusal names


class LinesOf(Protocol):
    def __call__(self, path: str) -> list[str]: ...


@lru_cache(maxsize=1)
def rules_version() -> str:
    """The version of the program and a digest of its rules' source."""
    digest = hashlib.sha256()
    folder = Path(reviewbot.__file__).parent / "rules"
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return f"{reviewbot.__version__}+{digest.hexdigest()[:16]}"


def make_receipt(
    run: Run, job: Job, tree: Tree, lines: LinesOf, findings: Iterable[Finding], commit: str, given: Mapping[str, Any], settings: str
) -> Receipt:
    """The receipt of a run. ``given`` is what the plan adds (command, limits); ``settings`` the path of the settings file."""
    sites = _sites(run, job)
    paths = set(run.files) | sites.keys() | {run.launcher, settings} | _programs(run, tree)
    if run.recipe_path is not None:
        paths.add(run.recipe_path)
    receipt: Receipt = {
        "commit": commit,
        "run": run.digest,
        "files": {path: content(tree, path) for path in sorted(paths) if path and not path.startswith("<")},
        "lines": {
            path: {str(number): _short(texts[number - 1]) for number in sorted(numbers) if 0 < number <= len(texts)}
            for path, numbers in sorted(sites.items())
            if (texts := lines(path))
        },
        "values": _digest([job.script, dict(sorted(job.environment.items())), sorted(job.unknown), given]),
        "rules": rules_version(),
        "findings": [_plain(finding) for finding in findings],
    }
    return {"digest": receipt_digest(receipt), **receipt}


def receipt_digest(receipt: Mapping[str, Any]) -> str:
    """The digest over all of a receipt but its digest."""
    return _digest({name: value for name, value in receipt.items() if name != "digest"})


def touching(findings: Iterable[Finding], run: Run) -> list[Finding]:
    """The findings about a run: those that name its point, and errors in files it reads that name no point at all."""
    return [
        finding
        for finding in findings
        if run.point.id in finding.points or (not finding.points and finding.level is Level.ERROR and finding.path in run.files)
    ]


def differences(planned: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Why a receipt does not hold any more, for people; empty where it holds."""
    reasons: list[str] = []
    if planned["commit"] != now["commit"]:
        reasons.append(f"the repository is at {_commit(now['commit'])}, the plan was made at {_commit(planned['commit'])}")
    if planned["rules"] != now["rules"]:
        reasons.append(f"the rules are {now['rules']}, the plan was made with {planned['rules']}")
    old, new = planned["files"], now["files"]
    changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    reasons.extend(_file_reason(path, old.get(path), new.get(path), planned, now) for path in changed[:_SHOWN])
    if len(changed) > _SHOWN:
        reasons.append(f"{len(changed) - _SHOWN} more files changed")
    known = {finding["fingerprint"] for finding in planned["findings"]}
    errors = [finding for finding in now["findings"] if finding["level"] == "error" and finding["fingerprint"] not in known]
    reasons.extend(
        f"new error: {finding['path']}:{finding['line']}: {finding['message']} [{finding['rule']}]" for finding in errors[:_SHOWN]
    )
    if not reasons and planned["values"] != now["values"]:
        reasons.append("its script or environment is another one")
    if not reasons and planned["run"] != now["run"]:
        reasons.append("what it runs is something else")
    if not reasons and planned["digest"] != now["digest"]:
        reasons.append("what decided it changed")
    return reasons


def content(tree: Tree, path: str) -> str:
    """What identifies a file or a listed folder (a path that ends in a slash) at this moment; a word where there is none."""
    if path.endswith("/"):
        return "folder " + _short("\0".join(tree.listdir(path.rstrip("/"))))
    try:
        return tree.digest(path)
    except TreeError as error:
        return "folder" if tree.is_dir(path) else error.code


def _file_reason(path: str, old: str | None, new: str | None, planned: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if old is None or new is None:
        return f"{path} is {'now' if old is None else 'no longer'} part of what decides it"
    if new == "missing" or old == "missing":
        return f"{path} is {'gone' if new == 'missing' else 'new'}"
    if path.endswith("/"):
        return f"the files in {path} are others"
    before, after = planned["lines"].get(path, {}), now["lines"].get(path, {})
    numbers = sorted((number for number in before if before[number] != after.get(number)), key=int)
    return f"{path} changed" + (f" (line {numbers[0]})" if numbers else "")


def _programs(run: Run, tree: Tree) -> set[str]:
    """Files of the repository that a run starts without the trace reading them, and the Python modules beside those."""
    found: set[str] = set()
    for effect in run.effects:
        if not isinstance(effect, (Exec, OpaqueEdit)):
            continue
        for word in effect.argv:
            path = str(word).removeprefix("./")
            if "." not in path or path.startswith(("/", "-")) or not is_known(path) or path in found or not tree.is_file(path):
                continue
            found.add(path)
            if path.endswith(".py"):
                folder = path.rpartition("/")[0]
                found.update(f"{folder}/{name}" if folder else name for name in tree.listdir(folder) if name.endswith(".py"))
    return found


def _commit(name: str) -> str:
    return name[:12] if name else "no commit"


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule, "level": str(finding.level), "path": finding.path, "line": finding.line, "message": finding.message,
        "fingerprint": finding.fingerprint,
    }  # fmt: skip


def _sites(run: Run, job: Job) -> dict[str, set[int]]:
    """Every line that something of the run refers to."""
    found: dict[str, set[int]] = {}
    seen: set[int] = set()
    pending: list[Any] = [run, job.site, *job.environment_sites.values()]
    while pending:
        one = pending.pop()
        if isinstance(one, Site):
            found.setdefault(one.path, set()).add(one.line)
            continue
        if isinstance(one, str):
            site = getattr(one, "site", None)  # a word that knows its line
            if site is not None:
                pending.append(site)
            continue
        if one is None or isinstance(one, (bytes, int, float)) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, Mapping):
            pending.extend(one.values())
        elif isinstance(one, (tuple, list, frozenset, set)):
            pending.extend(one)
        elif is_dataclass(one):
            pending.extend(getattr(one, field.name) for field in fields(one) if field.name != "node")
    return found


def _short(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True, default=str).encode()).hexdigest()
