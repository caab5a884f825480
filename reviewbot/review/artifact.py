"""Findings carried from a run without rights to one with rights, as plain data.

The run of a fork's pull request has no token that writes, so it leaves its findings in a file; a second workflow, which never reads the
fork's code, posts them. Whoever wrote the pull request may have written that file: it is checked against a schema, cut in size, and says
nothing about where it is posted. Every text in it is rendered again. Fixes are left out: a suggestion is shown as it is written, and nobody
could tell whether it came from the check.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.documents.positions import Site
from reviewbot.engine.model import Finding, Level, Related

VERSION = 1
NAME = "reviewbot-findings.json"
MAX_BYTES = 2_000_000
MAX_FINDINGS = 2_000
MAX_EXISTING = 5_000


class ArtifactError(Exception):
    """An artifact that is not used; the message says why, without repeating what is in it."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """``head`` and ``base`` are commits, ``base`` being what the findings are new against; ``existing`` are fingerprints of what is not
    new."""

    head: str
    base: str
    findings: tuple[Finding, ...]
    complete: bool
    unchecked: tuple[str, ...] = ()
    existing: frozenset[str] = frozenset()


def write_artifact(artifact: Artifact) -> str:
    """The text of an artifact. Only the worst findings are kept where there are very many."""
    data: dict[str, Any] = {
        "version": VERSION, "head": artifact.head, "base": artifact.base, "complete": artifact.complete,
        "unchecked": [_clean(reason)[:1_000] for reason in artifact.unchecked[:50]],
        "existing": sorted(artifact.existing)[:MAX_EXISTING], "findings": [],
    }  # fmt: skip
    room = MAX_BYTES - len(json.dumps(data, indent=1)) - 10
    for finding in sorted(artifact.findings, key=lambda finding: -finding.level)[:MAX_FINDINGS]:
        one = _finding_object(finding)
        room -= len(json.dumps([[one]], indent=1))
        if room < 0:
            break
        data["findings"].append(one)
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


def read_artifact(path: str, head: str, rules: Collection[str]) -> Artifact:
    """The artifact in a file, or in a folder under its usual name; it must be about ``head``, and of rules that exist. Raises
    ``ArtifactError``."""
    data = _load(path)
    _validate(data)
    if data["head"] != head:
        raise ArtifactError("the artifact is about another commit than the run that made it")
    if any(item["rule"] not in rules for item in data["findings"]):
        raise ArtifactError("the artifact names a rule that does not exist")
    findings = tuple(_finding(item) for item in data["findings"])
    return Artifact(data["head"], data["base"], findings, data["complete"], tuple(data["unchecked"]), frozenset(data["existing"]))


def _load(path: str) -> Any:
    file = Path(path)
    if file.is_dir() and not file.is_symlink():
        file = file / NAME
    try:
        descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(descriptor, "rb") as opened:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise ArtifactError("the artifact is not a regular file")
            text = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ArtifactError(f"the artifact cannot be read: {error.strerror}") from None
    if len(text) > MAX_BYTES:
        raise ArtifactError(f"the artifact has more than {MAX_BYTES} bytes")
    try:
        return json.loads(text.decode("utf-8"))
    except (ValueError, RecursionError):
        raise ArtifactError("the artifact is not JSON") from None


def _validate(data: Any) -> None:
    import jsonschema_rs

    schema = json.loads((Path(__file__).parent.parent / "schemas" / "review-artifact.schema.json").read_text("utf-8"))
    error = next(iter(jsonschema_rs.validator_for(schema).iter_errors(data)), None)
    if error is not None:
        at = ".".join(str(part) for part in error.instance_path)
        raise ArtifactError(f"the artifact does not have its form{f', at {at[:100]}' if at.replace('.', '').isalnum() else ''}")


# --- findings as data ----------------------------------------------------------------------------------------------


def _finding_object(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "level": str(finding.level),
        "path": _clean(finding.path)[:4_000],
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "message": _clean(finding.message)[:4_000],
        "help": _clean(finding.help)[:4_000],
        "points": [_clean(point)[:1_000] for point in finding.points[:100]],
        "related": [
            {"path": _clean(other.site.path)[:4_000], "line": other.site.line, "message": _clean(other.message)[:4_000]}
            for other in finding.related[:20]
        ],
        "structure": _clean(finding.structure)[:4_000],
        "subject": _clean(finding.subject)[:4_000],
        "fingerprint": finding.fingerprint,
    }


def _clean(text: str) -> str:
    """Text that JSON can carry: undecodable bytes become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _finding(item: dict[str, Any]) -> Finding:
    related: Sequence[dict[str, Any]] = item["related"]
    return Finding(
        rule=item["rule"], level=Level[item["level"].upper()], path=item["path"], line=item["line"], column=item["column"],
        end_line=max(item["end_line"], item["line"]), end_column=item["end_column"], message=item["message"], help=item["help"],
        points=tuple(item["points"]), related=tuple(Related(Site(other["path"], other["line"]), other["message"]) for other in related),
        structure=item["structure"], subject=item["subject"], fingerprint=item["fingerprint"],
    )  # fmt: skip
