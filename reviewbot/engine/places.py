"""Where things that rules talk about are written."""

from __future__ import annotations

from collections.abc import Mapping

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Site
from reviewbot.runs.model import Setting


def field_site(point: Point, *names: str) -> Site:
    """The line that decided a field of a row (dotted name): the first of ``names`` that is written, else the row itself."""
    for name in names:
        site = point.sites.get(name)
        if site is not None:
            return site
    return point.site


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


def is_retired(path: str) -> bool:
    """Whether a file stands in a folder of what is no longer run."""
    return "/deprecated/" in f"/{path}"
