"""A dataset as a folder of Parquet tables and arrays: part of every run folder, and the cache."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cerec.asides import sweep
from cerec.data.dataset import Dataset, Interactions, Planted, Triples
from cerec.data.ids import IdTable
from cerec.errors import CerecError, RunError
from cerec.files import cache_folder, read_arrays, read_json, replacing, write_arrays, write_json

log = logging.getLogger(__name__)

VERSION = 1
_ROWS_A_BYTE, _TEXT_A_BYTE = 100, 1000
"""More than any table of distinct ids is compressed to."""
CACHE_VERSION = 3
"""To be raised whenever a reader gives other data for the same files."""
_SAMPLE = 64 * 1024
_COLUMN = "column "
"""Before the names of further columns of the users' table."""
_TABLES = {"users": "user", "items": "item", "entities": "entity", "relations": "relation"}
_PARTS: dict[str, Any] = {"interactions": Interactions, "triples": Triples, "planted": Planted}


def write_dataset(data: Dataset, folder: Path, **more: Any) -> None:
    """Write the tables of `data` into an existing folder; `more` goes to `data.json`."""
    for name in _TABLES:
        table: IdTable = getattr(data, name)
        columns = data.user_columns if name == "users" else {}
        frame = {"id": table.ids, "name": table.names}
        frame |= {f"{_COLUMN}{c}": texts.tolist() for c, texts in columns.items()}
        with replacing(folder / f"{name}.parquet") as target:
            pl.DataFrame(frame, schema=dict.fromkeys(frame, pl.String)).write_parquet(target)
    arrays = {
        f"{name}.{column}": getattr(getattr(data, name), column)
        for name, part in _PARTS.items()
        for column in part.__slots__
        if getattr(getattr(data, name), column, None) is not None
    }
    write_arrays(folder / "graph.safetensors", arrays)
    facts = {"version": VERSION, "name": data.name, "notes": list(data.notes)}
    write_json(folder / "data.json", {**facts, **more})


def read_dataset(folder: Path) -> Dataset:
    """The dataset written by `write_dataset`."""
    facts = read_json(folder / "data.json")
    if not isinstance(facts, dict) or facts.get("version") != VERSION:
        raise RunError(f"{folder / 'data.json'}: not version {VERSION} of the data tables")
    arrays = read_arrays(folder / "graph.safetensors")
    frames = {name: _read_frame(folder / f"{name}.parquet") for name in _TABLES}
    tables: dict[str, Any] = {
        name: IdTable(kind, frames[name]["id"].to_list(), names=frames[name]["name"].to_list())
        for name, kind in _TABLES.items()
    }
    parts: dict[str, Any] = {}
    for name, part in _PARTS.items():
        mine = {c: arrays[f"{name}.{c}"] for c in part.__slots__ if f"{name}.{c}" in arrays}
        parts[name] = part(**mine) if mine else None
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


def cache_path(folder: Path, format: str, options: Mapping[str, Any]) -> Path:
    """Where the dataset of a folder, read with these options, is kept."""
    path = folder.resolve()
    key = json.dumps([str(path), format, options], sort_keys=True, default=str)
    return cache_folder() / "data" / f"{path.name}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def files_key(files: Iterable[Path]) -> str:
    """A hash that changes when one of the files does: its name, size, time, and its two ends."""
    digest = hashlib.sha256(str(CACHE_VERSION).encode())
    for path in sorted(files):
        state = path.stat()
        digest.update(json.dumps([str(path), state.st_size, state.st_mtime_ns]).encode())
        with path.open("rb") as handle:
            digest.update(handle.read(_SAMPLE))
            if state.st_size > 2 * _SAMPLE:
                handle.seek(-_SAMPLE, os.SEEK_END)
            digest.update(handle.read(_SAMPLE))
    return digest.hexdigest()


def read_cache(path: Path, key: str) -> Dataset | None:
    """The dataset kept at `path` for `key`; None when there is none, or it is damaged."""
    sweep(path)
    if not path.is_dir():
        return None
    try:
        facts = read_json(path / "data.json")
        if facts["key"] != key:
            return None
        data = read_dataset(path)
        if data.fingerprint == facts["fingerprint"]:
            return data
    except (CerecError, OSError, ValueError, KeyError, TypeError, IndexError) as error:
        log.info("%s: damaged (%s)", path, error)
    return None


def write_cache(path: Path, key: str, data: Dataset) -> None:
    """Keep `data` at `path`; a folder that cannot be written leaves things as they are."""
    try:
        with replacing(path, folder=True) as new:
            new.mkdir()
            write_dataset(data, new, key=key, fingerprint=data.fingerprint)
    except (CerecError, OSError) as error:
        log.info("%s: not kept (%s)", path, error)
