"""The table as bars."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cerec.errors import ConfigError
from cerec.files import replacing
from cerec_bench.compare.table import Line, heading


def bar_plot(lines: Sequence[Line], names: Sequence[str], path: Path) -> None:
    """One panel per metric, a bar per contender with its interval over users, as .png or .svg."""
    try:
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        raise ConfigError("a plot needs matplotlib: pip install 'cerec[bench]'") from None
    there = [line for line in lines if line.figures]
    canvas = Canvas(figsize=(4.2 * len(names), 1.2 + 0.32 * len(there)), layout="constrained")
    panels = canvas.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        figures = [line.figures[name] for line in there]
        mean = [figure.mean for figure in figures]
        low = [max(figure.mean - figure.low, 0.0) for figure in figures]
        high = [max(figure.high - figure.mean, 0.0) for figure in figures]
        panel.barh(
            [line.title for line in there], mean, xerr=[low, high], color="#4878a8", capsize=2
        )
        panel.set_xlabel(heading(name))
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].invert_yaxis()  # the first contender on top
    with replacing(path) as target:
        canvas.savefig(target, format=path.suffix.lstrip(".") or "png", dpi=150)
