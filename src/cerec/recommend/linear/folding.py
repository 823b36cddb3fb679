"""Factors that a history folds into: implicit least squares with an attribute prior.

Minimise over user vectors U and item vectors V

    sum over pairs taken of x_ui (1 - U_u . V_i)^2 + rest * sum over all pairs of (U_u . V_i)^2
    + pull * (sum |U_u|^2 + sum |V_i - g_i sum of x_a over the item's values|^2)

by turns, starting from a truncated SVD, so that nothing depends on luck. The vectors x_a of values
are a ridge of the item vectors on their values. A user's vector is a closed form of the history:

    U_u = (rest V'V + sum over h of x_uh V_h V_h' + pull 1)^-1 sum over h of x_uh V_h

d: width of the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.lazy import Later
from cerec.recommend.linear.itemitem import solve
from cerec.rng import generator
from cerec.threads import blas_threads, in_chunks

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Later("scipy.sparse")

Vectors = NDArray[np.float64]
_STEPS = 3  # of conjugate gradients in a sweep
# Sums may be reordered to fill vector registers: exact to rounding, the same on every run.
_FAST = {"reassoc", "contract", "nsz"}
_ROWS = 512  # handed to a thread at once: fewer cost more to hand over than to work on


@dataclass(frozen=True, slots=True)
class Folding:
    """Settings of the factors."""

    dim: int
    rest: float
    """Weight of all pairs, taken or not."""
    pull: float
    """Pull towards what the attributes say."""
    prior: float
    """Ridge penalty of the vectors of values."""
    sweeps: int = 6


@dataclass(frozen=True, slots=True, eq=False)
class FactorPart:
    """Item vectors V (I, d), the value vectors x (V, d) in them, and how histories fold in."""

    item: Vectors
    value: Vectors
    settings: Folding
    gram: Vectors
    """(d, d) rest V'V, which the system of every history starts from."""

    def users(self, history: Ragged, weight: NDArray[np.float64]) -> Vectors:
        """(n, d) the vectors of n histories."""
        out = np.zeros((len(history), self.item.shape[1]))
        args = history.indptr, history.indices, weight, self.item, self.gram, self.settings.pull
        in_chunks(len(out), lambda a, b: _fold(*args, a, b, out))
        return out


def truncated_svd(matrix: sp.csr_matrix, dim: int) -> Vectors:
    """(I, d) right singular vectors times the root of their size, of normalised interactions."""
    users = np.maximum(np.asarray(matrix.sum(1)).ravel(), 1e-12) ** -0.5
    items = np.maximum(np.asarray(matrix.sum(0)).ravel(), 1e-12) ** -0.5
    normal = sp.diags(users) @ matrix @ sp.diags(items)
    turned = normal.T.tocsr()
    width = min(dim + 16, *matrix.shape)
    rng = generator(0, "linear/svd")  # the subspace found does not depend on where it starts
    basis = rng.normal(size=(matrix.shape[1], width))
    for _ in range(6):
        basis = np.linalg.qr(turned @ (normal @ basis))[0]
    _, size, right = np.linalg.svd(normal @ basis, full_matrices=False)
    found = (basis @ right.T)[:, :dim] * np.sqrt(size[:dim])
    found *= np.where(found[np.abs(found).argmax(axis=0), np.arange(found.shape[1])] < 0, -1.0, 1.0)
    return np.ascontiguousarray(found)


def fit_factors(
    matrix: sp.csr_matrix, values: sp.csr_matrix, start: Vectors, settings: Folding
) -> FactorPart:
    """`matrix` (U, I) interactions, `values` (I, V) scaled facts, `start` of `truncated_svd`."""
    by_item = matrix.T.tocsr()
    item = start / max(float(np.abs(start).std()), 1e-12) * 0.1
    user = np.zeros((matrix.shape[0], item.shape[1]))
    nothing, prior = np.zeros_like(user), np.zeros_like(item)
    value = np.zeros((values.shape[1], item.shape[1]))
    _half(matrix, item, nothing, settings, user, 3 * _STEPS)
    turned = values.T.tocsr()
    for _ in range(settings.sweeps):
        _half(by_item, user, prior, settings, item, _STEPS)
        if values.nnz:
            value = _ridge(values, turned, item, settings.prior, value, _STEPS)
            prior = _product(values, value)
        _half(matrix, item, nothing, settings, user, _STEPS)
    if values.nnz:
        value = _ridge(values, turned, item, settings.prior, value, 10 * _STEPS)
    # an item that nobody took is its values only, as one that comes after the fit
    taken = np.diff(by_item.indptr)[:, None] > 0
    item = np.where(taken, item, _product(values, value))
    with blas_threads(1):
        return FactorPart(item, value, settings, settings.rest * (item.T @ item))


def value_vectors(values: sp.csr_matrix, item: Vectors, settings: Folding) -> Vectors:
    """(V, d) x: the ridge of the item vectors on their values."""
    start = np.zeros((values.shape[1], item.shape[1]))
    return _ridge(values, values.T.tocsr(), item, settings.prior, start, 10 * _STEPS)


