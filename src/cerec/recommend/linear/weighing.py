"""How much one interaction counts: by its rating or number of plays, and by its age.

    x_ui = w_ui 2^-(age of the interaction / half-life)

`w` is the rating or log(1 + rating), divided by its mean, so that an average interaction counts 1.
Age is measured from the user's own latest interaction: whoever was away is not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cerec.data.dataset import Dataset
from cerec.data.ragged import Ragged
from cerec.errors import DataError
from cerec.recommend.protocol import Doubles
from cerec.settings.linear import LinearConfig

Kind = Literal["none", "rating", "log"]
_SPANS = (0.25, 1.0, 4.0)  # half-lives tried, in units of the median age


@dataclass(frozen=True, slots=True)
class Weighing:
    """What validation chose, or a person."""

    kind: Kind = "none"
    half_life: float = 0.0
    """In seconds, as the times of the data; 0: age does not count."""
    mean: float = 1.0
    """Of the ratings, or of their logarithms."""


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """What the data say of every pair; of one that stands several times the latest row."""

    n_items: int
    key: NDArray[np.int64]
    """User row times `n_items` plus item row, rising."""
    rating: NDArray[np.float32] | None
    time: Doubles | None

    @staticmethod
    def of(data: Dataset) -> Marks:
        """From the interactions, which are in the order of (user, item, time)."""
        table, width = data.interactions, max(len(data.items), 1)
        key = table.user.astype(np.int64) * width + table.item
        last = np.flatnonzero(np.diff(key, append=-1) != 0)
        rating = None if table.rating is None else table.rating[last]
        return Marks(width, key[last], rating, None if table.time is None else table.time[last])

    def weights(self, history: Ragged, weighing: Weighing) -> Doubles:
        """(n,) the weight of every entry of a history."""
        out = np.ones(history.size)
        if weighing.kind != "none":
            out = self._plain(history, weighing.kind) / weighing.mean
        if weighing.half_life > 0:
            out *= np.exp2(-self._age(history) / weighing.half_life)
        return out

    def options(self, history: Ragged, settings: LinearConfig) -> Iterator[list[Weighing]]:
        """What may be tried, in turns: kinds of weights first, half-lives then."""
        kinds: tuple[Kind, ...] = ("none", "rating", "log")
        if settings.weights != "auto":
            kinds = (settings.weights,)
        elif self.rating is None:
            kinds = ("none",)
        made = [Weighing(kind, mean=self._mean(history, kind)) for kind in kinds]
        yield [w for w in made if w.mean > 0]
        if settings.half_life is not None:
            self._needs(self.time, settings.half_life > 0, "model.half_life", "timestamp")
            yield [Weighing(half_life=settings.half_life)]
        elif self.time is not None:
            age = self._age(history)
            span = float(np.median(age[age > 0])) if (age > 0).any() else 0.0
            yield [Weighing(half_life=span * x) for x in (0.0, *_SPANS) if span or not x]

    def _plain(self, history: Ragged, kind: Kind) -> Doubles:
        self._needs(self.rating, True, f'model.weights = "{kind}"', "rating")
        plain = np.maximum(np.asarray(self.rating, np.float64)[self._at(history)], 0.0)
        return np.log1p(plain) if kind == "log" else plain

    def _mean(self, history: Ragged, kind: Kind) -> float:
        if kind == "none" or not history.size:
            return 1.0
        return float(self._plain(history, kind).mean())

    def _age(self, history: Ragged) -> Doubles:
        time = np.asarray(self.time)[self._at(history)]
        last = np.full(len(history), -np.inf)
        row = history.row_of()
        np.maximum.at(last, row, time)
        return np.asarray(last[row] - time)

    def _at(self, history: Ragged) -> NDArray[np.int64]:
        key = history.row_of().astype(np.int64) * self.n_items + history.indices
        return np.searchsorted(self.key, key)

    def _needs(self, column: object, asked: bool, setting: str, name: str) -> None:
        if asked and column is None:
            raise DataError(
                f"{setting} needs a {name} for every interaction and the data has none; load a "
                f"column {name!r}, or leave the setting out"
            )
