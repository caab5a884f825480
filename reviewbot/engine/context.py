"""What a rule sees: runs, the bench, documents and settings, never files, git or the network."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol, Union

from reviewbot.documents.nodes import Entry, Mapping, Scalar, Sequence
from reviewbot.documents.positions import Problem, Site, Span
from reviewbot.engine.model import Finding, Fix, Level, Related, Rule
from reviewbot.runs.model import Run
from reviewbot.settings import Settings
from reviewbot.tree import Tree, TreeError

Place = Union[Site, Span, Scalar, Mapping, Sequence, Entry]


class Documents(Protocol):
    """Parsed files, each parsed once. A path that is not in the repository, or cannot be read, gives a document with a fatal problem."""

    def yaml(self, path: str) -> Any: ...

    def shell(self, path: str) -> Any: ...

    def python(self, path: str) -> Any: ...

    def paths(self, kind: str) -> Iterable[str]:
        """Paths of a kind: ``yaml``, ``shell``, ``python``, ``master``, ``runners``, ``launcher``, ``workflow``, ``recipe``."""
        ...

    def problems(self) -> Iterable[tuple[str, Problem]]:
        """Path and problem of everything that takes part in runs, and of what else was read until now."""
        ...

    def known_problems(self) -> Iterable[tuple[str, Problem]]:
        """Path and problem of everything that was read until now."""
        ...


class Context:
    """What a rule may read. ``bench`` and ``runs`` are made when they are first asked for.

    ``changed`` holds the paths that differ from the base revision, ``base`` what was there; both are ``None`` where no base is given.
    ``pull_request`` is the number of the one that is checked, where it is known. ``bench`` is ``Any`` here,
    since every adapter's bench has the same fields but no common base; ``reviewbot.bench.repository.Bench`` names them.
    """

    def __init__(
        self,
        tree: Tree,
        settings: Settings,
        documents: Documents,
        load_bench: Callable[[], Any],
        build_runs: Callable[[Any], Iterable[Run]],
        changed: Collection[str] | None = None,
        base: Context | None = None,
        pull_request: int | None = None,
    ) -> None:
        self.tree = tree
        self.settings = settings
        self.documents = documents
        self.changed = None if changed is None else frozenset(changed)
        self.base = base
        self.pull_request = pull_request
        self._load_bench = load_bench
        self._build_runs = build_runs
        self._lines: dict[str, list[str]] = {}
        self._gathered: dict[str, list[tuple[Run, Any]]] = {}
        self._surveyed: dict[str, list[tuple[str, Any]]] = {}
        self.checks: Any = None  # what checks runs and documents by parts, where there is something (``reviewbot.engine.checks.Checks``)

    @cached_property
    def bench(self) -> Any:
        """What the repository declares."""
        return self._load_bench()

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The effective run of every point on every launcher."""
        return tuple(self._build_runs(self.bench))

    def gathered(self, rule: Rule) -> list[tuple[Run, Any]]:
        """What ``gather`` of the rule's module gave for the runs: each run with one thing, in the order of the runs.

        ``gather(context)`` sees one run, as a rule of scope ``run`` does, and yields plain values (text, numbers, lists; tuples and sites
        arrive as lists). They are made once and kept, so that a check over all runs need not make the runs again.
        """
        return self._gathered.get(rule.name, [])

    def set_gathered(self, gathered: dict[str, list[tuple[Run, Any]]]) -> None:
        """Gives what was gathered."""
        self._gathered = gathered

    def surveyed(self, rule: Rule) -> list[tuple[str, Any]]:
        """What ``survey`` of the rule's module gave for the documents: each path with one thing, in the order of the paths.

        ``survey(context)`` sees one document, as a rule of scope ``document`` does, and yields plain values, as ``gather`` does. They are
        kept, so that a check over all documents need not parse those again that have not changed.
        """
        return self._surveyed.get(rule.name, [])

    def set_surveyed(self, surveyed: dict[str, list[tuple[str, Any]]]) -> None:
        """Gives what was surveyed."""
        self._surveyed = surveyed

    @property
    def every_run(self) -> tuple[Run, ...]:
        """All runs, also where a rule of scope ``run`` is asked about what no run uses (then ``runs`` is empty)."""
        return self.runs

    def set_runs(self, runs: tuple[Run, ...]) -> None:
        """Gives the runs that somebody has made already."""
        self.__dict__["runs"] = runs

    @property
    def unfollowed(self) -> bool:
        """Whether runs were made and one of them could not be followed to its end."""
        return "runs" in self.__dict__ and any(run.outcome == "unknown" for run in self.runs)

    def data(self, path: str) -> bytes:
        """The content of a file; empty where it cannot be read."""
        try:
            return self.tree.read(path)
        except TreeError:
            return b""

    def lines(self, path: str) -> list[str]:
        """The lines of a file, undecodable bytes replaced; empty where it cannot be read."""
        if path not in self._lines:
            text = self.data(path).decode("utf-8", "replace")
            self._lines[path] = [line.removesuffix("\r") for line in text.split("\n")]
        return self._lines[path]

    def finding(
        self,
        rule: Rule,
        message: str,
        at: Place,
        *,
        path: str = "",
        help: str = "",
        touches: Iterable[Run | str] = (),
        related: Iterable[tuple[Site, str] | Related] = (),
        fix: Fix | None = None,
        structure: str | Iterable[str | int] = "",
        subject: str = "",
        level: Level | None = None,
    ) -> Finding:
        """A finding of ``rule`` at a place: a site (its whole line is marked), a span, a node, or an entry (its key and value).

        ``path`` is needed where the place has none. ``touches`` are runs or ids of points; ``structure`` may be a key path.
        """
        path, span = self._place(at, path)
        places = (item if isinstance(item, Related) else Related(*item) for item in related)
        return Finding(
            rule=rule.name,
            level=Level.NOTE if rule.guess else rule.level if level is None else level,
            path=path,
            line=span.line,
            column=span.column,
            end_line=span.end_line,
            end_column=span.end_column,
            message=message,
            help=help,
            points=tuple(dict.fromkeys(run if isinstance(run, str) else run.point.id for run in touches)),
            related=tuple(item for item in places if _is_place(item.site)),
            fix=fix,
            structure=structure if isinstance(structure, str) else ".".join(map(str, structure)),
            subject=subject,
        )

    def _place(self, at: Place, path: str) -> tuple[str, Span]:
        if isinstance(at, Site):
            return at.path, self.line_span(at)
        if not path:
            raise ValueError("a place without a path")
        if isinstance(at, Span):
            return path, at
        if isinstance(at, Entry):
            key, value = at.key.span, at.alias or at.value.span
            behind = max((key.end_line, key.end_column), (value.end_line, value.end_column))
            return path, Span(key.line, key.column, *behind)
        return path, at.span

    def line_span(self, site: Site) -> Span:
        """A whole line, less the blanks around it."""
        lines = self.lines(site.path)
        text = lines[site.line - 1] if 0 < site.line <= len(lines) else ""
        start = len(text) - len(text.lstrip()) + 1
        return Span(max(site.line, 1), start, max(site.line, 1), max(len(text.rstrip()) + 1, start))


def _is_place(site: Site) -> bool:
    """Whether a site is in a file; the built-in launch contract has none."""
    return not site.path.startswith("<")


def paths_matching(paths: Iterable[str], patterns: Iterable[str]) -> Iterator[str]:
    """The paths that one of the globs matches (``*`` stays in a folder, ``**`` does not; a folder stands for all that is in it)."""
    compiled = [glob_pattern(pattern) for pattern in patterns]
    return (path for path in paths if any(pattern.match(path) for pattern in compiled))


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob over whole repository paths."""
    pieces = []
    for piece in re.split(r"(\*\*/|\*\*|\*|\?)", glob.strip("/")):
        special = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece)
        pieces.append(re.escape(piece) if special is None else special)
    return re.compile("".join(pieces) + r"(?:/.*)?\Z", re.DOTALL)
