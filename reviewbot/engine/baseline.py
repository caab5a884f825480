"""Known findings: a baseline file, and the findings of a base revision.

Both are multisets of fingerprints that are subtracted from the findings of the revision under check.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from reviewbot.engine.model import Finding

VERSION = 1


class BaselineError(Exception):
    """A file that is not a baseline of this version; the message says why."""


def write_baseline(findings: Iterable[Finding]) -> str:
    """The text of a baseline that holds ``findings``; rule and path are there for people only."""
    rows = sorted({(finding.path, finding.rule, finding.fingerprint) for finding in findings})
    entries = [{"fingerprint": fingerprint, "rule": rule, "path": path} for path, rule, fingerprint in rows]
    return json.dumps({"version": VERSION, "findings": entries}, indent=2) + "\n"


def read_baseline(text: str) -> Counter[str]:
    """The fingerprints of a baseline. Raises ``BaselineError``."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise BaselineError(f"not a baseline of version {VERSION}")
    entries = data.get("findings")
    if not isinstance(entries, list) or not all(isinstance(e, dict) and isinstance(e.get("fingerprint"), str) for e in entries):
        raise BaselineError('"findings" must be a list of objects with a "fingerprint"')
    return Counter(entry["fingerprint"] for entry in entries)


def marked(findings: Iterable[Finding], known: Counter[str]) -> tuple[Finding, ...]:
    """The findings with ``status`` ``existing`` where ``known`` holds their fingerprint (as often as it holds it), else ``new``. What keeps a
    check from being complete is never an old story."""
    left = Counter(known)
    result = []
    for finding in findings:
        existing = left[finding.fingerprint] > 0 and finding.rule != "internal-error"
        if existing:
            left[finding.fingerprint] -= 1
        result.append(replace(finding, status="existing" if existing else "new"))
    return tuple(result)
