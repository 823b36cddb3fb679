"""Reference lines: simple recommenders that any other must be measured against.

Each takes the train items of every user and gives a finished `Scorer`. They know no item values,
so the effects are zero; `effects.fit` gives them some where they have factors. EASE and item-kNN
are item-item models underneath, which score a few users at a time where all would not fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.scorer import Scorer
from cerec.rng import generator

_DENSE_ITEMS = 20_000  # an item-item matrix this wide takes 1.6 GB
_BLOCK_CELLS = 1 << 25  # of an item-item matrix, at once
_TINY = np.float32(1e-12)  # two items of no user have similarity 0
_DENSE_SCORES = 1 << 29  # users x items held as float32: 2 GB


def popularity(known: Ragged, n_items: int, n_values: int = 0) -> Scorer:
    """Items by how many users took them, the same for everyone."""
    count = np.bincount(known.indices, minlength=n_items).astype(np.float32)
    user = np.ones((len(known), 1), np.float32)
    return Scorer(user, count[:, None], np.zeros((n_values, 1), np.float32), user, "sum")


@dataclass(frozen=True, slots=True, eq=False)
class ItemItem:
    """Scores are sums over the user's train items of their weights on the item."""

    taken: sp.csr_matrix
    """(U, I) ones at the train items."""
    weight: Any
    """(I, I) from train item to item; sparse or dense."""

    def scores(self, users: NDArray[np.integer]) -> NDArray[np.float32]:
        """(B, I) scores of every item for the given users."""
        made = self.taken[users] @ self.weight
        return np.asarray(made.toarray() if sp.issparse(made) else made, np.float32)

    def scorer(self, n_values: int = 0) -> Scorer:
        """All scores, stored; refused when they would take more than 2 GB."""
        n_users, n_items = self.taken.shape
        if n_users * n_items > _DENSE_SCORES:
            raise ConfigError(
                f"the scores of {n_users:,} users and {n_items:,} items are too large to be "
                "stored; use ials or a factor model"
            )
        none = np.zeros((n_users, 1), np.float32)
        zeros = np.zeros((n_items, 1), np.float32), np.zeros((n_values, 1), np.float32)
        matrix = np.ascontiguousarray(self.scores(np.arange(n_users)))
        return Scorer(none, *zeros, none, "sum", matrix=matrix)


