"""iALS (Hu 2008, with the settings of Rendle 2021): implicit alternating least squares.

d: width of the vectors.
"""

from __future__ import annotations

import numba
import numpy as np
import scipy.sparse as sp

from cerec.rng import generator
from cerec.threads import in_chunks
from cerec_bench.systems.simple.base import Factored, Floats, Train

_BLOCK = 4096  # rows solved together
_TINY = np.float32(1e-30)


def ials(
    train: Train,
    *,
    dim: int = 128,
    weight: float = 0.1,
    pull: float = 4.0,
    sweeps: int = 10,
    steps: int = 3,
) -> Factored:
    """Minimise, with u and v the rows of users and items,

        sum over train (1 - u.v)^2 + weight * sum over all (u.v)^2 + sum over rows of p |row|^2

    where p is in proportion to n + weight * m, for n pairs of the row and m rows on the other side,
    and `pull` in the mean of a side. A row moves by `steps` of conjugate gradients.
    """
    rng = generator(train.seed, "ials")
    shape = train.matrix.shape
    drawn = (rng.standard_normal((n, dim)) * (0.1 / np.sqrt(dim)) for n in shape)
    user, item = (table.astype(np.float32) for table in drawn)
    turned = train.matrix.T.tocsr()
    for _ in range(sweeps):
        _half(train.matrix, user, item, weight, pull, steps)
        _half(turned, item, user, weight, pull, steps)
    _half(train.matrix, user, item, weight, pull, 2 * steps)
    return Factored(user, item)


def _half(
    pairs: sp.csr_matrix, into: Floats, fixed: Floats, weight: float, pull: float, steps: int
) -> None:
    """Move the rows of `into` towards their least squares, `fixed` unchanged."""
    gram = np.float32(weight) * (fixed.T @ fixed)
    mass = pairs.getnnz(axis=1) + weight * len(fixed)
    pulls = (pull * mass / mass.mean()).astype(np.float32)[:, None]
    for first in range(0, len(into), _BLOCK):
        rows = slice(first, first + _BLOCK)
        into[rows] = _descend(pairs[rows], fixed, gram, pulls[rows], into[rows], steps)


def _descend(
    pairs: sp.csr_matrix, fixed: Floats, gram: Floats, pull: Floats, x: Floats, steps: int
) -> Floats:
    """Conjugate gradients of all rows at once."""
    rest = pairs @ fixed - _times(pairs, fixed, gram, pull, x)
    way, size = rest.copy(), (rest * rest).sum(1, keepdims=True)
    for _ in range(steps):
        ahead = _times(pairs, fixed, gram, pull, way)
        step = size / np.maximum((way * ahead).sum(1, keepdims=True), _TINY)
        x = x + step * way
        rest -= step * ahead
        now = (rest * rest).sum(1, keepdims=True)
        way = rest + now / np.maximum(size, _TINY) * way
        size = now
    return x


def _times(pairs: sp.csr_matrix, fixed: Floats, gram: Floats, pull: Floats, x: Floats) -> Floats:
    """(gram + pull 1 + sum of v v' over the pairs of each row) x"""
    out = x @ gram + pull * x
    args = pairs.indptr, pairs.indices, fixed, x
    in_chunks(len(x), lambda a, b: _outer(*args, a, b, out))
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract"})
def _outer(indptr, indices, fixed, x, first, last, out):  # type: ignore[no-untyped-def]
    """Add the sum of v (v . x) over the pairs of each row."""
    d = x.shape[1]
    for r in range(first, last):
        for p in range(indptr[r], indptr[r + 1]):
            v = fixed[indices[p]]
            total = np.float32(0.0)
            for k in range(d):
                total += v[k] * x[r, k]
            for k in range(d):
                out[r, k] += total * v[k]
