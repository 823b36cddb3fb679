"""Two pictures of a comparison: flips against size, precision against recall."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cerec.errors import ConfigError
from cerec.files import replacing
from cerec_bench.explainers.summary import Line

_MARKERS = "osD^v<>PX*hpd8H"
_COLOURS = {"rdexp": "0.6", "cerec": "tab:red", "effects": "black"}  # the others: in turn


def scatter_plot(lines: Sequence[Line], truths: Sequence[str], path: Path, title: str) -> None:
    """Flip rate against size, and for each truth precision against recall, as .png or .svg.

    A point per method with its bootstrap interval over users; up and to the left is better in the
    first panel, up and to the right in the others.
    """
    try:
        from matplotlib.figure import Figure as Canvas
        from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter
    except ImportError:
        raise ConfigError("a plot needs matplotlib: pip install 'cerec[bench]'") from None
    there = [line for line in lines if line.figures]
    panels = 1 + len(truths)
    canvas = Canvas(figsize=(4.3 * panels, 4.0 + 0.16 * len(there)), layout="constrained")
    axes = canvas.subplots(1, panels, squeeze=False)[0]
    for number, line in enumerate(there):
        _points(axes[0], line, number, "size", "flipped", factor=1.0)
        for axis, truth in zip(axes[1:], truths, strict=True):
            _points(axis, line, number, f"recall:{truth}", f"precision:{truth}", factor=100.0)
    axes[0].set(xlabel="changes", ylabel="flips, %", ylim=(-4, 104), xscale="log")
    axes[0].xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes[0].xaxis.set_major_formatter(ScalarFormatter())
    axes[0].xaxis.set_minor_formatter(NullFormatter())
    axes[0].set_title("Does it flip the list?", fontsize=10)
    for axis, truth in zip(axes[1:], truths, strict=True):
        axis.set(xlabel="recall, %", ylabel="precision, %")
        axis.set_xlim(left=-0.5)
        axis.set_ylim(bottom=-0.5)
        axis.set_title(f"Agreement with: {truth}", fontsize=10)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25, linewidth=0.6)
    handles, labels = axes[0].get_legend_handles_labels()
    canvas.legend(
        handles, labels, loc="outside lower center", ncols=min(4, len(labels)), fontsize=8,
        frameon=False,
    )  # fmt: skip
    canvas.suptitle(title, fontsize=11)
    with replacing(path) as target:
        canvas.savefig(target, format=path.suffix.lstrip(".") or "png", dpi=130)


def _points(axis: Any, line: Line, number: int, x: str, y: str, *, factor: float) -> None:
    across, up = line.figures.get(x), line.figures.get(y)
    if across is None or up is None or math.isnan(across.mean) or math.isnan(up.mean):
        return
    axis.errorbar(
        factor * across.mean,
        100 * up.mean,
        xerr=[[factor * (across.mean - across.low)], [factor * (across.high - across.mean)]],
        yerr=[[100 * (up.mean - up.low)], [100 * (up.high - up.mean)]],
        marker=_MARKERS[number % len(_MARKERS)],
        color=_COLOURS.get(line.method.partition("-")[0], f"C{(0, 1, 2, 4, 6, 8, 9)[number % 7]}"),
        markersize=7,
        linewidth=1,
        linestyle="none",
        label=line.title,
    )
