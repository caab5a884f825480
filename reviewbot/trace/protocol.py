"""What a command of the symbolic shell sees, and what it answers.

A command is a function ``(Invocation) -> Outcome``. It reads and changes the world through ``Invocation.shell`` alone: the virtual
file system, exported variables, effects, nested commands. It must not raise on any input: what it does not understand has an
unknown status (``None``) and a hole as its output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Union

from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Effect, Variable
from reviewbot.trace.files import FileText, LineOrigin
from reviewbot.trace.settings import TraceSettings
from reviewbot.trace.values import Holes
from reviewbot.tree import Tree


@dataclass(slots=True)
class Outcome:
    """What a command did: ``status`` 0..255 or ``None`` where it cannot be known; the texts it printed (values: they may hold holes).

    ``lines`` may give the origin of every line of ``stdout`` (``sed`` and ``cat`` on files know it), so that a redirect keeps provenance.
    """

    status: int | None = 0
    stdout: str = ""
    stderr: str = ""
    lines: tuple[LineOrigin, ...] | None = None


class FileSystem(Protocol):
    """The virtual file system. Every path is absolute and normalised (``Shell.absolute`` makes it so); a path may contain holes, and
    the same holes are the same path. Nothing raises; a change under an unknown directory is simply known from then on.

    Layers, from below: opaque clones (any file in them is ``unknown``), trees mounted at a directory (the repository, clones whose
    files are available), copied trees (lazy), the overlay of what the script wrote, with tombstones.
    """

    def kind(self, path: str) -> str:
        """``file``, ``dir``, ``missing`` or ``unknown`` (a place of the cluster that nobody has seen, or inside an opaque clone)."""
        ...

    def read_text(self, path: str) -> FileText | None:
        """The content, or ``None`` where it is no file, its content is unknown, or it is larger than the bound."""
        ...

    def executable(self, path: str) -> bool | None: ...

    def origin(self, path: str) -> str | None:
        """The path in the repository that the file at ``path`` was copied from or lies at, whether or not it was edited since."""
        ...

    def real(self, path: str) -> str:
        """``path`` with container mounts and links that the script made followed."""
        ...

    def written(self, path: str) -> bool:
        """Whether a script of the trace wrote or changed the file itself (not merely copied it)."""
        ...

    def write(self, path: str, content: FileText | None) -> None:
        """Create or replace a file; ``None`` is a file of unknown content. Parent directories come into being."""
        ...

    def append(self, path: str, content: FileText | None) -> None: ...

    def make_directory(self, path: str) -> None: ...

    def remove(self, path: str) -> None:
        """Remove a file or a whole directory; leaves ``missing`` behind, also where nothing was known."""
        ...

    def forget(self, path: str) -> None:
        """From now on nothing is known about ``path``: its kind is ``unknown``, its content too."""
        ...

    def copy_file(self, source: str, target: str) -> None:
        """``target`` is the file's new path (not a directory). Unknown content stays unknown."""
        ...

    def copy_tree(self, source: str, target: str) -> None:
        """Merge the content of directory ``source`` into directory ``target`` (``cp -rT``), lazily."""
        ...

    def move(self, source: str, target: str) -> None: ...

    def list(self, path: str) -> Sequence[str] | None:
        """Sorted names in a directory, hidden ones included; ``None`` where they are not all known."""
        ...

    def walk(self, path: str) -> Iterable[tuple[str, str]] | None:
        """``(path, kind)`` of everything below a directory in ``find`` order, sorted; ``None`` where not all is known."""
        ...

    def mount(self, path: str, tree: Tree | None) -> None:
        """Put a tree at ``path``, over what is there; ``None`` is an opaque clone whose files nobody knows."""
        ...

    def checkout(self, path: str, tree: Tree | None, force: bool = False) -> None:
        """Put another ref's tree at a clone: untracked files stay, and without ``force`` changes to files that both refs have alike."""
        ...

    def alias(self, path: str, target: str) -> None:
        """Make ``path`` show what ``target`` shows, both ways (a container mount, a symbolic link to a directory)."""
        ...

    def files_read(self) -> frozenset[str]:
        """Paths in the repository whose content, existence or listing was asked for (a directory ends in ``/``)."""
        ...

    def snapshot(self) -> object:
        """A cheap copy of the state (copy on write)."""
        ...

    def restore(self, snapshot: object) -> None: ...

    def changed(self, one: object, other: object) -> frozenset[str] | None:
        """Paths whose state differs between two snapshots; ``None`` where mounts or copied trees differ too."""
        ...


