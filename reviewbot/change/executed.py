"""Which statements of which scripts the launch of a point executes, with traces shared among jobs that read the same variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reviewbot.bench.model import Job
from reviewbot.documents.positions import Site
from reviewbot.runs.collect import Collector
from reviewbot.runs.model import Run
from reviewbot.trace.trace import Given, ParseCache, trace_script
from reviewbot.trace.values import Hole
from reviewbot.tree import Tree

_Known = dict[tuple[str, ...], dict[tuple[object, ...], tuple[Site, ...]]]


class Recorder:
    """Traces jobs of trees once more, recording what is executed. ``parses`` is shared by all sides of a comparison."""

    def __init__(
        self, bench: Any, tree: Tree, upstreams: Mapping[str, str], helpers: Mapping[str, tuple[str, ...]], parses: ParseCache | None = None
    ) -> None:
        self._bench = bench
        self._tree = tree
        collector = Collector(tree, upstreams, helpers)
        self._settings = collector.traces.settings
        self._upstreams = collector.traces.upstreams
        self._parses = parses or ParseCache()
        self._known: dict[tuple[object, ...], _Known] = {}

    def of_job(self, job: Job) -> tuple[Site, ...]:
        """First lines of the executed statements, in the order of execution."""
        given: dict[str, Given] = dict(job.environment)
        given.update((name, Hole(f"${name}", None, nonempty=True)) for name in job.unknown)
        families = self._known.setdefault((job.script, job.site, given.get("GITHUB_WORKSPACE")), {})
        for names, known in families.items():
            found = known.get(tuple(given.get(name) for name in names))
            if found is not None:
                return found
        trace = trace_script(
            job.script, job.site.path, job.site.line - 1, given, self._tree,
            upstreams=self._upstreams, settings=self._settings, cache=self._parses, record=True,
        )  # fmt: skip
        names = tuple(sorted(trace.reads))
        families.setdefault(names, {})[tuple(given.get(name) for name in names)] = trace.executed
        return trace.executed

    def of_run(self, run: Run) -> tuple[Site, ...]:
        """Those of the job that a run was made of."""
        for job in self._bench.jobs_of(run.point):
            if job.launcher == run.launcher and job.node == run.node:
                return self.of_job(job)
        return ()
