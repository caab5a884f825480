"""Files that take part in a run without being evaluated: which changed ones a run names, directly or through other files.

A trace follows shell scripts. What a container, a scheduler or Python does with a file it does not see, so that a change there cannot be
proven to leave a run as it was. The names of files decide who may use whom: more than really do, never fewer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from reviewbot.runs.model import Run
from reviewbot.trace.effects import Copy, Exec, OpaqueEdit
from reviewbot.tree import Tree, TreeError

_PROGRAMS = (".sh", ".py", ".slurm", ".sbatch", ".yaml", ".yml", ".j2", ".jinja", ".bash")
_TEXT = (".md", ".rst", ".txt", ".png", ".svg", ".ipynb", ".html", ".css", ".js", ".ts", ".tsx", ".lock")
_MOST = 400_000  # bytes of a file that is searched
_TESTS = re.compile(r"(?:^|/)(?:tests?|docs?)/|(?:^|/)test_[^/]*\.py$|_test\.py$|conftest\.py$")


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A changed file that a run names: ``path`` is the changed one, ``through`` the one that the run itself names."""

    path: str
    through: str


class Mentions:
    """Which files of a tree lead, by name, to files that changed.

    ``declared`` tells the files that the comparison of points and traces accounts for already.
    """

    def __init__(self, tree: Tree, changed: Iterable[str], declared: Callable[[str], bool]) -> None:
        self._tree = tree
        self.candidates = frozenset(
            path
            for path in changed
            if not declared(path) and not path.endswith(_TEXT) and not _TESTS.search(path) and not path.startswith(".github/")
        )
        self.leads: dict[str, frozenset[str]] = {}  # file -> changed files that it leads to, itself included
        if self.candidates:
            self._close()

    def _close(self) -> None:
        texts: dict[str, bytes] = {}
        for path in self._tree.paths():
            if path.endswith(_PROGRAMS) and not _TESTS.search(path) and not path.startswith(".github/"):
                try:
                    data = self._tree.read(path)
                except TreeError:
                    continue
                if len(data) <= _MOST:
                    texts[path] = data
        leads: dict[str, set[str]] = {path: {path} for path in self.candidates}
        new = set(self.candidates)
        while new:
            wanted = {path: _naming(path) for path in new}
            union = re.compile(b"|".join(pattern for pattern, _ in wanted.values()))
            found: set[str] = set()
            for other, data in texts.items():
                if union.search(data) is None:
                    continue
                for path, (pattern, python) in wanted.items():
                    if other == path or (re.search(pattern, data) is None):
                        continue
                    if python is not None and not other.endswith(".py") and python not in data:
                        continue  # the bare name of a module says something to Python only
                    before = leads.setdefault(other, set())
                    if not leads[path] <= before:
                        before |= leads[path]
                        found.add(other)
            new = found
        self.leads = {path: frozenset(some) for path, some in leads.items()}

    def concerns(self, run: Run) -> bool:
        """Whether a run may name a changed file that is not evaluated; only what is at hand is looked at."""
        if not self.leads:
            return False
        return (
            any(path is not None and path in self.leads for path in (run.launcher, run.script, run.recipe_path)) or run.recipe_path is None
        )

    def of(self, run: Run) -> list[Unevaluated]:
        """The changed files that take part in a run and are not evaluated there."""
        if not self.leads:
            return []
        data = [text.text for text in (run.text, run.cluster) if text is not None]
        words: list[str] = []
        copies: list[str] = []
        for effect in run.effects:
            if isinstance(effect, (Exec, OpaqueEdit)):
                words.extend(effect.argv)
            elif isinstance(effect, Copy) and run.text is None:
                copies.append(effect.source.rstrip("/"))
        script_words = "\n".join(words)
        found: dict[str, Unevaluated] = {}
        for path in sorted(self.leads):
            name = path.rpartition("/")[2]
            pattern = re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])")
            named = any(name in text and pattern.search(text) for text in data)
            if not named and not path.endswith((".sh", ".bash")):
                named = name in script_words and pattern.search(script_words) is not None
            if not named and run.outcome == "submit" and run.text is None:
                named = path in self.candidates and any(_inside(path, source) for source in copies)
            if named:
                for changed in self.leads[path]:
                    if run.outcome != "script" or not changed.endswith((".sh", ".bash")):  # a trace follows bench scripts
                        found.setdefault(changed, Unevaluated(changed, path))
        return [found[path] for path in sorted(found)]


def names_in_programs(tree: Tree, names: Collection[str], evaluated: Callable[[str], bool]) -> frozenset[str]:
    """Those of ``names`` (environment variables) that a file which is not evaluated mentions."""
    if not names:
        return frozenset()
    union = re.compile(rb"\b(?:" + b"|".join(re.escape(name.encode()) for name in sorted(names)) + rb")\b")
    found: set[str] = set()
    for path in tree.paths():
        if path.endswith(_PROGRAMS) and not _TESTS.search(path) and not path.startswith(".github/") and not evaluated(path):
            try:
                found.update(match.decode() for match in union.findall(tree.read(path)))
            except TreeError:
                continue
    return frozenset(found)


def _naming(path: str) -> tuple[bytes, bytes | None]:
    """The pattern by which a file is named, and its full name where a part of it serves Python only."""
    name = path.rpartition("/")[2].encode("utf-8", "surrogateescape")
    if name.endswith(b".py"):
        stem = name[:-3]
        if stem == b"__init__":
            stem = path.split("/")[-2].encode() if "/" in path else stem
        return rb"(?<![\w-])" + re.escape(stem) + rb"(?![\w-])", name
    return rb"(?<![\w.-])" + re.escape(name) + rb"(?![\w-])", None


def _inside(path: str, source: str) -> bool:
    """Whether a file of the repository lies in a folder that is given by a path somewhere above or in the workspace."""
    folder = path
    while folder:
        if source == folder or source.endswith("/" + folder):
            return True
        folder = folder.rpartition("/")[0]
    return False
