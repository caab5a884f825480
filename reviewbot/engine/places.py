"""Where things that rules talk about are written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.engine.recipes import own
from reviewbot.runs.model import Run, Server, Setting
from reviewbot.tree import Tree, TreeError

if TYPE_CHECKING:
    from reviewbot.engine.context import Context


def field_site(point: Point, *names: str) -> Site:
    """The line that decided a field of a row (dotted name): the first of ``names`` that is written, else the row itself."""
    for name in names:
        site = point.sites.get(name)
        if site is not None:
            return site
    return point.site


def real_path(tree: Tree, path: str) -> str:
    """The file that a link leads to; the path itself where it is none, or leads nowhere in the repository."""
    try:
        return tree.resolve(path) if tree.is_link(path) else path
    except TreeError:
        return path


def last_site(*settings: Setting | None) -> Site | None:
    """The line of the last layer of the first setting that has one."""
    for setting in settings:
        if setting is not None and setting.layers:
            return setting.layers[-1].site
    return None


def setting_site(point: Point, text: str) -> Site:
    """The ``additional-settings`` item that names ``text``, else the row."""
    for role in ("prefill", "decode", "worker"):
        part = point.row.get(role)
        items = part.get("additional-settings", ()) if isinstance(part, Mapping) else ()
        for index, item in enumerate(items if isinstance(items, (list, tuple)) else ()):
            if text in str(item):
                return field_site(point, f"{role}.additional-settings[{index}]", f"{role}.additional-settings")
    return point.site


def server_site(context: Context, run: Run, server: Server, names: Iterable[str], field: str = "") -> Site:
    """The place that has to change for a flag of a server: where the first of ``names`` is written in this repository, else the row.

    ``field`` is what a row calls it. A script is shared by rows and gets such a value from them, so that the row goes before it.
    """
    of_role = [f"{server.role}.{field}", field, f"prefill.{field}"] if field else []
    if field and run.recipe is None and any(name in run.point.sites for name in of_role):
        return field_site(run.point, *of_role)
    for name in names:
        setting = server.flags.get(name)
        site = last_site(setting)
        if own(context, site):
            assert site is not None
            return site
    return field_site(run.point, *of_role)


def is_retired(path: str) -> bool:
    """Whether a file stands in a folder of what is no longer run."""
    return "/deprecated/" in f"/{path}"
