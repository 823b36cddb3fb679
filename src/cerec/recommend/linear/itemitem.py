"""Which items go together: a ridge regression of every item on the others.

Column i of B minimises, over all items or the nearest ones N(i),

    sum over users of n_u^-1/2 * (x_ui - sum over h in N(i) of x_uh B[h, i])^2 + penalty |B[., i]|^2

which is EASE's equation for one column, with weighted users. All sums of a column are made in one
order, so the numbers do not depend on the number of threads.

H: items, m: nearest items, k: nearest items that one column really has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.gram import Gram
from cerec.threads import blas_threads, in_chunks

SMALL, NEAR = 5_000, 100  # items solved whole; nearest items of each in a larger catalogue


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """B by history item: h -> the items i it speaks for, with B[h, i]."""

    targets: Ragged
    strength: NDArray[np.float32]


def no_pairs(n_items: int) -> Pairs:
    """Items that say nothing of each other."""
    return Pairs(
        Ragged(np.zeros(n_items + 1, np.int64), np.zeros(0, np.int32)), np.zeros(0, np.float32)
    )


def pairs_of(gram: Gram, penalty: float, most: int = 0) -> Pairs:
    """B for a penalty in units of the mean diagonal; a column has at most `most` entries.

    A catalogue of up to `SMALL` items is solved whole (EASE's closed form) and then cut to the
    largest entries of each column; a larger one is solved on the `NEAR` nearest items of each.
    """
    pull = max(penalty * gram.mean, 1e-12)
    n_items = len(gram.diagonal)
    if n_items <= SMALL:
        return _whole(gram, pull, min(most or n_items, n_items))
    near = nearest(gram, min(most or NEAR, n_items - 1))
    out = np.zeros(near.shape, np.float32)
    args = gram.indptr, gram.indices, gram.count, gram.diagonal, near, pull
    in_chunks(len(out), lambda a, b: _ridge(*args, a, b, out))
    target = np.repeat(np.arange(n_items, dtype=np.int32), near.shape[1])
    keep = (near.ravel() >= 0) & (out.ravel() != 0)
    return _by_source(near.ravel()[keep], target[keep], out.ravel()[keep], n_items)


def _whole(gram: Gram, pull: float, most: int) -> Pairs:
    """EASE: B = -P / diag(P) off the diagonal, P the inverse of the Gram matrix plus `pull`."""
    from scipy.linalg import lapack  # slow to import

    n_items = len(gram.diagonal)
    dense = np.zeros((n_items, n_items), order="F")
    row = np.repeat(np.arange(n_items), np.diff(gram.indptr))
    dense[gram.indices, row] = gram.count
    dense[np.diag_indices(n_items)] += pull
    with blas_threads(1):
        factor, _ = lapack.dpotrf(dense, lower=1, overwrite_a=1)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    for i in range(1, n_items):  # the upper half, in place
        inverse[:i, i] = inverse[i, :i]
    inverse /= -np.diag(inverse).copy()  # column i is divided by P[i, i]
    found = inverse.astype(np.float32, order="C")
    np.fill_diagonal(found, 0.0)
    return _cut(found, most)


def cut(pairs: Pairs, most: int) -> Pairs:
    """Only the largest entries of each column."""
    n_items = len(pairs.targets)
    dense = np.zeros((n_items, n_items), np.float32)
    dense[pairs.targets.row_of(), pairs.targets.indices] = pairs.strength
    return _cut(dense, most)


def _cut(dense: NDArray[np.float32], most: int) -> Pairs:
    n_items = len(dense)
    if most < n_items:
        size = np.abs(dense)
        dense[size < np.partition(size, n_items - most, axis=0)[n_items - most]] = 0.0
    source, target = np.nonzero(dense)
    indptr = np.searchsorted(source, np.arange(n_items + 1)).astype(np.int64)
    return Pairs(Ragged(indptr, target.astype(np.int32)), dense[source, target])


def _by_source(
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    value: NDArray[np.float32],
    n_items: int,
) -> Pairs:
    order = np.lexsort((target, source))
    counts = np.bincount(source, minlength=n_items)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Pairs(Ragged(indptr, target[order]), value[order])


def nearest(gram: Gram, most: int) -> NDArray[np.int32]:
    """(H, m) the items with the largest cosine, rising row numbers, -1 where there are fewer."""
    out = np.full((len(gram.diagonal), most), -1, np.int32)
    args = gram.indptr, gram.indices, gram.count, gram.diagonal
    in_chunks(len(out), lambda a, b: _nearest(*args, a, b, out))
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _nearest(indptr, indices, count, diagonal, first, last, out):  # type: ignore[no-untyped-def]
    most = out.shape[1]
    for i in range(first, last):
        start, end = indptr[i], indptr[i + 1]
        near = np.empty(end - start)
        for p in range(start, end):
            j = indices[p]
            size = np.sqrt(diagonal[i] * diagonal[j])
            near[p - start] = -1.0 if j == i or size <= 0.0 else count[p] / size
        least = np.partition(near, len(near) - most)[len(near) - most] if most < len(near) else 0.0
        equal = most - (near > least).sum() if least > 0.0 else len(near)
        n = 0
        row = np.empty(min(most, len(near)), np.int32)
        for p in range(len(near)):
            if near[p] > 0.0 and near[p] >= least and (near[p] > least or equal > 0):
                equal -= near[p] == least
                row[n] = indices[start + p]
                n += 1
        out[i, :n] = row[:n]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _ridge(indptr, indices, count, diagonal, near, pull, first, last, out):  # type: ignore[no-untyped-def]
    most = near.shape[1]
    for i in range(first, last):
        k = 0
        while k < most and near[i, k] >= 0:
            k += 1
        if k == 0:
            continue
        upper = np.zeros((k, k))
        goal = np.zeros(k)
        for a in range(k):
            h = near[i, a]
            low, end = indptr[h], indptr[h + 1]
            goal[a] = _at(indices, count, low, end, i)
            upper[a, a] = diagonal[h] + pull
            for b in range(a + 1, k):
                low = _position(indices, low, end, near[i, b])
                if low < end and indices[low] == near[i, b]:
                    upper[a, b] = count[low]
        solve(upper, goal)
        for a in range(k):
            out[i, a] = goal[a]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _position(indices, low, high, wanted):  # type: ignore[no-untyped-def]
    """The first position in a sorted stretch whose entry is not below `wanted`."""
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _at(indices, count, low, high, wanted):  # type: ignore[no-untyped-def]
    at = _position(indices, low, high, wanted)
    return count[at] if at < high and indices[at] == wanted else 0.0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def solve(upper, goal):  # type: ignore[no-untyped-def]
    """Solve a positive definite system in place, by Cholesky; only the upper half is read.

    Every inner loop adds a multiple of one row to another, so it runs in vector registers and
    gives the same bits everywhere.
    """
    k = len(goal)
    for j in range(k):
        top = np.sqrt(upper[j, j])
        for b in range(j, k):
            upper[j, b] /= top
        goal[j] /= top
        for a in range(j + 1, k):
            times = upper[j, a]
            for b in range(a, k):
                upper[a, b] -= times * upper[j, b]
            goal[a] -= times * goal[j]
    for j in range(k - 1, -1, -1):
        for b in range(j + 1, k):
            goal[j] -= upper[j, b] * goal[b]
        goal[j] /= upper[j, j]
