"""Cells of a column to values: missing marks, several values in a cell, numbers to ranges."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cerec.data.columns import MISSING, Table, dates
from cerec.errors import ConfigError, DataError

SEPARATOR = "|"
"""Between several values of one cell, as we write them."""
FORMS = {"bar": "|", "comma": ",", "semicolon": ";", "json": "[", "none": ""}
"""How several values stand in one cell, as an option says it -> the sign."""
RANGES = 6
"""About how many ranges a column of numbers is put into."""
MOST_AS_THEY_ARE = 10
"""A column of no more different numbers stays as it is."""
_CODE = re.compile(r"(^|[\s_-])(id|ids|code|zip|key)$|[a-z]Id$", re.IGNORECASE)
_THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+(\.\d+)?")
_PART = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"|([^,'\"\[\]]+)|(.)", re.DOTALL)


@dataclass(slots=True)
class Reading:
    """How columns are to be read, and what was done."""

    bins: Mapping[str, int] = field(default_factory=dict)
    """Column -> how many ranges, or 0 to leave its numbers as they are."""
    lists: Mapping[str, str] = field(default_factory=dict)
    """Column -> one of FORMS."""
    floats: Sequence[str] = ()
    """Columns that are said to hold numbers, in tables that are read exactly."""
    notes: list[str] = field(default_factory=list)

    def check(self, columns: Iterable[str]) -> None:
        """Refuse columns that are not there, and ways that do not exist."""
        have = list(columns)
        for option, wanted in (("bins", self.bins), ("lists", self.lists)):
            for column in wanted:
                if column not in have:
                    names = ", ".join(map(repr, have[:12])) or "none"
                    raise DataError(f"{option}: no column {column!r} to read so, got {names}")
        for column, form in self.lists.items():
            if form not in FORMS:
                ways = ", ".join(FORMS)
                raise ConfigError(f"lists of {column!r} must be one of {ways}, got {form!r}")
        for column, count in self.bins.items():
            if isinstance(count, bool) or not isinstance(count, int) or count < 0 or count == 1:
                raise ConfigError(
                    f"bins of {column!r} must be 2 or more, or 0 for none, got {count!r}"
                )

    def cells(self, table: Table, column: pl.Series) -> tuple[NDArray[np.int64], pl.Series]:
        """(row, value) of every value of a column, blanks and missing marks left out."""
        number = self._numbers(table, column)
        if number is not None:
            lists = number
        elif isinstance(column.dtype, pl.List | pl.Array):
            lists = _plain_lists(table, column)
        else:
            lists = self._several(table, column.name, table.text(column))
        frame = pl.DataFrame([pl.Series("row", np.arange(len(column))), lists.alias("value")])
        if frame["value"].dtype != pl.String:
            frame = frame.explode("value")
        frame = frame.with_columns(pl.col("value").str.strip_chars())
        frame = frame.filter(pl.col("value").is_not_null() & (pl.col("value") != ""))
        if not table.exact:
            missing = frame["value"].str.to_lowercase().is_in(MISSING)
            if missing.any():
                marks = ", ".join(map(repr, sorted(set(frame["value"].filter(missing)))[:3]))
                self._note(table, column.name, f"{missing.sum():,} cells hold {marks}: missing")
                frame = frame.filter(~missing)
        return frame["row"].to_numpy(), frame["value"]

    def _note(self, table: Table, column: str, text: str) -> None:
        self.notes.append(f"{table.short}: column {column!r}: {text}")

    def _numbers(self, table: Table, column: pl.Series) -> pl.Series | None:
        """The ranges of a column of numbers or dates; None for any other."""
        asked = self.bins.get(column.name)
        known = column.name in self.floats or not (table.exact or _CODE.search(column.name))
        if asked == 0 or (asked is None and not known):
            return None
        if column.name in self.lists or isinstance(column.dtype, pl.List | pl.Array):
            return None
        text = table.text(column).str.strip_chars()
        blank = text.is_null() | text.str.to_lowercase().is_in(["", *MISSING])
        value = _years(column, text)
        what = "dates" if value is not None else "numbers"
        if value is None:
            value = table.numbers(text)
        bad = ~blank & ~value.is_finite().fill_null(False)
        if asked is not None:
            table.refuse(bad, column, f"a number in {column.name!r} to put in bins", "mend it")
        elif bad.any() or column.dtype == pl.Boolean:
            return None
        held = value.filter(~blank).to_numpy()
        if not len(held) or (asked is None and len(np.unique(held)) <= MOST_AS_THEY_ARE):
            return None
        labels = ranges(held, asked or RANGES)
        filled = np.full(len(column), None, object)
        filled[~blank.to_numpy()] = labels
        if asked is None:
            low, high, n = held.min(), held.max(), len(set(labels))
            said = f"{what} {low:.15g} to {high:.15g} put into {n} ranges"
            self._note(table, column.name, f"{said} (bins={column.name}:0 leaves them)")
        missing = text.filter(blank & text.is_not_null() & (text != ""))
        if len(missing):
            marks = ", ".join(map(repr, sorted(set(missing))[:3]))
            self._note(table, column.name, f"{len(missing):,} cells hold {marks}: missing")
        return pl.Series(column.name, filled.tolist(), dtype=pl.String)

    def _several(self, table: Table, name: str, text: pl.Series) -> pl.Series:
        """The values of every cell, as lists."""
        given = FORMS.get(self.lists.get(name, "" if not table.exact else "bar"))
        form = guess(text.drop_nulls().unique().to_list()).form if given is None else given
        if form in (",", ";") and given is None:
            self._note(table, name, f"lists separated by {form!r} (lists={name}:none if not)")
        if form == "[":
            parsed = {t: _bracketed(t) for t in text.drop_nulls().unique().to_list()}
            values = [None if t is None else parsed[t] for t in text.to_list()]
            bad = pl.Series([v is None for v in values], dtype=pl.Boolean) & text.is_not_null()
            table.refuse(bad, text, f'a list like ["a", "b"] in {name!r}', "mend the cell")
            return pl.Series(name, values, dtype=pl.List(pl.String))
        return text.str.split(form) if form else text


@dataclass(frozen=True, slots=True)
class Guess:
    """How the cells of a column hold several values; `sure` or to be asked about."""

    form: str
    sure: bool = True


def guess(cells: Sequence[str]) -> Guess:
    """The form of a column, by its distinct cells: bars, JSON, commas, or one value each.

    Commas and semicolons stand between values where the parts return in other cells, and in
    other places: "Drama, Crime" and "Crime" are lists, "Smith, John" and "Smith, Anna" names.
    """
    if any(SEPARATOR in c for c in cells):
        return Guess(SEPARATOR)
    filled = [c for c in cells if c.strip()]
    if filled and 2 * sum(map(_in_brackets, filled)) >= len(filled):
        return Guess("[")
    unclear = False
    for sign in (";", ","):
        several = [c for c in filled if sign in c]
        if not several or (sign == "," and all(map(_THOUSANDS.fullmatch, several))):
            continue
        stands: dict[str, set[int]] = {}
        cells_of: dict[str, int] = {}
        for cell in filled:
            for place, part in enumerate(p.strip() for p in cell.split(sign)):
                stands.setdefault(part, set()).add(place)
                cells_of[part] = cells_of.get(part, 0) + 1
        parts = [p.strip() for cell in several for p in cell.split(sign)]
        shared = [p for p in parts if cells_of[p] > 1]
        moved = [p for p in shared if len(stands[p]) > 1]
        if 2 * len(shared) >= len(parts) and 3 * len(moved) >= len(shared):
            return Guess(sign)
        unclear |= 4 * len(shared) >= len(parts)
    return Guess("", sure=not unclear)


def _in_brackets(cell: str) -> bool:
    cell = cell.strip()
    return cell.startswith("[") and cell.endswith("]")


def _bracketed(cell: str) -> list[str] | None:
    """The values of a JSON array, of a list as Python prints it, or of a bare cell."""
    cell = cell.strip()
    if not cell.startswith("["):
        return [cell]
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return _quoted(cell) if _in_brackets(cell) else None
    named = [v.get("name") if isinstance(v, dict) else v for v in found]
    if any(isinstance(v, dict | list) for v in named):
        return None
    return [_as_text(v) for v in named if v is not None]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _quoted(cell: str) -> list[str] | None:
    """The words of a flat list in single or no quotes; None when it is none."""
    out: list[str] = []
    for found in _PART.finditer(cell[1:-1]):
        single, double, bare, other = found.groups()
        if other not in (None, ","):
            return None
        word = next((w for w in (single, double, bare) if w is not None), "")
        if word.strip():
            out.append(re.sub(r"\\(.)", r"\1", word) if bare is None else word)
    return out


def _plain_lists(table: Table, column: pl.Series) -> pl.Series:
    try:
        return column.cast(pl.List(pl.String))
    except pl.exceptions.PolarsError:
        raise DataError(
            f"{table.label}: expected lists of plain values in {column.name!r}, got "
            f"{column.dtype}; turn them into text or numbers"
        ) from None


def _years(column: pl.Series, text: pl.Series) -> pl.Series | None:
    """The year of every date, for a column that holds dates alone."""
    if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime):
        return column.dt.year().cast(pl.Float64)
    if column.dtype != pl.String:
        return None
    seconds, looks = dates(text)
    filled = text.is_not_null() & ~text.str.to_lowercase().is_in(["", *MISSING])
    if not (looks & filled).any() or not (seconds.is_not_null() | ~filled).all():
        return None
    return text.str.slice(0, 4).cast(pl.Float64, strict=False)


def ranges(values: NDArray[np.float64], most: int) -> list[str]:
    """A readable range for each number: round edges near the quantiles, decades for years."""
    whole = bool((values == np.rint(values)).all())
    if whole and values.min() >= 1000 and values.max() < 2200 and most == RANGES:
        decades, count = np.unique(values // 10, return_counts=True)
        if len(decades) > 2 and 2 * count.max() <= len(values):
            return [f"{d * 10:.0f}s" for d in values // 10]
    edges = _edges(values, most, whole)
    if not len(edges):
        return [f"{values.min():.15g} to {values.max():.15g}"] * len(values)
    labels = [f"below {edges[0]:.15g}"]
    for low, high in pairwise(edges):
        last = high - 1 if whole else high
        labels.append(f"{low:.15g}" if low == last else f"{low:.15g} to {last:.15g}")
    labels.append(f"{edges[-1]:.15g} or more")
    return [labels[k] for k in np.searchsorted(edges, values, side="right")]


def _edges(values: NDArray[np.float64], most: int, whole: bool) -> NDArray[np.float64]:
    """Cuts between ranges: quantiles, each as round as the gaps to its neighbours allow."""
    at = np.arange(1, most) / most
    cuts = np.unique(np.quantile(values, at, method="inverted_cdf"))
    fence = np.concatenate([[values.min()], cuts, [values.max()]])
    out = []
    for left, cut, right in zip(fence[:-2], cuts, fence[2:], strict=True):
        gap = min((g for g in (cut - left, right - cut) if g > 0), default=0.0)
        if gap:
            out.append(_rounded(cut, gap, whole))
    edges = np.unique(np.array(out, np.float64))
    return edges[(edges > values.min()) & (edges <= values.max())]


def _rounded(cut: float, gap: float, whole: bool) -> float:
    """`cut` to a multiple of the largest of 1, 2, 5, 10, 20, ... that is at most `gap`."""
    power = 10.0 ** np.floor(np.log10(gap))
    step = max(s * power for s in (1, 2, 5) if s * power <= gap * (1 + 1e-9))
    step = max(step, 1.0) if whole else step
    return float(f"{np.rint(cut / step) * step:.12g}")
