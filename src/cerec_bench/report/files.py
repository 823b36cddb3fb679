"""The files of a finished comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cerec.files import replacing, write_json
from cerec_bench.report.tables import Grid, long_csv, notes, to_json
from cerec_bench.statistics import Line


def write_report(
    folder: Path,
    results: Mapping[str, tuple[Sequence[Line], dict[str, Any]]],
    grids: Sequence[Grid],
) -> list[Path]:
    """`table.md`, `.tex` and `.csv`, and a JSON file for each data set; the paths written."""
    lines = {name: found for name, (found, _) in results.items()}
    said = list(dict.fromkeys(note for found in lines.values() for note in notes(found)))
    texts = {
        "table.md": "\n\n".join([*(g.markdown() for g in grids), *said]) + "\n",
        "table.tex": "\n\n".join(g.latex() for g in grids) + "\n",
        "table.csv": long_csv(lines),
    }
    for file, text in texts.items():
        with replacing(folder / file) as target:
            target.write_text(text, encoding="utf-8")
    made = [folder / file for file in texts]
    for name, (found, about) in results.items():
        made.append(folder / f"{name}.json")
        write_json(made[-1], to_json(found, about))
    return made
