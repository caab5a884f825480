"""Sharing traces among jobs that differ only in variables that the script never looks at."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.trace import Given, ParseCache, Trace, Upstream, trace_script
from reviewbot.tree import Tree, TreeError


class FileKeys:
    """What a trace can have seen of the paths of one tree: contents, kinds, programs, where links lead, names in folders (``folder/``)."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._known: dict[str, object] = {}
        self._digests: dict[tuple[str, ...], str] = {}

    def of(self, path: str) -> object:
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def digest(self, paths: Iterable[str]) -> str:
        """One digest of them all."""
        wanted = tuple(paths)
        if wanted not in self._digests:
            text = repr([(path, self.of(path)) for path in wanted])
            self._digests[wanted] = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=20).hexdigest()
        return self._digests[wanted]

    def _read(self, path: str) -> object:
        tree = self._tree
        if path.endswith("/"):
            return tuple(tree.listdir(path.rstrip("/")))
        try:
            return tree.digest(path), tree.executable(path), tree.resolve(path)
        except TreeError as error:
            return ("dir",) if tree.is_dir(path) else error.code


@dataclass(slots=True)
class _Entry:
    trace: Trace
    tree: Tree

    def serves(self, tree: Tree, keys: Callable[[Tree], FileKeys]) -> bool:
        if tree is self.tree:
            return True
        here, there = keys(self.tree), keys(tree)
        return all(here.of(path) == there.of(path) for path in self.trace.files_read)


@dataclass(slots=True)
class TraceCache:
    """Traces by script, by the values of the variables that were read, and by the content of the files that were read.

    One cache is for one ``settings`` and one set of ``upstreams``. ``hits`` and ``misses`` count. ``in_time`` says whether the last trace
    came to its end in its time: one that did not would be another on a faster machine, and is not kept.
    """

    settings: TraceSettings
    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    stop: str = "submit"
    parses: ParseCache = field(default_factory=ParseCache)
    hits: int = 0
    misses: int = 0
    in_time: bool = True
    _known: dict[tuple[str, str, int, Given | None], dict[tuple[str, ...], dict[tuple[Given | None, ...], list[_Entry]]]] = field(
        default_factory=dict)
    _keys: dict[int, tuple[Tree, FileKeys]] = field(default_factory=dict)

    def forget(self) -> None:
        """Lets go of all traces; parsed scripts stay."""
        self._known.clear()

    def _keys_of(self, tree: Tree) -> FileKeys:
        if id(tree) not in self._keys:
            self._keys[id(tree)] = (tree, FileKeys(tree))  # keeps its id taken
        return self._keys[id(tree)][1]

    def trace(self, script_text: str, path: str, line_offset: int, environment: Mapping[str, Given], tree: Tree) -> Trace:
        """As ``trace_script``, shared where it can be."""
        families = self._known.setdefault((script_text, path, line_offset, environment.get("GITHUB_WORKSPACE")), {})
        given = {**self.settings.environment, **environment} if self.settings.environment else environment
        for names, traces in families.items():
            for entry in traces.get(tuple(map(given.get, names)), ()):
                if entry.serves(tree, self._keys_of):
                    self.hits += 1
                    self.in_time = True
                    return entry.trace.rebased(given)
        self.misses += 1
        start = time.thread_time()
        found = trace_script(script_text, path, line_offset, environment, tree, upstreams=self.upstreams, settings=self.settings,
                             stop=self.stop, cache=self.parses)
        self.in_time = time.thread_time() - start < self.settings.bounds.seconds
        if not self.in_time:
            return found
        names = tuple(sorted(found.reads))
        families.setdefault(names, {}).setdefault(tuple(found.seen.get(name) for name in names), []).append(_Entry(found, tree))
        return found
