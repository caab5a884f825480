"""The documents of a tree by path, each parsed once: what takes part in runs, as the bench's layout names it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from reviewbot.bench.layout import Layout, select
from reviewbot.bench.source import Source
from reviewbot.documents.positions import Problem, Span
from reviewbot.tree import Tree, TreeError

_WHOLE = Span(1, 1, 1, 1)
_YAML_KINDS = ("master", "runners", "workflow", "recipe", "changelog")


class DocumentStore:
    """Documents of one tree. Nothing is raised for a bad file: it counts as empty, and its problems are told by ``problems``.

    ``bench`` gives the repository's bench, whose own documents are used where there are any. ``scripts`` holds parsed scripts by text,
    so that whoever evaluates them need not parse them again; one that is given is filled and used.
    """

    def __init__(self, tree: Tree, bench: Callable[[], Any], scripts: dict[str, Any] | None = None) -> None:
        self._tree = tree
        self._load_bench = bench
        self._documents: dict[tuple[str, str], Any] = {}
        self._unread: dict[str, Problem] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self.scripts: dict[str, Any] = {} if scripts is None else scripts

    def yaml(self, path: str) -> Any:
        return self._document("yaml", path, self._yaml)

    def shell(self, path: str) -> Any:
        return self._document("shell", path, self._shell)

    def python(self, path: str) -> Any:
        return self._document("python", path, self._python)

    def paths(self, kind: str) -> tuple[str, ...]:
        """Sorted paths of a kind: ``master``, ``runners``, ``workflow``, ``recipe``, ``changelog``, ``launcher``, ``script``; ``yaml``
        unites all that is YAML of these, ``shell`` launchers and scripts, ``python`` is every Python file."""
        if kind not in self._paths:
            kinds = _YAML_KINDS if kind == "yaml" else ("launcher", "script") if kind == "shell" else (kind,)
            globs = [glob for one in kinds for glob in self._globs(one) if glob]
            found = select(self._tree.paths(), globs)
            self._paths[kind] = tuple(path for path in found if not self._tree.is_link(path))
        return self._paths[kind]

    def problems(self) -> Iterable[tuple[str, Problem]]:
        """The problems of all documents that take part in runs or were asked for."""
        for path in self.paths("yaml"):
            self.yaml(path)
        for path in self.paths("shell"):
            self.shell(path)
        yield from self.known_problems()

    def known_problems(self) -> Iterator[tuple[str, Problem]]:
        """The problems of the documents that were asked for until now."""
        yield from list(self._unread.items())
        for (_, path), document in list(self._documents.items()):
            for problem in document.problems:
                yield path, problem

    def problems_of(self, path: str) -> Iterator[Problem]:
        """Those of one file, in whatever language it was asked for until now."""
        if path in self._unread:
            yield self._unread[path]
        for language in ("yaml", "shell", "python"):
            document = self._documents.get((language, path))
            if document is not None:
                yield from document.problems

    @cached_property
    def _bench(self) -> Any:
        try:
            return self._load_bench()
        except Exception:  # told by whoever needs the bench itself; documents can be read without it
            return None

    @cached_property
    def _source(self) -> Source:
        source = getattr(self._bench, "source", None)
        return source if isinstance(source, Source) else Source(self._tree)

    @cached_property
    def _layout(self) -> Layout:
        layout = getattr(self._bench, "layout", None)
        return layout if isinstance(layout, Layout) else Layout(masters=("configs/*-master.yaml",), runners=("configs/runners.yaml",))

    def _globs(self, kind: str) -> tuple[str, ...]:
        layout = self._layout
        return {
            "master": (*layout.masters, *layout.deprecated),
            "runners": layout.runners,
            "workflow": layout.workflows,
            "recipe": layout.recipes,
            "changelog": (layout.changelog,),
            "launcher": layout.launchers,
            "script": layout.scripts,
            "python": ("**/*.py",),
        }[kind]

    def _document(self, language: str, path: str, parse: Callable[[str, bytes], Any]) -> Any:
        key = (language, path)
        if key not in self._documents:
            try:
                data = self._tree.read(path)
            except TreeError as error:
                self._unread[path] = Problem(error.code, f"cannot be read: {error}", _WHOLE, fatal=True)
                data = b""
            self._documents[key] = parse(path, data)
        return self._documents[key]

    def _yaml(self, path: str, data: bytes) -> Any:
        from reviewbot.documents.yaml import parse_yaml

        found = None if path in self._unread else self._source.yaml(path, github=path in self.paths("workflow"))
        return parse_yaml(data, path) if found is None else found

    def _shell(self, path: str, data: bytes) -> Any:
        from reviewbot.documents.shell import parse_shell

        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return parse_shell(data, path)  # which has a problem that the text alone does not have
        if text not in self.scripts:
            self.scripts[text] = parse_shell(text, path)
        return self.scripts[text]

    def _python(self, path: str, data: bytes) -> Any:
        from reviewbot.documents.python import parse_python

        return parse_python(data, path)
