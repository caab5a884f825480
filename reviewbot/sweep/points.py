"""From runs to plan points: what executes a run, with which resources, and what it has to leave behind."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import reviewbot
from reviewbot.bench.model import Job, Recipe
from reviewbot.runs.model import Run
from reviewbot.sweep.health import FATAL_LINES
from reviewbot.trace.effects import Assign, Enter, Exec, Submit
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.values import is_known

KINDS = ("launcher", "script", "recipe")
CONTAINERS = ("none", "docker", "pyxis")
DEFAULT_LIMIT = 4 * 3600.0  # seconds
_SCHEDULERS = ("salloc", "sbatch", "srun")
_ASSUMED = TraceSettings().workspace
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Set for every step by the machine that runs it, or made by the job itself.
_OF_THE_MACHINE = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_", "TMPDIR"})


class Unplannable(Exception):
    """Why a run cannot become a point of a plan."""


@dataclass(frozen=True, slots=True)
class Options:
    """How points are made: ``kind`` of command, ``container`` profile for scripts, ``time_limit`` in seconds where given for all, and what
    is known of servers that runs do not say (``{NAME}`` in ``health_url`` and ``server_log`` stands for a variable of the point)."""

    kind: str = "launcher"
    container: str = "none"
    time_limit: float | None = None
    passed: tuple[str, ...] = ()
    health_url: str = ""
    health_interval: float | None = None
    health_attempts: int | None = None
    server_log: str = ""
    srtctl: str = "srtctl"
    mock: bool = False

    def data(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "container": self.container,
            "time_limit": self.time_limit,
            "passed": list(self.passed),
            "health_url": self.health_url,
            "health_interval": self.health_interval,
            "health_attempts": self.health_attempts,
            "server_log": self.server_log,
            "srtctl": self.srtctl,
            "mock": self.mock,
        }

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Options:
        return cls(**{**data, "passed": tuple(data.get("passed", ()))})


@dataclass(frozen=True, slots=True)
class Command:
    """What executes a point; see ``PlanPoint``."""

    kind: str
    argv: tuple[str, ...]
    files: Mapping[str, str]
    environment: Mapping[str, str]
    passed: tuple[str, ...]


def placed(text: str) -> str:
    """Text of a trace with the place of the job's copy of the repository for the one that the trace assumes."""
    return text.replace(_ASSUMED, "{reviewbot:work}")


def point_key(run: Run) -> str:
    """The name of a point on a launcher, which stands for its pool by one of its nodes."""
    return f"{run.point.id}@{run.node}"


def command_of(run: Run, job: Job, options: Options) -> Command:
    """What executes a run. Raises ``Unplannable`` where that is not known."""
    if run.outcome == "refused":
        raise Unplannable(f"its launcher refuses it: {run.message or 'no message'}")
    if run.outcome not in ("submit", "script"):
        raise Unplannable(f"what it runs is not known: {run.message or 'the trace ends without a job'}")
    passed = tuple(sorted({*options.passed, *(name for name in job.unknown if _NAME.match(name) and name not in _OF_THE_MACHINE)}))
    if options.kind == "recipe":
        return _recipe(run, job, options, passed)
    if options.kind == "script":
        return _script(run, options, passed)
    return Command("launcher", ("bash", "-e", "{reviewbot:folder}/step.sh"), {"step.sh": _ended(job.script)}, dict(job.environment), passed)


def _ended(text: str) -> str:
    return text if text.endswith("\n") else text + "\n"


