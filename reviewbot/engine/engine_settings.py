"""Flags and variables of engines as rules about the catalog look at them: each place once, with the releases that the image can hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from reviewbot.catalog.names import Names, Status, Window, names_of
from reviewbot.documents.positions import Site
from reviewbot.engine.recipes import engine_window, image_of, own, uses
from reviewbot.runs.model import Run, Server, Setting

if TYPE_CHECKING:
    from reviewbot.engine.context import Context

_OWNERS = {"VLLM_": "vllm", "SGLANG_": "sglang", "SGL_": "sglang"}


@dataclass(frozen=True, slots=True)
class Named:
    """One flag or variable at one place. ``settled`` tells whether ``window`` comes from the image; else it is all releases."""

    name: str
    setting: Setting
    server: Server
    site: Site
    names: Names
    window: Window
    settled: bool
    image: str | None
    runs: tuple[Run, ...]

    @property
    def releases(self) -> str:
        """The releases in words."""
        return self.names.describe(self.window) if self.settled else f"any release of {self.names.engine} since {self.names.versions[0]}"

    @property
    def because(self) -> str:
        """Why it is these releases."""
        return f" (`{self.image}`)" if self.settled and self.image else ""


_FLAGS: WeakKeyDictionary[Context, tuple[Named, ...]] = WeakKeyDictionary()
_VARIABLES: WeakKeyDictionary[Context, tuple[Named, ...]] = WeakKeyDictionary()


def flags(context: Context) -> tuple[Named, ...]:
    """Every flag of every server whose engine the catalog holds."""
    found = _FLAGS.get(context)
    if found is None:
        found = _FLAGS[context] = tuple(_collected(context, environment=False))
    return found


def variables(context: Context) -> tuple[Named, ...]:
    """Every environment variable of a server that belongs to its engine by its name."""
    found = _VARIABLES.get(context)
    if found is None:
        found = _VARIABLES[context] = tuple(_collected(context, environment=True))
    return found


def _collected(context: Context, environment: bool) -> Iterator[Named]:
    groups: dict[tuple[str, str | None, str, Site], tuple[Server, Setting, dict[str, Run]]] = {}
    for server, image, run in _servers(context):
        for name, setting in (server.env if environment else server.flags).items():
            if not setting.layers or (environment and _owner(name) != server.engine):
                continue
            group = groups.setdefault((server.engine, image, name, setting.layers[-1].site), (server, setting, {}))
            if run is not None:
                group[2][run.point.id] = run
    for (engine, image, name, site), (server, setting, runs) in groups.items():
        found = engine_window(engine, image)
        if found is not None and own(context, site):
            names, window, settled = found
            yield Named(name, setting, server, site, names, window, settled, image, tuple(runs.values()))


def _servers(context: Context) -> Iterator[tuple[Server, str | None, Run | None]]:
    for use in uses(context):
        for server in use.servers:
            for run in use.runs or (None,):
                yield server, use.image, run
    for run in context.runs:
        if run.recipe is None:
            for server in run.servers:
                yield server, image_of(run), run


@lru_cache(maxsize=4096)
def _owner(name: str) -> str | None:
    return next((engine for prefix, engine in _OWNERS.items() if name.startswith(prefix)), None)


def flag_status(named: Named) -> Status:
    """Whether the engine, or Dynamo's worker around it, has the flag."""
    status = named.names.flag(named.name, named.window)
    if status.known:
        return status
    name = named.name.partition(".")[0]
    if named.names.engine == "vllm" and name.startswith("no-"):  # every switch has its opposite
        opposite = named.names.flag(name[3:], named.window)
        if opposite.known:
            return opposite
    status = named.names.flag(name, named.window)
    dynamo = names_of("dynamo")
    if not status.known and dynamo is not None and dynamo.flag(name, dynamo.anywhere).known:
        return dynamo.flag(name, dynamo.anywhere)
    return status


def full_names(named: Named) -> tuple[str, ...]:
    """The flags that the engine takes an unknown one for, since it is their beginning."""
    return named.names.abbreviates(named.name.partition(".")[0], named.window)


def variable_status(named: Named) -> Status:
    """Whether the engine reads the variable. SGLang reads ``SGL_X`` as ``SGLANG_X``."""
    status = named.names.env(named.name, named.window)
    if not status.known and named.name.startswith("SGL_"):
        return named.names.env("SGLANG_" + named.name.removeprefix("SGL_"), named.window)
    return status


def by_file(settings: Iterable[Named]) -> list[tuple[Named, ...]]:
    """The places of one name in one file together, in the order of lines: they have one cause."""
    groups: dict[tuple[str, str, Window], list[Named]] = {}
    for named in settings:
        groups.setdefault((named.site.path, named.name, named.window), []).append(named)
    return [tuple(sorted(group, key=lambda named: named.site)) for group in groups.values()]
