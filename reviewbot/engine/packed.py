"""Findings and outcomes of runs as plain bytes (JSON), for other processes and for later.

Places that a point's row gives are packed by their names (``prefill.tp``), so that what was found stays true when lines are added above
the row in its master.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from reviewbot.bench.model import Point
from reviewbot.documents.positions import Problem, Site, Span
from reviewbot.engine.model import Finding, Fix, Level, Related, Replacement
from reviewbot.runs.model import Layer, Run, Setting
from reviewbot.trace.effects import Missing

LineSpan = Callable[[Site], Span]


class Unpackable(Exception):
    """Bytes that do not hold what they should, or no longer fit."""


class _Places:
    """Names of a point's lines, both ways."""

    def __init__(self, point: Point | None, span: LineSpan | None = None) -> None:
        self._point = point
        self._span = span
        self._names: dict[Site, list[str]] = {}
        if point is not None:
            self._names[point.site] = [""]
            for name, site in point.sites.items():
                self._names.setdefault(Site(*site), []).append(name)

    def pack(self, site: Site) -> list[Any]:
        names = self._names.get(site)
        return [site[0], site[1]] if names is None else [names]

    def pack_span(self, finding: Finding) -> list[Any]:
        site = Site(finding.path, finding.line)
        span = Span(finding.line, finding.column, finding.end_line, finding.end_column)
        names = self._names.get(site)
        if names is not None and self._span is not None and self._span(site) == span:
            return [names]
        return [finding.path, *span]

    def unpack(self, packed: list[Any]) -> Site:
        if len(packed) == 2:
            return Site(packed[0], packed[1])
        assert self._point is not None
        sites = {Site(*(self._point.site if name == "" else self._point.sites[name])) for name in packed[0]}
        if len(sites) != 1:  # one line then, several now: which of them is meant cannot be told
            raise Unpackable
        return sites.pop()

    def unpack_span(self, packed: list[Any]) -> tuple[str, Span]:
        if len(packed) == 5:
            return packed[0], Span(*packed[1:])
        site = self.unpack(packed)
        assert self._span is not None
        return site.path, self._span(site)


def outside_paths(finding: Finding, point: Point | None, span: LineSpan) -> set[str]:
    """The files that a packed finding quotes by line or column in a way that is not a name of the point's row: it is true only as long as
    they are the same."""
    places = _Places(point, span)
    paths = {packed[0] for packed in (places.pack_span(finding), *(places.pack(one.site) for one in finding.related)) if len(packed) > 1}
    if finding.fix is not None:
        paths.update(one.path for one in finding.fix.replacements)
    text = "\n".join((finding.message, finding.help, finding.subject, finding.structure, *(one.message for one in finding.related)))
    if point is not None:
        paths.update(path for path in {point.site.path, *(site[0] for site in point.sites.values())} if f"{path}:" in text)
    return paths


def pack_findings(findings: Mapping[str, Iterable[Finding]], point: Point | None = None, span: LineSpan | None = None) -> Any:
    """Findings by rule, as values for JSON."""
    places = _Places(point, span)
    return {
        rule: [
            [
                one.rule, int(one.level), places.pack_span(one), one.message, one.help, list(one.points),
                [[places.pack(related.site), related.message] for related in one.related],
                _packed_fix(one.fix), one.structure, one.subject,
            ]
            for one in found
        ]
        for rule, found in findings.items() if found
    }  # fmt: skip


def unpack_findings(packed: Mapping[str, Any], point: Point | None = None, span: LineSpan | None = None) -> dict[str, list[Finding]]:
    """The findings again. Raises ``Unpackable`` and whatever wrong shapes raise."""
    places = _Places(point, span) if packed else _Places(None)
    found: dict[str, list[Finding]] = {}
    for rule, rows in packed.items():
        for name, level, at, message, help_, points, related, fix, structure, subject in rows:
            path, place = places.unpack_span(at)
            found.setdefault(rule, []).append(
                Finding(
                    name, Level(level), path, *place, message, help_, tuple(points),
                    tuple(Related(places.unpack(site), text) for site, text in related), _unpacked_fix(fix), structure, subject,
                )
            )  # fmt: skip
    return found


def _packed_fix(fix: Fix | None) -> Any:
    if fix is None:
        return None
    return [fix.title, fix.safe, [[one.path, one.line, one.column, one.end_line, one.end_column, one.text] for one in fix.replacements]]


def _unpacked_fix(packed: Any) -> Fix | None:
    return None if packed is None else Fix(packed[0], tuple(Replacement(*one) for one in packed[2]), bool(packed[1]))


def pack_run(run: Run) -> list[Any]:
    """The fields of ``reviewbot.runs.lazy.AT_HAND``, as values for JSON."""
    missing = run.missing
    asked = None if missing is None else [missing.path, missing.name, missing.program, list(missing.site), missing.certain]
    return [
        run.outcome, run.message, _site(run.where), run.recipe_path, run.recipe_argument, run.script, list(run.argv), _setting(run.image),
        _setting(run.model_path), asked, run.paths, run.variants, run.digest,
    ]  # fmt: skip


def unpack_run(packed: list[Any]) -> dict[str, Any]:
    """Fields by name."""
    outcome, message, where, recipe_path, argument, script, argv, image, model, missing, paths, variants, digest = packed
    return {
        "outcome": outcome,
        "message": message,
        "where": None if where is None else Site(*where),
        "recipe_path": recipe_path,
        "recipe_argument": argument,
        "script": script,
        "argv": tuple(argv),
        "image": _unpacked_setting(image),
        "model_path": _unpacked_setting(model),
        "missing": None if missing is None else Missing(missing[0], missing[1], missing[2], Site(*missing[3]), missing[4]),
        "paths": paths,
        "variants": variants,
        "digest": digest,
    }


def _site(site: Site | None) -> list[Any] | None:
    return None if site is None else list(site)


def _setting(setting: Setting | None) -> Any:
    if setting is None:
        return None
    return [list(setting.values), setting.unknown, [[*layer.site, layer.operation, layer.value] for layer in setting.layers]]


def _unpacked_setting(packed: Any) -> Setting | None:
    if packed is None:
        return None
    layers = tuple(Layer(Site(path, line), operation, value) for path, line, operation, value in packed[2])
    return Setting(tuple(packed[0]), packed[1], layers)


def pack_problems(problems: Iterable[Problem]) -> list[Any]:
    return [[one.code, one.message, list(one.span), one.fatal] for one in problems]


def unpack_problems(packed: Iterable[Any]) -> list[Problem]:
    return [Problem(code, message, Span(*span), fatal) for code, message, span, fatal in packed]


def to_bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Raises ``ValueError`` where it is no JSON."""
    return json.loads(data)


def text_list(value: Any) -> Collection[str]:
    """``value`` where it is a list of texts. Raises ``Unpackable``."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise Unpackable
    return value
