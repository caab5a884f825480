"""The command line: arguments in, a report and an exit status out.

Exit status: 0 nothing at or above ``--fail-on``; 1 findings; 2 bad usage or settings; 3 the check is incomplete. What is needed for a
command is imported when it runs, so that ``--help`` is quick.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from reviewbot import __version__

if TYPE_CHECKING:
    from collections import Counter

    from reviewbot.engine.model import Finding
    from reviewbot.engine.registry import RuleModule
    from reviewbot.engine.run import Result
    from reviewbot.parts import Parts, Session
    from reviewbot.progress import Progress
    from reviewbot.report.common import Report
    from reviewbot.review.render import SummarySection
    from reviewbot.runs.model import Run
    from reviewbot.tree import Tree

OK, FOUND, USAGE, INCOMPLETE = 0, 1, 2, 3
FAIL_LEVELS = ("note", "warning", "error", "never")
INDEX = ":index"  # the revision that stands for what would be committed next


class UsageError(Exception):
    """Something the user has to change; the message is shown as it is."""


# Commands that live with what they do: name -> module, function that adds arguments, function that runs, help.
_VERBS: dict[str, tuple[str, str, str, str]] = {
    "fit": ("reviewbot.fit.command", "add_arguments", "run", "tell whether a model runs at a parallelism on a GPU"),
    "model": ("reviewbot.fit.command", "add_model_arguments", "run_model", "list, show and add models that fit knows"),
    "impact": ("reviewbot.change.command", "add_impact_arguments", "run_impact", "tell which points a change touches, and why"),
    "reach": ("reviewbot.change.command", "add_reach_arguments", "run_reach", "tell which points execute a line of a script"),
    "when": ("reviewbot.change.command", "add_when_arguments", "run_when", "tell at which commits an effective value of a key changed"),
}
_READING_VERBS = ("impact", "reach", "when")  # those that read a repository: they are given a session, and their result is rendered


def main(argv: Sequence[str] | None = None, parts: Parts | None = None) -> int:
    """Run a command and give its exit status. ``parts`` replaces what reads the repository, for tests."""
    parser = _parser(sys.argv[1:] if argv is None else argv)
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as stop:  # --help, --version and bad usage
        return stop.code if isinstance(stop.code, int) else USAGE
    try:
        return _run(arguments, parts)
    except UsageError as error:
        return _fail(str(error), USAGE)
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except KeyboardInterrupt:
        return _fail("interrupted", INCOMPLETE)
    except Exception as error:
        if arguments.debug:
            raise
        return _fail(f"crashed: {type(error).__name__}: {error} (--debug shows where)", INCOMPLETE)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="reviewbot", description="Check a repository that benchmarks LLM inference.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"reviewbot {__version__}")
    parser.add_argument("-C", dest="directory", metavar="DIR", help="the repository; default: the one around the current folder")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    check = commands.add_parser("check", help="report where what is written and what runs disagree", allow_abbrev=False)
    _add_selection(check)
    check.add_argument("--format", choices=("text", "json", "github", "sarif", "markdown"), default="text")
    check.add_argument("--fail-on", choices=FAIL_LEVELS, metavar="LEVEL", help=f"lowest level that fails: {', '.join(FAIL_LEVELS)}")
    check.add_argument("--baseline", metavar="FILE", help="hide the findings of a baseline")
    check.add_argument("--base", metavar="REV", help="report only what this revision has not; settings are read from it")
    check.add_argument("--staged", action="store_true", help="read the index, and report only what HEAD has not")
    check.add_argument(
        "--with", dest="tools", action="append", metavar="LINTER", default=[],
        help="run other linters on the files that changed, where they are installed: actionlint, zizmor, shellcheck, ruff (comma-separated)",
    )  # fmt: skip
    _add_reading(check)

    fix = commands.add_parser("fix", help="mend what has a known right text, and check it again", allow_abbrev=False)
    _add_selection(fix)
    fix.add_argument("--unsafe", action="store_true", help="apply fixes too that may not be what was meant")
    fix.add_argument("--diff", action="store_true", help="show what would change, and change nothing")
    fix.add_argument("--base", metavar="REV", help="the revision that the change starts from, for findings about changes")
    _add_tracing(fix)

    from reviewbot.review.arguments import add_init_arguments, add_review_arguments

    review = commands.add_parser("review", help="put what is new in a change on its pull request", allow_abbrev=False)
    add_review_arguments(review)
    _add_rules(review)
    _add_tracing(review)

    init = commands.add_parser("init", help="write workflows, a hook and settings for a repository", allow_abbrev=False)
    add_init_arguments(init)

    trace = commands.add_parser("trace", help="show what every point of the sweep really runs", allow_abbrev=False)
    trace.add_argument("keys", nargs="*", metavar="KEY", help="config keys or ids of points; * matches any text")
    trace.add_argument("--format", choices=("text", "json"), default="text")
    trace.add_argument("--with-text", action="store_true", help="add the recipe as it is submitted")
    _add_reading(trace)

    rules = commands.add_parser("rules", help="list the rules, or explain one", allow_abbrev=False)
    rules.add_argument("name", nargs="?", metavar="NAME")
    rules.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    baseline = commands.add_parser("baseline", help="write the present findings, to hide them with check --baseline", allow_abbrev=False)
    _add_selection(baseline)
    baseline.add_argument("--output", "-o", metavar="FILE", help="write to FILE instead of the standard output")
    _add_reading(baseline)

    for name, (module, add, _run, about) in _VERBS.items():
        verb = commands.add_parser(name, help=about, allow_abbrev=False)
        if name in argv:  # what a command needs is imported only for that command
            getattr(import_module(module), add)(verb)
            if name in _READING_VERBS or name == "fit":
                (_add_tracing if name == "when" else _add_reading)(verb)
                continue
            verb.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    sweep = commands.add_parser("sweep", help="execute points that were checked, and only those", allow_abbrev=False)
    if "sweep" in argv:
        from reviewbot.sweep.command import add_arguments

        add_arguments(sweep, _add_reading)
    return parser


def _add_selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="show findings of these files and folders only; all is read anyway")
    _add_rules(parser)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--select", action="append", metavar="RULE", help="run these rules only (comma-separated, repeatable)")
    parser.add_argument("--ignore", action="append", metavar="RULE", help="do not run these rules")


def _add_reading(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--head", metavar="REV", help="read this revision instead of the working tree")
    _add_tracing(parser)


def _add_tracing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--upstream", action="append", metavar="OWNER/NAME=PATH", default=[], help="a local clone of a repository that launchers check out"
    )
    parser.add_argument("--jobs", type=_positive, metavar="N", help="processes that trace; default: one a core")
    parser.add_argument("--no-cache", action="store_true", help="use nothing that an earlier run has kept, and keep nothing")
    parser.add_argument("--debug", action="store_true", help="show the traceback of a crash")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _run(arguments: argparse.Namespace, parts: Parts | None) -> int:
    if arguments.command == "rules":
        return _rules(arguments.name)
    if arguments.command in _VERBS and arguments.command not in _READING_VERBS and not _fit_of_repository(arguments):
        module, _add, run, _about = _VERBS[arguments.command]
        status: int = getattr(import_module(module), run)(arguments)
        return status
    if parts is None:
        from reviewbot.parts import default_parts

        parts = default_parts()
    from reviewbot.parts import PartsError
    from reviewbot.progress import Progress

    progress = Progress()
    try:
        if arguments.command == "review":
            return _review(arguments, parts, progress)
        if arguments.command == "init":
            return _init(arguments)
        if arguments.command == "sweep":
            return _sweep(arguments, parts, progress)
        if arguments.command == "trace":
            return _trace(arguments, parts, progress)
        if arguments.command == "fit":
            return _fit(arguments, parts, progress)
        if arguments.command in _READING_VERBS:
            return _change(arguments, parts, progress)
        from reviewbot.engine.workers import calm

        with calm():
            if arguments.command == "fix":
                return _fix(arguments, parts, progress)
            return _check(arguments, parts, progress)
    except PartsError as error:
        raise UsageError(str(error)) from None
    finally:
        progress.clear()


# --- commands ------------------------------------------------------------------------------------------------------


def _check(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from reviewbot.engine.baseline import write_baseline
    from reviewbot.report.common import Report

    base = getattr(arguments, "base", None)
    staged = getattr(arguments, "staged", False)
    if staged:
        base, arguments.head = _staged(arguments)
    known = _known_rules()
    chosen = _chosen(known, arguments.select, arguments.ignore)
    baseline = _read_baseline(getattr(arguments, "baseline", None))
    session = _session(arguments, parts, progress, known, revision=arguments.head if staged else base)
    compared = base is not None or baseline is not None
    result = _compared(session, base, arguments.head, chosen, known, arguments, progress)
    if baseline is not None:
        result = _hidden(result, baseline)
    progress.clear()
    shown = _below(result.findings, _inside(arguments, session), session.tree(arguments.head))
    if arguments.command == "baseline":
        _write(write_baseline(shown), arguments.output)
        return INCOMPLETE if result.incomplete else OK
    tree = session.tree(arguments.head)
    context = session.context(arguments.head)
    report = Report(shown, known, context.lines, _resolver(tree), result.incomplete, result.ignored, compared)
    if not any(path.endswith((".yaml", ".yml", ".sh")) for path in tree.paths()):
        sys.stderr.write(f"reviewbot: nothing to check in {session.root}: there are no masters, recipes, launchers or workflows\n")
    _write(_rendered(report, arguments.format))
    return _status(report, arguments.fail_on or session.settings.fail_on)


def _fix(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from dataclasses import replace

    from reviewbot.fix.loop import apply_fixes
    from reviewbot.fix.report import difference, summary, write_files

    arguments.head = None
    known = _known_rules()
    chosen = _chosen(known, arguments.select, arguments.ignore)
    session = _session(arguments, parts, progress, known, revision=arguments.base)
    tree = session.tree(None)
    inside = _inside(arguments, session)
    incomplete = False

    def check(other: Tree) -> tuple[Finding, ...]:
        nonlocal incomplete

        def open_tree(root: str, revision: str | None) -> Tree:
            return other if revision is None else parts.open_tree(root, revision)

        again = _session(arguments, replace(parts, open_tree=open_tree), progress, known, revision=arguments.base)
        if arguments.base is None:
            result = _findings(again, None, chosen, known, arguments, progress)
        else:
            changed, _renames = again.changes(arguments.base, None)
            result = _findings(again, None, chosen, known, arguments, progress, changed=changed, base=arguments.base)
        incomplete = result.incomplete
        return result.findings

    def wanted(finding: Finding) -> bool:
        return finding in _below((finding,), inside, tree)

    fixed = apply_fixes(tree, check, wanted, unsafe=arguments.unsafe)
    progress.clear()
    if arguments.diff:
        _write(difference(tree, fixed.contents))
    else:
        write_files(session.root, fixed.contents)
    print(summary(fixed, arguments.unsafe, arguments.diff), file=sys.stderr)
    return INCOMPLETE if incomplete else FOUND if arguments.diff and fixed.contents else OK


def _compared(
    session: Session,
    base: str | None,
    head: str | None,
    chosen: Sequence[RuleModule],
    known: dict[str, RuleModule],
    arguments: argparse.Namespace,
    progress: Progress,
) -> Result:
    """The findings of ``head``; where there is a ``base``, those that it has too are marked as existing."""
    from reviewbot.engine.run import against

    if base is None:
        result = _findings(session, head, chosen, known, arguments, progress)
        return _with_tools(result, session, head, None, arguments, progress)
    changed, renames = session.changes(base, head)
    result = _findings(session, head, chosen, known, arguments, progress, changed=changed, base=base)
    result = _with_tools(result, session, head, changed, arguments, progress)
    before = _findings(session, base, chosen, known, arguments, progress, renames=renames)
    before = _with_tools(before, session, base, {*changed, *renames}, arguments, progress, renames)
    return against(result, before.findings)


def _with_tools(
    result: Result,
    session: Session,
    revision: str | None,
    paths: Collection[str] | None,
    arguments: argparse.Namespace,
    progress: Progress,
    renames: dict[str, str] | None = None,
) -> Result:
    """The result with what other linters say about ``paths`` (all files by default), where ``--with`` asks for them."""
    given = [name.strip() for text in getattr(arguments, "tools", ()) for name in text.split(",") if name.strip()]
    if not given:
        return result
    from dataclasses import replace

    from reviewbot.engine.context import paths_matching
    from reviewbot.engine.external import TOOLS, external_findings
    from reviewbot.engine.fingerprint import order, with_fingerprints
    from reviewbot.engine.kept import cache_folder

    unknown = [name for name in given if name not in TOOLS]
    if unknown:
        raise UsageError(f"--with {unknown[0]}: known are {', '.join(TOOLS)}")
    progress("other linters", 0, 0)
    tree = session.tree(revision)
    chosen = set(tree.paths() if paths is None else paths)
    chosen -= set(paths_matching(chosen, session.settings.exclude))
    found = external_findings(dict.fromkeys(given), tree, chosen, None if arguments.no_cache else cache_folder())
    return replace(result, findings=tuple(sorted([*result.findings, *with_fingerprints(found, renames)], key=order)))


def _staged(arguments: argparse.Namespace) -> tuple[str | None, str]:
    """What to compare for a hook: HEAD with the index; or, where pre-commit runs over a range of commits, its ends."""
    from reviewbot.git import GitError, Repository

    if arguments.base is not None or arguments.head is not None:
        raise UsageError("--staged says itself what is compared: --base and --head do not go with it")
    first, last = os.environ.get("PRE_COMMIT_FROM_REF"), os.environ.get("PRE_COMMIT_TO_REF")
    try:
        repository = Repository.find(arguments.directory or ".")
        if first and last:
            return repository.merge_base(first, last), repository.resolve(last)
        try:
            return repository.resolve("HEAD"), INDEX
        except GitError as error:
            if error.code != "unknown-revision":
                raise
            return None, INDEX  # the first commit of a repository
    except GitError as error:
        raise UsageError(str(error)) from None


def _review(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from reviewbot.review import command
    from reviewbot.tree import TreeError

    known = _known_rules()
    chosen = _chosen(known, arguments.select, arguments.ignore)

    def check(settings: str, base: str, head: str) -> command.Checked:
        session = _session(argparse.Namespace(**{**vars(arguments), "head": head}), parts, progress, known, revision=settings)
        result = _compared(session, base, head, chosen, known, arguments, progress)
        if arguments.baseline is not None:
            result = _hidden(result, _baseline_at(session, settings, arguments.baseline))
        progress.clear()
        sections = _sections(session, base, head, any(one.status == "new" for one in result.findings), arguments.debug)
        lines = session.context(head).lines
        return command.Checked(
            result.findings, result.incomplete, result.ignored, known, session.settings.fail_on, lines, read_at(head), sections=sections
        )

    def read_at(commit: str) -> Callable[[str], bytes | None]:
        tree = parts.open_tree(str(_root(arguments)), commit)

        def read(path: str) -> bytes | None:
            try:
                return tree.read(path)
            except TreeError:
                return None

        return read

    try:
        return command.run(arguments, command.Means(check, lambda: known, _root(arguments), read_at))
    except command.UsageError as error:
        raise UsageError(str(error)) from None


def _sections(session: Session, base: str, head: str, said: bool, debug: bool) -> tuple[SummarySection, ...]:
    """What the summary says about the points that a change touches; nothing where none is and there is nothing else to say."""
    from reviewbot.change.command import impact_report
    from reviewbot.change.sides import Sides
    from reviewbot.report.change import summary_markdown
    from reviewbot.review.render import SummarySection

    try:
        report = impact_report(Sides(session, base, head), processes=os.cpu_count() or 1)
    except Exception as error:  # findings are told all the same
        if debug:
            raise
        return (SummarySection("Impact", f"It cannot be told which points change: {type(error).__name__}."),)
    if not said and report.impact.empty:
        return ()
    impact = SummarySection("Impact", summary_markdown(report))
    touched = {point.id for point in report.impact.touched()}
    fit = _fit_section([run for run in session.context(head).runs if run.point.id in touched], debug)
    return (impact, fit) if fit is not None else (impact,)


def _fit_section(runs: Sequence[Run], debug: bool) -> SummarySection | None:
    """What the summary says about the memory of the points that a change touches."""
    from reviewbot.review.fit_section import TITLE, fit_section
    from reviewbot.review.render import SummarySection

    try:
        return fit_section(runs)
    except Exception as error:  # findings are told all the same
        if debug:
            raise
        return SummarySection(TITLE, f"It cannot be told: {type(error).__name__}.")


def _init(arguments: argparse.Namespace) -> int:
    from reviewbot.review.init import InitError, init

    try:
        _write(init(_root(arguments), arguments))
    except InitError as error:
        raise UsageError(str(error)) from None
    return OK


def _baseline_at(session: Session, revision: str, path: str) -> Counter[str]:
    """A baseline of the repository at a revision, so that a change cannot bring its own."""
    from reviewbot.engine.baseline import BaselineError, read_baseline
    from reviewbot.tree import TreeError

    try:
        return read_baseline(session.tree(revision).read(path).decode("utf-8"))
    except (TreeError, UnicodeDecodeError, BaselineError) as error:
        raise UsageError(f"the baseline {path} at {revision[:40]}: {error}") from None


def _findings(
    session: Session,
    revision: str | None,
    chosen: Sequence[RuleModule],
    known: dict[str, RuleModule],
    arguments: argparse.Namespace,
    progress: Progress,
    *,
    changed: frozenset[str] | None = None,
    base: str | None = None,
    renames: dict[str, str] | None = None,
) -> Result:
    from reviewbot.engine.run import check

    context = session.context(revision, changed, base)
    return check(context, chosen, known, renames=renames, debug=arguments.debug, progress=progress)


def _trace(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from fnmatch import fnmatchcase

    from reviewbot.report.trace import render_trace_json, render_trace_text

    session = _session(arguments, parts, progress, None, revision=None)
    runs = session.context(arguments.head).runs
    progress.clear()
    if arguments.keys:
        known = {name for run in runs for name in (run.key, run.point.key, run.point.id)}
        wanted = {name for name in known for key in arguments.keys if name == key or fnmatchcase(name, key)}
        for key in arguments.keys:
            if not any(name == key or fnmatchcase(name, key) for name in known):
                from reviewbot.engine.registry import nearest

                close = nearest(key, sorted(known))
                raise UsageError(f"no point or config key matches {key!r}" + (f"; the nearest is {close}" if close else ""))
        runs = tuple(run for run in runs if {run.key, run.point.key, run.point.id} & wanted)
    render = render_trace_json if arguments.format == "json" else render_trace_text
    _write(render(runs, with_text=arguments.with_text))
    return OK


def _sweep(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from reviewbot.sweep.command import run
    from reviewbot.sweep.errors import SweepError

    def session() -> Session:
        return _session(arguments, parts, progress, _known_rules(), revision=None)

    try:
        return run(arguments, session)
    except SweepError as error:
        return _fail(str(error), error.status)


def _change(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from reviewbot.change.sides import ChangeError
    from reviewbot.report.change import render

    module, _add, run, _about = _VERBS[arguments.command]
    arguments.head = getattr(arguments, "head", None)
    session = _session(arguments, parts, progress, None, revision=getattr(arguments, "base", None))
    try:
        found = getattr(import_module(module), run)(arguments, session, progress)
    except ChangeError as error:
        raise UsageError(str(error)) from None
    progress.clear()
    _write(render(found, arguments.format))
    return OK


def _fit_of_repository(arguments: argparse.Namespace) -> bool:
    if arguments.command != "fit":
        return False
    from reviewbot.fit import command

    try:
        return command.of_repository(arguments)
    except command.UsageError as error:
        raise UsageError(str(error)) from None


def _fit(arguments: argparse.Namespace, parts: Parts, progress: Progress) -> int:
    from reviewbot.catalog.models import ModelError
    from reviewbot.change.sides import ChangeError, chosen, runs_of
    from reviewbot.fit.run_table import rows_of
    from reviewbot.report.fit import render_json, render_text

    session = _session(arguments, parts, progress, None, revision=None)
    context = session.context(arguments.head)
    if arguments.names:  # only what is asked for is traced
        bench = context.bench
        try:
            wanted = chosen(arguments.names, {name for point in bench.points for name in (point.key, point.id)})
        except ChangeError as error:
            raise UsageError(f"{error} (a model needs --gpu and --engine)") from None
        vars(context)["bench"] = bench.narrowed(point for point in bench.points if {point.key, point.id} & wanted)
    try:
        rows = rows_of(runs_of(context), tuple(Path(one) for one in arguments.models))
    except ModelError as error:
        raise UsageError(str(error)) from None
    progress.clear()
    _write(render_json(rows) if arguments.format == "json" else render_text(rows, every=arguments.every, colour=_colour()))
    return FOUND if any(row.report is not None and row.report.verdict == "does-not-fit" for row in rows) else OK


def _rules(name: str | None) -> int:
    from reviewbot.engine.registry import nearest

    known = _known_rules()
    if name is None:
        width = max(map(len, known))
        _write("".join(f"{m.name:<{width}}  {m.rule.level!s:<7}  {m.page.title}\n" for m in known.values()))
        return OK
    if name not in known:
        close = nearest(name, known)
        raise UsageError(f"there is no rule {name!r}" + (f"; the nearest is {close}" if close else ""))
    from reviewbot.report.pages import rule_page

    _write(rule_page(known[name]))
    return OK


# --- what a command needs ------------------------------------------------------------------------------------------


def _session(
    arguments: argparse.Namespace, parts: Parts, progress: Progress, known: dict[str, RuleModule] | None, *, revision: str | None
) -> Session:
    from reviewbot.engine.registry import nearest
    from reviewbot.parts import Session
    from reviewbot.settings import SettingsError

    root = _root(arguments)
    try:
        session = Session(
            parts, root, settings_revision=arguments.head if revision is None else revision, upstreams=_upstreams(arguments.upstream),
            jobs=arguments.jobs or os.cpu_count() or 1, cache=not arguments.no_cache, progress=progress,
            pull_request=_pull_request(arguments),
        )  # fmt: skip
        for name in session.settings.levels if known is not None else ():
            if known is not None and name not in known:
                close = nearest(name, known)
                line = session.settings.lines.get(("rules", name), 1)
                advice = f"; the nearest is {close}" if close else ""
                raise SettingsError(session.settings.path, line, f"there is no rule {name!r}{advice}")
        _check_profile(session)
        session.tree(arguments.head)
        if revision is not None:
            session.tree(revision)
    except SettingsError as error:
        raise UsageError(str(error)) from None
    return session


def _pull_request(arguments: argparse.Namespace) -> int | None:
    """The pull request that is checked, where the command line, or the runner in a job of one, says it."""
    given = getattr(arguments, "pr", None)
    if isinstance(given, int):
        return given
    kind, _, rest = os.environ.get("GITHUB_REF", "").removeprefix("refs/").partition("/")
    number = rest.partition("/")[0]
    return int(number) if kind == "pull" and number.isascii() and number.isdigit() and len(number) < 10 else None


def _root(arguments: argparse.Namespace) -> Path:
    from reviewbot.parts import find_root

    root = Path(arguments.directory or ".").resolve()
    if not root.is_dir():
        raise UsageError(f"{arguments.directory} is not a folder")
    return find_root(root) if arguments.directory is None else root


def _check_profile(session: Session) -> None:
    """Raises ``SettingsError`` where the settings name a layout that is not built in."""
    from reviewbot.bench.adapters import ADAPTERS
    from reviewbot.engine.registry import nearest
    from reviewbot.settings import SettingsError

    profile = session.settings.profile
    known = [adapter.name for adapter in ADAPTERS]
    if profile is not None and profile not in known:
        close = nearest(profile, known)
        advice = f"; the nearest is {close}" if close else f"; there are {', '.join(known)}"
        raise SettingsError(session.settings.path, session.settings.lines.get(("profile",), 1), f"there is no profile {profile!r}{advice}")


def _known_rules() -> dict[str, RuleModule]:
    from reviewbot.engine.registry import load_rules

    return load_rules()


def _chosen(known: dict[str, RuleModule], select: list[str] | None, ignore: list[str] | None) -> list[RuleModule]:
    selected, ignored = _names(known, select), _names(known, ignore)
    return [module for name, module in known.items() if (select is None or name in selected) and name not in ignored]


def _names(known: dict[str, RuleModule], given: list[str] | None) -> set[str]:
    from reviewbot.engine.registry import nearest

    names = {name for item in given or () for name in item.split(",") if name}
    for name in sorted(names):
        if name not in known:
            close = nearest(name, known)
            raise UsageError(f"there is no rule {name!r}" + (f"; the nearest is {close}" if close else ""))
    return names


def _upstreams(given: Iterable[str]) -> dict[str, str]:
    upstreams = {}
    for item in given:
        name, equals, path = item.partition("=")
        if not equals or name.count("/") != 1 or not path:
            raise UsageError(f"--upstream wants OWNER/NAME=PATH, not {item!r}")
        if not Path(path).is_dir():
            raise UsageError(f"--upstream {name}: {path} is not a folder")
        upstreams[name] = str(Path(path).resolve())
    return upstreams


def _read_baseline(path: str | None) -> Counter[str] | None:
    from reviewbot.engine.baseline import BaselineError, read_baseline

    if path is None:
        return None
    try:
        return read_baseline(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from None
    except BaselineError as error:
        raise UsageError(f"{path}: {error}") from None


def _hidden(result: Result, baseline: Counter[str]) -> Result:
    from dataclasses import replace

    from reviewbot.engine.baseline import marked

    twice = marked(result.findings, baseline)
    merged = (new if old.status == "new" else old for old, new in zip(result.findings, twice, strict=True))
    return replace(result, findings=tuple(merged))


def _inside(arguments: argparse.Namespace, session: Session) -> list[str]:
    """The PATH arguments relative to the repository: ``""`` is all of it."""
    folder = Path(arguments.directory or ".").resolve()
    inside = []
    for given in arguments.paths:
        absolute = Path(os.path.normpath(folder / given))  # links stay as they are: a path names itself
        try:
            inside.append("/".join(absolute.relative_to(session.root).parts))
        except ValueError:
            raise UsageError(f"{given} is outside of the repository") from None
    return inside


def _below(findings: tuple[Finding, ...], inside: list[str], tree: Tree) -> tuple[Finding, ...]:
    for path in inside:
        if path and not tree.is_file(path) and not tree.is_dir(path):
            raise UsageError(f"there is no {path} in the repository")
    if not inside or "" in inside:
        return findings
    return tuple(f for f in findings if f.path == "." or any(f.path == path or f.path.startswith(path + "/") for path in inside))


def _resolver(tree: Tree) -> Callable[[str], str]:
    from reviewbot.tree import TreeError

    def resolve(path: str) -> str:
        try:
            return tree.resolve(path)
        except TreeError:
            return path

    return resolve


def _rendered(report: Report, form: str) -> str:
    if form == "text":
        from reviewbot.report.text import render_text

        return render_text(report, colour=_colour(), terminal=sys.stdout.isatty())
    if form == "json":
        from reviewbot.report.json import render_json

        return render_json(report)
    if form == "sarif":
        from reviewbot.report.sarif import render_sarif

        return render_sarif(report)
    if form == "github":
        from reviewbot.report.github import render_github

        return render_github(report)
    from reviewbot.report.markdown import render_markdown

    return render_markdown(report)


def _colour() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _status(report: Report, fail_on: str) -> int:
    from reviewbot.engine.model import Level

    if report.incomplete:
        return INCOMPLETE
    if fail_on == "never":
        return OK
    return FOUND if any(finding.level >= Level[fail_on.upper()] for finding in report.new) else OK


# --- output --------------------------------------------------------------------------------------------------------


def _write(text: str, path: str | None = None) -> None:
    if path is not None:
        try:
            Path(path).write_text(text, "utf-8")
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; the exit status is still that of the check
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, status: int) -> int:
    shown = "".join(character if character.isprintable() else "?" for character in message)
    print(f"reviewbot: {shown}", file=sys.stderr)
    return status
