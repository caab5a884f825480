"""What is wrong with a repository's own declarations: every reader of ``bench`` reports with this class and never raises."""

from __future__ import annotations

from dataclasses import dataclass

from reviewbot.documents.positions import Site, Span


@dataclass(frozen=True, slots=True)
class BenchProblem:
    """Something in a master, runner list, workflow or changelog that the repository's own tools would refuse or misread.

    ``code`` is a stable word, ``message`` a sentence for people. ``key`` is the config key (or runner label) that it belongs to,
    ``field`` the dotted path below it. ``runner_known`` is false where a label is not in the runner list.
    """

    code: str
    message: str
    site: Site
    span: Span | None = None
    key: str = ""
    field: str = ""
    runner_known: bool = True
