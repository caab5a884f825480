"""The verb ``sweep``: ``plan``, ``run``, ``status``, ``logs``, ``cancel``, ``retry``, ``report``."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from reviewbot.sweep.errors import SweepError

if TYPE_CHECKING:
    from reviewbot.sweep.executors import Executor
    from reviewbot.sweep.ledger import Ledger, Row
    from reviewbot.sweep.plan import Plan
    from reviewbot.sweep.planning import Session

OK, FAILED = 0, 1
_SHOWN = 20
_TAIL = 3
_LOG_BYTES = 64 * 1024
_REFRESH = 2.0  # seconds between two pictures of --watch


def add_arguments(parser: argparse.ArgumentParser, add_reading: Callable[[argparse.ArgumentParser], None]) -> None:
    """The arguments of ``reviewbot sweep``; ``add_reading`` adds those of every command that reads a repository."""
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)

    plan = verbs.add_parser("plan", help="choose points, check them, and write down what would be executed", allow_abbrev=False)
    plan.add_argument("keys", nargs="*", metavar="KEY", help="config keys, ids of points or names in a plan; * matches any text")
    plan.add_argument("--all", action="store_true", help="every point")
    plan.add_argument("--changed", action="store_true", help="points that run something else than at --base")
    plan.add_argument("--base", metavar="REV", help="the revision that --changed compares with")
    plan.add_argument(
        "--filter", action="append", default=[], metavar="FIELD=GLOB", help="only points whose field of the row matches (repeatable)"
    )
    plan.add_argument(
        "--order",
        choices=("matrix", "fit", "cost"),
        default="matrix",
        help="of the points: as the matrix has them, those first that fit into memory, or those first that take the fewest GPU-hours",
    )
    plan.add_argument(
        "--as", dest="kind", choices=("launcher", "script", "recipe"), default="launcher", help="what is executed; default: the launcher"
    )
    plan.add_argument("--container", choices=("none", "docker", "pyxis"), default="none", help="what scripts are executed in")
    plan.add_argument("--time-limit", metavar="TIME", help="of each point, as Slurm writes it: MINUTES, H:M:S, D-H:M:S")
    plan.add_argument("--pass-env", action="append", default=[], metavar="NAME", help="hand this variable of the runner on to points")
    plan.add_argument(
        "--health-url", default="", metavar="URL", help="where the server answers when it is up; {NAME} is a variable of the point"
    )
    plan.add_argument("--health-interval", type=_above_zero, metavar="SECONDS")
    plan.add_argument("--health-attempts", type=_count, metavar="N")
    plan.add_argument("--server-log", default="", metavar="PATH", help="a log, relative to the repository, that is watched for fatal lines")
    plan.add_argument("--srtctl", default="srtctl", metavar="COMMAND", help="the program that recipes are submitted with")
    plan.add_argument("--mock", action="store_true", help="let srtctl simulate instead of submitting")
    plan.add_argument("-o", "--output", metavar="FILE", default="plan.json")
    plan.add_argument("--format", choices=("text", "json"), default="text", help="of what is said about it; the plan itself is always JSON")
    add_reading(plan)

    run = verbs.add_parser("run", help="execute the points of a plan whose receipts hold", allow_abbrev=False, conflict_handler="resolve")
    add_reading(run)
    run.add_argument("plan", metavar="PLAN")
    run.add_argument("--executor", choices=("local", "slurm"), default="local")
    run.set_defaults(jobs=None)
    run.add_argument("--jobs", dest="workers", type=_count, metavar="N", help="points at a time; on Slurm: jobs of an array at a time")
    run.add_argument("--gpus", type=_whole, metavar="N", help="GPUs of this machine that local jobs share")
    run.add_argument("--resume", action="store_true", help="go on with the ledger of the plan, or help a runner that is at it")
    going = run.add_mutually_exclusive_group()
    going.add_argument("--keep-going", action="store_true", help="execute the other points after a failure (default)")
    going.add_argument("--fail-fast", action="store_true", help="start no point after a failure")
    run.add_argument("--retries", type=_whole, default=2, metavar="N", help="of jobs that a node or the scheduler lost; default 2")
    _slurm_arguments(run)

    status = verbs.add_parser("status", help="show how far a sweep is", allow_abbrev=False)
    status.add_argument("plan", metavar="PLAN")
    status.add_argument("--watch", action="store_true", help="show it again and again until all is ended")
    status.add_argument("--format", choices=("text", "json"), default="text")
    status.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    logs = verbs.add_parser("logs", help="show the output of a point", allow_abbrev=False)
    logs.add_argument("plan", metavar="PLAN")
    logs.add_argument("point", metavar="POINT")
    logs.add_argument("--attempt", type=_count, metavar="N", help="default: the last one")
    logs.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    cancel = verbs.add_parser("cancel", help="stop points, and start none of them", allow_abbrev=False)
    cancel.add_argument("plan", metavar="PLAN")
    cancel.add_argument("points", nargs="*", metavar="POINT", help="default: all that are not ended")
    cancel.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    retry = verbs.add_parser("retry", help="make ended points pending again, for the next run --resume", allow_abbrev=False)
    retry.add_argument("plan", metavar="PLAN")
    retry.add_argument("points", nargs="*", metavar="POINT")
    retry.add_argument("--failed", action="store_true", help="all that failed, were cancelled or refused")
    retry.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    report = verbs.add_parser("report", help="write the results as a table and a page", allow_abbrev=False)
    report.add_argument("plan", metavar="PLAN")
    report.add_argument("-o", "--output", metavar="FOLDER", help="default: PLAN's name with .report")
    report.add_argument("--compare", metavar="PLAN", help="a previous sweep")
    report.add_argument(
        "--format", choices=("text", "json"), default="text", help="of what is printed; the folder holds CSV, JSON, HTML, SVG and PNG"
    )
    report.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)


def _slurm_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--partition", metavar="NAME")
    parser.add_argument("--account", metavar="NAME")
    parser.add_argument("--qos", metavar="NAME")
    parser.add_argument("--no-gres", action="store_true", help="ask for GPUs with --gpus-per-node instead of --gres=gpu:N")
    parser.add_argument("--sbatch", action="append", default=[], metavar="NAME[=VALUE]", help="a further option of sbatch (repeatable)")


def _count(text: str) -> int:
    value = _whole(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _whole(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)


def _above_zero(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("must be above zero")
    return value


def run(arguments: argparse.Namespace, open_session: Callable[[], Session], out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Answers ``reviewbot sweep``: 0; 1 where points failed or were refused; else ``SweepError`` with its status."""
    out, err = out or sys.stdout, err or sys.stderr
    verb: str = arguments.verb
    if verb == "plan":
        return _plan(arguments, open_session, out)
    if verb == "run":
        return _run(arguments, open_session, err)
    path = Path(arguments.plan)
    if verb == "status":
        return _status(path, arguments, out)
    if verb == "logs":
        return _logs(path, arguments, out)
    if verb == "cancel":
        return _cancel(path, arguments, out)
    if verb == "retry":
        return _retry(path, arguments, out)
    from reviewbot.sweep.report import write_report

    return write_report(
        path,
        Path(arguments.output) if arguments.output else None,
        Path(arguments.compare) if arguments.compare else None,
        arguments.format,
        out,
    )


