"""The files of a finished comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cerec.files import replacing, write_json
from cerec_bench.compare.plot import bar_plot
from cerec_bench.compare.table import Line, columns, to_csv, to_json, to_latex, to_markdown


def write_report(
    folder: Path, lines: Sequence[Line], ks: Sequence[int], about: dict[str, Any]
) -> list[Path]:
    """`table.md`, `.csv`, `.json`, `.tex` and `bars.svg`; the paths written.

    The plot is left out where matplotlib is not installed, or nothing could be computed.
    """
    names = columns(ks)
    texts = {
        "table.md": to_markdown(lines, names),
        "table.csv": to_csv(lines),
        "table.tex": to_latex(lines, names),
    }
    for file, text in texts.items():
        with replacing(folder / file) as target:
            target.write_text(text, encoding="utf-8")
    write_json(folder / "table.json", to_json(lines, about))
    made = [folder / file for file in (*texts, "table.json")]
    if has_matplotlib() and any(line.figures for line in lines):
        bar_plot(lines, columns(ks[:1]), folder / "bars.svg")
        made.append(folder / "bars.svg")
    return made


def has_matplotlib() -> bool:
    """Whether plots can be made."""
    try:
        import matplotlib  # noqa: F401  only whether it is there
    except ImportError:
        return False
    return True