def _script(run: Run, options: Options, passed: tuple[str, ...]) -> Command:
    enter = next((effect for effect in reversed(run.effects) if isinstance(effect, Enter)), None)
    if enter is None or run.script is None or not is_known(enter.path):
        raise Unplannable("it starts no bench script that is known")
    environment = {
        name: placed(variable.value)
        for name, variable in enter.environment.items()
        if variable.exported and is_known(variable.value) and _NAME.match(name) and name not in _OF_THE_MACHINE
    }
    lost = {name for name, variable in enter.environment.items() if variable.exported and not is_known(variable.value)} - _OF_THE_MACHINE
    passed = tuple(sorted({*passed, *lost}))
    inner = ("bash", enter.path)
    if options.container == "none":
        return Command("script", inner, {}, environment, passed)
    written = run.point.row.get("image")
    image = run.image.value if run.image is not None else written if isinstance(written, str) else None
    if image is None:
        raise Unplannable("the image of its container is not known")
    names = sorted({*environment, *passed, "CUDA_VISIBLE_DEVICES"})
    if options.container == "docker":
        argv = (
            "docker",
            "run",
            "--rm",
            "--init",
            "--network=host",
            "--ipc=host",
            "--gpus=all",
            "--volume={reviewbot:work}:/workspace",
            "--workdir=/workspace",
            *(f"--env={name}" for name in names),
            "--entrypoint=",
            image,
            *inner,
        )
    else:
        argv = (
            "srun",
            "--ntasks=1",
            f"--container-image={image}",
            "--container-mounts={reviewbot:work}:/workspace",
            "--container-workdir=/workspace",
            "--no-container-mount-home",
            "--export=ALL",
            *inner,
        )
    return Command("script", argv, {}, environment, passed)


def _recipe(run: Run, job: Job, options: Options, passed: tuple[str, ...]) -> Command:
    submit = next((effect for effect in run.effects if isinstance(effect, Submit)), None)
    if submit is None or submit.tool != "srtctl" or run.text is None or submit.recipe is None:
        raise Unplannable("it submits no recipe that is known byte by byte")
    if not is_known(run.text.text) or (run.cluster is not None and not is_known(run.cluster.text)):
        raise Unplannable("its recipe has pieces that are not known before the launcher runs")
    selector = submit.recipe.rpartition(":")[2] if ":" in submit.recipe else ""
    files = {"recipe.yaml": placed(run.text.text)}
    if run.cluster is not None:
        files["srtslurm.yaml"] = placed(run.cluster.text)
    words = [*shlex.split(options.srtctl), "apply", "-f", "{reviewbot:folder}/recipe.yaml" + (f":{selector}" if selector else ""), "--json"]
    for name, values in (("--set", submit.sets), ("--unset", submit.unsets)):
        for value in values:
            words += [name, placed(value)]
    if options.mock:
        words.append("--mock")
    root = str(Path(reviewbot.__file__).resolve().parent.parent)
    code = f"import sys; sys.path.insert(0, {root!r}); from reviewbot.sweep.srt import main; sys.exit(main(sys.argv[1:]))"
    environment = {**job.environment, **({"SRTSLURM_CONFIG": "{reviewbot:folder}/srtslurm.yaml"} if run.cluster is not None else {})}
    return Command("recipe", (sys.executable, "-I", "-S", "-u", "-c", code, "{reviewbot:work}", "--", *words), files, environment, passed)


# --- resources -------------------------------------------------------------------------------------------------------


def resources_of(run: Run) -> tuple[int, int]:
    """GPUs and nodes of a run, all servers together: as its servers say, else as its row does."""
    gpus = [server.gpus * (server.workers or 1) for server in run.servers if server.gpus is not None]
    recipe = run.recipe
    nodes = recipe.total_nodes if recipe is not None and recipe.total_nodes is not None else None
    if nodes is None:
        counted = [server.nodes for server in run.servers if server.nodes]
        nodes = sum(counted) if run.point.multinode and counted else 1
    total = sum(gpus) if gpus and len(gpus) == len(run.servers) else _of_row(run.point.row)
    return max(0, total), max(1, nodes)


def _of_row(row: Mapping[str, Any]) -> int:
    def size(worker: Mapping[str, Any], *names: str) -> int:
        product = 1
        for name in names:
            value = worker.get(name, 1)
            product *= value if isinstance(value, int) and not isinstance(value, bool) else 1
        return product

    workers = [row[role] for role in ("prefill", "decode") if isinstance(row.get(role), Mapping)]
    if workers:
        return sum(size(worker, "num-worker", "tp", "pp", "pcp-size") for worker in workers)
    return size(row, "tp", "pp", "pcp-size")


