"""The effective run: what the engine finally gets for one point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from reviewbot.bench.model import Point, Recipe, RecipeError
from reviewbot.documents.positions import Site
from reviewbot.trace.effects import Effect, Missing
from reviewbot.trace.files import FileText


@dataclass(frozen=True, slots=True)
class Layer:
    """One step of a value's history: where, by what operation (``recipe``, ``sed``, ``export``, ``override_x``, ``argv``, ``--set`` ...),
    and the value after it."""

    site: Site
    operation: str
    value: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A value of a run: ``values`` are all it can be (one: known; none and ``unknown``: unknown), ``layers`` its history, oldest first."""

    values: tuple[str, ...]
    unknown: bool = False
    layers: tuple[Layer, ...] = ()

    @property
    def value(self) -> str | None:
        """The value where it is known, else ``None``."""
        return self.values[0] if len(self.values) == 1 and not self.unknown else None

    @property
    def site(self) -> Site | None:
        """The layer that has to change: the last one."""
        return self.layers[-1].site if self.layers else None


@dataclass(frozen=True, slots=True)
class Server:
    """One kind of server process: ``role`` is ``prefill``, ``decode``, ``agg`` or another name; flags are without leading dashes, in the
    engine's own spelling; a flag without a value has the value ``true``.

    ``gpus`` is GPUs a worker, ``nodes`` nodes for all workers, ``workers`` their number; ``None`` where unknown.
    """

    role: str
    engine: str  # vllm, sglang, trtllm, atom, tilert, ... or "" where it cannot be told
    flags: Mapping[str, Setting]
    env: Mapping[str, Setting]
    gpus: int | None
    nodes: int | None
    workers: int | None
    argv: tuple[str, ...] = ()
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """The load generator: its program, flags and line."""

    program: str
    flags: Mapping[str, Setting]
    site: Site | None
    argv: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What one point on one launcher finally is. See ``docs/formats.md`` for the public form."""

    key: str
    point: Point
    runner: str
    node: str
    launcher: str
    outcome: str  # submit, script, refused, unknown
    message: str  # why it was refused, or is unknown
    where: Site | None  # the line that decided the outcome
    recipe_path: str | None = None  # the file of this repository it was copied from, where there is one
    recipe_argument: str | None = None
    text: FileText | None = None
    recipe: Recipe | None = None
    cluster: FileText | None = None
    script: str | None = None
    argv: tuple[str, ...] = ()
    servers: tuple[Server, ...] = ()
    clients: tuple[Client, ...] = ()
    image: Setting | None = None
    model_path: Setting | None = None
    effects: tuple[Effect, ...] = ()
    missing: Missing | None = None  # the file whose absence ends the run
    paths: int = 1
    variants: int = 0  # how many variants the recipe argument selects; servers are known for one
    recipe_errors: tuple[RecipeError, ...] = ()
    digest: str = ""
    files: frozenset[str] = (
        frozenset()
    )  # what the trace read: files, and folders (with a slash at the end) that it listed; some do not exist
    extra: Mapping[str, Setting] = field(default_factory=dict)
