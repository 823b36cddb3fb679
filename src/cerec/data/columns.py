"""Columns of a table to ids, numbers and values, with errors that name the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.errors import DataError

SEPARATOR = "|"
"""Between several values of one cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """A frame, what it is called in messages, and where each of its rows stands."""

    label: str
    frame: pl.DataFrame
    place: Callable[[int], str]

    def column(self, *names: str) -> pl.Series | None:
        """The first of `names` that the table has."""
        return next((self.frame[n] for n in names if n in self.frame.columns), None)

    def ids(self, *names: str) -> pl.Series:
        """A column of ids as text, present and without gaps."""
        column = self.column(*names)
        if column is None:
            have = ", ".join(map(repr, self.frame.columns[:12])) or "none"
            only = self.frame.columns[0] if len(self.frame.columns) == 1 else ""
            mark = next((m for m in (";", "\t", "|") if m in only), None)
            remedy = "rename or add it"
            if mark is not None:
                remedy = f"it seems to be separated by {mark!r}: save it with commas"
            raise DataError(f"{self.label}: no column {names[0]!r}, got {have}; {remedy}")
        text = self.text(column)
        self.refuse(text.is_null() | (text == ""), text, f"an id as {column.name}", "fill it in")
        return text

    def text(self, column: pl.Series) -> pl.Series:
        """A column as text."""
        try:
            return as_text(column)
        except pl.exceptions.PolarsError:
            raise DataError(
                f"{self.label}: expected one plain value a row in {column.name!r}, got "
                f"{column.dtype}; turn the column into text or numbers"
            ) from None

    def refuse(self, bad: pl.Series, values: pl.Series, wanted: str, remedy: str) -> None:
        """Raise for the first row that is `bad`."""
        row = bad.arg_max() if bad.any() else None
        if row is not None:
            raise DataError(f"{self.place(row)}: expected {wanted}, got {values[row]!r}; {remedy}")


def as_text(column: pl.Series) -> pl.Series:
    """Ids or values as text: whole numbers without a point, missing values as null."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.drop_nulls()
        if bool((whole == whole.round()).all()) and bool((whole.abs() < 2**53).all()):
            return column.cast(pl.Int64).cast(pl.String)
    if column.dtype in (pl.Categorical, pl.Enum) or column.dtype != pl.String:
        return column.cast(pl.String)
    return column


def numbers(table: Table, column: pl.Series, dtype: Any) -> NDArray[Any]:
    """A column of finite numbers."""
    plain = column if column.dtype.is_numeric() else table.text(column)
    value = plain.cast(pl.Float64, strict=False)
    with np.errstate(over="ignore"):
        out = value.fill_null(np.nan).to_numpy().astype(dtype)
    bad = pl.Series(~np.isfinite(out))
    table.refuse(bad, column, f"a finite number as {column.name}", "mend the value")
    return out + dtype(0)  # -0.0 is 0.0


def times(table: Table, column: pl.Series) -> NDArray[np.float64]:
    """Seconds: numbers as they are, dates since 1970 in UTC."""
    if column.dtype == pl.String and column.cast(pl.Float64, strict=False).null_count():
        try:
            dates = column.str.strip_chars().str.to_datetime(time_unit="us", strict=False)
        except pl.exceptions.PolarsError:
            dates = pl.Series([None] * len(column), dtype=pl.Datetime("us"))
        first = column[0] if len(column) else None
        if dates.null_count() < len(dates):
            table.refuse(dates.is_null(), column, f"a date like {first!r}", "mend the value")
            column = dates
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        table.refuse(column.is_null(), column, f"a date as {column.name}", "fill it in")
        return column.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6
    return numbers(table, column, np.float64)


def distinct(table: Table, ids: pl.Series) -> None:
    """Raise when an id stands in two rows."""
    table.refuse(~ids.is_first_distinct(), ids, f"every {ids.name} once", "remove one of the rows")


def cells(table: Table, column: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
    """(row, value) of every value: cells split at `|`, blanks trimmed, empty values left out."""
    rows = pl.Series("row", np.arange(len(column)))
    if isinstance(column.dtype, pl.List | pl.Array):
        try:
            lists = column.cast(pl.List(pl.String))
        except pl.exceptions.PolarsError:
            raise DataError(
                f"{table.label}: expected lists of plain values in {column.name!r}, got "
                f"{column.dtype}; turn them into text or numbers"
            ) from None
    else:
        lists = table.text(column).str.split(SEPARATOR)
    frame = pl.DataFrame([rows, lists.alias("value")]).explode("value")
    frame = frame.with_columns(pl.col("value").str.strip_chars())
    frame = frame.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
    return frame["row"].to_numpy(), frame["value"]


def binned(table: Table, column: pl.Series, bins: int) -> pl.Series:
    """Each number of a column replaced by its quantile bin, "1990 to 1994"; blanks stay blank."""
    if bins < 1:
        raise DataError(f"bins of {column.name!r} must be at least 1, got {bins}")
    text = table.text(column).str.strip_chars()
    blank = text.is_null() | (text == "")
    value = text.cast(pl.Float64, strict=False).fill_null(np.nan)
    bad = ~blank & ~value.is_finite()
    table.refuse(bad, column, f"a number in {column.name!r} to put in bins", "mend the value")
    known = value.filter(~blank).to_numpy()
    if not len(known):
        return pl.Series(column.name, [None] * len(column), dtype=pl.String)
    edges = np.unique(np.quantile(known, np.arange(1, bins + 1) / bins, method="inverted_cdf"))
    which = np.searchsorted(edges, np.where(blank.to_numpy(), edges[0], value.to_numpy()))
    labels = [_label(known[np.searchsorted(edges, known) == b]) for b in range(len(edges))]
    out = pl.Series(column.name, np.array(labels, object)[which].tolist(), dtype=pl.String)
    return out.set(blank, None)


def _label(values: NDArray[np.float64]) -> str:
    low, high = values.min(), values.max()
    return f"{low:.15g}" if low == high else f"{low:.15g} to {high:.15g}"


def encode(values: pl.Series, ids: Sequence[str]) -> NDArray[np.int64]:
    """The position of each value in `ids`, which holds them all."""
    if not len(values):
        return np.zeros(0, np.int64)
    return values.cast(pl.Enum(list(ids))).to_physical().to_numpy().astype(np.int64)
