"""The history of a training as a table: one line per epoch."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cerec.errors import RunError
from cerec.files import replacing

Row = dict[str, float | int | str]
"""One line of the history."""


def write_history(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """History rows as CSV; a figure a row lacks, or that is no number, is left empty."""
    first = ("phase", "epoch", "seconds")
    found = dict.fromkeys(name for row in rows for name in row)
    columns = [*(n for n in first if n in found), *(n for n in found if n not in first)]
    with replacing(path) as target, target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, restval="")
        writer.writeheader()
        writer.writerows({k: v for k, v in row.items() if v == v} for row in rows)  # nan is not


def read_history(path: Path) -> list[dict[str, Any]]:
    """The rows of a history; numbers as numbers, empty figures left out."""
    if not path.exists():
        return []
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return [{k: _number(v) for k, v in row.items() if v} for row in csv.DictReader(file)]
    except (csv.Error, ValueError, TypeError) as error:
        raise RunError(f"{path}: not readable as a history ({error})") from None


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
