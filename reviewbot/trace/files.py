"""Texts of the virtual file system: content in which every line knows where it comes from."""

from __future__ import annotations

from dataclasses import dataclass

from reviewbot.documents.positions import Site


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """Where a line comes from: ``site`` in the repository (``None`` for text that a script wrote), and the lines of scripts that
    wrote or changed it, oldest first, each with the text before it (``None`` where it was added)."""

    site: Site | None
    by: tuple[tuple[Site, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class FileText:
    """A text with one origin a line (lines as ``text.split("\\n")`` gives them, a last empty piece not counted)."""

    text: str
    origins: tuple[LineOrigin, ...]
