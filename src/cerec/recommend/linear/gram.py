"""Users in common of all pairs of items, each user weighed by the length of the history."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.rng import generator
from cerec.threads import in_chunks

EXPONENT = -0.5  # of a user's history length, the user's weight
LONGEST, SQUARES = 5_000, 1 << 30
"""A history counts with at most so many items, and all of them with so many pairs of items: what a
Gram matrix costs is bounded by `SQUARES`, at 2 operations and at most 8 bytes for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Weighted counts of users who have both of two items, as sparse symmetric rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    """Sorted in every row."""
    count: NDArray[np.float32]
    diagonal: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean of the diagonal, the unit in which penalties are given."""
        return float(self.diagonal.mean()) if len(self.diagonal) else 0.0

    @staticmethod
    def build(
        rows: Ragged, weight: NDArray[np.float64], n_items: int, *, exponent: float = EXPONENT
    ) -> Gram:
        """From user -> items and the weight of every entry; 8 bytes for each pair of items.

        A user counts by the length of the history to the power of `exponent`; of histories that
        are too long, a drawn part counts.
        """
        rows, weight = shortened(rows, weight, longest(rows))
        user, of_item = _by_item(rows, n_items)
        value = weight[of_item.entry]
        lengths = np.bincount(rows.row_of(), weights=weight, minlength=len(rows))
        strength = np.where(lengths > 0, np.maximum(lengths, 1e-12) ** exponent, 0.0)
        args = of_item.indptr, user, value, rows.indptr, rows.indices, weight, strength
        counts = np.zeros(n_items, np.int64)
        nothing = np.zeros(0, np.int32), np.zeros(0, np.float32)
        empty = np.zeros(n_items + 1, np.int64)
        in_chunks(n_items, lambda a, b: _gram(*args, a, b, counts, empty, *nothing))
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        indices = np.empty(indptr[-1], np.int32)
        count = np.empty(indptr[-1], np.float32)
        in_chunks(n_items, lambda a, b: _gram(*args, a, b, counts, indptr, indices, count))
        return Gram(indptr, indices, count, _diagonal(indptr, indices, count))


def longest(rows: Ragged, most: int = LONGEST, squares: int = SQUARES) -> int:
    """How many items of a history may count: the squares of that many add up to `squares`."""
    counts = np.sort(rows.counts)
    below = np.concatenate([[0.0], np.cumsum(counts.astype(np.float64) ** 2)[:-1]])
    rest = len(counts) - np.arange(len(counts))  # histories of that length or longer
    room = np.sqrt(np.maximum(squares - below, 1.0) / rest)
    short = np.flatnonzero(room < counts)
    return min(most, int(room[short[0]])) if len(short) else most


def shortened(
    rows: Ragged, weight: NDArray[np.float64], most: int
) -> tuple[Ragged, NDArray[np.float64]]:
    """The rows with at most so many entries, drawn where there are more."""
    if not (rows.counts > most).any():
        return rows, weight
    order = np.lexsort((generator(0, "linear/gram").random(rows.size), rows.row_of()))
    place = np.arange(rows.size) - np.repeat(rows.indptr[:-1], rows.counts)
    kept = np.sort(order[place < most])
    indptr = np.concatenate([[0], np.cumsum(np.minimum(rows.counts, most))]).astype(np.int64)
    return Ragged(indptr, rows.indices[kept]), weight[kept]


@dataclass(frozen=True, slots=True, eq=False)
class _ByItem:
    indptr: NDArray[np.int64]
    entry: NDArray[np.int64]


def _by_item(rows: Ragged, n_items: int) -> tuple[NDArray[np.int32], _ByItem]:
    """Users of every item in rising order, and which entry of `rows` each comes from."""
    order = np.argsort(rows.indices, kind="stable")
    counts = np.bincount(rows.indices, minlength=n_items)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return rows.row_of()[order], _ByItem(indptr, order)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _gram(  # type: ignore[no-untyped-def]
    item_ptr,
    item_user,
    item_value,
    user_ptr,
    user_item,
    user_value,
    strength,
    first,
    last,
    counts,
    indptr,
    indices,
    count,
):
    """Count the entries of every row, or fill them in once `indptr` says where they go."""
    n_items = len(item_ptr) - 1
    filling = len(indices) > 0
    total = np.zeros(n_items)
    there = np.zeros(n_items, np.bool_)
    found = np.empty(n_items, np.int32)
    for i in range(first, last):
        n = 0
        for p in range(item_ptr[i], item_ptr[i + 1]):
            u = item_user[p]
            x = strength[u] * item_value[p]
            for q in range(user_ptr[u], user_ptr[u + 1]):
                j = user_item[q]
                if not there[j]:
                    there[j] = True
                    found[n] = j
                    n += 1
                total[j] += x * user_value[q]
        if not filling:
            counts[i] = n
        else:
            row = np.sort(found[:n])
            for t in range(n):
                indices[indptr[i] + t] = row[t]
                count[indptr[i] + t] = total[row[t]]
        for t in range(n):
            there[found[t]] = False
            total[found[t]] = 0.0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _diagonal(indptr, indices, count):  # type: ignore[no-untyped-def]
    out = np.zeros(len(indptr) - 1)
    for i in range(len(out)):
        for p in range(indptr[i], indptr[i + 1]):
            if indices[p] == i:
                out[i] = count[p]
    return out
