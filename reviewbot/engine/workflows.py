"""Workflows as rules read them: each made once from its document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from reviewbot.documents.positions import Span
from reviewbot.documents.workflow import Workflow, read_workflow
from reviewbot.documents.workflow_walk import Placed, expressions
from reviewbot.documents.yaml import YamlDocument
from reviewbot.engine.context import Context

CALLED = "./.github/workflows/"


def workflows(context: Context) -> Iterator[Workflow]:
    """The workflows of the repository that can be read."""
    for path in context.documents.paths("workflow"):
        workflow = workflow_of(context.documents.yaml(path))
        if workflow.jobs:
            yield workflow


@lru_cache(maxsize=128)
def workflow_of(document: YamlDocument) -> Workflow:
    """The workflow of a document."""
    return read_workflow(document)


@lru_cache(maxsize=128)
def expressions_of(document: YamlDocument) -> tuple[Placed, ...]:
    """All expressions of a workflow."""
    return tuple(expressions(workflow_of(document)))


def span_of(placed: Placed, offset: int = 0, length: int = 0) -> Span:
    """Where an expression, or ``length`` characters of it from ``offset`` on, stands; its first character where that is not known."""
    if "\n" in placed.source[: offset + length] or not placed.column:
        return Span(placed.line, max(placed.column, 1), placed.line, max(placed.column, 1) + 1)
    start = placed.column + (0 if placed.bare else 3) + offset if length else placed.column
    end = start + (length or len(placed.source) + (0 if placed.bare else 5))
    return Span(placed.line, start, placed.line, end)


def called(uses: str | None) -> str | None:
    """The path of the workflow that a job calls, where it is one of this repository."""
    return uses[2:] if uses is not None and uses.startswith(CALLED) else None