def ease_weights(known: Ragged, n_items: int, *, l2: float = 200.0) -> ItemItem:
    """EASE (Steck 2019): the closed-form item-item model with an empty diagonal.

    Inverts a dense items x items matrix: seconds for 3,000 items, a minute and 2 GB for 15,000;
    refused beyond 20,000.
    """
    if n_items > _DENSE_ITEMS:
        raise ConfigError(
            f"EASE inverts a dense item-item matrix: {n_items:,} items are too large; use ials or "
            "item-kNN"
        )
    x = _matrix(known, n_items)
    gram = (x.T @ x).toarray().astype(np.float32)
    gram[np.diag_indices(n_items)] += l2
    factor, _ = scipy.linalg.lapack.spotrf(gram.T, lower=1, overwrite_a=1)
    inverse, _ = scipy.linalg.lapack.spotri(factor, lower=1, overwrite_c=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    weight = inverse / -np.diag(inverse)
    weight[np.diag_indices(n_items)] = 0.0
    return ItemItem(x, weight)


def itemknn_weights(
    known: Ragged, n_items: int, *, neighbours: int = 100, shrink: float = 10.0
) -> ItemItem:
    """Cosine similarity between the users of two items, damped for rare items, nearest kept."""
    x = _matrix(known, n_items)
    holders = x.T.tocsr()
    norm = np.sqrt(np.diff(holders.indptr)).astype(np.float32)
    parts = []
    size = max(1, _BLOCK_CELLS // max(n_items, 1))
    for first in range(0, n_items, size):
        rows = slice(first, min(first + size, n_items))
        similar = (holders[rows] @ x).toarray()
        similar /= np.outer(norm[rows], norm) + np.float32(shrink) + _TINY
        similar[np.arange(len(similar)), np.arange(rows.start, rows.stop)] = 0.0
        if neighbours < n_items:
            cut = np.partition(similar, n_items - neighbours, axis=1)[:, n_items - neighbours]
            similar[similar < cut[:, None]] = 0.0
        parts.append(sp.csr_matrix(similar))
    return ItemItem(x, sp.vstack(parts).T.tocsr())


def ease(known: Ragged, n_items: int, n_values: int = 0, **settings: float) -> Scorer:
    """See `ease_weights`."""
    return ease_weights(known, n_items, **settings).scorer(n_values)


def itemknn(known: Ragged, n_items: int, n_values: int = 0, **settings: Any) -> Scorer:
    """See `itemknn_weights`."""
    return itemknn_weights(known, n_items, **settings).scorer(n_values)


def ials(
    known: Ragged,
    n_items: int,
    n_values: int = 0,
    *,
    dim: int = 64,
    weight: float = 0.1,
    l2: float = 0.01,
    sweeps: int = 15,
    seed: int = 0,
) -> Scorer:
    """Implicit ALS (Hu 2008): squared error, train pairs at 1, all pairs at 0 with `weight`.

    `l2` is scaled by how much data a row has (Rendle 2021), so one value fits rows of any size.
    """
    rng = generator(seed, "ials")
    user = (rng.standard_normal((len(known), dim)) * 0.1).astype(np.float32)
    item = (rng.standard_normal((n_items, dim)) * 0.1).astype(np.float32)
    holders = known.transpose(n_items)
    for _ in range(sweeps):
        _solve(user, item, known, weight, l2)
        _solve(item, user, holders, weight, l2)
    return Scorer(user, item, np.zeros((n_values, dim), np.float32), user, "sum")


def _solve(
    into: NDArray[np.float32], fixed: NDArray[np.float32], rows: Ragged, weight: float, l2: float
) -> None:
    """The exact least-squares row of `into` for every row, `fixed` unchanged."""
    gram = weight * (fixed.T @ fixed).astype(np.float64)
    _solve_rows(into, fixed, rows.indptr, rows.indices, gram, l2, weight * len(fixed))


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _cholesky_solve(a: NDArray[np.float64], x: NDArray[np.float64]) -> None:
    """X becomes a^-1 x; only the lower half of a is read, and overwritten."""
    d = len(x)
    for i in range(d):  # a becomes L, x becomes L^-1 x
        for j in range(i):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / a[j, j]
            a[i, i] -= a[i, j] * a[i, j]
            x[i] -= a[i, j] * x[j]
        a[i, i] = np.sqrt(a[i, i])
        x[i] /= a[i, i]
    for i in range(d - 1, -1, -1):
        x[i] /= a[i, i]
        for j in range(i):
            x[j] -= a[i, j] * x[i]


@numba.njit(cache=True, error_model="numpy", nogil=True, parallel=True)
def _solve_rows(
    into: NDArray[np.float32],
    fixed: NDArray[np.float32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    gram: NDArray[np.float64],
    l2: float,
    mass: float,
) -> None:
    """(gram + sum of v v^T + l2 (n + mass) 1) x = sum of v, by Cholesky, for every row."""
    d = fixed.shape[1]
    for r in numba.prange(len(into)):
        a, x = gram.copy(), np.zeros(d)
        for at in range(indptr[r], indptr[r + 1]):
            v = fixed[indices[at]]
            for i in range(d):
                x[i] += v[i]
                for j in range(i + 1):
                    a[i, j] += v[i] * v[j]
        pull = l2 * (indptr[r + 1] - indptr[r] + mass)
        for i in range(d):
            a[i, i] += pull
        _cholesky_solve(a, x)
        for i in range(d):
            into[r, i] = x[i]


def _matrix(known: Ragged, n_items: int) -> sp.csr_matrix:
    ones = np.ones(known.size, np.float32)
    return sp.csr_matrix((ones, known.indices, known.indptr), shape=(len(known), n_items))
