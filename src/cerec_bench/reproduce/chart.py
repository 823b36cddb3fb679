"""Line charts as SVG text: the same numbers always make the same file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#333333")
_WIDTH, _HEIGHT = 800, 400
_LEFT, _TOP, _BOTTOM = 64, 20, 52
_FONT = 'font-family="system-ui, sans-serif"'


@dataclass(frozen=True, slots=True)
class Series:
    """One line; `low` and `high` make a band around it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def line_chart(series: Sequence[Series], x_label: str, y_label: str) -> str:
    """Lines with marks, a grid, and a legend at the right."""
    longest = max((len(s.label) for s in series), default=0)
    right = _WIDTH - 40 - 7 * longest
    xs = [v for s in series for v in s.x]
    ys = [v for s in series for part in (s.y, s.low or (), s.high or ()) for v in part]
    x_ticks, y_ticks = _ticks(xs), _ticks(ys)
    to_x = _scale(x_ticks, _LEFT, right)
    to_y = _scale(y_ticks, _HEIGHT - _BOTTOM, _TOP)
    parts = [_open(), f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>']
    for v in y_ticks:
        parts.append(_line(_LEFT, to_y(v), right, to_y(v), "#dddddd"))
        parts.append(_text(_LEFT - 8, to_y(v) + 4, _short(v), "end"))
    for v in x_ticks:
        parts.append(_line(to_x(v), _HEIGHT - _BOTTOM, to_x(v), _HEIGHT - _BOTTOM + 5, "#666666"))
        parts.append(_text(to_x(v), _HEIGHT - _BOTTOM + 20, _short(v), "middle"))
    parts.append(_line(_LEFT, _HEIGHT - _BOTTOM, right, _HEIGHT - _BOTTOM, "#666666"))
    for n, one in enumerate(series):
        colour = COLOURS[n % len(COLOURS)]
        parts += _drawn(one, colour, to_x, to_y)
        key = f'x="{right + 12:.1f}" y="{_TOP + 8 + 20 * n}" width="18" height="4"'
        parts.append(f'<rect {key} fill="{colour}"/>')
        parts.append(_text(right + 36, _TOP + 14 + 20 * n, one.label, "start"))
    parts.append(_text((_LEFT + right) / 2, _HEIGHT - 12, x_label, "middle"))
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f'transform="rotate(-90 16 {middle:.1f})"'
    parts.append(_text(16, middle, y_label, "middle", turned))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(one: Series, colour: str, to_x: _Scale, to_y: _Scale) -> list[str]:
    parts = []
    if one.low is not None and one.high is not None:
        there = [(to_x(x), to_y(y)) for x, y in zip(one.x, one.high, strict=True)]
        back = [(to_x(x), to_y(y)) for x, y in zip(one.x, one.low, strict=True)][::-1]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in there + back)
        parts.append(f'<polygon points="{points}" fill="{colour}" fill-opacity="0.15"/>')
    places = [(to_x(x), to_y(y)) for x, y in zip(one.x, one.y, strict=True)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
    if len(places) <= 12:
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return parts


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    size: float
    start: float
    step: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / self.size * self.step


def _scale(ticks: Sequence[float], start: float, end: float) -> _Scale:
    return _Scale(ticks[0], (ticks[-1] - ticks[0]) or 1.0, start, end - start)


def _ticks(values: Sequence[float], about: int = 5) -> list[float]:
    """Round numbers from below the least to above the largest."""
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high == low:
        low, high = low - 0.5, high + 0.5
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(n * step, 10) for n in range(first, last + 1)]


def _short(value: float) -> str:
    return f"{value:.10g}"


def _open() -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" {_FONT} font-size="12">'
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#222222" {more}'.rstrip()
    return f"<text {place}>{escape(text)}</text>"
