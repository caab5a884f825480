"""The launch contract: how a repository's workflows turn a sweep point into the environment and script of a launcher.

A *caller* is a job with a matrix of points that uses a reusable workflow; a *template* is that workflow, where one step runs a
launcher. For each kind of point the caller is found by what it passes (topology, scenario, eval), its ``with:`` is evaluated for
the row, then the inputs' defaults, the template's environments and the script of the step. Expressions are compiled once.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from collections.abc import Mapping as MappingType
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, field
from typing import Any

from reviewbot.bench.model import Job, Point
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.runners import Runners
from reviewbot.bench.templates import MISSING, Names, Template, compile_template, look_up
from reviewbot.documents.expressions import Partial, Unknown, to_string
from reviewbot.documents.nodes import Mapping, Scalar
from reviewbot.documents.positions import Site, Span
from reviewbot.documents.workflow import Workflow, WorkflowInput

LAUNCHER = re.compile(r"""(?:\./)?([\w./-]*runners/launch_[^\s;&|"']*)""")
RUNTIME_NAMES = frozenset(
    {
        "GITHUB_WORKSPACE",
        "GITHUB_RUN_ID",
        "GITHUB_RUN_ATTEMPT",
        "GITHUB_RUN_NUMBER",
        "GITHUB_SHA",
        "GITHUB_REF",
        "GITHUB_REF_NAME",
        "GITHUB_REPOSITORY",
        "GITHUB_ACTOR",
        "GITHUB_EVENT_NAME",
        "GITHUB_EVENT_PATH",
        "GITHUB_ENV",
        "GITHUB_OUTPUT",
        "GITHUB_PATH",
        "GITHUB_STEP_SUMMARY",
        "GITHUB_JOB",
        "GITHUB_SERVER_URL",
        "RUNNER_TEMP",
        "RUNNER_WORKSPACE",
        "HOME",
        "USER",
        "PATH",
        "HOSTNAME",
    }
)
"""Names that a runner sets for every step and whose value is not known before the job."""

_FIXED_ENVIRONMENT = {"CI": "true", "GITHUB_ACTIONS": "true", "RUNNER_OS": "Linux", "RUNNER_ENVIRONMENT": "self-hosted"}
_LOCAL = "./.github/workflows/"
_AUTOMATIC = frozenset({"push", "pull_request", "pull_request_target", "schedule"})
_BUCKET = re.compile(r"""(?:\.|\[['"])([\w-]+)(?:['"]\])?\s*\}\}\s*$""")
_LENGTHS = re.compile(r"^\d+k\d+k$")


@dataclass(frozen=True, slots=True)
class Caller:
    """A job that runs a template once a point. ``variable`` is the matrix variable that holds the row."""

    workflow: str
    job: str
    site: Site
    template: str
    variable: str
    bucket: str  # last name of the matrix expression: ``8k1k``, ``agentic``, ``evals``
    multinode: bool
    agentic: bool
    eval_only: bool
    automatic: bool  # the workflow starts by itself (push, pull request, schedule)
    inputs: MappingType[str, tuple[Template, Site]]


@dataclass(frozen=True, slots=True)
class LaunchTemplate:
    """A reusable workflow with a step that runs a launcher. ``environment`` is in the order of the levels: workflow, job, step."""

    path: str
    inputs: MappingType[str, WorkflowInput]
    environment: tuple[tuple[str, Template, Site], ...]
    script: Template
    site: Site  # first line of the script


@dataclass(frozen=True, slots=True)
class Contract:
    """All callers and templates of a repository, or the built-in profile where it has no workflows."""

    callers: tuple[Caller, ...] = ()
    templates: MappingType[str, LaunchTemplate] = field(default_factory=dict)

    def caller(self, row: MappingType[str, Any], eval_only: bool = False) -> Caller | None:
        """The caller for a row: the one that names the row's bucket before one that takes any, the first of equal ones."""
        multinode, agentic = "prefill" in row, "scenario-type" in row
        best: Caller | None = None
        best_rank: tuple[int, ...] = ()
        for caller in self.callers:
            if (caller.multinode, caller.agentic, caller.eval_only) != (multinode, agentic, eval_only):
                continue
            named = _LENGTHS.match(caller.bucket) is not None
            if named and caller.bucket != _length_name(row):
                continue
            rank = (int(caller.automatic), int(named))
            if best is None or rank > best_rank:
                best, best_rank = caller, rank
        return best

    @property
    def separate_evals(self) -> bool:
        """Whether evals run in jobs of their own, so that throughput jobs never carry the eval mark."""
        return any(caller.eval_only for caller in self.callers)


def _length_name(row: MappingType[str, Any]) -> str:
    isl, osl = row.get("isl"), row.get("osl")
    return f"{isl // 1024}k{osl // 1024}k" if isinstance(isl, int) and isinstance(osl, int) else ""


# --- reading -------------------------------------------------------------------------------------------------------


def read_contract(workflows: Iterable[Workflow]) -> Contract:
    """The contract of a repository's workflows."""
    files = list(workflows)
    templates = {workflow.path: template for workflow in files if (template := _template(workflow)) is not None}
    callers = tuple(caller for workflow in files for caller in _callers(workflow, templates))
    return Contract(callers, templates)


def _template(workflow: Workflow) -> LaunchTemplate | None:
    """The first step of a reusable workflow that runs a launcher."""
    if "workflow_call" not in workflow.triggers:
        return None
    for job in workflow.jobs.values():
        for step in job.steps:
            if step.run is None or LAUNCHER.search(step.run.text) is None:
                continue
            environment = tuple(
                (setting.name, compile_template(setting.text), setting.site)
                for level in (workflow.env, job.env, step.env)
                for setting in level.values()
            )
            script = compile_template(step.run.text)
            return LaunchTemplate(workflow.path, workflow.inputs, environment, script, Site(workflow.path, step.run.line(1)))
    return None


def _callers(workflow: Workflow, templates: MappingType[str, LaunchTemplate]) -> Iterable[Caller]:
    automatic = not _AUTOMATIC.isdisjoint(workflow.triggers)
    for job in workflow.jobs.values():
        if job.uses is None or not job.uses.startswith(_LOCAL) or not isinstance(job.matrix, Mapping):
            continue
        template = job.uses[2:]
        if template not in templates:
            continue
        inputs = {name: (compile_template(setting.text), setting.site) for name, setting in job.arguments.items()}
        for variable, entry in job.matrix.items():
            points = entry.value.value if isinstance(entry.value, Scalar) else None
            if not isinstance(points, str) or not any(f"matrix.{variable}" in part.source for part, _ in inputs.values()):
                continue
            bucket = _BUCKET.search(points)
            yield Caller(
                workflow=workflow.path,
                job=job.id,
                site=job.site,
                template=template,
                variable=str(variable),
                bucket=bucket.group(1) if bucket else "",
                multinode=any(".prefill." in part.source for part, _ in inputs.values()),
                agentic=_is(inputs, "scenario-type", "agentic-coding"),
                eval_only=_is(inputs, "eval-only", "true"),
                automatic=automatic,
                inputs=inputs,
            )
            break


def _is(inputs: MappingType[str, tuple[Template, Site]], name: str, value: str) -> bool:
    return name in inputs and inputs[name][0].evaluate({}) == value


# --- evaluating ----------------------------------------------------------------------------------------------------


class _Plan:
    """How a caller and its template make an environment, with all that no row changes worked out."""

    def __init__(self, caller: Caller, template: LaunchTemplate) -> None:
        self.template = template
        self.variable = caller.variable
        self.fixed_inputs: dict[str, Any] = {}
        self.row_inputs: list[tuple[str, str, Names | None, Template]] = []
        for name, declared in template.inputs.items():
            given = caller.inputs.get(name)
            if given is None:
                self.fixed_inputs[name] = _typed(declared.value_without_argument, declared.type)
            elif not given[0].parts:
                self.fixed_inputs[name] = _typed(given[0].constant, declared.type)
            else:
                names = given[0].names
                own = names is not None and names[:2] == ("matrix", caller.variable)
                self.row_inputs.append((name, declared.type, names[2:] if names is not None and own else None, given[0]))
        entries = {name: (value, site) for name, value, site in template.environment}
        self.sites = {name: site for name, (_, site) in entries.items()}
        self.fixed: dict[str, str] = dict(_FIXED_ENVIRONMENT)
        self.of_row: list[tuple[str, str | None, Template]] = []
        self.of_node: list[tuple[str, Template]] = []
        for name, (value, _) in entries.items():
            self.fixed.pop(name, None)
            if not value.parts:
                self.fixed[name] = to_string(value.constant)
            elif "runner." in value.source:
                self.of_node.append((name, value))
            else:
                names = value.names
                self.of_row.append((name, names[1] if names is not None and len(names) == 2 and names[0] == "inputs" else None, value))
        self.always_unknown = RUNTIME_NAMES - entries.keys()
        found = LAUNCHER.search(template.script.source)
        self.launcher = "" if found is None else _normal(found.group(1))

    def evaluate(self, row: MappingType[str, Any]) -> tuple[dict[str, Any], dict[str, str], set[str]]:
        """Contexts, known environment and unknown names of a row, for any runner."""
        contexts: dict[str, Any] = {**_WORLD, "matrix": {self.variable: row}}
        inputs = dict(self.fixed_inputs)
        for name, kind, names, template in self.row_inputs:
            value: Any = MISSING if names is None else look_up(row, names)
            if value is MISSING:
                value = template.evaluate(contexts)
            inputs[name] = _typed(value, kind)
        environment = dict(self.fixed)
        unknown: set[str] = set(self.always_unknown)
        contexts["inputs"] = inputs
        contexts["env"] = environment
        if self.template.inputs:
            del contexts["matrix"]  # it is the caller's, not the template's own
        for name, source, template in self.of_row:
            value = MISSING if source is None else inputs.get(source, MISSING)
            if value is MISSING:
                value = template.evaluate(contexts)
            if value.__class__ is str:
                environment[name] = value
            elif isinstance(value, Unknown):
                environment.pop(name, None)
                unknown.add(name)
            else:
                environment[name] = to_string(value)
        return contexts, environment, unknown


class Launches:
    """Makes the jobs of points. ``prepare`` gives the row that the workflow's matrix holds (for an eval job or not)."""

    def __init__(self, contract: Contract, runners: Runners, prepare: Callable[[Point, bool], MappingType[str, Any]]) -> None:
        self._contract = contract
        self._runners = runners
        self._prepare = prepare
        self.problems: list[BenchProblem] = []
        self._reported: set[tuple[str, str]] = set()
        self._plans: dict[int, _Plan] = {}
        self._choices: dict[tuple[Any, ...], Caller | None] = {}
        self._representatives: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def jobs_of(self, point: Point, eval_only: bool = False) -> list[Job]:
        """One job for each distinct launcher among the nodes of the point's runner label, in the label's order."""
        row = self._prepare(point, eval_only)
        kind = (row.get("isl"), row.get("osl"), "prefill" in row, "scenario-type" in row, eval_only)
        if kind not in self._choices:
            self._choices[kind] = self._contract.caller(row, eval_only)
        caller = self._choices[kind]
        if caller is None:
            if not eval_only:
                text = f"no workflow job runs {'multi' if 'prefill' in row else 'single'}-node {point.scenario} points"
                self._report("no-caller", text, point.site, point.key)
            return []
        plan = self._plans.get(id(caller))
        if plan is None:
            plan = self._plans[id(caller)] = _Plan(caller, self._contract.templates[caller.template])
        label = str(row.get("runner", ""))
        if not self._runners.nodes(label) and not self._runners.is_node(label):
            self._report(
                "unknown-runner", f"the runner list has no label {label!r}", point.sites.get("runner", point.site), point.key, False
            )
        contexts, environment, unknown = plan.evaluate(row)
        return [
            self._job(point, plan, contexts, environment, unknown, (label, node, launcher), eval_only)
            for node, launcher in self._nodes(label, plan)
        ]

    def _nodes(self, label: str, plan: _Plan) -> tuple[tuple[str, str], ...]:
        """The first node of each launcher. A label that is not listed stands for a node of that name."""
        place = (label, plan.launcher)
        if place not in self._representatives:
            nodes: SequenceType[str] = self._runners.nodes(label)
            if not nodes:
                nodes = (label,) if self._runners.is_node(label) else (f"{label.removeprefix('cluster:')}_0",)
            first: dict[str, str] = {}
            for node in nodes:
                first.setdefault(_with_runner_name(plan.launcher, node), node)
            self._representatives[place] = tuple((node, launcher) for launcher, node in first.items())
        return self._representatives[place]

    def _job(
        self,
        point: Point,
        plan: _Plan,
        contexts: dict[str, Any],
        environment: dict[str, str],
        unknown: set[str],
        target: tuple[str, str, str],
        eval_only: bool,
    ) -> Job:
        label, node, launcher = target
        values = dict(environment)
        names = set(unknown)
        own = {**contexts, "env": values, "runner": Partial(name=node, os="Linux")}
        for name, template in plan.of_node:
            value = template.evaluate(own)
            if isinstance(value, Unknown):
                values.pop(name, None)
                names.add(name)
            else:
                values[name] = to_string(value)
        script, left = plan.template.script.interpolate(own)
        return Job(point, label, node, launcher, script, plan.template.site, values, plan.sites, frozenset(names | left), eval_only)

    def _report(self, code: str, message: str, site: Site, key: str, known: bool = True) -> None:
        if (code, key) not in self._reported:
            self._reported.add((code, key))
            span = Span(site.line, 1, site.line, 1)
            self.problems.append(BenchProblem(code, message, site, span, key, "" if known else "runner", known))


# Contexts of a sweep that runs by itself on the main branch, without labels; other names of these contexts are unknown.
_WORLD: dict[str, Any] = {
    "github": Partial(event_name="push", ref="refs/heads/main", event={"pull_request": {"labels": []}}),
}


def _typed(value: Any, kind: str) -> Any:
    """A value as an input of a reusable workflow holds it."""
    if isinstance(value, Unknown):
        return value
    if value.__class__ is str and kind == "string":
        return value
    if kind == "boolean":
        return value if isinstance(value, bool) else to_string(value).lower() == "true"
    if kind == "number":
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else _number(to_string(value))
    return to_string(value)


def _number(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return 0


_RUNNER_NAME = re.compile(r"\$\{RUNNER_NAME(?:(%%|%|##|#)([^}]*))?\}|\$RUNNER_NAME\b")


def _with_runner_name(text: str, node: str) -> str:
    """The path with ``$RUNNER_NAME`` expanded as the shell does, the four trimming operators included."""

    def expand(found: re.Match[str]) -> str:
        operator, pattern = found.group(1), found.group(2)
        if not operator:
            return node
        if operator.startswith("%"):
            ends = range(len(node) + 1) if operator == "%%" else range(len(node), -1, -1)
            return next((node[:end] for end in ends if fnmatch.fnmatchcase(node[end:], pattern)), node)
        starts = range(len(node), -1, -1) if operator == "##" else range(len(node) + 1)
        return next((node[start:] for start in starts if fnmatch.fnmatchcase(node[:start], pattern)), node)

    return _RUNNER_NAME.sub(expand, text)


def _normal(path: str) -> str:
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts)
