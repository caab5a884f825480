"""What makes a finding the same finding in another revision.

A fingerprint is made of the rule, the path, the structural path of the place (``Finding.structure``), the normalised subject and the number
of the occurrence among findings that agree in all of these, in the order of their places. A line number is never part of it, so moving text
about in a file changes nothing. A finding without a subject is identified by its message, less any ``:line`` behind a path.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from reviewbot.engine.model import Finding

VERSION = 1

_SPACES = re.compile(r"\s+")
_LINE_NUMBER = re.compile(r"(?<=[\w.]):\d+(:\d+)?\b|\blines? \d+")


def with_fingerprints(findings: Iterable[Finding], renames: Mapping[str, str] | None = None) -> tuple[Finding, ...]:
    """The findings sorted by place, each with its fingerprint. ``renames`` maps old paths to new ones, for findings of a base revision."""
    ordered = sorted(findings, key=order)
    seen: Counter[str] = Counter()
    marked = []
    for finding in ordered:
        key = _key(finding, (renames or {}).get(finding.path, finding.path))
        digest = hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        seen[key] += 1
        marked.append(replace(finding, fingerprint=digest))
    return tuple(marked)


def order(finding: Finding) -> tuple[str, int, int, str, str, str]:
    """The order in which findings are reported."""
    return (finding.path, finding.line, finding.column, finding.rule, finding.subject, finding.message)


def _key(finding: Finding, path: str) -> str:
    subject = finding.subject or _LINE_NUMBER.sub("", finding.message)
    return "\0".join((str(VERSION), finding.rule, path, finding.structure, _SPACES.sub(" ", subject).strip()))
