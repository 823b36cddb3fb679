"""A dataset as a folder of Parquet tables and arrays: part of every run folder, and the cache."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable
from cerec.errors import RunError
from cerec.files import read_arrays, read_json, replacing, write_arrays, write_json

VERSION = 1
_ROWS_A_BYTE, _TEXT_A_BYTE = 100, 1000
"""More than any table of distinct ids is compressed to."""
_COLUMN = "column "
"""Before the names of further columns of the users' table."""
_TABLES = {"users": "user", "items": "item", "entities": "entity", "relations": "relation"}
_PARTS: dict[str, type[Interactions] | type[Triples] | type[Planted]] = {
    "interactions": Interactions,
    "triples": Triples,
    "planted": Planted,
}


def write_dataset(data: Dataset, folder: Path) -> None:
    """Write the tables of `data` into an existing folder."""
    for name in _TABLES:
        table: IdTable = getattr(data, name)
        with replacing(folder / f"{name}.parquet") as target:
            more = data.user_columns if name == "users" else {}
            columns = {f"{_COLUMN}{c}": texts.tolist() for c, texts in more.items()}
            frame = {"id": table.ids, "name": table.names, **columns}
            pl.DataFrame(frame).write_parquet(target)
    arrays: dict[str, NDArray[Any]] = {}
    for name in _PARTS:
        part = getattr(data, name)
        for column in part.__slots__ if part is not None else ():
            if getattr(part, column) is not None:
                arrays[f"{name}.{column}"] = getattr(part, column)
    write_arrays(folder / "graph.safetensors", arrays)
    write_json(
        folder / "data.json",
        {"version": VERSION, "name": data.name, "notes": list(data.notes)},
    )


def read_dataset(folder: Path) -> Dataset:
    """The dataset written by `write_dataset`."""
    facts = read_json(folder / "data.json")
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        raise RunError(f"{folder / 'data.json'}: not version {VERSION} of the data tables")
    arrays = read_arrays(folder / "graph.safetensors")
    frames = {name: _read_frame(folder / f"{name}.parquet") for name in _TABLES}
    tables: dict[str, Any] = {name: _table(frames[name], _TABLES[name]) for name in _TABLES}
    parts = {name: _part(cls, name, arrays) for name, cls in _PARTS.items()}
    columns = {
        c.removeprefix(_COLUMN): np.array(frames["users"][c].to_list(), dtype=np.str_)
        for c in frames["users"].columns[2:]
    }
    notes = tuple(facts["notes"])
    return Dataset(name=facts["name"], notes=notes, user_columns=columns, **tables, **parts)


def _read_frame(path: Path) -> pl.DataFrame:
    try:
        texts = pl.scan_parquet(path).select(pl.all().cast(pl.String).str.len_bytes().sum())
        rows, size = pl.scan_parquet(path).select(pl.len()).collect().item(), path.stat().st_size
        if rows > _ROWS_A_BYTE * size or sum(texts.collect().row(0)) > _TEXT_A_BYTE * size:
            raise RunError(f"{path}: would take far more memory than a table of its size can need")
        frame = pl.read_parquet(path)
        if [kind for kind in frame.schema.values() if kind != pl.String] or len(frame) != rows:
            raise RunError(f"{path}: holds columns that are no texts")
        frame["id"], frame["name"]
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = next(iter(str(error).splitlines()), "")
        raise RunError(f"{path}: not readable ({first})") from None
    return frame


def _table(frame: pl.DataFrame, kind: str) -> IdTable:
    ids, names = frame["id"].to_list(), frame["name"].to_list()
    return IdTable(kind, ids, dict(zip(ids, names, strict=True)))


def _part(cls: type[Any], name: str, arrays: dict[str, NDArray[np.generic]]) -> Any:
    columns = {c: arrays[f"{name}.{c}"] for c in cls.__slots__ if f"{name}.{c}" in arrays}
    return cls(**columns) if columns else None
