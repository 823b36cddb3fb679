"""Ranks after editing the values of one item, or of all: necessity and sufficiency.

With E the values an explanation touches: *necessity* takes E away, *sufficiency* leaves nothing
but E. Ties keep the order the items had before the edit, so that order in the catalogue, or of
the items a set makes equal, decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec_bench.search.standing import Standing

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """What of each item's score for one user comes from its values."""

    scores: NDArray[np.float64]
    effects: NDArray[np.float64]
    total: NDArray[np.float64]
    """(I,) sum of the effects of an item's values."""
    count: NDArray[np.int64]
    place: NDArray[np.int64]
    """(I,) rank before the edit among the unseen; -1 for known items."""
    mean: bool

    @staticmethod
    def of(standing: Standing, facts: Facts, *, mean: bool) -> Shares:
        """The shares of a user who stands so."""
        place = np.full(len(standing.scores), -1, np.int64)
        place[standing.order] = np.arange(len(standing.order))
        values = facts.of_item
        total = _totals(values.indptr, values.indices, standing.effects)
        return Shares(
            standing.scores, standing.effects, total, values.counts.astype(np.int64), place, mean
        )

    def rank(
        self, facts: Facts, item: int, values: NDArray[np.int32], *, keep: bool, everywhere: bool
    ) -> int:
        """The item's rank once `values` are taken away, or (`keep`) all others are.

        `everywhere`: from all items; else from this one alone.
        """
        total = np.zeros_like(self.total) if keep else self.total.copy()
        count = np.zeros_like(self.count) if keep else self.count.copy()
        holders = facts.holders
        _edit(
            values, holders.indptr, holders.indices, self.effects, 1 if keep else -1, total, count
        )
        return int(
            _rank(
                self.scores,
                self.total,
                self.count,
                total,
                count,
                self.place,
                item,
                self.mean,
                everywhere,
            )
        )


@_jit
def _totals(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], effect: NDArray[np.float64]
) -> NDArray[np.float64]:
    out = np.zeros(len(indptr) - 1)
    for i in range(len(out)):
        for at in range(indptr[i], indptr[i + 1]):
            out[i] += effect[indices[at]]
    return out


@_jit
def _edit(
    values: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    effect: NDArray[np.float64],
    sign: int,
    total: NDArray[np.float64],
    count: NDArray[np.int64],
) -> None:
    """Add values to, or take them from, all items that hold them."""
    for v in values:
        for at in range(indptr[v], indptr[v + 1]):
            total[indices[at]] += sign * effect[v]
            count[indices[at]] += sign


@_jit
def _rank(
    scores: NDArray[np.float64],
    total: NDArray[np.float64],
    count: NDArray[np.int64],
    new_total: NDArray[np.float64],
    new_count: NDArray[np.int64],
    place: NDArray[np.int64],
    item: int,
    mean: bool,
    everywhere: bool,
) -> int:
    """1 + unseen items ahead of `item` after the edit; ties by the rank before."""
    mine = scores[item] + _change(item, total, count, new_total, new_count, mean)
    ahead = 0
    for j in range(len(scores)):
        if place[j] < 0 or j == item:
            continue
        theirs = scores[j]
        if everywhere:
            theirs += _change(j, total, count, new_total, new_count, mean)
        if theirs > mine or (theirs == mine and place[j] < place[item]):
            ahead += 1
    return ahead + 1


@_jit
def _change(
    i: int,
    total: NDArray[np.float64],
    count: NDArray[np.int64],
    new_total: NDArray[np.float64],
    new_count: NDArray[np.int64],
    mean: bool,
) -> float:
    """What the edit does to the score of item i."""
    if mean:
        return new_total[i] / max(new_count[i], 1) - total[i] / max(count[i], 1)
    return new_total[i] - total[i]
