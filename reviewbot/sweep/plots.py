"""Throughput a GPU against interactivity: the Pareto frontier, and a drawing of it as SVG and, with matplotlib, as PNG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

WIDTH, HEIGHT = 860, 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 76, 24, 20, 54
COLOURS = ("#1f5fa8", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0f766e", "#a16207", "#475569")


@dataclass(frozen=True, slots=True)
class Dot:
    """A measurement: ``x`` tokens a second a user, ``y`` tokens a second a GPU, ``label`` for people; ``best`` on the frontier."""

    x: float
    y: float
    label: str
    best: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """Measurements that may be compared with each other. ``previous`` are those of an earlier sweep."""

    name: str
    dots: tuple[Dot, ...]
    previous: tuple[Dot, ...] = ()


def frontier(pairs: Sequence[tuple[float, float]]) -> set[int]:
    """The places of the pairs that no other one equals or beats in both values while it beats it in one."""
    order = sorted(range(len(pairs)), key=lambda place: (-pairs[place][0], -pairs[place][1]))
    found: set[int] = set()
    best = -math.inf
    last: tuple[float, float] | None = None
    for place in order:
        if pairs[place][1] > best or pairs[place] == last:
            found.add(place)
            best, last = max(best, pairs[place][1]), pairs[place]
    return found


def ticks(low: float, high: float, about: int = 6) -> list[float]:
    """Round numbers from at most ``low`` to at least ``high``."""
    if not high > low:
        high = low + 1
    raw = (high - low) / about
    unit = 10 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= raw * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def svg(series: Sequence[Series]) -> str:
    """The drawing, complete in itself."""
    dots = [dot for one in series for dot in (*one.dots, *one.previous)]
    across = ticks(0, max((dot.x for dot in dots), default=1))
    upwards = ticks(0, max((dot.y for dot in dots), default=1))

    def x_of(value: float) -> float:
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * value / across[-1]

    def y_of(value: float) -> float:
        return HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * value / upwards[-1]

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'font-family="system-ui, sans-serif" font-size="12">',
        "<title>Throughput per GPU against interactivity</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for value in across:
        parts.append(f'<line x1="{x_of(value):.1f}" y1="{_TOP}" x2="{x_of(value):.1f}" y2="{HEIGHT - _BOTTOM}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{x_of(value):.1f}" y="{HEIGHT - _BOTTOM + 18}" text-anchor="middle" fill="#475569">{_short(value)}</text>')
    for value in upwards:
        parts.append(f'<line x1="{_LEFT}" y1="{y_of(value):.1f}" x2="{WIDTH - _RIGHT}" y2="{y_of(value):.1f}" stroke="#e2e8f0"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y_of(value) + 4:.1f}" text-anchor="end" fill="#475569">{_short(value)}</text>')
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle" fill="#0f172a">Interactivity (tokens/s per user)</text>')
    centre = (_TOP + HEIGHT - _BOTTOM) / 2
    parts.append(
        f'<text x="18" y="{centre}" text-anchor="middle" transform="rotate(-90 18 {centre})" fill="#0f172a">'
        "Throughput (tokens/s per GPU)</text>"
    )
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        line = sorted((dot for dot in one.dots if dot.best), key=lambda dot: dot.x)
        if len(line) > 1:
            path = " ".join(f"{x_of(dot.x):.1f},{y_of(dot.y):.1f}" for dot in line)
            parts.append(f'<polyline class="frontier" points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for dot in one.previous:
            parts.append(_circle(x_of(dot.x), y_of(dot.y), f"{dot.label} (previous)", "none", colour, "previous"))
        for dot in one.dots:
            parts.append(_circle(x_of(dot.x), y_of(dot.y), dot.label, colour if dot.best else "#ffffff", colour, "dot"))
    parts.append("</svg>")
    return "\n".join(parts)


def _circle(x: float, y: float, label: str, fill: str, stroke: str, kind: str) -> str:
    dash = ' stroke-dasharray="2 2"' if kind == "previous" else ""
    return (
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{stroke}" stroke-width="1.5"{dash}>'
        f"<title>{escape(_xml(label))}</title></circle>"
    )


def _xml(text: str) -> str:
    """Text without the characters that XML has no place for."""
    return "".join(
        character if character in "\t\n" or (character.isprintable() and not 0xD800 <= ord(character) < 0xE000) else "\ufffd"
        for character in text
    )


def _short(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value / 1e6:g}M"
    if abs(value) >= 1e4:
        return f"{value / 1e3:g}k"
    return f"{value:g}"


def png(series: Sequence[Series], path: Path) -> bool:
    """Draw the same with matplotlib. Says whether that is installed."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for number, one in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        line = sorted((dot for dot in one.dots if dot.best), key=lambda dot: dot.x)
        axes.plot([dot.x for dot in line], [dot.y for dot in line], color=colour, marker="o", label=_xml(one.name).replace("$", r"\$")[:80])
        rest = [dot for dot in one.dots if not dot.best]
        axes.scatter([dot.x for dot in rest], [dot.y for dot in rest], facecolors="none", edgecolors=colour)
        axes.scatter([dot.x for dot in one.previous], [dot.y for dot in one.previous], color=colour, marker="x")
    axes.set_xlabel("Interactivity (tokens/s per user)")
    axes.set_ylabel("Throughput (tokens/s per GPU)")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, color="#e2e8f0")
    if series:
        axes.legend(fontsize="small")
    figure.savefig(path, format="png")
    return True
