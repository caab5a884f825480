"""Checking part by part: runs and documents, in several processes, and only those that nobody has checked before.

What rules of scope ``run`` find for a job depends on the job, on the files that its trace read, and on nothing else; what rules of scope
``document`` find depends on the document. Both are kept under a digest of just that, so a check after one changed file traces the jobs that
read it, and a base revision costs what differs from the head.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from reviewbot.bench.model import Job
from reviewbot.documents.positions import Problem
from reviewbot.engine.context import Context
from reviewbot.engine.kept import Kept, key_of, program_digest
from reviewbot.engine.model import Finding
from reviewbot.engine.narrow import NarrowContext, OneDocument, facts_of, findings_of, kinds_of_paths
from reviewbot.engine.packed import (
    from_bytes,
    outside_paths,
    pack_findings,
    pack_problems,
    pack_run,
    text_list,
    to_bytes,
    unpack_findings,
    unpack_problems,
    unpack_run,
)  # fmt: skip
from reviewbot.engine.registry import RuleModule
from reviewbot.engine.workers import work_on
from reviewbot.runs.lazy import LazyRun
from reviewbot.runs.model import Run
from reviewbot.trace.memo import FileKeys
from reviewbot.tree import TreeError

_JOBS = 24  # a piece of work
_MANY = 200  # jobs for which it pays to trace one of each launcher before there are several processes
_DOCUMENTS = 60
_LITTLE = 4  # pieces that are not worth a process
_SETS = 6  # sets of files that a job is known to have read, at most

Progress = Callable[[str, int, int], None]
Unpacked = tuple[dict[str, Any], dict[str, list[Finding]], dict[str, list[Any]]]  # fields of a run, findings and facts by rule
DocumentUnpacked = tuple[dict[str, list[Finding]], list[Problem], dict[str, list[Any]]]


class Collector(Protocol):
    """Makes runs; ``identity`` tells apart collectors that would make other runs of the same job and files."""

    @property
    def identity(self) -> str: ...

    def run_and_files(self, job: Job) -> tuple[Run, frozenset[str], bool]: ...

    def run(self, job: Job) -> Run: ...

    def forget(self) -> None: ...


@dataclass(slots=True)
class Found:
    """Findings by rule, and the problems of documents."""

    findings: dict[str, list[Finding]] = field(default_factory=dict)
    problems: list[tuple[str, Problem]] = field(default_factory=list)

    def add(self, findings: Mapping[str, Sequence[Finding]]) -> None:
        for rule, some in findings.items():
            self.findings.setdefault(rule, []).extend(some)


class Checks:
    """Checks contexts of one repository. ``collector`` makes the runs of a tree's jobs, ``kept`` holds what was found before."""

    def __init__(self, collector: Callable[[Context], Collector], kept: Kept, jobs: int, progress: Progress) -> None:
        self._collector = collector
        self._kept = kept
        self._processes = jobs
        self._progress = progress

    def check(
        self,
        context: Context,
        run_rules: Sequence[RuleModule] | None,
        document_rules: Sequence[RuleModule],
        problems: bool,
        debug: bool,
        gatherers: Sequence[RuleModule] = (),
        surveyors: Sequence[RuleModule] = (),
    ) -> Found:
        """What the rules find, in the order of runs and documents. ``run_rules`` is ``None`` where no rule needs runs; otherwise the runs
        of ``context`` are there afterwards. ``problems``: also those of all documents. Raises what the reading of runs raises."""
        collector = self._collector(context) if run_rules is not None else None
        one = _Check(context, collector, run_rules or (), document_rules, problems, debug, self._kept, self._progress, gatherers, surveyors)
        found = one.found(self._processes)
        self._kept.save()
        return found


