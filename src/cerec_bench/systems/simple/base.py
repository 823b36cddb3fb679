"""What the simple rivals share: scores of some users at a time, and neighbours of every item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.linear.gram import Gram
from cerec.threads import in_chunks

Floats = NDArray[np.float32]
DENSE_ITEMS = 5_000  # an item-item matrix this wide is stored whole: 100 MB


@dataclass(frozen=True, slots=True, eq=False)
class Train:
    """What a rival learns from."""

    matrix: sp.csr_matrix
    """(U, I) ones at the train items."""
    facts: Facts
    seed: int = 0

    @staticmethod
    def of(known: Ragged, facts: Facts, seed: int = 0) -> Train:
        """From user -> train items."""
        ones, shape = np.ones(known.size, np.float32), (len(known), len(facts.of_item))
        return Train(sp.csr_matrix((ones, known.indices, known.indptr), shape=shape), facts, seed)

    @property
    def n_items(self) -> int:
        """Items of the catalogue."""
        return int(self.matrix.shape[1])

    def gram(self, user_weight: float) -> Gram:
        """Users in common of all pairs of items, a user of n items counting `n ** -user_weight`."""
        m = self.matrix
        rows = Ragged(m.indptr.astype(np.int64), m.indices.astype(np.int32))
        return Gram.build(rows, np.ones(m.nnz), self.n_items, exponent=-user_weight)


@dataclass(frozen=True, slots=True, eq=False)
class ItemItem:
    """Scores are sums over the user's train items of their weights on the item."""

    taken: sp.csr_matrix
    """(U, I) ones at the train items."""
    weight: Any
    """(I, I) from train item to item; sparse or dense."""

    def scores(self, users: NDArray[np.integer]) -> Floats:
        """(B, I) scores of every item for the given users."""
        made = self.taken[users] @ self.weight
        return np.asarray(made.toarray() if sp.issparse(made) else made, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Factored:
    """Scores are products of vectors."""

    user: Floats
    item: Floats

    def scores(self, users: NDArray[np.integer]) -> Floats:
        """(B, I) scores of every item for the given users."""
        return np.asarray(self.user[users] @ self.item.T, np.float32)


def powers(counts: NDArray[Any], exponent: float) -> NDArray[np.float64]:
    """`counts ** exponent`, 0 where the count is 0."""
    return np.where(counts > 0, np.maximum(counts, 1.0) ** exponent, 0.0)


def neighbours(
    holders: sp.csr_matrix,
    column: NDArray[np.float64],
    left: NDArray[np.float64],
    right: NDArray[np.float64],
    *,
    shrink: float,
    most: int,
) -> sp.csr_matrix:
    """(I, I) in row i the `most` largest similarities of i to others, the lower item first in ties:

        left_i right_j c_ij * m_ij / (m_ij + shrink)

    with c the sum of `column` over what both items hold, and m how much that is. `holders` (I, C)
    says who holds an item: its users, or its values.
    """
    n_items = holders.shape[0]
    most = min(most, n_items - 1)
    near = np.full((n_items, most), -1, np.int32)
    value = np.zeros((n_items, most), np.float32)
    turned = holders.T.tocsr()
    args = holders.indptr, holders.indices, turned.indptr, turned.indices, column, left, right
    in_chunks(n_items, lambda a, b: _neighbours(*args, shrink, a, b, near, value))
    keep = near >= 0
    indptr = np.concatenate([[0], np.cumsum(keep.sum(1))])
    return sp.csr_matrix((value[keep], near[keep], indptr), shape=(n_items, n_items))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _neighbours(  # type: ignore[no-untyped-def]
    indptr, indices, turned_ptr, turned, column, left, right, shrink, first, last, near, value
):
    n_items, most = len(indptr) - 1, near.shape[1]
    total, shared = np.zeros(n_items), np.zeros(n_items)
    found = np.empty(n_items, np.int64)
    for i in range(first, last):
        n = 0
        for p in range(indptr[i], indptr[i + 1]):
            c = indices[p]
            for q in range(turned_ptr[c], turned_ptr[c + 1]):
                j = turned[q]
                if j == i:
                    continue
                if shared[j] == 0.0:
                    found[n] = j
                    n += 1
                shared[j] += 1.0
                total[j] += column[c]
        there = np.sort(found[:n])
        likeness = np.empty(n)
        for t in range(n):
            j = there[t]
            likeness[t] = left[i] * right[j] * total[j] * shared[j] / (shared[j] + shrink)
            total[j] = 0.0
            shared[j] = 0.0
        order = np.argsort(-likeness, kind="mergesort")[:most]
        kept = 0
        for t in np.sort(order):
            if likeness[t] > 0.0:
                near[i, kept] = there[t]
                value[i, kept] = likeness[t]
                kept += 1