def time_limit_of(run: Run, options: Options) -> float:
    """Seconds: as asked for, else of the recipe, else as the launcher asks its scheduler, else the default."""
    if options.time_limit is not None:
        return options.time_limit
    recipe = run.recipe
    if (
        recipe is not None
        and recipe.time_limit is not None
        and isinstance(recipe.time_limit.value, (int, float))
        and recipe.time_limit.value > 0
    ):
        return float(recipe.time_limit.value)
    for effect in run.effects:
        if isinstance(effect, (Exec, Submit)) and effect.argv and effect.argv[0].rpartition("/")[2] in _SCHEDULERS:
            found = _time_option(effect.argv)
            if found is not None:
                return found
    return DEFAULT_LIMIT


def _time_option(argv: Iterable[str]) -> float | None:
    words = [str(word) for word in argv]
    for place, word in enumerate(words):
        if word.startswith("--time="):
            return slurm_time(word.partition("=")[2])
        if word in ("--time", "-t") and place + 1 < len(words):
            return slurm_time(words[place + 1])
    return None


def slurm_time(text: str) -> float | None:
    """Seconds of a time limit in Slurm's notation: ``M``, ``M:S``, ``H:M:S``, ``D-H``, ``D-H:M``, ``D-H:M:S``; ``None`` where it is
    none."""
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdigit() for part in parts) or len(parts) > 3 or (dash and not days.isdigit()):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes, seconds = [*numbers, 0, 0][:3]
        found = ((int(days) * 24 + hours) * 60 + minutes) * 60 + seconds
    elif len(numbers) == 1:
        found = numbers[0] * 60
    elif len(numbers) == 2:
        found = numbers[0] * 60 + numbers[1]
    else:
        found = (numbers[0] * 60 + numbers[1]) * 60 + numbers[2]
    return float(found) if found > 0 else None


# --- outputs and health ----------------------------------------------------------------------------------------------


def outputs_of(run: Run, job: Job, kind: str) -> tuple[str, ...]:
    """Globs of the result files that a run leaves: named after ``RESULT_FILENAME`` where that is known, any JSON file that is new
    otherwise."""
    if kind == "recipe":
        return ("srt-results/*",)
    name = _value_of(run, job, "RESULT_FILENAME")
    named = (f"{_literal(name)}.json", f"{_literal(name)}_*.json") if name else ("*.json",)
    return (*named, "results*.json")


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _value_of(run: Run, job: Job, name: str) -> str | None:
    for effect in reversed(run.effects):
        if isinstance(effect, (Enter, Exec, Submit)) and name in effect.environment:
            value = effect.environment[name].value
            return value if is_known(value) else None
        if isinstance(effect, Assign) and effect.name == name:
            return effect.value if is_known(effect.value) else None
    return job.environment.get(name)


def health_of(run: Run, job: Job, command: Command, options: Options) -> dict[str, Any] | None:
    """How the job waits for the server: as the recipe says how long, and where it was told or the script's own server says so.

    A launcher may start its server on another machine, and ``srtctl`` waits itself, so those are watched only where an address is given.
    """
    interval, attempts = options.health_interval or 10.0, options.health_attempts or 180
    recipe: Recipe | None = run.recipe
    if recipe is not None:
        if options.health_interval is None and recipe.health_interval is not None:
            interval = _number(recipe.health_interval.value) or interval
        if options.health_attempts is None and recipe.health_attempts is not None:
            attempts = int(_number(recipe.health_attempts.value) or attempts)
    url, log = _filled(options.health_url, run, job), _filled(options.server_log, run, job)
    if not url and command.kind == "script" and options.container != "pyxis":
        port = next((value for server in run.servers if "port" in server.flags and (value := server.flags["port"].value) is not None), None)
        url = f"http://127.0.0.1:{port}/health" if port is not None and port.isdigit() else ""
    if not url and not log:
        return None
    return {"url": url, "interval": interval, "attempts": attempts, "log": log, "fatal": list(FATAL_LINES)}


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else None


def _filled(template: str, run: Run, job: Job) -> str:
    return re.sub(r"\{(\w+)\}", lambda match: _value_of(run, job, match[1]) or match[0], template)
