"""The list of models that a repository keeps in ``MODELS.md``: which prefixes there are, and which scenarios each still runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PATHS = ("MODELS.md", "docs/MODELS.md", "configs/MODELS.md")

_CODE = re.compile(r"`([^`]+)`")
_LENGTHS = re.compile(r"(\d+)\s*/\s*(\d+)")
_RULE = re.compile(r"\|?\s*:?-{2,}")
_FIXED = re.compile(r"\b(\d+k\d+k)\b")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One row of the table: ``active`` is its cell of active scenarios, as written; ``retired`` where it says that there is none."""

    prefixes: tuple[str, ...]
    active: str
    line: int

    @property
    def retired(self) -> bool:
        return self.active.lower().startswith(("none", "nothing", "retired"))

    def runs(self, scenario: str, lengths: str) -> bool:
        """Whether the cell names a scenario (``fixed-seq-len`` with ``8k1k``, or ``agentic-coding``)."""
        if scenario == "agentic-coding":
            return "agentic" in self.active.lower()
        return lengths in _FIXED.findall(self.active)


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models by prefix, and the (input, output) lengths of scenarios that are deprecated for all of them, with their lines."""

    models: Mapping[str, ListedModel] = field(default_factory=dict)
    retired_lengths: Mapping[tuple[int, int], int] = field(default_factory=dict)


def read_model_list(lines: Sequence[str]) -> ModelList:
    """Reads the tables of a document; one without such tables gives an empty list."""
    models: dict[str, ListedModel] = {}
    lengths: dict[tuple[int, int], int] = {}
    for line, row in _rows(lines):
        if "prefix" in row and "active scenarios" in row:
            prefixes = tuple(_CODE.findall(row["prefix"]))
            model = ListedModel(prefixes, row["active scenarios"], line)
            models.update((prefix, model) for prefix in prefixes)
        elif "status" in row and "scenario" in row:
            pair = _LENGTHS.search(row.get("isl/osl", ""))
            if pair is not None and re.match(r"\W*deprecated for all", row["status"], re.IGNORECASE):
                lengths[int(pair[1]), int(pair[2])] = line
    return ModelList(models, lengths)


def _rows(lines: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows of all tables, by the lower-case names of their columns, with the line."""
    header: list[str] = []
    for index, line in enumerate(lines):
        if not line.lstrip().startswith("|"):
            header = []
        elif not header:
            following = lines[index + 1].lstrip() if index + 1 < len(lines) else ""
            header = [cell.lower() for cell in _cells(line)] if _RULE.match(following) else []
        elif not _RULE.match(line.lstrip()):
            yield index + 1, dict(zip(header, _cells(line), strict=False))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]
