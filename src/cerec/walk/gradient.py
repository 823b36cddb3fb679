"""Gradient of drawn log-probabilities with respect to the node vectors, in closed form.

For a row with neighbours x, weight g and drawn neighbour y,

    d(g log p_y) = sum over x of g (1[x = y] - p_x) d a(source, x).

The coefficients of a group of rows with one query add up per neighbour before any vector is
touched. Each chunk adds to a buffer of its own; the number of buffers is fixed, so that the sum
is the same bits on any number of threads.
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
    longest_row,
    make_query,
    make_space,
    mark_list,
    place,
)
from cerec.walk.softmax import attend, normaliser

BUFFERS = 4
# No fast arithmetic: what LLVM makes of it here depends on whether the code comes from numba's
# cache, and the first run on a machine must give the numbers of the second. It costs 3 %.


@numba.njit(**_EXACT)
def _add_row(
    hop: Hop,
    source: int,
    current: int,
    chosen: int,
    g: float,
    top: float,
    total: float,
    space: Space,
    coef: Double,
) -> float:
    """Add one row's coefficients; returns its share `g / weight` of what the group subtracts."""
    n = hop.indptr[source + 1] - hop.indptr[source]
    skip = place(hop, source, current) if len(hop.onward_indptr) == 1 else -1
    if skip >= 0 and not space.ok[skip]:
        skip = -1
    own_top, rest, shared = normaliser(space, n, skip, top, total)
    coef[place(hop, source, chosen)] += g
    if shared:
        if skip >= 0:
            coef[skip] += g / rest * space.weight[skip]
        return g / rest
    for j in range(n):
        if space.ok[j] and j != skip:
            coef[j] -= g / rest * np.exp(space.score[j] - own_top)
    return 0.0


@numba.njit(**_EXACT)
def _flush(
    h: Float,
    grad: Float,
    hop: Hop,
    user: int,
    source: int,
    slope: float,
    share: float,
    space: Space,
    coef: Double,
    pull: Float,
) -> None:
    """Push the coefficients of one group into the vectors of neighbours, source and user."""
    lo = hop.indptr[source]
    n = hop.indptr[source + 1] - lo
    d = h.shape[1]
    near, far = space.near, space.far
    pull[:] = np.float32(0.0)  # (2, d): sums of c x and c |x|
    pull_x, pull_a = pull[0], pull[1]
    for j in range(n):
        c = np.float32(coef[j] - share * space.weight[j])
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


@numba.njit(parallel=True, **_EXACT)
def push_back(
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
    widest = longest_row(hop.indptr, rows.source)
    for c in numba.prange(len(buffers)):
        space = make_space(n_items, widest, h.shape[1])
        coef = np.zeros(widest, np.float64)
        pull = np.zeros((2, h.shape[1]), np.float32)
        stamp, last, top, total, share, user = 0, -1, 0.0, 0.0, 0.0, 0
        for b in range(bounds[c], bounds[c + 1]):
            source = rows.source[b]
            fresh = stamp == 0 or rows.list[b] != rows.list[b - 1]
            if (fresh or source != last) and last >= 0:
                _flush(h, buffers[c], hop, user, last, slope, share, space, coef, pull)
                share = 0.0
            if fresh:
                stamp += 1
                which = rows.list[b]
                lo, hi = rows.lists_indptr[which], rows.lists_indptr[which + 1]
                mark_list(space.mark, stamp, rows.lists_indices, lo, hi)
            if fresh or source != last:
                allow(hop, source, space.mark, stamp, space.ok)
                make_query(h, rows.user[b], hop.source_offset + source, slope, space)
                top, total = attend(h, hop, source, False, space)
                last, user = source, rows.user[b]
            if chosen[b] >= 0:
                share += _add_row(
                    hop, source, rows.current[b], chosen[b], weight[b], top, total, space, coef
                )
        if last >= 0:
            _flush(h, buffers[c], hop, user, last, slope, share, space, coef, pull)
