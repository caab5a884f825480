"""Sharing traces among jobs that differ only in variables that the script never looks at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.trace import Given, ParseCache, Trace, Upstream, trace_script
from reviewbot.tree import Tree, TreeError


def _file_keys(tree: Tree, paths: frozenset[str]) -> dict[str, object]:
    keys: dict[str, object] = {}
    for path in paths:
        if path.endswith("/"):
            keys[path] = tuple(tree.listdir(path.rstrip("/")))
            continue
        try:
            keys[path] = tree.digest(path)
        except TreeError as error:
            keys[path] = ("dir",) if tree.is_dir(path) else error.code
    return keys


@dataclass(slots=True)
class _Entry:
    trace: Trace
    tree: Tree
    keys: dict[str, object] | None = None

    def serves(self, tree: Tree) -> bool:
        if tree is self.tree:
            return True
        if self.keys is None:
            self.keys = _file_keys(self.tree, self.trace.files_read)
        return self.keys == _file_keys(tree, self.trace.files_read)


@dataclass(slots=True)
class TraceCache:
    """Traces by script, by the values of the variables that were read, and by the content of the files that were read.

    One cache is for one ``settings`` and one set of ``upstreams``. ``hits`` and ``misses`` count.
    """

    settings: TraceSettings
    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    stop: str = "submit"
    parses: ParseCache = field(default_factory=ParseCache)
    hits: int = 0
    misses: int = 0
    _known: dict[tuple[str, str, int, Given | None], dict[tuple[str, ...], dict[tuple[Given | None, ...],
        list[_Entry]]]] = field(default_factory=dict)

    def trace(self, script_text: str, path: str, line_offset: int, environment: Mapping[str, Given], tree: Tree) -> Trace:
        """As ``trace_script``, shared where it can be."""
        families = self._known.setdefault((script_text, path, line_offset, environment.get("GITHUB_WORKSPACE")), {})
        given = {**self.settings.environment, **environment} if self.settings.environment else environment
        for names, traces in families.items():
            for entry in traces.get(tuple(map(given.get, names)), ()):
                if entry.serves(tree):
                    self.hits += 1
                    return entry.trace.rebased(given)
        self.misses += 1
        found = trace_script(script_text, path, line_offset, environment, tree, upstreams=self.upstreams, settings=self.settings,
                             stop=self.stop, cache=self.parses)
        names = tuple(sorted(found.reads))
        families.setdefault(names, {}).setdefault(tuple(found.seen.get(name) for name in names), []).append(_Entry(found, tree))
        return found