# --- plan ------------------------------------------------------------------------------------------------------------


def _plan(arguments: argparse.Namespace, open_session: Callable[[], Session], out: TextIO) -> int:
    from reviewbot.sweep.durable import write_atomically
    from reviewbot.sweep.plan import make_plan, paths_of, plan_text
    from reviewbot.sweep.planning import by_fit, checked, plan_points, select
    from reviewbot.sweep.points import Options, slurm_time

    if bool(arguments.all) + bool(arguments.keys) + bool(arguments.changed) == 0:
        raise SweepError("which points? name KEYs, or say --all, or --changed --base REV")
    if arguments.all and (arguments.keys or arguments.changed):
        raise SweepError("--all leaves nothing to choose: give KEYs or --changed, or --all")
    if bool(arguments.changed) != bool(arguments.base):
        raise SweepError("--changed and --base REV go together")
    limit = None
    if arguments.time_limit is not None:
        limit = slurm_time(arguments.time_limit)
        if limit is None:
            raise SweepError(f"{arguments.time_limit!r} is not a time limit: MINUTES, H:M:S or D-H:M:S")
    for name in arguments.pass_env:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise SweepError(f"{name!r} is not the name of a variable")
    output = Path(arguments.output)
    if paths_of(output)[0].exists():
        raise SweepError(f"{paths_of(output)[0]}: there is a ledger beside this plan: choose another name with -o, or take it away")
    options = Options(
        arguments.kind, arguments.container, limit, tuple(sorted(set(arguments.pass_env))), arguments.health_url, arguments.health_interval,
        arguments.health_attempts, arguments.server_log, arguments.srtctl, arguments.mock,
    )  # fmt: skip
    session = open_session()
    found = checked(session, arguments.head)
    base = checked(session, arguments.base) if arguments.changed else None
    pairs = select(found, arguments.keys, arguments.filter, base)
    points, left_out = plan_points(found, by_fit(pairs) if arguments.order == "fit" else pairs, options)
    if arguments.order == "cost":
        points.sort(key=lambda point: point.gpu_hours)
    made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    plan = make_plan(
        points, left_out, made=made, repository=str(session.root), commit=found.commit, revision=arguments.head, options=options.data()
    )
    try:
        write_atomically(str(output), plan_text(plan))
    except OSError as error:
        raise SweepError(f"{output}: {error.strerror}") from None
    if arguments.format == "json":
        summary = {
            "version": 1,
            "plan": str(output),
            "id": plan.id,
            "points": [_brief(point) for point in plan.points],
            "left_out": [{"key": one.key, "reason": one.reason} for one in left_out],
            "gpu_hours": round(plan.gpu_hours, 6),
            "incomplete": found.incomplete,
        }
        out.write(json.dumps(summary, indent=1) + "\n")
        return OK
    for one in left_out:
        out.write(f"left out  {_clean(one.key)}: {_clean(one.reason)}\n")
    out.write(
        f"{output}: {_many(len(points), 'point')}, at most {plan.gpu_hours:.1f} GPU-hours"
        + (f"; {len(left_out)} left out" if left_out else "")
        + "\n"
    )
    if found.incomplete:
        out.write("the check is not complete: something could not be read\n")
    return OK


