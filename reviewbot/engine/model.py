"""Findings and the declaration of rules."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from reviewbot.documents.positions import Site


class Level(enum.IntEnum):
    """How bad it is: ``error``: a run will fail, or will publish something that is not what ran; ``warning``: a written value is
    silently not what takes effect, or a limit is likely hit; ``note``: a hint."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to a finding, and what stands there."""

    site: Site
    message: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text to put in the place of a range (1-based, end exclusive); an empty range inserts."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """How to mend a finding: ``safe`` where the result is what the author meant beyond doubt."""

    title: str
    replacements: tuple[Replacement, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule's statement that a claim and a run disagree, or that a run cannot work, with its evidence.

    ``structure`` is the structural path of the place (a YAML key path, a function) and ``subject`` the normalised text that identifies
    the finding there; both go into the fingerprint, the line number never does.
    """

    rule: str
    level: Level
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    help: str = ""
    points: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    structure: str = ""
    subject: str = ""
    fingerprint: str = ""  # set by the engine, see ``fingerprint``
    status: str = "new"  # "new" or "existing": whether a base or a baseline has it too


@dataclass(frozen=True, slots=True)
class Rule:
    """The declaration of a rule, as a module of ``rules/<family>/`` names it ``RULE``.

    ``name`` is the fault in kebab case, so that it reads after "ignore"; ``needs`` says what it reads (``documents``, ``bench``, ``runs``,
    ``change``), so that a selection of cheap rules does not pay for traces. ``guess`` marks a heuristic, which is a note always.

    ``scope`` says what one finding depends on, so that the engine can check parts by themselves, in several processes, and keep what it
    found for parts that have not changed:

    - ``run``: the findings of a set of runs are the union of the findings of each run alone, in the order of the runs; the engine unites
      those of the same place and subject, with their points and related places. Such a rule reads ``context.runs``,
      ``context.settings`` and files or folders of ``context.tree`` by name, which are remembered; ``context.bench``,
      ``context.documents``, ``context.tree.paths()`` and the change are not there for it. Where it needs ``change`` too, it is asked once
      more against a base, with all of the context but ``runs``, about what the change brings and no run uses.
    - ``document``: the findings of a set of documents are the union of the findings of each document alone. Such a rule asks
      ``context.documents`` for paths of a kind and for these documents, reads ``context.settings``, and nothing else.
    - ``all``: anything else. A rule that looks at ``effects``, ``servers``, ``clients``, ``text``, ``recipe``, ``cluster`` or ``extra``
      of every run here pays for tracing them all once more, in one process, whenever it runs: such a rule should be of scope ``run``.
      What ``reviewbot.runs.lazy.AT_HAND`` names costs nothing.
    """

    name: str
    level: Level
    needs: frozenset[str] = field(default_factory=lambda: frozenset({"runs"}))
    guess: bool = False
    ignorable: bool = True
    scope: str = "all"
