"""Folders of plain tables: CSV, TSV or Parquet, one table a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from cerec.data.columns import Table
from cerec.data.dataset import Dataset
from cerec.data.frames import PARTS, Tables, build
from cerec.data.readers.delimited import read_delimited
from cerec.data.text import find, one_line, stem_of
from cerec.errors import DataError

OPTIONS = ("bins",)
ENDINGS = (".csv", ".tsv", ".parquet")
_SIDE = ("items", "users", "entities", "relations", "triples", "planted")


def looks_like(folder: Path) -> bool:
    """True for a folder with an interactions table, whole or in parts."""
    return any(find_table(folder, name) for name in ("interactions", "train"))


def files(folder: Path, **_: object) -> list[Path]:
    """The files to read."""
    return list(_files(folder).values())


def _files(folder: Path) -> dict[str, Path]:
    """The tables that are there, by name."""
    found = {name: find_table(folder, name) for name in ("interactions", *PARTS, *_SIDE)}
    return {name: path for name, path in found.items() if path is not None}


def find_table(folder: Path, name: str) -> Path | None:
    """The file of a table; two files of one table are an error."""
    paths = [p for ending in ENDINGS if (p := find(folder, name + ending)) is not None]
    if len(paths) > 1:
        names = " and ".join(p.name for p in paths)
        raise DataError(f"{folder}: both {names} are there; remove one")
    return paths[0] if paths else None


def read_tables(folder: Path, bins: Mapping[str, int] | None = None) -> Dataset:
    """The dataset of a folder with `interactions.csv`, `items.csv` and perhaps more.

    `interactions` holds `user,item[,rating][,timestamp][,part]`; `train`, `valid` and `test` may
    stand in its place. `items` holds `item,name` and attribute columns; `users` holds `user,name`
    and columns to look at groups by; `entities` and `relations` give names; `triples` holds
    `head,relation,tail`.
    """
    paths = _files(folder)
    parts = {name: paths.pop(name) for name in PARTS if name in paths}
    if "interactions" in paths and parts:
        raise DataError(
            f"{folder}: both {paths['interactions'].name} and {next(iter(parts.values())).name} "
            "are there; remove one"
        )
    if "interactions" in paths:
        pairs: list[tuple[Table, int | None]] = [(read_table(paths.pop("interactions")), None)]
    else:
        pairs = [(read_table(path), PARTS[name]) for name, path in parts.items()]
    if not pairs:
        raise DataError(f"{folder}: no interactions.csv; expected a table user,item[,rating]")
    tables = Tables(pairs, bins=bins or {})
    for name, path in paths.items():
        setattr(tables, name, read_table(path))
    return build(folder.resolve().name, tables)


def read_table(path: Path) -> Table:
    """One table, by the ending of its file."""
    ending = Path(stem_of(path)).suffix
    if ending == ".parquet":
        return _read_parquet(path)
    return read_delimited(path, "\t" if ending == ".tsv" else ",")


def _read_parquet(path: Path) -> Table:
    if path.is_dir():
        raise DataError(f"{path}: is a folder, expected a file; remove it or name another file")
    try:
        frame = pl.read_parquet(path.read_bytes())
    except (OSError, ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        what = one_line(error)
        raise DataError(f"{path}: not a readable Parquet file ({what}); write it again") from None
    return Table(str(path), frame, lambda row: f"{path}, row {row}")
