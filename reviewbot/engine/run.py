"""Running rules over a context: the crash of one is a finding, the others go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from reviewbot.documents.positions import Problem
from reviewbot.engine.baseline import marked
from reviewbot.engine.checks import Found
from reviewbot.engine.context import Context, paths_matching
from reviewbot.engine.fingerprint import order, with_fingerprints
from reviewbot.engine.model import Finding, Level
from reviewbot.engine.narrow import NarrowContext, OneDocument, RestContext, crash, facts_of, findings_of, kinds_of_paths
from reviewbot.engine.own_rules import INTERNAL_ERROR, UNPARSABLE_FILE
from reviewbot.engine.packed import from_bytes, to_bytes
from reviewbot.engine.registry import RuleModule
from reviewbot.engine.suppress import MARK, SUFFIXES, Directive, directives, python_comments, suppress
from reviewbot.runs.model import Run
from reviewbot.tree import TreeError

# Problems that are about reading a document. Others (a duplicate key) belong to the rule that explains them.
_READING = frozenset({"invalid-utf8", "too-large", "too-deep", "missing", "outside", "not-a-file", "unreadable", "binary"})

Progress = Callable[[str, int, int], None]  # what is being done, how far, of how many


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found. ``incomplete`` where a file could not be read, a launcher not be followed, or a rule crashed;
    ``ignored`` counts those hidden by comments."""

    findings: tuple[Finding, ...]
    incomplete: bool
    ignored: int
    rules: int


