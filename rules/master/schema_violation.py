"""A declaration does not have the form that the sweep reads

What
A master or the runner list has a key that the sweep does not know, lacks one that it needs, has a value of another kind, or fields that
do not go together (`dram` without a backend, `conc-start` above `conc-end`). A form that most entries of the file share is taken for that
of another version and not reported.

Why
The generator of the matrix refuses the whole file, so that no entry runs; or it ignores the key, and what was written has no effect.

Example
    toy-fp8-lab-vllm:
      seq-len-configs: [...]

Instead
    toy-fp8-lab-vllm:
      scenarios:
        fixed-seq-len: [...]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

from reviewbot.bench.masters import Master, MasterEntry
from reviewbot.bench.validate import SchemaProblem, validate
from reviewbot.documents.nodes import Mapping
from reviewbot.engine.context import Context
from reviewbot.engine.model import Finding, Level, Rule

RULE = Rule("schema-violation", Level.ERROR, frozenset({"bench"}))

_SHOWN = 20


def check(context: Context) -> Iterator[Finding]:
    refused = list(_refused(context))
    yield from refused
    told = {(finding.path, finding.line) for finding in refused}
    yield from (finding for finding in _against_schemas(context) if (finding.path, finding.line) not in told)


def _refused(context: Context) -> Iterator[Finding]:
    """What the sweep's own rules refuse, in the version that the repository is of."""
    paths = {master.path for master in context.bench.masters.files if not master.deprecated} | set(context.documents.paths("runners"))
    problems = [problem for problem in context.bench.problems if problem.site.path in paths and problem.runner_known]
    alike = Counter((problem.code, problem.field) for problem in problems)
    for problem in problems:
        if problem.code != "unknown-field" or alike[problem.code, problem.field] <= _few(context):
            yield context.finding(
                RULE,
                problem.message,
                problem.span or problem.site,
                path=problem.site.path,
                help="the generator of the matrix refuses this: correct it",
                structure=f"{problem.key}.{problem.field}",
                subject=f"{problem.code} {problem.message}",
            )


def _few(context: Context) -> int:
    """In how many entries a form may be wrong before it is that of another version."""
    return max(2, sum(1 for _ in context.bench.masters.active()) // 50)


def _against_schemas(context: Context) -> Iterator[Finding]:
    current = True
    for path in context.documents.paths("runners"):
        document = context.bench.yaml_document(path)
        current = current and document is not None and isinstance(document.root, Mapping) and document.root.get("labels") is not None
        if current:
            yield from (_finding(context, path, problem) for problem in validate(document, "inferencex-runners")[:_SHOWN])
    found = [
        (master.path, entry, problem)
        for master in context.bench.masters.files
        if not master.deprecated
        for entry, problem in _problems(context, master)
    ]
    kinds = Counter(kind for _, kind in {(entry.key, _kind(entry, problem)) for _, entry, problem in found})
    shown: Counter[str] = Counter()
    for path, entry, problem in found:
        own = "." not in _rest(entry, problem)
        if kinds[_kind(entry, problem)] > _few(context) or (not current and not own) or shown[path] == _SHOWN:
            continue
        shown[path] += 1
        yield _finding(context, path, problem, entry)


def _problems(context: Context, master: Master) -> Iterator[tuple[MasterEntry, SchemaProblem]]:
    """The problems of a master, each with the entry that it is in."""
    document = context.bench.yaml_document(master.path)
    problems = validate(document, "inferencex-master") if document is not None else []
    entries = sorted(master.entries.values(), key=lambda entry: entry.span.line)
    starts = [entry.span.line for entry in entries]
    for problem in problems:
        index = bisect_right(starts, problem.span.line) - 1
        if index >= 0 and problem.key.startswith(entries[index].key):
            yield entries[index], problem


def _rest(entry: MasterEntry, problem: SchemaProblem) -> str:
    return problem.key[len(entry.key) + 1 :]


def _kind(entry: MasterEntry, problem: SchemaProblem) -> str:
    """What problems of many entries have in common when their file is of another version."""
    return f"{problem.keyword} {re.sub(r'[0-9]+', '', _rest(entry, problem))}"


def _finding(context: Context, path: str, problem: SchemaProblem, entry: MasterEntry | None = None) -> Finding:
    return context.finding(
        RULE,
        problem.message,
        problem.span,
        path=path,
        help="write it as the other entries do",
        touches=[point.id for point in context.bench.by_key.get(entry.key, ())] if entry is not None else [],
        structure=problem.key,
        subject=f"{problem.keyword} {problem.message}",
    )
