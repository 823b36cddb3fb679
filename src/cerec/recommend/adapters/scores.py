"""A table of scores: what some other system made, in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cerec.errors import DataError
from cerec.recommend.adapters.base import Adapter, Known
from cerec.recommend.protocol import Doubles, ItemRows

_COLUMNS = ("user", "item", "score")


class Scores(Adapter):
    """Scores of pairs; a pair that is absent may not be listed.

    R = cerec.adapters.Scores("scores.parquet")        # columns user, item, score
    """

    def __init__(self, source: Any, *, known: Known = None) -> None:
        """`source`: a Parquet file, or a table of polars or pandas."""
        told = str(source) if isinstance(source, str | Path) else "scores"
        frame = _read(source)
        missing = next((c for c in _COLUMNS if c not in frame.columns), None)
        if missing is not None:
            raise DataError(
                f"{told}: has no column {missing!r}, only {', '.join(frame.columns)}; it needs "
                "user, item and score"
            )
        if not frame["score"].dtype.is_numeric():
            raise DataError(f"{told}: the column score holds {frame['score'].dtype}, not numbers")
        frame = frame.select(
            pl.col("user").cast(pl.String), pl.col("item").cast(pl.String),
            pl.col("score").cast(pl.Float64),
        )  # fmt: skip
        for column in ("user", "item"):
            if frame[column].null_count():
                row = int(frame[column].is_null().arg_max() or 0)
                raise DataError(f"{told}, row {row + 1}: no {column}; give one, or drop the row")
        twice = frame.select("user", "item").is_duplicated()
        if twice.any():
            user, item, _ = frame.row(int(twice.arg_max() or 0))
            raise DataError(f"{told}: user {user!r} and item {item!r} stand in several rows; "
                            "keep one score")  # fmt: skip
        super().__init__(
            frame["user"].unique(maintain_order=True), frame["item"].unique(maintain_order=True),
            known,
        )  # fmt: skip
        order = np.array([self.users.rows[u] for u in frame["user"]], np.int64)
        place = np.array([self.items.rows[i] for i in frame["item"]], np.int64)
        by = np.argsort(order, kind="stable")
        self._place, self._score = place[by], frame["score"].fill_null(np.nan).to_numpy()[by]
        self._start = np.searchsorted(order[by], np.arange(len(self.users) + 1))

    def scores(self, users: ItemRows) -> Doubles:
        """(n, I)"""
        out = np.full((len(users), len(self.items)), np.nan)
        for n, user in enumerate(users):
            here = slice(self._start[user], self._start[user + 1])
            out[n, self._place[here]] = self._score[here]
        return out


def _read(source: Any) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | Path):
        if not Path(source).is_file():
            raise DataError(f"{source}: no such file; give a Parquet file of user, item, score")
        try:
            return pl.read_parquet(source)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise DataError(f"{source}: not read as Parquet: {error}".splitlines()[0]) from None
    if hasattr(source, "columns"):
        return pl.from_dict({str(c): source[c].to_numpy() for c in source.columns})
    raise DataError(f"Scores takes a Parquet file or a table, got {type(source).__name__}")
