"""The test numbers of every user behind docs/results/helps.md, one Parquet file per cell.

A column per metric and seed (`recall@20 0`), a row per user in the order of the data; NaN where a
user has no test item. They lie beside the cells, so that a row computed on another machine can be
compared with those that are there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl


def keep(folder: Path, slug: str, seed: int, values: dict[str, np.ndarray]) -> None:
    """Add one seed's numbers to the cell's file: written aside, then renamed."""
    path = _file(folder, slug)
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pl.DataFrame({f"{metric} {seed}": value for metric, value in values.items()})
    if path.exists():
        frame = pl.read_parquet(path).with_columns(frame.get_columns())
    aside = path.with_suffix(".tmp")
    frame.write_parquet(aside, compression_level=19, statistics=False)
    aside.replace(path)


def drop(folder: Path, slug: str) -> None:
    """Forget a cell's numbers: its models are learned anew."""
    _file(folder, slug).unlink(missing_ok=True)


def of_seed(folder: Path, slug: str, metric: str, seed: int) -> np.ndarray | None:
    """(U,) numbers of one seed; None when they are not there."""
    path = _file(folder, slug)
    name = f"{metric} {seed}"
    if not path.exists() or name not in pl.read_parquet_schema(path):
        return None
    return pl.read_parquet(path, columns=[name])[name].to_numpy()


def _file(folder: Path, slug: str) -> Path:
    return folder / "users" / f"{slug}.parquet"
