"""Gradient of drawn log-probabilities with respect to the node vectors, in closed form.

For a row with neighbours x, weight g and drawn neighbour y,

    d(g log p_y) = sum over x of g (1[x = y] - p_x) d a(source, x).

The coefficients of rows with one query add up per neighbour before any vector is touched. Each
chunk adds to a buffer of its own; the number of buffers is fixed, so that the sum is the same bits
on any number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from cerec.walk.kernels import (
    _EXACT,
    Double,
    Float,
    Hop,
    Int,
    Long,
    Rows,
    Space,
    allow,
    attend,
    make_space,
    mark_list,
    place,
    skipped,
    softmax,
)

BUFFERS = 4
# No fast arithmetic: what LLVM makes of it here depends on whether the code comes from numba's
# cache, and the first run on a machine must give the numbers of the second. It costs 3 %.


@numba.njit(**_EXACT)
def _flush(
    h: Float,
    grad: Float,
    hop: Hop,
    user: int,
    source: int,
    item: int,
    slope: float,
    space: Space,
    coef: Double,
    pull: Float,
) -> None:
    """Push the coefficients of one query into the vectors of neighbours, source, user and item."""
    lo, d = hop.indptr[source], h.shape[1]
    near, far = space.near, space.far
    pull[:] = np.float32(0.0)  # (2, d): sums of c x and c |x|
    pull_x, pull_a = pull[0], pull[1]
    for j in range(hop.indptr[source + 1] - lo):
        c = np.float32(coef[j])
        coef[j] = 0.0
        if c == 0.0:
            continue
        node = hop.target_offset + hop.indices[lo + j]
        x, out = h[node], grad[node]
        for k in range(d):
            out[k] += c * (near[k] + far[k] * np.sign(x[k]))
            pull_x[k] += c * x[k]
            pull_a[k] += c * np.abs(x[k])
    c1, c2 = np.float32((1 + slope) / 2), np.float32((1 - slope) / 2)
    node = hop.source_offset + source
    u, e, out_u, out_e = h[user], h[node], grad[user], grad[node]
    for k in range(d):
        out_u[k] += c1 * e[k] * pull_x[k] + c2 * np.abs(e[k]) * pull_a[k]
        out_e[k] += u[k] * (c1 * pull_x[k] + c2 * np.sign(e[k]) * pull_a[k])
    if hop.directed:
        grad[hop.items + item] += pull_x


@numba.njit(parallel=True, **_EXACT)
def push_back(  # noqa: C901  one loop
    h: Float,
    rows: Rows,
    hop: Hop,
    n_items: int,
    slope: float,
    chosen: Int,
    weight: Double,
    bounds: Long,
    buffers: Float,
) -> None:
    """Add the gradient of `sum of weight * log_p` to `buffers` (BUFFERS, N, d).

    `bounds` cuts the rows in as many chunks. Rows with `chosen` -1 did not move and add nothing.
    """
    for c in numba.prange(len(buffers)):
        space = make_space(n_items, hop, h.shape[1])
        coef = np.zeros(len(space.score), np.float64)
        pull = np.zeros((2, h.shape[1]), np.float32)
        total = 0.0
        first, last = bounds[c], bounds[c + 1]
        for b in range(first, last):
            user, source, item = rows.user[b], rows.source[b], rows.current[b]
            n = hop.indptr[source + 1] - hop.indptr[source]
            whose = b == first or user != rows.user[b - 1]
            fresh = whose or source != rows.source[b - 1]
            moved = fresh or item != rows.current[b - 1]
            asked = fresh or (moved and hop.directed)
            if asked and b > first:
                before = rows.user[b - 1], rows.source[b - 1], rows.current[b - 1]
                _flush(h, buffers[c], hop, *before, slope, space, coef, pull)
            if whose:
                mark_list(space.mark, user, rows.lists_indptr, rows.lists_indices, user)
            if fresh:
                allow(hop, source, space.mark, user, space.ok)
            if asked:
                attend(h, hop, user, source, item, slope, space)
            if moved:
                _, total = softmax(space, n, skipped(hop, source, item))
            if chosen[b] >= 0:
                coef[place(hop, source, chosen[b])] += weight[b]
                share, below = weight[b] / total, 0.0
                for j in range(n):
                    coef[j] -= share * (space.sums[j] - below)
                    below = space.sums[j]
        if last > first:
            before = rows.user[last - 1], rows.source[last - 1], rows.current[last - 1]
            _flush(h, buffers[c], hop, *before, slope, space, coef, pull)