def _brief(point: Any) -> dict[str, Any]:
    return {
        "key": point.key,
        "point": point.point,
        "kind": point.kind,
        "gpus": point.gpus,
        "nodes": point.nodes,
        "time_limit": point.time_limit,
        "gpu_hours": point.gpu_hours,
        "receipt": point.receipt["digest"],
    }


# --- run -------------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace, open_session: Callable[[], Session], err: TextIO) -> int:
    from reviewbot.sweep.ledger import Ledger
    from reviewbot.sweep.plan import paths_of, read_plan
    from reviewbot.sweep.planning import Verifier
    from reviewbot.sweep.points import Options
    from reviewbot.sweep.runner import Limits, Runner
    from reviewbot.sweep.snapshot import make_snapshot

    path = Path(arguments.plan)
    plan = read_plan(path)
    executor = _executor(arguments.executor, arguments)
    executor.check()
    ledger_path, folder = paths_of(path)
    if ledger_path.exists():
        ledger = Ledger.open(ledger_path, plan.id)
        if not arguments.resume:
            ledger.close()
            raise SweepError(f"{ledger_path}: there is a ledger of this plan already: --resume goes on with it")
    else:
        ledger = Ledger.create(ledger_path, plan.id, ((point.key, str(point.receipt["digest"]), point.gpus) for point in plan.points))
    revision = arguments.head = plan.revision
    verify = Verifier(open_session, revision, Options.of(plan.options), plan.by_key)
    copies: dict[int, Path] = {}

    def snapshot() -> Path:
        session = verify.refresh()
        if id(session) not in copies:
            copies.clear()
            copies[id(session)] = make_snapshot(session.tree(revision), session.root, revision is None, folder)
        return copies[id(session)]

    def say(text: str) -> None:
        err.write(_clean(text) + "\n")
        err.flush()

    try:
        verify.refresh()
        _say_findings(verify.findings, plan, say)
        # Local jobs are looked at often, since that costs nothing; a scheduler is asked once a second.
        limits = Limits(arguments.workers, arguments.gpus, arguments.retries, arguments.fail_fast, 0.1 if executor.name == "local" else 1.0)
        Runner(plan, ledger, folder, executor, verify=verify, snapshot=snapshot, limits=limits, report=say).run()
        counts = ledger.status().counts
    finally:
        ledger.close()
    said = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    say(f"{path}: {said or 'nothing to do'}")
    return FAILED if counts.get("failed") or counts.get("refused") or counts.get("cancelled") else OK


