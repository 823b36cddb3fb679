"""What a finished recommender must offer to be ranked and explained: exact scores.

`f(u, i | A)` is the score of item i for user u had its values been A, all else unchanged:

    f(u, i | A) = s(u, i) + (pool(w(u, v) for v in A) - pool(w(u, v) for v in A_i))

with `s` the recommender's own score, `w(u, v)` the effect of value v for u, and `pool` a mean
(attribute-aware vectors) or a sum (effects fitted to a finished recommender).

Comparisons must not depend on how a number was computed, so there is one arithmetic:
- `s` is a double, summed over the factors in order; the same bits in any batch;
- `w` is a double rounded to a multiple of `2**-bits`, coarse enough that sums over any set of
  values are exact, hence equal in any order (docs/adr/0004-exact-scores.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.errors import DataError, NotFinite

Pooling = Literal["mean", "sum"]
MOST_SUMMANDS = 1 << 20
"""Sums of up to this many effects are exact."""


@dataclass(frozen=True, slots=True, eq=False)
class Scorer:
    """Scores of a finished recommender and the effects of item values on them."""

    user: NDArray[np.float32]
    """(U, d) user factors."""
    item: NDArray[np.float32]
    """(I, d) item factors, attributes included; with `matrix` they serve similarity alone."""
    effect: NDArray[np.float32]
    """(V, d') effect vector of each value of `Facts`; w(u, v) = effect_user[u] . effect[v]."""
    effect_user: NDArray[np.float32]
    """(U, d') user side of the effects; for factor models the user factors themselves."""
    pooling: Pooling
    matrix: NDArray[np.float32] | None = None
    """(U, I) scores of a recommender that has no factors."""
    fidelity: float | None = None
    """Held-out R^2 of fitted effects; None when the effects are the model's own."""
    bits: int = field(init=False)
    item_t: NDArray[np.float32] = field(init=False, repr=False)
    effect_t: NDArray[np.float32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "bits", _exact_bits(self.effect_user, self.effect))
        object.__setattr__(self, "item_t", np.ascontiguousarray(self.item.T))
        object.__setattr__(self, "effect_t", np.ascontiguousarray(self.effect.T))

    @property
    def n_users(self) -> int:
        """Users that can be scored."""
        return len(self.effect_user)

    @property
    def n_items(self) -> int:
        """Items that can be scored."""
        return len(self.item) if self.matrix is None else self.matrix.shape[1]

    def scores(self, user: int) -> NDArray[np.float64]:
        """s(u, .) for every item, (I,)."""
        if self.matrix is not None:
            return self.matrix[user].astype(np.float64)
        return score_all(self.user[user], self.item_t)

    def effects(self, user: int, values: NDArray[np.integer]) -> NDArray[np.float64]:
        """w(u, v) for the given values."""
        columns = np.ascontiguousarray(self.effect_t[:, values])
        return _on_grid(score_all(self.effect_user[user], columns), self.bits)

    def all_effects(self, user: int) -> NDArray[np.float64]:
        """w(u, .) for every value of the vocabulary, (V,)."""
        return _on_grid(score_all(self.effect_user[user], self.effect_t), self.bits)

    def pooled(self, effects: NDArray[np.float64]) -> float:
        """The share of the score that comes from a set of values with these effects."""
        total = float(effects.sum())
        return total / max(len(effects), 1) if self.pooling == "mean" else total

    def rescore(self, user: int, item: int, values: NDArray[np.integer], facts: Facts) -> float:
        """f(u, i | A) for the value set A."""
        own = self.pooled(self.effects(user, facts.of_item.row(item)))
        return float(self.scores(user)[item]) + (self.pooled(self.effects(user, values)) - own)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def score_all(vector: NDArray[np.float32], table_t: NDArray[np.float32]) -> NDArray[np.float64]:
    """Dot products with every column of `table_t` (d, n), in doubles, in order of the factors."""
    d, n = table_t.shape
    out = np.zeros(n)
    for k in range(d):
        x = np.float64(vector[k])
        for i in range(n):
            out[i] += x * np.float64(table_t[k, i])
    return out


def _on_grid(raw: NDArray[np.float64], bits: int) -> NDArray[np.float64]:
    """Each number moved to the nearest multiple of `2**-bits`."""
    return np.asarray(np.ldexp(np.rint(np.ldexp(raw, bits)), -bits))


def _exact_bits(user: NDArray[np.float32], effect: NDArray[np.float32]) -> int:
    """Fractional bits such that `MOST_SUMMANDS` effects add up without rounding in a double."""
    if user.size == 0 or effect.size == 0:
        return 0
    largest = float(_longest(user) * _longest(effect))
    return 52 - int(math.log2(MOST_SUMMANDS)) - math.ceil(math.log2(max(largest, 1e-30)))


def _longest(rows: NDArray[np.float32]) -> float:
    """The largest Euclidean length of a row."""
    return math.sqrt(float(np.einsum("nd,nd->n", rows, rows, dtype=np.float64).max()))


def _check(scorer: Scorer) -> None:
    """Refuse tables that do not fit together, or hold numbers that cannot be compared."""
    for name in ("user", "item", "effect", "effect_user", "matrix"):
        table = getattr(scorer, name)
        if table is not None and (table.ndim != 2 or table.dtype != np.float32):
            raise DataError(
                f"{name} factors must be a two-dimensional float32 array, "
                f"got {table.ndim} dimensions of {table.dtype}"
            )
        if table is not None and not np.isfinite(table).all():
            row = int(np.flatnonzero(~np.isfinite(table).all(axis=1))[0])
            raise NotFinite(
                f"{name} factors hold a number that is not finite in row {row}; "
                "train again with a lower rate, or leave that row out"
            )
    if scorer.matrix is None and scorer.user.shape[1] != scorer.item.shape[1]:
        raise DataError(
            f"user factors have {scorer.user.shape[1]} columns and item factors "
            f"{scorer.item.shape[1]}; both must come from the same model"
        )
    if scorer.effect.shape[1] != scorer.effect_user.shape[1]:
        raise DataError(
            f"effects have {scorer.effect.shape[1]} columns and their user side "
            f"{scorer.effect_user.shape[1]}; both must come from the same model"
        )
