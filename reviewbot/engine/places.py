"""Where things that rules talk about are written."""

from __future__ import annotations

from collections.abc import Mapping

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.runs.model import Setting
from reviewbot.tree import Tree, TreeError


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
