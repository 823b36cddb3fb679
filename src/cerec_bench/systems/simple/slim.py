"""SLIM (Ning 2011): a sparse regression of every item on the others, no weight below zero."""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp

from cerec.recommend.linear.itemitem import nearest
from cerec.threads import in_chunks
from cerec_bench.systems.simple.base import DENSE_ITEMS, Floats, ItemItem, Train


def slim(
    train: Train,
    *,
    l1: float = 1.0,
    l2: float = 3.0,
    most: int = 100,
    sweeps: int = 30,
) -> ItemItem:
    """Column i minimises, w >= 0 and w_i = 0, by coordinate descent

        |x_i - X w|^2 / 2 + l1 |w| + l2 g |w|^2 / 2

    with g the mean diagonal of the Gram matrix. Beyond 5,000 items only the `most` nearest items
    of a column may have a weight.
    """
    gram = train.gram(0.0)
    n_items, ridge = train.n_items, l2 * gram.mean
    if n_items <= DENSE_ITEMS:
        whole = sp.csr_matrix((gram.count, gram.indices, gram.indptr), shape=(n_items, n_items))
        weight = np.zeros((n_items, n_items), np.float32)
        args = whole.toarray(), l1, ridge, sweeps
        in_chunks(n_items, lambda a, b: _whole(*args, a, b, weight))
        return ItemItem(train.matrix, weight.T.copy())
    near = nearest(gram, min(most, n_items - 1))
    found = np.zeros(near.shape, np.float32)
    rows = gram.indptr, gram.indices, gram.count, near
    in_chunks(n_items, lambda a, b: _local(*rows, l1, ridge, sweeps, a, b, found))
    return ItemItem(train.matrix, _by_source(near, found))


def _by_source(near: np.ndarray, found: Floats) -> sp.csr_matrix:
    keep = (near >= 0) & (found > 0)
    target = np.repeat(np.arange(len(near)), keep.sum(1))
    return sp.csr_matrix((found[keep], (near[keep], target)), shape=(len(near), len(near)))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _descend(gram, goal, skip, l1, ridge, sweeps, weight):  # type: ignore[no-untyped-def]
    """Fill `weight` (k,); every change brings the gradients of all coordinates up to date."""
    k = len(goal)
    rest = goal.copy()  # goal - gram @ weight
    largest = goal.max() if k else 0.0
    for _ in range(sweeps):
        moved = 0.0
        for a in range(k):
            if a == skip or gram[a, a] <= 0.0:
                continue
            now = max(0.0, rest[a] + gram[a, a] * weight[a] - l1) / (gram[a, a] + ridge)
            step = now - weight[a]
            if step != 0.0:
                weight[a] = now
                for b in range(k):
                    rest[b] -= step * gram[a, b]
                moved = max(moved, abs(step) * gram[a, a])
        if moved <= 1e-3 * largest:
            break


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _whole(gram, l1, ridge, sweeps, first, last, out):  # type: ignore[no-untyped-def]
    for i in range(first, last):
        _descend(gram, gram[i].copy(), i, l1, ridge, sweeps, out[i])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _local(indptr, indices, count, near, l1, ridge, sweeps, first, last, out):  # type: ignore[no-untyped-def]
    n_items = len(near)
    place = np.full(n_items, -1, np.int64)
    for i in range(first, last):
        k = 0
        while k < near.shape[1] and near[i, k] >= 0:
            place[near[i, k]] = k
            k += 1
        gram, goal = np.zeros((k, k), np.float32), np.zeros(k, np.float32)
        for a in range(k):
            h = near[i, a]
            for p in range(indptr[h], indptr[h + 1]):
                j = indices[p]
                if place[j] >= 0:
                    gram[a, place[j]] = count[p]
                elif j == i:
                    goal[a] = count[p]
        for a in range(k):
            place[near[i, a]] = -1
        _descend(gram, goal, -1, l1, ridge, sweeps, out[i])
