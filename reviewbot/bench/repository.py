"""The one object that rules and runs read: everything a benchmark repository declares, at one revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from reviewbot.bench.adapters import ADAPTERS, Adapter, Declared
from reviewbot.bench.changelog import Changelog, read_changelog
from reviewbot.bench.layout import Layout, given_layout, matches_any, select, with_given
from reviewbot.bench.masters import Master, MasterEntry, Masters, Mention, recipe_mentions
from reviewbot.bench.model import Job, Point, Recipe, RecipeError
from reviewbot.bench.problems import BenchProblem
from reviewbot.bench.profiles import PROFILE
from reviewbot.bench.recipes import load_recipe
from reviewbot.bench.runners import Runners
from reviewbot.bench.source import Documents, Source
from reviewbot.bench.workflows import Contract, Launches, read_contract
from reviewbot.documents.shell_syntax import Script
from reviewbot.documents.workflow import Workflow, read_workflow
from reviewbot.documents.yaml import YamlDocument
from reviewbot.settings import Settings
from reviewbot.tree import Tree


class Bench:
    """A repository's masters, runners, points, workflows, changelog and the paths of its scripts and recipes.

    Files are parsed on first use and once. ``problems`` is complete after ``jobs`` has been called for all points.
    """

    def __init__(self, source: Source, layout: Layout, adapter: Adapter, declared: Declared) -> None:
        self.source = source
        self.layout = layout
        self.adapter = adapter.name
        self.masters: Masters = declared.masters
        self.runners: Runners = declared.runners
        self.points: tuple[Point, ...] = tuple(declared.points)
        self._declared = declared
        self._recipes: dict[str, tuple[Recipe | RecipeError, ...]] = {}
        self._jobs: dict[tuple[str, bool], tuple[Job, ...]] = {}

    # --- files

    @property
    def tree(self) -> Tree:
        return self.source.tree

    def yaml_document(self, path: str) -> YamlDocument | None:
        """A YAML file, parsed once; ``None`` (and a problem) where it cannot be read."""
        return self.source.yaml(path)

    def shell_script(self, path: str) -> Script | None:
        """A shell script, parsed once; ``None`` (and a problem) where it cannot be read."""
        return self.source.shell(path)

    def text(self, path: str) -> str | None:
        """A file's text (``surrogateescape`` for other bytes); ``None`` (and a problem) where it cannot be read."""
        return self.source.text(path)

    @cached_property
    def launchers(self) -> tuple[str, ...]:
        return tuple(select(self.source.paths, self.layout.launchers))

    @cached_property
    def scripts(self) -> tuple[str, ...]:
        """All shell scripts, launchers included."""
        return tuple(select(self.source.paths, self.layout.scripts))

    @cached_property
    def recipe_files(self) -> tuple[str, ...]:
        return tuple(select(self.source.paths, self.layout.recipes))

    def recipes(self, path: str) -> tuple[Recipe | RecipeError, ...]:
        """The recipes of a file, all variants, of any release of the tool; read once. Empty where the file cannot be read."""
        if path not in self._recipes:
            document = self.yaml_document(path)
            self._recipes[path] = () if document is None else tuple(load_recipe(document))
        return self._recipes[path]

    # --- views

    def narrowed(self, points: Iterable[Point], launchers: frozenset[str] | None = None) -> Bench:
        """The same repository with some of its points only, on some launchers only; evaluations stay those of the whole sweep."""
        other = copy(self)
        other.points = tuple(points)
        for name in ("by_key", "by_id"):
            other.__dict__.pop(name, None)
        other.__dict__["evaluated"] = self.evaluated
        if launchers is not None:
            own = {point.id: tuple(job for job in self.jobs_of(point) if job.launcher in launchers) for point in other.points}
            other._jobs = {(name, False): jobs for name, jobs in own.items()}
        return other

    def over(self, tree: Tree) -> Bench:
        """The same declarations over another tree, in which no file that ``declares`` names differs."""
        other = copy(self)
        other.source = Source(tree)
        other._recipes = {}
        for name in ("launchers", "scripts", "recipe_files", "changelog", "workflow_files"):
            other.__dict__.pop(name, None)
        return other

    def declares(self, path: str) -> bool:
        """Whether a file takes part in what points and jobs are: a master, the runner list, a workflow, the generator's source."""
        layout = self.layout
        return path in layout.generator or matches_any(path, (*layout.masters, *layout.deprecated, *layout.runners, *layout.workflows))

    # --- declarations

    @cached_property
    def by_key(self) -> Mapping[str, tuple[Point, ...]]:
        """Config key to its points, in the order of the sweep."""
        groups: dict[str, list[Point]] = {}
        for point in self.points:
            groups.setdefault(point.key, []).append(point)
        return {key: tuple(points) for key, points in groups.items()}

    @cached_property
    def by_id(self) -> Mapping[str, Point]:
        return {point.id: point for point in self.points}

    @cached_property
    def deprecated(self) -> tuple[Master, ...]:
        """Retired masters: for look-ups only, never swept."""
        return self._declared.deprecated()

    def knows_runner(self, name: str) -> bool:
        """Whether ``name`` is a label or a runner of the runner list."""
        return bool(self.runners.nodes(name)) or self.runners.is_node(name)

    def entry(self, key: str, deprecated: bool = False) -> MasterEntry | None:
        """The master entry of a config key; with ``deprecated`` also of a retired one."""
        found = self.masters.index.get(key)
        if found is None and deprecated:
            found = next((master.entries[key] for master in self.deprecated if key in master.entries), None)
        return found

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Every recipe that a master names, retired masters included."""
        entries = [*self.masters.active(), *(entry for master in self.deprecated for entry in master.entries.values())]
        return tuple(mention for entry in entries for mention in recipe_mentions(entry))

    @cached_property
    def changelog(self) -> Changelog | None:
        path = self.layout.changelog
        if not path or not self.tree.is_file(path):
            return None
        document = self.yaml_document(path)
        return None if document is None else read_changelog(path, document.root)

    @cached_property
    def workflow_files(self) -> tuple[str, ...]:
        return tuple(select(self.source.paths, self.layout.workflows))

    @cached_property
    def contract(self) -> Contract:
        """How workflows launch points; the built-in profile where the repository has no workflow that does."""
        workflows: list[Workflow] = []
        for path in self.workflow_files:
            text = self.source.text(path)
            if text is not None and ("runners/launch_" in text or "./.github/workflows/" in text):
                document = self.source.yaml(path, github=True)
                if document is not None:
                    workflows.append(read_workflow(document))
        contract = read_contract(workflows)
        return contract if contract.callers else PROFILE

    @cached_property
    def _launches(self) -> Launches:
        separate = self.contract.separate_evals
        fingerprint = any("recipe-fingerprint" in template.inputs for template in self.contract.templates.values())
        prepare = self._declared.prepare

        def row(point: Point, eval_only: bool) -> Mapping[str, Any]:
            return prepare(point.row, eval_only, separate, fingerprint)

        return Launches(self.contract, self.runners, row)

    def jobs_of(self, point: Point, eval_only: bool = False) -> tuple[Job, ...]:
        """The jobs of a point, one a launcher; with ``eval_only`` those that evaluate accuracy instead of measuring."""
        if not self._declared.launched:
            return ()
        found = self._jobs.get((point.id, eval_only))
        if found is None:
            found = self._jobs[(point.id, eval_only)] = tuple(self._launches.jobs_of(point, eval_only))
        return found

    def jobs(self, points: Iterable[Point] | None = None, eval_only: bool = False) -> tuple[Job, ...]:
        """The jobs of ``points`` (all by default). ``eval_only``: of the points among them that the sweep evaluates."""
        chosen: Iterable[Point] = self.points if points is None else points
        if eval_only:
            evaluated = self.evaluated
            chosen = [point for point in chosen if point.id in evaluated]
        return tuple(job for point in chosen for job in self.jobs_of(point, eval_only))

    @cached_property
    def evaluated(self) -> frozenset[str]:
        """Ids of the points that a sweep over everything evaluates as well."""
        marks = self._declared.evaluated([point.row for point in self.points])
        return frozenset(point.id for index, point in enumerate(self.points) if index in marks)

    @property
    def problems(self) -> tuple[BenchProblem, ...]:
        """Everything found wrong so far, in the order of reading."""
        found = [*self.source.problems, *self.masters.problems, *self.runners.problems, *self._declared.problems]
        if "changelog" in self.__dict__ and self.changelog is not None:
            found.extend(self.changelog.problems)
        if "_launches" in self.__dict__:
            found.extend(self._launches.problems)
        return tuple(found)


def load_bench(
    tree: Tree,
    settings: Settings | None = None,
    *,
    documents: Documents | None = None,
    adapters: Sequence[Adapter] = ADAPTERS,
) -> Bench:
    """Reads what ``tree`` declares, by the first adapter that knows its format. Never raises for what a file holds.

    ``settings`` gives the places in a repository whose own are not recognised and, as ``profile``, the name of an adapter;
    ``documents`` shares parsed files.
    """
    source = Source(tree, documents)
    given = given_layout(settings) if settings is not None else {}
    name = settings.profile if settings is not None else None
    for adapter in adapters:
        if name is not None and name != adapter.name:
            continue
        found = adapter.detect(source, given)
        if found is not None:
            layout = with_given(found, given)
            return Bench(source, layout, adapter, adapter.load(source, layout))
    return Bench(source, with_given(Layout(), given), _NO_FORMAT, Declared(launched=False))


_NO_FORMAT = Adapter("none", lambda source, given: None, lambda source, layout: Declared())
