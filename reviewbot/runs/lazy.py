"""Runs of which only the outcome is at hand: the rest is made again when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from reviewbot.bench.model import Job, Recipe, RecipeError
from reviewbot.runs.model import Client, Run, Server, Setting
from reviewbot.trace.effects import Effect
from reviewbot.trace.files import FileText

AT_HAND = (
    "outcome", "message", "where", "recipe_path", "recipe_argument", "script", "argv", "image", "model_path", "missing", "paths", "variants",
    "digest",
)  # fmt: skip
"""Fields that are there at once, beside those that the job gives."""


class LazyRun(Run):
    """A run that traces its job when a field is asked for that is not at hand: ``effects``, ``servers``, ``clients``, ``text``,
    ``recipe``, ``cluster``, ``recipe_errors``, ``files``, ``extra``. It then says exactly what the run said that ``fields`` were taken from."""

    __slots__ = ("_make", "_whole")
    _make: Callable[[], Run]
    _whole: Run | None

    def __init__(self, job: Job, fields: Mapping[str, Any], make: Callable[[], Run]) -> None:
        put = object.__setattr__
        put(self, "key", job.point.key)
        put(self, "point", job.point)
        put(self, "runner", job.runner)
        put(self, "node", job.node)
        put(self, "launcher", job.launcher)
        for name in AT_HAND:
            put(self, name, fields[name])
        put(self, "_make", make)
        put(self, "_whole", None)

    def whole(self) -> Run:
        """The run with all that it has."""
        if self._whole is None:
            object.__setattr__(self, "_whole", self._make())
        assert self._whole is not None
        return self._whole

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LazyRun):
            other = other.whole()
        return self.whole() == other

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LazyRun({self.point.id!r} on {self.launcher!r}: {self.outcome})"

    def __reduce__(self) -> Any:
        return self.whole().__reduce__()

    @property
    def files(self) -> frozenset[str]:
        return self.whole().files

    @property
    def text(self) -> FileText | None:
        return self.whole().text

    @property
    def recipe(self) -> Recipe | None:
        return self.whole().recipe

    @property
    def cluster(self) -> FileText | None:
        return self.whole().cluster

    @property
    def servers(self) -> tuple[Server, ...]:
        return self.whole().servers

    @property
    def clients(self) -> tuple[Client, ...]:
        return self.whole().clients

    @property
    def effects(self) -> tuple[Effect, ...]:
        return self.whole().effects

    @property
    def recipe_errors(self) -> tuple[RecipeError, ...]:
        return self.whole().recipe_errors

    @property
    def extra(self) -> Mapping[str, Setting]:
        return self.whole().extra