class _Check:
    def __init__(
        self,
        context: Context,
        collector: Collector | None,
        run_rules: Sequence[RuleModule],
        document_rules: Sequence[RuleModule],
        problems: bool,
        debug: bool,
        kept: Kept,
        progress: Progress,
        gatherers: Sequence[RuleModule],
        surveyors: Sequence[RuleModule],
    ) -> None:
        self._gatherers = gatherers
        self._surveyors = surveyors
        self._context = context
        self._collector = collector
        self._run_rules = run_rules
        self._document_rules = document_rules
        self._problems = problems
        self._debug = debug
        self._kept = kept
        self._progress = progress
        self._files = FileKeys(context.tree)
        program = (program_digest(), repr(context.settings))
        self._document_salt = key_of(*program, problems, _names(document_rules), _names(surveyors))
        self._run_salt = key_of(*program, collector.identity if collector else "", _names(run_rules), _names(gatherers))
        self._jobs: tuple[Job, ...] = tuple(context.bench.jobs()) if collector is not None else ()

    def found(self, processes: int) -> Found:
        found = Found()
        jobs, job_keys = self._known_jobs()
        paths = kinds_of_paths(self._context.documents) if self._document_rules or self._surveyors or self._problems else {}
        documents, document_keys = self._known_documents(paths)
        missing = [n for n in range(len(self._jobs)) if n not in jobs]
        missing.sort(key=lambda n: (self._jobs[n].launcher, self._jobs[n].site, n))  # neighbours share parsed scripts and recipes
        ahead = list({self._jobs[n].launcher: n for n in reversed(missing)}.values()) if len(missing) > _MANY else []
        rest = [n for n in missing if n not in ahead]
        pieces: list[tuple[str, list[Any]]] = [("jobs", ahead)] if ahead else []
        pieces += [("jobs", rest[at : at + _JOBS]) for at in range(0, len(rest), _JOBS)]
        unknown = [path for path in paths if path not in documents]
        pieces += [("documents", unknown[at : at + _DOCUMENTS]) for at in range(0, len(unknown), _DOCUMENTS)]

        def work(number: int) -> bytes:
            kind, items = pieces[number]
            made = [self._job(n) for n in items] if kind == "jobs" else [self._document(path, paths[path]) for path in items]
            if kind == "jobs" and self._collector is not None:
                self._collector.forget()
            return pickle.dumps(made)

        def done(count: int) -> None:
            self._progress("tracing points", min(count * _JOBS, len(missing)), len(missing))

        answers = work_on(len(pieces), work, processes if len(pieces) > _LITTLE else 1, done, ahead=1 if ahead else 0)
        keep: dict[str, bytes] = {}
        for (kind, items), answer in zip(pieces, answers, strict=True):
            for item, (body, sound, files) in zip(items, pickle.loads(answer), strict=True):
                if kind == "jobs":
                    jobs[item] = self._unpacked(body, item)
                    if sound:
                        self._keep_job(keep, job_keys[item], body, files)
                else:
                    documents[item] = _unpacked_document(body)
                    if sound and item in document_keys:
                        keep[document_keys[item]] = body
        self._kept.put(keep)
        self._finish(found, jobs, documents, paths)
        return found

    # --- what was known before

    def _known_jobs(self) -> tuple[dict[int, Unpacked], list[str]]:
        keys = [_job_key(job, self._run_salt) for job in self._jobs]
        sets = self._kept.get(f"r{key}" for key in keys)
        names = {key[1:]: self._texts(value) for key, value in sets.items()}
        files = self._kept.get(f"s{name}" for name in dict.fromkeys(name for some in names.values() for name in some))
        digests = {name[1:]: self._files.digest(self._texts(value)) for name, value in files.items()}
        wanted = {n: [f"e{key_of(key, digests[name])}" for name in names.get(key, ()) if name in digests] for n, key in enumerate(keys)}
        entries = self._kept.get(entry for some in wanted.values() for entry in some)
        known: dict[int, Unpacked] = {}
        for n, some in wanted.items():
            for entry in some:
                if entry in entries:
                    try:
                        known[n] = self._unpacked(entries[entry], n)
                        break
                    except Exception:  # of another shape than it should be
                        continue
        return known, keys

    def _texts(self, value: bytes) -> list[str]:
        try:
            return list(text_list(from_bytes(value)))
        except Exception:
            return []

    def _keep_job(self, keep: dict[str, bytes], key: str, body: bytes, files: list[str]) -> None:
        name = key_of(files)
        keep[f"s{name}"] = to_bytes(files)
        before = self._texts(keep[f"r{key}"]) if f"r{key}" in keep else self._texts(self._kept.get([f"r{key}"]).get(f"r{key}", b"[]"))
        keep[f"r{key}"] = to_bytes([name, *(other for other in before if other != name)][:_SETS])
        keep[f"e{key_of(key, self._files.digest(files))}"] = body

    def _known_documents(self, paths: Mapping[str, frozenset[str]]) -> tuple[dict[str, DocumentUnpacked], dict[str, str]]:
        keys = {}
        for path, kinds in paths.items():
            try:
                digest = self._context.tree.digest(path)
            except TreeError:
                continue
            keys[path] = f"d{key_of(self._document_salt, path, sorted(kinds), digest)}"
        entries = self._kept.get(keys.values())
        known: dict[str, DocumentUnpacked] = {}
        for path, key in keys.items():
            if key in entries:
                with contextlib.suppress(Exception):  # of another shape than it should be
                    known[path] = _unpacked_document(entries[key])
        return known, keys

    # --- what is made, in whatever process

    def _job(self, n: int) -> tuple[bytes, bool, list[str]]:
        assert self._collector is not None
        job = self._jobs[n]
        run, files, in_time = self._collector.run_and_files(job)
        narrow = NarrowContext(self._context, run)
        findings, sound = findings_of(self._run_rules, narrow, self._debug)
        facts, crashes = facts_of(self._gatherers, narrow, self._debug)
        findings.update(crashes)
        sound = sound and not crashes
        span = self._context.line_span
        outside = set(narrow.watched.asked)
        for some in findings.values():
            for finding in some:
                outside |= outside_paths(finding, job.point, span)
        body = to_bytes([pack_run(run), pack_findings(findings, job.point, span), facts])
        return body, sound and in_time, sorted(files | outside)

    def _document(self, path: str, kinds: frozenset[str]) -> tuple[bytes, bool, list[str]]:
        documents: Any = self._context.documents
        narrow = NarrowContext(self._context, documents=OneDocument(documents, path, kinds))
        findings, sound = findings_of(self._document_rules, narrow, self._debug)
        facts, crashes = facts_of(self._surveyors, narrow, self._debug)
        findings.update(crashes)
        if self._problems and "yaml" in kinds:
            documents.yaml(path)
        if self._problems and "shell" in kinds:
            documents.shell(path)
        return to_bytes([pack_findings(findings), pack_problems(documents.problems_of(path)), facts]), sound and not crashes, []

    # --- the whole

    def _unpacked(self, body: bytes, n: int) -> Unpacked:
        run, findings, facts = from_bytes(body)
        return unpack_run(run), unpack_findings(findings, self._jobs[n].point, self._context.line_span), dict(facts)

    def _finish(
        self, found: Found, jobs: Mapping[int, Unpacked], documents: Mapping[str, DocumentUnpacked], paths: Mapping[str, frozenset[str]]
    ) -> None:
        runs: list[Run] = []
        gathered: dict[str, list[tuple[Run, Any]]] = {}
        if self._collector is not None:
            for n, job in enumerate(self._jobs):
                fields, findings, facts = jobs[n]
                runs.append(LazyRun(job, fields, partial(self._collector.run, job)))
                found.add(findings)
                for rule, some in facts.items():
                    gathered.setdefault(rule, []).extend((runs[-1], fact) for fact in some)
            self._context.set_runs(tuple(runs))
            self._context.set_gathered(gathered)
        surveyed: dict[str, list[tuple[str, Any]]] = {}
        for path in paths:
            findings, problems, facts = documents[path]
            found.add(findings)
            for rule, some in facts.items():
                surveyed.setdefault(rule, []).extend((path, fact) for fact in some)
            found.problems.extend((path, problem) for problem in problems)
        self._context.set_surveyed(surveyed)


def _unpacked_document(body: bytes) -> DocumentUnpacked:
    findings, problems, facts = from_bytes(body)
    return unpack_findings(findings), unpack_problems(problems), dict(facts)


def _names(modules: Sequence[RuleModule]) -> list[str]:
    return [module.name for module in modules]


def _job_key(job: Job, salt: str) -> str:
    """Everything a job says, less the lines of its row."""
    point = job.point
    said = (
        salt, point.id, point.key, point.row, point.multinode, point.scenario, point.master, sorted(point.sites), job.runner, job.node,
        job.launcher, job.site, job.script, list(job.environment.items()), sorted(job.unknown), job.eval_only,
    )  # fmt: skip
    return hashlib.blake2b(repr(said).encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