def _say_findings(findings: Iterable[Any], plan: Plan, say: Callable[[str], None]) -> None:
    """What the check of this moment found about the planned points, before the first of them starts."""
    points = {point.point for point in plan.points}
    about = [finding for finding in findings if not finding.points or points & set(finding.points)]
    for finding in about[:_SHOWN]:
        say(f"{finding.level!s:<9} {finding.path}:{finding.line}: {finding.message} [{finding.rule}]")
    if len(about) > _SHOWN:
        say(f"and {len(about) - _SHOWN} more findings")


def _executor(name: str, arguments: argparse.Namespace | None = None) -> Executor:
    if name == "local":
        from reviewbot.sweep.executors.local import LocalExecutor

        return LocalExecutor()
    from reviewbot.sweep.executors import SlurmOptions
    from reviewbot.sweep.executors.slurm import SlurmExecutor

    if arguments is None:
        return SlurmExecutor()
    extra: dict[str, str | bool] = {}
    for text in arguments.sbatch:
        option, equals, value = text.removeprefix("--").partition("=")
        if not re.fullmatch(r"[a-z][a-z-]*", option) or "\n" in value:
            raise SweepError(f"--sbatch wants NAME or NAME=VALUE, not {text!r}")
        extra[option] = value if equals else True
    return SlurmExecutor(
        SlurmOptions(arguments.partition, arguments.account, arguments.qos, not arguments.no_gres, arguments.workers, extra)
    )


# --- status ----------------------------------------------------------------------------------------------------------


def _open(path: Path) -> tuple[Ledger, Path]:
    from reviewbot.sweep.ledger import Ledger
    from reviewbot.sweep.plan import paths_of, plan_identity

    identity = plan_identity(path)
    ledger_path, folder = paths_of(path)
    return Ledger.open(ledger_path, identity), folder


def _status(path: Path, arguments: argparse.Namespace, out: TextIO) -> int:
    ledger, folder = _open(path)
    try:
        while True:
            picture = status_data(ledger, folder)
            if arguments.format == "json":
                out.write(json.dumps({"plan": str(path), **picture}, indent=1) + "\n")
            else:
                if arguments.watch and out.isatty():
                    out.write("\x1b[H\x1b[2J")
                out.write(status_text(picture))
            out.flush()
            if not arguments.watch or not picture["left"]:
                return OK
            time.sleep(_REFRESH)
    finally:
        ledger.close()


def status_data(ledger: Ledger, folder: Path) -> dict[str, Any]:
    """How far a sweep is: counts, what is active (with the last lines of its output), what failed, the time that is left (seconds;
    ``None``: unknown)."""
    from reviewbot.sweep.ledger import ACTIVE
    from reviewbot.sweep.runner import attempt_folder

    status = ledger.status()
    runners = [owner for owner, lives in ledger.runners() if lives]
    active = ledger.points(ACTIVE[::-1], _SHOWN)
    ended = status.counts.get("done", 0) + status.counts.get("failed", 0)
    taken = status.seconds.get("done", 0.0) + status.seconds.get("failed", 0.0)
    running = status.counts.get("running", 0)
    remaining = taken / ended * status.left / max(1, running) if ended and status.left and running else None
    return {
        "version": 1,
        "counts": status.counts,
        "total": status.total,
        "left": status.left,
        "eta_seconds": None if remaining is None else round(remaining, 1),
        "runners": runners,
        "active": [{**_row(row), "tail": _tail(attempt_folder(folder, row) / "output.log", _TAIL)} for row in active],
        "failed": [_row(row) for row in ledger.points(("failed", "refused"), _SHOWN)],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "key": row.key,
        "state": row.state,
        "attempt": row.attempt,
        "executor": row.executor,
        "job": row.job,
        "outcome": row.outcome,
        "reason": row.reason,
        "started": row.started,
        "ended": row.ended,
        "receipt": row.receipt,
    }


