"""Columns of a table to ids, numbers and times, with errors that name the row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.errors import DataError

MISSING = ("n/a", "#n/a", "nan", "null", "none", "\\n", "-", "--")
"""What stands for a missing value, beside an empty cell, in any case."""
_THINGS = ["item", "movie", "film", "product", "book", "track", "song", "article", "game"]
_PEOPLE = ["user", "customer", "member", "visitor", "reviewer", "client", "account"]
USUAL: Mapping[str, Sequence[str]] = {
    "user": ("user", *(f"{p}id" for p in _PEOPLE), "uid"),
    "person": _PEOPLE[1:],
    "item": ("item", *(f"{t}id" for t in _THINGS), "iid", "asin", "sku", "isbn"),
    "thing": _THINGS[1:],
    "name": ("name", "title", *(f"{t}{n}" for t in (*_THINGS, "user") for n in ("name", "title"))),
    "rating": ("rating", "weight", "score", "stars", "plays", "playcount", "count", "quantity"),
    "timestamp": ("timestamp", "time", "date", "datetime", "ts", "unixtime", "createdat"),
    "entity": ("entity", "entityid"),
    "relation": ("relation", "relationid"),
}
"""Role -> usual headers, in lower case and without signs, the likeliest first."""
_UNITS = {1e11: ("milliseconds", 1e3), 1e14: ("microseconds", 1e6), 1e17: ("nanoseconds", 1e9)}


def plain(header: str) -> str:
    """A header in lower case, letters and digits alone: `User ID` is `userid`."""
    return re.sub(r"[\W_]+", "", header).lower()


@dataclass(frozen=True, slots=True)
class Table:
    """A frame, what it is called in messages, and where each of its rows stands."""

    label: str
    frame: pl.DataFrame
    place: Callable[[int], str]
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role -> header, where the caller says so."""
    exact: bool = False
    """Cells mean what they say: no missing marks, ranges or lists but those between bars."""
    comma: bool = False
    """A comma may stand for the point in numbers."""

    @property
    def short(self) -> str:
        """The name of the file without its folder."""
        return Path(self.label).name

    def column(self, *roles: str) -> pl.Series | None:
        """The first column that is given for one of the roles, or usual for it."""
        for role in roles:
            if self.roles.get(role) in self.frame.columns:
                return self.frame[self.roles[role]]
        taken = set(self.roles.values()) - {self.roles.get(r) for r in roles}
        have = {plain(c): c for c in reversed(self.frame.columns) if c not in taken}
        names = [n for role in roles for n in USUAL.get(role, (role,))]
        return next((self.frame[have[n]] for n in names if n in have), None)

    def ids(self, *roles: str) -> pl.Series:
        """A column of ids as text, present and without gaps."""
        column = self.column(*roles)
        if column is None:
            have = ", ".join(map(repr, self.frame.columns[:12])) or "none"
            raise DataError(
                f"{self.label}: no column {roles[0]!r}, got {have}; rename or add it, or name it "
                f"(columns {roles[0]}=HEADER)"
            )
        text = self.text(column)
        gone = text.is_null() | (text == "")
        if not self.exact and roles[0] in ("user", "item"):
            gone |= text.str.strip_chars().str.to_lowercase().is_in(MISSING[:-2]).fill_null(True)
        self.refuse(gone, text, f"an id as {column.name}", "fill it in or remove the row")
        return text

    def text(self, column: pl.Series) -> pl.Series:
        """A column as text."""
        try:
            return as_text(column)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise DataError(
                f"{self.label}: expected one plain value a row in {column.name!r}, got "
                f"{column.dtype}; turn the column into text or numbers"
            ) from None

    def numbers(self, column: pl.Series) -> pl.Series:
        """A column as numbers, null or not finite where it is none."""
        values = column if column.dtype.is_numeric() else self.text(column).str.strip_chars()
        if self.comma and values.dtype == pl.String:
            values = values.str.replace(",", ".", literal=True)
        return values.cast(pl.Float64, strict=False)

    def refuse(self, bad: pl.Series, values: pl.Series, wanted: str, remedy: str) -> None:
        """Raise for the first row that is `bad`."""
        row = bad.arg_max() if bad.any() else None
        if row is not None:
            got = f"{values[row]!r:.80}".replace("\n", " ")
            raise DataError(f"{self.place(row)}: expected {wanted}, got {got}; {remedy}")


def as_text(column: pl.Series) -> pl.Series:
    """Ids or values as text: whole numbers without a point, missing values as null."""
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.drop_nulls()
        if bool((whole == whole.round()).all()) and bool((whole.abs() < 2**53).all()):
            return column.cast(pl.Int64).cast(pl.String)
    return column if column.dtype == pl.String else column.cast(pl.String)


def numbers(table: Table, column: pl.Series, dtype: Any, wanted: str = "") -> NDArray[Any]:
    """A column of finite numbers."""
    value = table.numbers(column)
    with np.errstate(over="ignore"):
        out = value.fill_null(np.nan).to_numpy().astype(dtype)
    bad = pl.Series(~np.isfinite(out))
    table.refuse(bad, column, wanted or f"a finite number as {column.name}", "mend the value")
    return out + dtype(0)  # -0.0 is 0.0


def dates(text: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Seconds since 1970 (UTC where no zone is given) of ISO dates, and which cells look so."""
    looks = text.str.contains(r"^\s*\d{4}[-/]\d\d[-/]\d\d").fill_null(False)
    at = {t: _seconds(t) for t in text.filter(looks).unique().to_list()}
    seconds = text.replace_strict(at, default=None, return_dtype=pl.Float64) if at else None
    return (pl.Series([None] * len(text), dtype=pl.Float64) if seconds is None else seconds), looks


def _seconds(text: str) -> float | None:
    try:
        at = datetime.fromisoformat(text.strip().replace("/", "-"))
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def times(table: Table, column: pl.Series) -> tuple[NDArray[np.float64], str]:
    """Seconds since 1970, and what the column holds: dates, or numbers of some unit."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        table.refuse(column.is_null(), column, f"a date as {column.name}", "fill it in")
        return column.cast(pl.Datetime("us")).to_physical().to_numpy() / 1e6, "dates"
    wanted = f"a finite number or a date like 2024-05-31 as {column.name}"
    if column.dtype == pl.String:
        seconds, looks = dates(column)
        if looks.any():
            table.refuse(seconds.is_null(), column, wanted, "mend the value")
            return seconds.to_numpy(), "dates"
    found = numbers(table, column, np.float64, wanted)
    middle = 0.0 if table.exact or not len(found) else float(np.median(np.abs(found)))
    unit, per_second = "seconds", 1.0
    for least, named in _UNITS.items():
        unit, per_second = named if middle >= least else (unit, per_second)
    return found / per_second, unit


def distinct(table: Table, ids: pl.Series) -> None:
    """Raise when an id stands in two rows."""
    table.refuse(~ids.is_first_distinct(), ids, f"every {ids.name} once", "remove one of the rows")


def encode(values: pl.Series, ids: Sequence[str]) -> NDArray[np.int64]:
    """The position of each value in `ids`, which holds them all."""
    if not len(values):
        return np.zeros(0, np.int64)
    return values.cast(pl.Enum(list(ids))).to_physical().to_numpy().astype(np.int64)
