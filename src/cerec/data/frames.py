"""Data frames to a dataset: pandas, polars, or anything with named columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl

from cerec.data.build import SourceTables, build
from cerec.data.columns import Table
from cerec.data.dataset import Dataset
from cerec.data.text import one_line
from cerec.data.values import Reading
from cerec.errors import DataError


def from_frames(
    interactions: Any,
    items: Any = None,
    *,
    users: Any = None,
    entities: Any = None,
    relations: Any = None,
    triples: Any = None,
    planted: Any = None,
    bins: Mapping[str, int] | None = None,
    lists: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    name: str = "frames",
) -> Dataset:
    """A dataset of pandas or polars frames, or of mappings from column to values.

    `interactions` has `user`, `item` and perhaps `rating`, `timestamp`, `part`; `items` has
    `item`, `name` and attribute columns. `users` has `user`, `name` and columns to look at groups
    of users by (`cerec audit --by`); nothing learns from them. `entities` and `relations` give
    names; `triples` has `head`, `relation`, `tail`.

    Usual other headers are known, others are named by `columns`, `{"user": "uid"}`. Several values
    stand in a cell as a list, or as `lists` says (`{"genre": "comma"}`). A column of numbers is put
    into ranges, as many as `bins` says; 0 leaves it as it is.
    """
    given = {
        "items": items,
        "users": users,
        "entities": entities,
        "relations": relations,
        "triples": triples,
        "planted": planted,
    }
    tables = SourceTables(
        [(_table("interactions", interactions), None)],
        reading=Reading(bins or {}, lists or {}),
        columns=columns or {},
    )
    for kind, frame in given.items():
        if frame is not None:
            setattr(tables, kind, _table(kind, frame))
    return build(name, tables)


def _table(label: str, source: Any) -> Table:
    return Table(label, to_polars(label, source), lambda row: f"{label}, row {row}")


def to_polars(label: str, source: Any) -> pl.DataFrame:
    """`source` as a polars frame; columns of a pandas frame are taken one by one."""
    if isinstance(source, pl.LazyFrame):
        return source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    try:
        names: Iterable[Any] = source.columns if hasattr(source, "columns") else source.keys()
        return pl.DataFrame([_series(str(n), source[n]) for n in names])
    except (AttributeError, TypeError, pl.exceptions.PolarsError) as error:
        raise DataError(
            f"{label}: expected a frame or a mapping of columns, got {type(source).__name__} "
            f"({one_line(error)}); pass a pandas or polars frame"
        ) from None


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy() if hasattr(column, "to_numpy") else column
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufbM":
        if values.dtype.kind == "M":
            values = values.astype("datetime64[us]")
        return pl.Series(name, values, nan_to_null=True)
    plain = [None if _missing(v) else v for v in values]
    kinds = {type(v) for v in plain if v is not None}
    if kinds & {list, tuple, set, np.ndarray}:
        lists = [v if v is None or isinstance(v, Iterable) else [v] for v in plain]
        texts = [None if v is None else [str(x) for x in _several(v)] for v in lists]
        return pl.Series(name, texts, dtype=pl.List(pl.String))
    if any(hasattr(k, "timestamp") for k in kinds):
        return pl.Series(name, [None if v is None else v.timestamp() for v in plain])
    if len(kinds) <= 1 and not kinds - {int, float, bool}:
        return pl.Series(name, plain)
    return pl.Series(name, [None if v is None else str(v) for v in plain], dtype=pl.String)


def _several(value: Any) -> Iterable[Any]:
    if isinstance(value, str):
        return value.split("|")
    return sorted(value, key=str) if isinstance(value, set) else value


def _missing(value: Any) -> bool:
    """True for None, nan, and pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))