class Shell(Protocol):
    """The part of the evaluator that commands may use."""

    @property
    def cwd(self) -> str: ...

    @property
    def files(self) -> FileSystem: ...

    @property
    def holes(self) -> Holes: ...

    @property
    def settings(self) -> TraceSettings: ...

    @property
    def inside(self) -> tuple[str, ...]:
        """How many containers or remote shells the script runs in, outermost first (``srun``, ``docker``)."""
        ...

    def get(self, name: str) -> str | None:
        """The value of a shell variable, ``None`` where it is not set. Counts as a read of the initial environment."""
        ...

    def set(self, name: str, value: str, site: Site) -> None: ...

    def environment(self) -> Mapping[str, Variable]:
        """The exported variables of this moment, prefix assignments of the command included. Cheap, shared, not a read."""
        ...

    def absolute(self, path: str) -> str:
        """``path`` against the working directory, ``.`` and ``..`` resolved, no trailing slash."""
        ...

    def hole(self, label: str, site: Site, *, nonempty: bool = False, numeric: bool = False, witness: str | None = None,
             choices: tuple[str, ...] | None = None) -> str:
        """A fresh unknown text."""
        ...

    def emit(self, effect: Effect) -> None:
        """Record an effect. A ``Submit`` may end the evaluation here and now: emit it last, with everything before it done."""
        ...

    def assume(self, text: str, site: Site) -> None:
        """Record that something unknowable is taken for true (an ``Assume`` effect)."""
        ...

    def limit(self, text: str, site: Site) -> None:
        """Record a bound that was hit (a ``Limit`` effect)."""
        ...

    def missing(self, name: str, program: str, site: Site) -> None:
        """Record that ``program`` needs a file that is known not to exist (a ``Missing`` effect)."""
        ...

    def upstream(self, url: str, ref: str | None) -> Tree | None:
        """The files of a repository at a ref, where a local clone of it was named."""
        ...

    def run(self, argv: Sequence[str], site: Site, *, stdin: str | None = None, environment: Mapping[str, str | None] | None = None,
            background: bool = False, cwd: str | None = None) -> Outcome:
        """Variables of ``environment`` are added, those that are ``None`` taken away.

        Run a command by its words (``xargs``, ``find -exec``, ``env``, ``timeout``, ``nohup``, ``sudo``): a registered command, a
        script of
        the tree, or an unknown program. Shell functions and builtins that change state are not found this way."""
        ...

    def run_text(self, text: str, site: Site, *, arguments: Sequence[str] = (), stdin: str | None = None) -> Outcome:
        """Run a shell text in a child shell (``bash -c``): exported variables, no functions."""
        ...

    def run_script(self, path: str, arguments: Sequence[str], site: Site, *, stdin: str | None = None,
                   environment: Mapping[str, str] | None = None) -> Outcome:
        """Run a file of the virtual file system as a child shell (``bash FILE``): exported variables, no functions."""
        ...

    def enter(self, path: str, argv: Sequence[str], site: Site, *, by: str, image: str | None = None, mounts: Sequence[tuple[str,
        str]] = (),
              environment: Mapping[str, str] | None = None, only: bool = False, cwd: str | None = None,
                  background: bool = False) -> Outcome:
        """Start a bench script inside a container or a remote shell: emits ``Enter`` and evaluates the file.

        ``path`` is the script as written, meant inside; ``argv`` the whole command (``srun ...``); ``mounts`` are (host directory,
        container directory); ``environment`` is added to the exported variables, or with ``only`` (docker) replaces them. A path that
        leads to
        no known file is recorded as an ``Enter`` all the same, with an unknown status.
        """
        ...


@dataclass(slots=True)
class Invocation:
    """One call of a command. ``argv[0]`` is its name as written; words may be ``effects.Located`` (use ``site_of``).

    ``stdin`` gives the text that the command reads when it reads (``""`` where nothing is connected); call it at most once, and
    only when the command really reads its input, since the stream is shared with the commands after it.
    """

    argv: tuple[str, ...]
    site: Site
    shell: Shell
    stdin: Callable[[], str] = field(default=lambda: "")
    has_stdin: bool = False  # a pipe, a here-document or a file is connected
    background: bool = False

    def site_of(self, word: str) -> Site:
        """The line on which a word of ``argv`` was written."""
        return getattr(word, "site", self.site)

    def unknown(self, label: str | None = None) -> Outcome:
        """The outcome of a command that is not understood: unknown status, unknown output."""
        return Outcome(None, self.shell.hole(label or f"output of {self.argv[0]}", self.site))


Command = Callable[[Invocation], Union[Outcome, int, None]]
"""A command; ``int`` is short for a status without output, ``None`` for an unknown status without output."""

CommandTable = Mapping[str, Command]
"""Commands by name. ``reviewbot.trace.commands.COMMANDS`` is the table of all."""
