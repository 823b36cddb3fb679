"""Charts by matplotlib: the same numbers always make the same SVG file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError
from cerec.files import replacing
from cerec_bench.statistics import Line

_MARKERS = "osD^v<>PX*hpd8H"


@dataclass(frozen=True, slots=True)
class Series:
    """One line; `low` and `high` make a band around it."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def has_matplotlib() -> bool:
    """Whether charts can be made."""
    try:
        import matplotlib  # noqa: F401  only whether it is there
    except ImportError:
        return False
    return True


def line_chart(series: Sequence[Series], x_label: str, y_label: str, path: Path) -> None:
    """Lines with marks and a legend at the right."""
    canvas, (axis,) = _canvas(1, (7.5, 3.8))
    for one in series:
        (drawn,) = axis.plot(one.x, one.y, label=one.label, marker="o" if len(one.x) < 13 else "")
        if one.low is not None and one.high is not None:
            axis.fill_between(one.x, one.low, one.high, color=drawn.get_color(), alpha=0.15)
    axis.set(xlabel=x_label, ylabel=y_label)
    canvas.legend(loc="outside right upper", frameon=False, fontsize=9)
    _save(canvas, path)


def bar_chart(lines: Sequence[Line], keys: Sequence[str], path: Path) -> None:
    """One panel per number, a bar per line with its interval over users."""
    there = [line for line in lines if line.figures]
    canvas, panels = _canvas(len(keys), (4.2 * len(keys), 1.2 + 0.32 * len(there)), sharey=True)
    for panel, key in zip(panels, keys, strict=True):
        figures = [line.figures[key] for line in there]
        mean = [figure.mean for figure in figures]
        low = [max(figure.mean - figure.low, 0.0) for figure in figures]
        high = [max(figure.high - figure.mean, 0.0) for figure in figures]
        titles = [line.title for line in there]
        panel.barh(titles, mean, xerr=[low, high], color="#4878a8", capsize=2)
        panel.set_xlabel(key)
    panels[0].invert_yaxis()  # the first line on top
    _save(canvas, path)


def scatter_chart(lines: Sequence[Line], pairs: Sequence[tuple[str, str]], path: Path) -> None:
    """One panel per (x, y), a point per line with its intervals over users; x, y in their units."""
    there = [line for line in lines if line.figures]
    canvas, panels = _canvas(len(pairs), (4.3 * len(pairs), 4.0 + 0.16 * len(there)))
    for panel, (x, y) in zip(panels, pairs, strict=True):
        for n, line in enumerate(there):
            _point(panel, line, x, y, f"C{n % 10}", _MARKERS[n % len(_MARKERS)])
        panel.set(xlabel=x, ylabel=y)
    handles, labels = panels[0].get_legend_handles_labels()
    canvas.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    _save(canvas, path)


def _point(panel: Any, line: Line, x: str, y: str, colour: str, marker: str) -> None:
    across, up = line.figures.get(x), line.figures.get(y)
    if across is None or up is None or math.isnan(across.mean) or math.isnan(up.mean):
        return
    panel.errorbar(
        across.mean,
        up.mean,
        xerr=[[across.mean - across.low], [across.high - across.mean]],
        yerr=[[up.mean - up.low], [up.high - up.mean]],
        marker=marker,
        color=colour,
        linestyle="none",
        label=line.title,
    )


def _canvas(panels: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    try:
        import matplotlib
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ConfigError("a chart needs matplotlib: pip install 'cerec[bench]'") from None
    matplotlib.rcParams["svg.hashsalt"] = "cerec"
    canvas = Canvas(figsize=size, layout="constrained")
    axes = canvas.subplots(1, panels, squeeze=False, **options)[0]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25, linewidth=0.6)
    return canvas, axes


def _save(canvas: Any, path: Path) -> None:
    kind = path.suffix.lstrip(".") or "png"
    with replacing(path) as target:
        metadata = {"Date": None} if kind == "svg" else None
        canvas.savefig(target, format=kind, dpi=130, metadata=metadata)
