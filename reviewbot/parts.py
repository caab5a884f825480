"""Where the parts of the program meet: trees, documents, bench and runs of one repository, at the revisions that a command names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reviewbot.engine.context import Context, Documents
from reviewbot.engine.store import DocumentStore
from reviewbot.runs.model import Run
from reviewbot.settings import NAME, Settings, parse_settings
from reviewbot.tree import Tree, TreeError

Changes = tuple[frozenset[str], dict[str, str]]  # paths that differ, and old path -> new path of renames


@dataclass(frozen=True, slots=True)
class Options:
    """How runs are made: ``upstreams`` maps ``OWNER/NAME`` to the absolute path of a local clone, ``scripts`` holds scripts that are parsed
    already, by text."""

    upstreams: Mapping[str, str]
    opaque_helpers: Mapping[str, tuple[str, ...]]
    jobs: int
    cache: bool
    progress: Callable[[str, int, int], None]
    scripts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Parts:
    """What reads a repository. ``errors`` are the exceptions that tell of a folder or revision that cannot be opened."""

    open_tree: Callable[[str, str | None], Tree]
    documents: Callable[[Tree, Callable[[], Any]], Documents]
    load_bench: Callable[[Tree, Settings], Any]
    build_runs: Callable[[Any, Options], Iterable[Run]]
    renames: Callable[[str, str, str], Mapping[str, str]]
    collector: Callable[[Tree, Options], Any] | None = None  # checks are made part by part where it is there
    errors: tuple[type[Exception], ...] = (TreeError,)


class PartsError(Exception):
    """A folder, revision or settings file that cannot be read; the message is for users."""


class Session:
    """One repository during one command; a context is made once for each revision."""

    def __init__(
        self,
        parts: Parts,
        root: Path,
        *,
        settings_revision: str | None,
        upstreams: Mapping[str, str],
        jobs: int,
        cache: bool,
        progress: Callable[[str, int, int], None],
        pull_request: int | None = None,
    ) -> None:
        self.root = root
        self._pull_request = pull_request
        self._parts = parts
        self._trees: dict[str | None, Tree] = {}
        self._contexts: dict[str | None, Context] = {}
        self.settings = self._read_settings(settings_revision)
        own = {name: str((root / path).resolve()) for name, path in self.settings.upstreams.items()}
        self._upstreams = {**own, **upstreams}
        self._jobs = jobs
        self._cache = cache
        self._progress = progress
        self._kept: Any = None

    @property
    def upstreams(self) -> Mapping[str, str]:
        """Local clones by ``OWNER/NAME``: those that settings name and those that were given."""
        return self._upstreams

    def tree(self, revision: str | None) -> Tree:
        """The tree at a revision, ``None`` for the working tree. Raises ``PartsError``."""
        if revision not in self._trees:
            try:
                self._trees[revision] = self._parts.open_tree(str(self.root), revision)
            except self._parts.errors as error:
                raise PartsError(str(error)) from None
        return self._trees[revision]

    def context(self, revision: str | None, changed: frozenset[str] | None = None, base: str | None = None) -> Context:
        """What rules read at a revision; with ``changed`` and ``base``, compared with another one."""
        if revision not in self._contexts:
            tree = self.tree(revision)
            documents = self._parts.documents(tree, lambda: self._contexts[revision].bench)
            options = Options(
                self._upstreams, self.settings.opaque_helpers, self._jobs, self._cache, self._progress, getattr(documents, "scripts", {})
            )
            self._contexts[revision] = Context(
                tree,
                self.settings,
                documents,
                lambda: self._parts.load_bench(tree, self.settings),
                lambda bench: self._parts.build_runs(bench, options),
                changed,
                self.context(base) if base is not None else None,
                self._pull_request,
            )
            self._contexts[revision].checks = self._checks(options)
        return self._contexts[revision]

    def _checks(self, options: Options) -> Any:
        """What checks part by part; all revisions of a session share what is known."""
        make = self._parts.collector
        if make is None:
            return None
        from reviewbot.engine.checks import Checks
        from reviewbot.engine.kept import Kept, cache_folder

        if self._kept is None:
            self._kept = Kept(cache_folder() if self._cache else None)
        return Checks(lambda context: make(context.tree, options), self._kept, self._jobs, self._progress)

    def changes(self, base: str, head: str | None) -> Changes:
        """The paths that differ between a revision and another one or the working tree, and the renames from the first to the second.

        A file that moved unchanged is a rename; of committed files also one that git finds similar enough.
        """
        before, after = self._digests(base), self._digests(head)
        changed = frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
        gone = {path: digest for path, digest in before.items() if path not in after}
        came = {digest: path for path, digest in sorted(after.items(), reverse=True) if path not in before}
        renames = {path: came[digest] for path, digest in gone.items() if digest in came}
        if gone and came:
            try:
                found = self._parts.renames(str(self.root), base, "HEAD" if head in (None, ":index") else head)
            except self._parts.errors as error:
                raise PartsError(str(error)) from None
            renames.update((old, new) for old, new in found.items() if old in gone and new in after)
        return changed, renames

    def _digests(self, revision: str | None) -> dict[str, str]:
        tree = self.tree(revision)
        digests = {}
        for path in tree.paths():
            try:
                digests[path] = tree.digest(path)
            except TreeError:
                digests[path] = ""
        return digests

    def _read_settings(self, revision: str | None) -> Settings:
        tree = self.tree(revision)
        if not tree.is_file(NAME):
            return Settings()
        try:
            return parse_settings(tree.read(NAME))
        except TreeError as error:
            raise PartsError(f"{NAME}: {error}") from None


def find_root(folder: Path) -> Path:
    """The repository that a folder lies in: the nearest folder, from it upwards, with ``.git`` or settings; else the folder itself."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists() or (candidate / NAME).exists():
            return candidate
    return folder


def default_parts() -> Parts:
    """The parts of this program."""
    from reviewbot.git import GitError, Repository
    from reviewbot.tree import open_tree

    def renames(root: str, base: str, head: str) -> Mapping[str, str]:
        repository = Repository.find(root)
        below = Path(root).resolve().relative_to(Path(repository.top).resolve()).as_posix()
        prefix = "" if below == "." else below + "/"
        return {
            change.old_path.removeprefix(prefix): change.path.removeprefix(prefix)
            for change in repository.changed_paths(base, head)
            if change.status == "renamed" and change.old_path.startswith(prefix) and change.path.startswith(prefix)
        }

    def load_bench(tree: Tree, settings: Settings) -> Any:
        from reviewbot.bench.repository import load_bench

        return load_bench(tree, settings)

    def build_runs(bench: Any, options: Options) -> Iterable[Run]:
        from reviewbot.runs import build_runs

        return build_runs(
            bench,
            upstreams=options.upstreams,
            opaque_helpers=options.opaque_helpers,
            jobs=options.jobs,
            cache=options.cache,
            progress=options.progress,
            scripts=options.scripts,
        )

    parses: list[Any] = []  # one for all revisions

    def parsed() -> Any:
        from reviewbot.trace.trace import ParseCache

        if not parses:
            parses.append(ParseCache())
        return parses[0]

    def documents(tree: Tree, bench: Callable[[], Any]) -> Documents:
        return DocumentStore(tree, bench, parsed().scripts)

    def collector(tree: Tree, options: Options) -> Any:
        from reviewbot.runs.collect import Collector

        return Collector(tree, options.upstreams, options.opaque_helpers, parsed())

    return Parts(open_tree, documents, load_bench, build_runs, renames, collector, (TreeError, GitError))
