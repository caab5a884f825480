"""The verb ``review``: put what is new in a change on its pull request, or print what would be put there.

A dry run reads git and nothing else. Exit status as for ``check``: 0 nothing at or above ``--fail-on``, 1 findings, 2 bad usage, 3
incomplete,
which includes a review that could not be posted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reviewbot.engine.fingerprint import with_fingerprints
from reviewbot.engine.model import Finding, Level
from reviewbot.engine.own_rules import INTERNAL_ERROR, UNPARSABLE_FILE
from reviewbot.engine.registry import RuleModule
from reviewbot.git import GitError, Repository
from reviewbot.report.common import Report, visible
from reviewbot.review.artifact import Artifact, ArtifactError, read_artifact, write_artifact
from reviewbot.review.diffmap import DiffMap
from reviewbot.review.event import REPOSITORY, Event, EventError, read_event
from reviewbot.review.items import Item, make_items, without_line
from reviewbot.review.markup import Links, span
from reviewbot.review.reconcile import MOST_INLINE
from reviewbot.review.render import SummaryFacts, SummarySection, comment_body, summary_text
from reviewbot.settings import NAME, SettingsError, parse_settings

OK, FOUND, USAGE, INCOMPLETE = 0, 1, 2, 3
VERSION = 1
MAX_JOB_SUMMARY = 1_000_000  # bytes; GitHub drops a longer one as a whole


class UsageError(Exception):
    """Arguments that cannot be answered; the message says what would do."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of checking ``head`` against the merge base. ``lines`` gives the lines of a file of the head, ``sections`` are what other
    parts say about the change, and ``read`` gives a file of the head or ``None``."""

    findings: tuple[Finding, ...]
    incomplete: bool
    ignored: int
    rules: Mapping[str, RuleModule]
    fail_on: str
    lines: Callable[[str], Sequence[str]]
    read: Callable[[str], bytes | None]
    unchecked: tuple[str, ...] = ()
    sections: tuple[SummarySection, ...] = ()


# Settings are read at the first revision, findings are new against the second, and found at the third.
Check = Callable[[str, str, str], Checked]


@dataclass(frozen=True, slots=True)
class Means:
    """What a review of a change needs beside git: the check itself, the rules there are, and files of a commit (``None``: not there)."""

    check: Check
    rules: Callable[[], Mapping[str, RuleModule]]
    root: Path
    read_at: Callable[[str], Callable[[str], bytes | None]]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


def run(arguments: argparse.Namespace, means: Means) -> int:
    """Review a change and give the exit status. Raises ``UsageError`` where arguments or event do not do."""
    try:
        if arguments.dry_run:
            return _dry_run(arguments, means)
        if arguments.artifact_in:
            return _post_artifact(arguments, means)
        return _review(arguments, means)
    except (EventError, GitError) as error:
        raise UsageError(str(error)) from None


# --- without a network ---------------------------------------------------------------------------------------------


def _dry_run(arguments: argparse.Namespace, means: Means) -> int:
    base, head = arguments.base, arguments.head or "HEAD"
    if not base:
        raise UsageError("a dry run needs --base")
    diff = _diff(means.root, base, head)
    checked = _check(means, _resolved(means.root, base), diff)
    links = Links(means.environment.get("GITHUB_SERVER_URL", "https://github.com"), arguments.repo or "")
    items = make_items(_new(checked), diff, _lines_of(checked.read))
    inline, rows = _split(items)
    facts = _facts(diff.head, inline, rows, checked, _settings_note(base, diff))
    summary = summary_text(facts, links) if inline or rows or checked.unchecked or checked.sections else ""
    report = {
        "version": VERSION,
        "base": _resolved(means.root, base),
        "merge_base": diff.merge_base,
        "head": diff.head,
        "comments": [_comment_object(item, diff.head, links) for item in inline],
        "summary": summary,
        "incomplete": checked.incomplete,
    }
    if arguments.format == "json":
        _say(json.dumps(report, indent=2, ensure_ascii=True) + "\n")
    else:
        _say(_as_markdown(report))
    _write_sarif(arguments, checked)
    return _status(checked, arguments)


def _split(items: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """What would be posted as comments on a pull request that has none, and the rest."""
    inline = [item for item in items if item.anchor.kind != "summary"][:MOST_INLINE]
    chosen = {id(item) for item in inline}
    return inline, [item for item in items if id(item) not in chosen]


def _comment_object(item: Item, head: str, links: Links) -> dict[str, Any]:
    anchor = item.anchor
    inline = anchor.kind == "inline"
    return {
        "path": anchor.path.encode("utf-8", "backslashreplace").decode("utf-8"),
        "line": anchor.line if inline else None,
        "side": anchor.side if inline else None,
        "start_line": anchor.start_line,
        "body": comment_body(item, head, links),
        "rule": item.finding.rule,
        "level": str(item.finding.level),
        "fingerprint": item.finding.fingerprint,
    }


def _as_markdown(report: dict[str, Any]) -> str:
    """For people; every line of a comment is quoted, so that none of it is a command to whoever reads the output."""
    out = []
    for comment in report["comments"]:
        lines = "" if comment["line"] is None else f":{comment['start_line'] or comment['line']}"
        lines += f"-{comment['line']}" if comment["start_line"] else ""
        out.append(f"**{visible(comment['path'])}{lines}**{' (old side)' if comment['side'] == 'LEFT' else ''}\n")
        out.extend(f"> {line}" for line in comment["body"].split("\n"))
        out.append("")
    if report["summary"]:
        out.extend(f"> {line}" for line in report["summary"].split("\n"))
    return "\n".join(out) + "\n" if out else ""


# --- on GitHub -----------------------------------------------------------------------------------------------------


def _review(arguments: argparse.Namespace, means: Means) -> int:
    from reviewbot.review.client import ApiError

    event = _event(arguments, means)
    base = arguments.base or event.base or _parent(means.root, event.head)
    head = arguments.head or event.head
    diff = _diff(means.root, base, head)
    settings = _resolved(means.root, base)
    checked = _check(means, settings, diff)
    _write_sarif(arguments, checked)
    _write_outputs(means, checked, diff)
    if arguments.artifact_out:
        existing = frozenset(finding.fingerprint for finding in checked.findings if finding.status == "existing")
        artifact = Artifact(diff.head, diff.merge_base, tuple(_new(checked)), not checked.incomplete, checked.unchecked, existing)
        _write_file(arguments.artifact_out, write_artifact(artifact))
    links = _links(means, event)
    items = make_items(_new(checked), diff, _lines_of(checked.read))
    number = event.number
    token = _token(means)
    note = _settings_note(base, diff)
    if arguments.annotate or arguments.artifact_out or number is None or not token:
        if not (arguments.annotate or arguments.artifact_out) and number is not None:
            _log(f"there is no token in GITHUB_TOKEN: the findings are annotations{'' if event.fork else ' only'}")
        return _annotated(means, checked, items, links, diff.head, note, arguments)
    status = _status(checked, arguments)
    request_fields = {
        "complete": not checked.incomplete, "unchecked": checked.unchecked, "sections": checked.sections, "settings": note,
        "existing": {f.fingerprint for f in checked.findings if f.status == "existing"}.__contains__,
    }  # fmt: skip
    try:
        failed, summary = _post(arguments, means, event, number, diff.head, items, links, token, request_fields)
    except ApiError as error:
        return _fallback(arguments, means, event, checked, items, links, diff.head, note, error)
    _job_summary(means, summary)
    return INCOMPLETE if failed else status


def _post(
    arguments: argparse.Namespace, means: Means, event: Event, number: int, head: str, items: list[Item], links: Links, token: Any,
    fields: dict[str, Any],
) -> tuple[bool, str]:  # fmt: skip
    """Post, and log what was done; gives whether something failed, and the summary. Raises ``ApiError``."""
    from reviewbot.review.post import Request, post

    github = _github(arguments, means, event, token)
    try:
        outcome = post(github, Request(number, head, items, links, request_changes=arguments.request_changes, **fields))
    finally:
        github.close()
    for problem in outcome.problems:
        _log(problem)
    if outcome.abandoned:
        _log(f"nothing more is posted: {outcome.abandoned}")
    else:
        _log(
            f"pull request {number}: {outcome.posted} posted, {outcome.edited} edited, {outcome.deleted} deleted, "
            f"{outcome.resolved} resolved"
        )
    return outcome.failed, outcome.summary


def _fallback(
    arguments: argparse.Namespace, means: Means, event: Event, checked: Checked, items: list[Item], links: Links, head: str, note: str,
    error: Exception,
) -> int:  # fmt: skip
    """Every finding as annotation and in the job summary, where comments cannot be written. For a fork that is what has to be expected."""
    kind = getattr(error, "kind", "")
    _log(f"comments cannot be posted: {error}")
    expected = event.fork and kind in ("forbidden", "not-found")
    if expected:
        _log("a fork's run has no right to comment; the findings are annotations, and the workflows for forks post them")
    status = _annotated(means, checked, items, links, head, note, arguments)
    return status if expected else INCOMPLETE


def _annotated(means: Means, checked: Checked, items: list[Item], links: Links, head: str, note: str, arguments: argparse.Namespace) -> int:
    from reviewbot.report.github import render_github

    _say(render_github(_report(checked)))
    rows = [without_line(item) for item in items]
    facts = _facts(head, (), rows, checked, note)
    _job_summary(means, summary_text(facts, links, most=MAX_JOB_SUMMARY) if rows or checked.unchecked else "")
    return _status(checked, arguments)


def _post_artifact(arguments: argparse.Namespace, means: Means) -> int:
    """Post the findings of a run without rights. The pull request is the one whose head that run checked, whatever the artifact says."""
    from reviewbot.review.client import ApiError

    event = read_event(means.environment, arguments.event)
    if event.name != "workflow_run":
        raise UsageError("--artifact-in is for the event workflow_run")
    token = _token(means)
    if not token:
        raise UsageError("--artifact-in needs a token in GITHUB_TOKEN")
    try:
        artifact = read_artifact(arguments.artifact_in, event.head, means.rules().keys())
    except ArtifactError as error:
        _log(f"nothing is posted: {error}")
        return INCOMPLETE
    github = _github(arguments, means, event, token)
    try:
        pulls = github.pulls_of(event.head, event.head_repository, event.branch)
    except ApiError as error:
        _log(f"the pull request cannot be found: {error}")
        return INCOMPLETE
    finally:
        github.close()
    if not pulls:
        _log(f"no open pull request has the head {event.head[:10]} any more: nothing is posted")
        return OK
    failed = False
    for pull in pulls[:5]:
        diff, unplaced = _diff_if_there(means.root, pull.base_sha, event.head)
        if diff is not None and diff.merge_base != artifact.base and len(pulls) > 1:
            continue  # another pull request with the same head: its findings are new against another base
        items = make_items(artifact.findings, diff, _lines_of(means.read_at(event.head)) if diff is not None else _no_lines)
        fields = {
            "complete": artifact.complete, "unchecked": (*artifact.unchecked, *unplaced), "settings": "",
            "existing": artifact.existing.__contains__,
        }  # fmt: skip
        try:
            again, summary = _post(arguments, means, event, pull.number, event.head, items, _links(means, event), token, fields)
            _job_summary(means, summary)
            failed = failed or again
        except ApiError as error:
            _log(f"comments cannot be posted: {error}")
            failed = True
    return INCOMPLETE if failed else OK


def _no_lines(path: str) -> Sequence[str]:
    return ()


def _lines_of(read: Callable[[str], bytes | None]) -> Callable[[str], Sequence[str]]:
    """The lines of a file with all that belongs to them: a carriage return at the end too, since a suggestion would lose it."""
    return lambda path: (read(path) or b"").decode("utf-8", "replace").split("\n")


def _diff_if_there(root: Path, base: str, head: str) -> tuple[DiffMap | None, tuple[str, ...]]:
    try:
        return _diff(root, base, head), ()
    except GitError as error:
        _log(f"findings are not placed in the diff: {error}")
        return None, ("the diff was not at hand, so findings have no place in it",)


# --- pieces --------------------------------------------------------------------------------------------------------


def _event(arguments: argparse.Namespace, means: Means) -> Event:
    if arguments.repo and not REPOSITORY.match(arguments.repo):
        raise UsageError(f"--repo wants OWNER/NAME, not {arguments.repo!r}")
    if arguments.repo and arguments.head and arguments.base and not arguments.event:
        return Event("", arguments.repo, arguments.pr, arguments.base, arguments.head)
    event = read_event(means.environment, arguments.event)
    if event.name == "workflow_run":
        raise UsageError("for the event workflow_run give --artifact-in: its run must not check what a fork wrote")
    return replace(event, repository=arguments.repo or event.repository, number=arguments.pr or event.number)


def _diff(root: Path, base: str, head: str) -> DiffMap:
    repository = Repository.find(str(root))
    below = root.resolve().relative_to(Path(repository.top).resolve()).as_posix() if not repository.bare else "."
    return DiffMap.between(repository, base, head, "" if below == "." else below + "/")


def _resolved(root: Path, revision: str) -> str:
    return Repository.find(str(root)).resolve(revision)


def _parent(root: Path, head: str) -> str:
    """What a push without a before is compared with."""
    try:
        return _resolved(root, f"{head}^")
    except GitError:
        raise UsageError("the event has no commit to compare with: give --base") from None


def _check(means: Means, settings: str, diff: DiffMap) -> Checked:
    checked = means.check(settings, diff.merge_base, diff.head)
    about = _about_settings(checked, diff)
    findings = (*checked.findings, *with_fingerprints(about)) if about else checked.findings
    unchecked = checked.unchecked
    if checked.incomplete:
        crashes = tuple(dict.fromkeys(finding.message for finding in findings if finding.rule == INTERNAL_ERROR.name))
        unchecked = (*unchecked, *(crashes or ("files that cannot be read",)))
    return replace(checked, findings=findings, unchecked=unchecked)


def _about_settings(checked: Checked, diff: DiffMap) -> list[Finding]:
    """Settings that the change brings are not obeyed, but a fault in them is told."""
    file = diff.file(diff.prefix + NAME)
    data = checked.read(NAME) if file is not None and file.status != "deleted" else None
    if data is None:
        return []
    try:
        parse_settings(data)
    except SettingsError as error:
        message = error.message
        line = error.line
    else:
        return []
    return [
        Finding(UNPARSABLE_FILE.name, Level.ERROR, NAME, line, 1, line, 2, f"these settings cannot be used: {message}", subject="settings")
    ]


def _settings_note(base: str, diff: DiffMap) -> str:
    if diff.file(diff.prefix + NAME) is None:
        return ""
    return f"The settings are those of the base ({span(base[:40])}); what this change does to {span(NAME)} counts once it is merged."


def _new(checked: Checked) -> list[Finding]:
    """What is new in the change; a crash of the check itself is not, and stands under what was not checked."""
    return [finding for finding in checked.findings if finding.status == "new" and finding.rule != INTERNAL_ERROR.name]


def _facts(head: str, inline: Sequence[Item], rows: Sequence[Item], checked: Checked, note: str) -> SummaryFacts:
    return SummaryFacts(head, inline, rows, sections=checked.sections, unchecked=checked.unchecked, settings=note)


def _links(means: Means, event: Event) -> Links:
    return Links(means.environment.get("GITHUB_SERVER_URL", "https://github.com"), event.repository)


def _token(means: Means) -> Any:
    from reviewbot.review.client import Token

    return Token(means.environment.get("GITHUB_TOKEN", "") or means.environment.get("GH_TOKEN", ""))


def _github(arguments: argparse.Namespace, means: Means, event: Event, token: Any) -> Any:
    from reviewbot.review.client import GitHub

    api = means.environment.get("GITHUB_API_URL", "") or "https://api.github.com"
    return GitHub(event.repository, token, api=api, login=arguments.bot_login or "")


def _report(checked: Checked) -> Report:
    return Report(checked.findings, checked.rules, checked.lines, incomplete=checked.incomplete, ignored=checked.ignored, compared=True)


def _status(checked: Checked, arguments: argparse.Namespace) -> int:
    fail_on = arguments.fail_on or checked.fail_on
    if checked.incomplete:
        return INCOMPLETE
    if fail_on == "never":
        return OK
    return FOUND if any(finding.level >= Level[fail_on.upper()] for finding in _new(checked)) else OK


def _write_outputs(means: Means, checked: Checked, diff: DiffMap) -> None:
    """Numbers of findings, and the commits that were compared, for later steps of a workflow."""
    path = means.environment.get("GITHUB_OUTPUT")
    if path:
        new = _new(checked)
        errors = sum(finding.level is Level.ERROR for finding in new)
        _append(path, f"findings={len(new)}\nerrors={errors}\nmerge-base={diff.merge_base}\nhead={diff.head}\n")


def _job_summary(means: Means, text: str) -> None:
    path = means.environment.get("GITHUB_STEP_SUMMARY")
    if path and text:
        _append(path, text + "\n")


def _write_sarif(arguments: argparse.Namespace, checked: Checked) -> None:
    if arguments.sarif:
        from reviewbot.report.sarif import render_sarif

        _write_file(arguments.sarif, render_sarif(_report(checked)))


def _append(path: str, text: str) -> None:
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _write_file(path: str, text: str) -> None:
    try:
        Path(path).write_text(text, "utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _say(text: str) -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    sys.stdout.flush()


def _log(message: str) -> None:
    """A line for the log of a run: never a workflow command, whatever a server or a file name put into it."""
    print(f"reviewbot: {visible(' '.join(message.split()))}", file=sys.stderr)
