"""Effects: what a script does for one point, each with the line that causes it.

A trace is the list of these in order. Values are texts with holes (see ``values``); ``certain`` is false where the effect
stands in an arm of a condition that nobody can decide and that was joined again behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union, cast

from reviewbot.documents.positions import Site
from reviewbot.trace.files import FileText


class Located(str):
    """A word of an argv that knows the line it was written on (through arrays too).

    String operations give plain strings; then the line of the command serves.
    """

    __slots__ = ("site",)
    site: Site

    def __new__(cls, text: str, site: Site) -> Located:
        word = super().__new__(cls, text)
        word.site = site
        return word


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the shell: ``over`` is the value that it replaced (for provenance), ``site`` the line of the assignment or
    ``None`` for what was there at the start."""

    value: str
    exported: bool
    site: Site | None
    over: Variable | None = field(default=None, compare=False, repr=False)
    depth: int = field(default=0, compare=False, repr=False)  # how many values stand below this one


@dataclass(frozen=True, slots=True)
class Assign:
    """An assignment (or ``export``): ``before`` is the previous value, ``None`` where the name was not set."""

    name: str
    value: str
    before: str | None
    exported: bool
    site: Site
    certain: bool = True


class _LooseVariable:
    """A ``Variable`` in the making: the constructor of a frozen class costs several times as much, and nothing is made as often."""

    __slots__ = ("depth", "exported", "over", "site", "value")

    def __init__(self, value: str, exported: bool, site: Site | None, over: Variable | None, depth: int) -> None:
        self.value = value
        self.exported = exported
        self.site = site
        self.over = over
        self.depth = depth


class _LooseAssign:
    __slots__ = ("before", "certain", "exported", "name", "site", "value")

    def __init__(self, name: str, value: str, before: str | None, exported: bool, site: Site) -> None:
        self.name = name
        self.value = value
        self.before = before
        self.exported = exported
        self.site = site
        self.certain = True


def variable(value: str, exported: bool, site: Site | None, over: Variable | None, depth: int) -> Variable:
    """``Variable(...)``, faster."""
    made: Any = _LooseVariable(value, exported, site, over, depth)
    made.__class__ = Variable
    return cast(Variable, made)


def assignment(name: str, value: str, before: str | None, exported: bool, site: Site) -> Assign:
    """``Assign(...)``, faster."""
    made: Any = _LooseAssign(name, value, before, exported, site)
    made.__class__ = Assign
    return cast(Assign, made)


@dataclass(frozen=True, slots=True)
class Checkout:
    """A clone or a checkout of another repository into ``directory``: ``ref`` as written (``None``: the remote's default branch).

    ``available`` says whether a local clone was named for ``url`` and has that ref, so that its files are known.
    """

    url: str
    ref: str | None
    directory: str
    available: bool
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Copy:
    source: str
    target: str
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Edit:
    """One line changed in a file by a text command. ``before`` or ``after`` is ``None`` where the line was added or deleted.

    ``line`` counts in the file as it was before the edit; ``origin`` the line of the repository that it came from, where there is one.
    """

    path: str
    line: int
    before: str | None
    after: str | None
    origin: Site | None
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class EditCommand:
    """A text command that was meant to edit files: ``program`` (for ``sed -i``), and how many lines of each file it changed.

    With ``changed`` all zero it is a no-op edit.
    """

    program: str
    files: tuple[str, ...]
    changed: tuple[int, ...]
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class OpaqueEdit:
    """A program that may rewrite ``path`` in a way that is not evaluated (a Python helper)."""

    path: str
    argv: tuple[str, ...]
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Exec:
    """A program that the script starts and that is not a text command: ``srun``, ``docker``, ``vllm``, ``python3 x.py`` ...

    ``environment`` are the exported variables at that moment (prefix assignments included), ``stdin`` a here-document where
    there is one, ``background`` whether ``&`` follows. ``inside`` counts how many containers or remote shells it runs in.
    ``files`` are the texts of files that the argv names (as a word or behind ``=``) and that the script itself wrote, by the name
    in the argv: an engine's configuration, for instance.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, Variable]
    cwd: str
    site: Site
    background: bool = False
    stdin: str | None = None
    certain: bool = True
    inside: tuple[str, ...] = ()
    files: Mapping[str, FileText] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submit:
    """A job that is handed to a scheduler: ``srtctl apply`` (``tool`` ``srtctl``) or ``sbatch``.

    ``recipe`` is the file argument as given (selector included), ``path`` the file in the virtual file system, ``text`` its
    content with the provenance of every line (``None`` where it is not known), ``cluster`` the generated ``srtslurm.yaml``.
    ``origin`` is the file of the repository that ``path`` is or was copied from; ``sets`` and ``unsets`` are the values of ``--set`` and
    ``--unset``.
    """

    tool: str
    argv: tuple[str, ...]
    environment: Mapping[str, Variable]
    cwd: str
    site: Site
    recipe: str | None = None
    path: str | None = None
    text: FileText | None = None
    cluster: FileText | None = None
    certain: bool = True
    origin: str | None = None
    sets: tuple[str, ...] = ()
    unsets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enter:
    """A bench script starts: ``path`` in the repository, run by ``srun``, ``docker`` or ``bash``; ``image`` where a container is named."""

    path: str
    argv: tuple[str, ...]
    by: str
    image: str | None
    mounts: tuple[str, ...]
    environment: Mapping[str, Variable]
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Refuse:
    """The script ends with a status that is not 0 before it submitted or started anything; ``message`` is what it printed last."""

    status: int | None
    message: str
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Missing:
    """A program needs a file that is known not to exist: ``path`` relative to the repository where it lies in it, ``name`` as given,
    ``program`` who asked."""

    path: str
    name: str
    program: str
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Assume:
    """A condition that cannot be known and was taken as stated, since its other arm only refuses."""

    text: str
    site: Site
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Limit:
    """A bound was hit (paths, commands, loop iterations, depth, text size, time), or a piece of syntax is not understood."""

    text: str
    site: Site
    certain: bool = True


Effect = Union[Assign, Checkout, Copy, Edit, EditCommand, OpaqueEdit, Exec, Submit, Enter, Refuse, Missing, Assume, Limit]
