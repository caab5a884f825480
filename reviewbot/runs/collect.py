"""The runs of a whole bench: every point on every launcher, traces shared where they read the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reviewbot.bench.model import Job
from reviewbot.git import GitError, Repository
from reviewbot.runs.build import build_run
from reviewbot.runs.model import Run
from reviewbot.trace.memo import TraceCache
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.trace import Given, ParseCache, Upstream
from reviewbot.trace.values import Hole
from reviewbot.tree import Tree, TreeError, open_tree

Progress = Callable[[str, int, int], None]

# Helpers that rewrite a recipe: file name -> patterns of the keys they may touch. Settings add to it.
KNOWN_HELPERS: Mapping[str, tuple[str, ...]] = {
    "inject_synthetic_acceptance.py": ("speculative-config*", "speculative_config*", "SGLANG_SIMULATE_*", "TLLM_SPEC_DECODE_*"),
}


class Collector:
    """Makes runs for jobs of one tree; keeps what jobs share (parsed scripts, traces, upstream trees).

    ``upstreams`` maps ``OWNER/NAME`` to a local clone whose files a checkout shows; without one they are unknown. ``parses`` shares parsed
    scripts with other collectors.
    """

    def __init__(
        self,
        tree: Tree,
        upstreams: Mapping[str, str] | None = None,
        opaque_helpers: Mapping[str, tuple[str, ...]] | None = None,
        parses: ParseCache | None = None,
    ) -> None:
        self._tree = tree
        helpers = {path.rpartition("/")[2]: keys for path, keys in (opaque_helpers or {}).items()}
        self._helpers = {**KNOWN_HELPERS, **helpers}
        self._clones = dict(sorted((upstreams or {}).items()))
        self._identity: str | None = None
        settings = TraceSettings(opaque=frozenset(self._helpers))
        self.traces = TraceCache(settings, _Upstreams(self._clones), parses=parses or ParseCache())

    @property
    def identity(self) -> str:
        """Tells apart collectors that would make other runs of the same job and files: helpers, and what the clones hold."""
        if self._identity is None:
            clones = {name: _commits(path) for name, path in self._clones.items()}
            self._identity = repr((sorted(self._helpers.items()), clones))
        return self._identity

    def run(self, job: Job) -> Run:
        """The run of one job."""
        return self.run_and_files(job)[0]

    def run_and_files(self, job: Job) -> tuple[Run, frozenset[str], bool]:
        """The run of one job, the paths of the tree that it depends on (a folder whose names were listed ends with ``/``), and whether it
        depends on nothing else: not on the time that there was."""
        environment: dict[str, Given] = dict(job.environment)
        for name in job.unknown:
            environment[name] = Hole(f"${name}", None, nonempty=True)
        trace = self.traces.trace(job.script, job.site.path, job.site.line - 1, environment, self._tree)
        return build_run(job, trace, self._helpers), trace.files_read, self.traces.in_time

    def forget(self) -> None:
        """Lets go of traces, which take much memory."""
        self.traces.forget()


def build_runs(
    bench: Any,
    *,
    upstreams: Mapping[str, str] | None = None,
    opaque_helpers: Mapping[str, tuple[str, ...]] | None = None,
    progress: Progress = lambda what, done, total: None,
    **_options: object,
) -> tuple[Run, ...]:
    """The runs of all jobs of ``bench``, in the order of its points, with all that they have. See ``Collector`` for the options."""
    collector = Collector(bench.tree, upstreams, opaque_helpers)
    jobs: list[Job] = list(bench.jobs())
    runs: list[Run] = []
    for number, job in enumerate(jobs):
        if not number % 50:
            progress("tracing points", number, len(jobs))
        runs.append(collector.run(job))
    return tuple(runs)


def _commits(clone: str) -> str:
    """A digest of everything that a name can stand for in a clone."""
    try:
        return Repository.find(clone).refs_digest()
    except GitError as error:
        return error.code


class _Upstreams(Mapping[str, Upstream]):
    """Local clones by the URL that a launcher writes: ``https://host/OWNER/NAME.git``, ``git@host:OWNER/NAME`` and the like."""

    def __init__(self, clones: Mapping[str, str]) -> None:
        self._clones = {name.lower(): path for name, path in clones.items()}
        self._trees: dict[tuple[str, str | None], Tree | None] = {}

    def __getitem__(self, url: str) -> Upstream:
        path = self._clones.get(_owner_and_name(url))
        if path is None:
            raise KeyError(url)
        clone = path

        def at(ref: str | None) -> Tree | None:
            key = (clone, ref)
            if key not in self._trees:
                self._trees[key] = _open(clone, ref)
            return self._trees[key]

        return at

    def __iter__(self) -> Any:
        return iter(self._clones)

    def __len__(self) -> int:
        return len(self._clones)


def _owner_and_name(url: str) -> str:
    parts = url.removesuffix("/").removesuffix(".git").replace(":", "/").split("/")
    return "/".join(parts[-2:]).lower()


def _open(clone: str, ref: str | None) -> Tree | None:
    names = ["HEAD", "origin/HEAD", "origin/main"] if ref is None else [ref, f"origin/{ref}"]
    for name in names:
        try:
            return open_tree(clone, name)
        except (GitError, TreeError):
            continue
    return None