def check(
    context: Context,
    rules: Iterable[RuleModule],
    known: Mapping[str, RuleModule],
    *,
    renames: Mapping[str, str] | None = None,
    debug: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Result:
    """Run ``rules`` (``known`` are all that there are) and give what is left after settings and ignore comments, by place.

    ``renames`` maps paths to their names in another revision that the fingerprints will be compared with.
    """
    chosen = [module for module in rules if context.settings.levels.get(module.name) != "off"]
    names = {module.name for module in chosen}
    collected: list[Finding] = []
    found, broken = _prepare(context, chosen, debug, progress)
    collected.extend(broken.values())
    for number, module in enumerate(chosen):
        progress(f"rule {module.name}", number, len(chosen))
        if not module.rule.needs & broken.keys() and not (module.rule.needs & {"runs"} and "bench" in broken):
            parts = found is not None and module.rule.scope != "all"
            collected.extend(found.findings.get(module.name, ()) if found is not None and parts else _run_rule(context, module, debug))
            if (module.gather is not None or module.survey is not None) and found is not None:
                collected.extend(found.findings.get(module.name, ()))
            if module.rule.scope == "run" and "change" in module.rule.needs and context.changed:
                rest = RestContext(context)
                collected.extend(findings_of([module], rest, debug)[0].get(module.name, ()))
    unread = False
    if UNPARSABLE_FILE.name in names:
        progress("reading documents", 0, 0)
        try:
            problems, unread = _problems(context, found)
            collected.extend(problems)
        except Exception as error:
            collected.append(crash("reading the documents", error, debug))
    findings = merged(_levelled(context, known, collected))
    if context.settings.exclude:
        excluded = set(paths_matching({finding.path for finding in findings}, context.settings.exclude))
        findings = [finding for finding in findings if finding.path not in excluded]
    marked_findings = with_fingerprints(findings, renames)
    rule_table = {name: module.rule for name, module in known.items()}
    result = suppress(marked_findings, _directives(context), rule_table, names.__contains__)
    about = [finding for finding in _levelled(context, known, result.about) if finding.rule in names]
    incomplete = unread or context.unfollowed or any(finding.rule == INTERNAL_ERROR.name for finding in collected)
    final = sorted([*result.kept, *with_fingerprints(about, renames)], key=order)
    return Result(tuple(final), incomplete, len(result.ignored), len(chosen))


def against(result: Result, base: Iterable[Finding]) -> Result:
    """The result with every finding that ``base`` has too marked as existing."""
    return replace(result, findings=marked(result.findings, Counter(finding.fingerprint for finding in base)))


def _prepare(
    context: Context, chosen: list[RuleModule], debug: bool, progress: Progress
) -> tuple[Found | None, dict[str, Finding]]:
    """Make what the rules need, so that a crash there is told once and not by every rule; and what rules of a narrow scope find, where the
    context has something that checks part by part."""
    needs = frozenset().union(*(module.rule.needs for module in chosen)) if chosen else frozenset()
    run_rules = [module for module in chosen if module.rule.scope == "run" and module.check is not None]
    document_rules = [module for module in chosen if module.rule.scope == "document" and module.check is not None]
    gatherers = [module for module in chosen if module.gather is not None]
    surveyors = [module for module in chosen if module.survey is not None]
    problems = any(module.name == UNPARSABLE_FILE.name for module in chosen)
    broken: dict[str, Finding] = {}
    if needs & {"bench", "runs"}:
        progress("reading the repository", 0, 0)
        try:
            _ = context.bench
        except Exception as error:
            broken["bench"] = crash("reading the bench of the repository", error, debug)
    found: Found | None = None
    if "runs" in needs and not broken:
        progress("tracing", 0, 0)
        try:
            if context.checks is not None:
                found = context.checks.check(context, run_rules, document_rules, problems, debug, gatherers, surveyors)
            else:
                _gather(context, gatherers, debug)
        except Exception as error:
            broken["runs"] = crash("reading the runs of the repository", error, debug)
    if context.checks is None:
        _survey(context, surveyors, debug)
    elif found is None and (document_rules or surveyors or problems):
        found = context.checks.check(context, None, document_rules, problems, debug, (), surveyors)
    return found, broken


def _gather(context: Context, gatherers: list[RuleModule], debug: bool) -> None:
    gathered: dict[str, list[tuple[Run, Any]]] = {}
    for run in context.runs:
        for rule, facts in facts_of(gatherers, NarrowContext(context, run), debug)[0].items():
            gathered.setdefault(rule, []).extend((run, fact) for fact in from_bytes(to_bytes(facts)))
    context.set_gathered(gathered)


def _survey(context: Context, surveyors: list[RuleModule], debug: bool) -> None:
    surveyed: dict[str, list[tuple[str, Any]]] = {}
    for path, kinds in kinds_of_paths(context.documents).items() if surveyors else ():
        one = NarrowContext(context, documents=OneDocument(context.documents, path, kinds))
        for rule, facts in facts_of(surveyors, one, debug)[0].items():
            surveyed.setdefault(rule, []).extend((path, fact) for fact in from_bytes(to_bytes(facts)))
    context.set_surveyed(surveyed)


def _run_rule(context: Context, module: RuleModule, debug: bool) -> list[Finding]:
    if module.rule.scope != "run":
        return findings_of([module], context, debug)[0].get(module.name, [])
    found: list[Finding] = []
    for run in context.runs:
        found.extend(findings_of([module], NarrowContext(context, run), debug)[0].get(module.name, ()))
    return found


def _problems(context: Context, checked: Found | None) -> tuple[list[Finding], bool]:
    """Findings about files that cannot be read as what they are, and whether of one nothing at all could be read."""
    found: list[Finding] = []
    unread = False
    seen: set[tuple[str, Problem]] = set()
    problems = context.documents.problems() if checked is None else [*checked.problems, *context.documents.known_problems()]
    for path, problem in problems:
        reading = problem.fatal or problem.code.endswith("-syntax") or problem.code in _READING
        if reading and (path, problem) not in seen:
            seen.add((path, problem))
            # Broken YAML is refused by whoever loads it; broken shell may still run up to the place.
            level = UNPARSABLE_FILE.level if problem.fatal or problem.code == "yaml-syntax" else Level.WARNING
            subject = f"{problem.code} {problem.message}"
            unread = unread or problem.fatal
            found.append(Finding(UNPARSABLE_FILE.name, level, path, *problem.span, message=problem.message, subject=subject))
    return found, unread


def _levelled(context: Context, known: Mapping[str, RuleModule], findings: Iterable[Finding]) -> Iterator[Finding]:
    for finding in findings:
        level = context.settings.levels.get(finding.rule)
        module = known.get(finding.rule)
        if level is not None and level != "off":
            yield replace(finding, level=Level[level.upper()])
        elif module is not None and module.rule.guess:
            yield replace(finding, level=Level.NOTE)
        else:
            yield finding


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One cause, one finding: those of the same rule, place and subject are united, with all their points and related places."""
    merged: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        subject = finding.subject or finding.message
        key = (finding.rule, finding.path, finding.line, finding.column, finding.end_line, finding.end_column, finding.structure, subject)
        first = merged.get(key)
        if first is None:
            merged[key] = finding
        else:
            merged[key] = replace(
                first,
                level=max(first.level, finding.level),
                points=tuple(dict.fromkeys((*first.points, *finding.points))),
                related=tuple(dict.fromkeys((*first.related, *finding.related))),
            )
    return list(merged.values())


def _directives(context: Context) -> Iterator[Directive]:
    for path in context.tree.paths():
        if not path.endswith(SUFFIXES):
            continue
        try:
            data = context.tree.read(path)
        except TreeError:
            continue
        if MARK in data:
            text = data.decode("utf-8", "replace")
            yield from directives(path, text, _comments(context, path, text))


def _comments(context: Context, path: str, text: str) -> set[tuple[int, int]] | None:
    if path.endswith(".py"):
        return python_comments(text)
    if path.endswith((".sh", ".bash")):
        return {(comment.span.line, comment.span.column) for comment in context.documents.shell(path).comments}
    return None  # YAML: the comments of scripts in it count as well, and the parser of YAML does not know them
