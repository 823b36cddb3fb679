"""Datasets to folders in every format that can be read, without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from cerec.asides import Unwritten
from cerec.data.dataset import Dataset
from cerec.data.escape import mark
from cerec.data.writers.kgat import write_kgat
from cerec.data.writers.recbole import write_recbole
from cerec.data.writers.tables import frames, write_frame
from cerec.errors import DataError, one_of
from cerec.files import replacing


def _write_tables(data: Dataset, folder: Path, ending: str = "csv") -> None:
    mark(folder, "exact")
    for name, frame in frames(data).items():
        write_frame(frame, folder / f"{name}.{ending}")


WRITERS: Mapping[str, Callable[[Dataset, Path], None]] = {
    "kgat": write_kgat,
    "recbole": write_recbole,
    "tables": _write_tables,
    "parquet": partial(_write_tables, ending="parquet"),
}


def write(data: Dataset, folder: str | Path, format: str = "tables") -> Path:
    """Write `data` to a new or empty folder; nothing is left behind when it fails.

    `load(folder)` gives the same dataset back: ids, names, ratings, times, parts, facts, planted
    truth, and what has no interaction or no fact.
    """
    one_of("format", format, sorted(WRITERS))
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"{target}: is there already; name a new folder, or empty it first")
    try:
        with replacing(target, folder=True) as aside:
            aside.mkdir()
            WRITERS[format](data, aside)
    except Unwritten as error:
        raise DataError(f"{error}; name another folder") from None
    return target