def _ridge(
    values: sp.csr_matrix,
    turned: sp.csr_matrix,
    item: Vectors,
    penalty: float,
    start: Vectors,
    steps: int,
) -> Vectors:
    """Ridge of the item vectors on their values, by conjugate gradients column by column."""
    x = start.copy()
    rest = _product(turned, item - _product(values, x)) - penalty * x
    way, size = rest.copy(), (rest * rest).sum(0)
    for _ in range(steps):
        ahead = _product(turned, _product(values, way)) + penalty * way
        step = size / np.maximum((way * ahead).sum(0), 1e-300)
        x += step * way
        rest -= step * ahead
        now = (rest * rest).sum(0)
        way = rest + now / np.maximum(size, 1e-300) * way
        size = now
    return x


def _product(matrix: sp.csr_matrix, dense: Vectors) -> Vectors:
    """A sparse matrix times a dense one, rows shared among threads."""
    out = np.zeros((matrix.shape[0], dense.shape[1]))
    args = matrix.indptr, matrix.indices, matrix.data, dense
    in_chunks(len(out), lambda a, b: _rows(*args, a, b, out), chunk=8 * _ROWS)
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _rows(indptr, indices, weight, dense, first, last, out):  # type: ignore[no-untyped-def]
    for r in range(first, last):
        row = out[r]
        for p in range(indptr[r], indptr[r + 1]):
            x, other = weight[p], dense[indices[p]]
            for k in range(len(row)):
                row[k] += x * other[k]


def _half(
    matrix: sp.csr_matrix,
    other: Vectors,
    prior: Vectors,
    settings: Folding,
    out: Vectors,
    steps: int,
) -> None:
    """Move `out` towards its best given the other side."""
    gram = settings.rest * (other.T @ other)
    args = matrix.indptr, matrix.indices, matrix.data, other, gram, settings.pull, prior
    in_chunks(len(out), lambda a, b: _descend(*args, a, b, out, steps), chunk=_ROWS)


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def _descend(indptr, indices, weight, other, gram, pull, prior, first, last, out, steps):  # type: ignore[no-untyped-def]
    d = other.shape[1]
    for r in range(first, last):
        start, end = indptr[r], indptr[r + 1]
        x = out[r].copy()
        rest = np.empty(d)
        _times(indices, weight, start, end, other, gram, pull, x, rest)
        for k in range(d):
            rest[k] = pull * prior[r, k] - rest[k]
        for p in range(start, end):
            for k in range(d):
                rest[k] += weight[p] * other[indices[p], k]
        way, ahead = rest.copy(), np.empty(d)
        size = (rest * rest).sum()
        for _ in range(steps):
            if size < 1e-24:
                break
            _times(indices, weight, start, end, other, gram, pull, way, ahead)
            step = size / (way * ahead).sum()
            for k in range(d):
                x[k] += step * way[k]
                rest[k] -= step * ahead[k]
            now = (rest * rest).sum()
            for k in range(d):
                way[k] = rest[k] + now / size * way[k]
            size = now
        out[r] = x


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=_FAST)
def _times(indices, weight, start, end, other, gram, pull, x, out):  # type: ignore[no-untyped-def]
    """Out = (gram + sum of weight y y' + pull 1) x"""
    d = len(x)
    for k in range(d):
        out[k] = pull * x[k]
    for j in range(d):
        y, row = x[j], gram[j]
        for k in range(d):
            out[k] += row[k] * y
    for p in range(start, end):
        row = other[indices[p]]
        total = 0.0
        for k in range(d):
            total += row[k] * x[k]
        total *= weight[p]
        for k in range(d):
            out[k] += total * row[k]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _fold(indptr, indices, weight, item, gram, pull, first, last, out):  # type: ignore[no-untyped-def]
    for u in range(first, last):
        upper, goal = system_of(indices, weight, indptr[u], indptr[u + 1], item, gram, pull)
        solve(upper, goal)
        out[u] = goal


@numba.njit(cache=True, error_model="numpy", nogil=True)
def system_of(indices, weight, start, end, item, gram, pull):  # type: ignore[no-untyped-def]
    """The system of a user's vector, upper half and right side: gram + sum of w V V' + pull 1."""
    d, p = item.shape[1], start
    upper, goal = gram.copy(), np.zeros(d)
    while p + 4 <= end:  # fewer loads and stores, the same sums
        v0, v1, v2, v3 = (
            item[indices[p]],
            item[indices[p + 1]],
            item[indices[p + 2]],
            item[indices[p + 3]],
        )
        for j in range(d):
            x0, x1 = weight[p] * v0[j], weight[p + 1] * v1[j]
            x2, x3 = weight[p + 2] * v2[j], weight[p + 3] * v3[j]
            goal[j] = (((goal[j] + x0) + x1) + x2) + x3
            row = upper[j]
            for k in range(j, d):
                row[k] = (((row[k] + x0 * v0[k]) + x1 * v1[k]) + x2 * v2[k]) + x3 * v3[k]
        p += 4
    for q in range(p, end):
        vector = item[indices[q]]
        for j in range(d):
            x = weight[q] * vector[j]
            goal[j] += x
            for k in range(j, d):
                upper[j, k] += x * vector[k]
    for k in range(d):
        upper[k, k] += pull
    return upper, goal