def status_text(picture: dict[str, Any]) -> str:
    """The picture of ``status`` for a terminal."""
    counts, total = picture["counts"], picture["total"]
    ended = total - picture["left"]
    width = 30
    full = width * ended // total if total else width
    eta = picture["eta_seconds"]
    lines = [
        f"[{'#' * full}{'.' * (width - full)}] {ended} of {_many(total, 'point')} ended"
        + (f", about {_duration(eta)} left" if eta is not None else "")
    ]
    lines.append("  " + ", ".join(f"{count} {state}" for state, count in counts.items() if count))
    if picture["left"] and not picture["runners"]:
        lines.append("  nobody runs this sweep now: sweep run --resume goes on with it")
    now = time.time()
    for row in picture["active"]:
        since = _duration(now - row["started"]) if row["started"] else ""
        lines.append(f"  {row['state']:<10} {since:>8}  {_clean(row['key'])}" + (f"  ({_clean(row['reason'])})" if row["reason"] else ""))
        lines.extend(f"{'':>22}| {_clean(line)[:160]}" for line in row["tail"])
    hidden = sum(counts.get(state, 0) for state in ("submitting", "queued", "running")) - len(picture["active"])
    if hidden > 0:
        lines.append(f"  and {hidden} more active points")
    lines.extend(
        f"  {row['state']:<10} {'':>8}  {_clean(row['key'])}: {_clean(row['reason'] or row['outcome'] or '')}" for row in picture["failed"]
    )
    hidden = counts.get("failed", 0) + counts.get("refused", 0) - len(picture["failed"])
    if hidden > 0:
        lines.append(f"  and {hidden} more that failed or were refused")
    return "\n".join(lines) + "\n"


def _duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def _tail(path: Path, lines: int) -> list[str]:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 4096))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except OSError:
        return []


# --- logs, cancel, retry -----------------------------------------------------------------------------------------------


def _logs(path: Path, arguments: argparse.Namespace, out: TextIO) -> int:
    from dataclasses import replace

    from reviewbot.sweep.runner import attempt_folder

    ledger, folder = _open(path)
    try:
        row = ledger.point(_known(ledger, [arguments.point])[0])
        assert row is not None
        if arguments.attempt is not None:
            row = replace(row, attempt=arguments.attempt)
        where = attempt_folder(folder, row) / "output.log"
        for at, attempt, state, note in ledger.events(row.id):
            moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
            out.write(f"{moment}  attempt {attempt}  {state}" + (f": {_clean(note)}" if note else "") + "\n")
        try:
            with where.open("rb") as file:
                while chunk := file.read(_LOG_BYTES):
                    out.write(chunk.decode("utf-8", "replace"))
        except FileNotFoundError:
            out.write(f"{where}: there is no output yet\n")
        except OSError as error:
            raise SweepError(f"{where}: {error.strerror}", 3) from None
        return OK
    finally:
        ledger.close()


def _known(ledger: Ledger, keys: Sequence[str]) -> list[str]:
    unknown = ledger.known(keys)
    if unknown:
        from reviewbot.engine.registry import nearest

        close = nearest(unknown[0], [row.key for row in ledger.each()])
        raise SweepError(f"the plan has no point {unknown[0]!r}" + (f"; the nearest is {close}" if close else ""))
    return list(keys)


def _cancel(path: Path, arguments: argparse.Namespace, out: TextIO) -> int:
    from reviewbot.sweep.executors import Attempt
    from reviewbot.sweep.plan import read_plan
    from reviewbot.sweep.runner import Limits, Runner, attempt_folder

    ledger, folder = _open(path)
    try:
        keys = _known(ledger, arguments.points) if arguments.points else None
        before, active = ledger.cancel(keys)
        for name in sorted({row.executor for row in active if row.executor}):
            attempts = [
                Attempt(row.id, attempt_folder(folder, row), row.submission or "", row.place or 0, row.job, row.taken or 0.0)
                for row in active
                if row.executor == name
            ]
            _executor(name).cancel(attempts)
            if not any(lives for _, lives in ledger.runners()):
                runner = Runner(
                    read_plan(path),
                    ledger,
                    folder,
                    _executor(name),
                    verify=lambda point: ["cancelled"],
                    snapshot=lambda: None,
                    limits=Limits(poll=0.2),
                )
                runner.settle(30.0)
        out.write(f"{_many(before, 'point')} cancelled before they started, {len(active)} told to stop\n")
        return OK
    finally:
        ledger.close()


def _retry(path: Path, arguments: argparse.Namespace, out: TextIO) -> int:
    if not arguments.failed and not arguments.points:
        raise SweepError("which points? name them, or say --failed")
    ledger, _ = _open(path)
    try:
        keys = _known(ledger, arguments.points) if arguments.points else None
        states = ("failed", "cancelled", "refused") if arguments.failed or keys is None else ("failed", "cancelled", "refused", "done")
        count = ledger.retry(states, keys)
        out.write(f"{_many(count, 'point')} pending again: sweep run --resume executes them\n")
        return OK
    finally:
        ledger.close()


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _clean(text: str) -> str:
    """Text of others for a terminal: nothing that moves a cursor or ends a line."""
    return "".join(character if character.isprintable() else "?" for character in text)
