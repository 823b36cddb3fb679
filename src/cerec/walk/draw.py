"""One hop of many walks, drawn or the likeliest.

Work is cut in chunks that depend on the rows alone, and every row has sums of its own, so results
are the same bits in any company and on any number of threads.
"""

from __future__ import annotations

import numba
import numpy as np

from cerec.walk.kernels import (
    _JIT,
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
    skipped,
    softmax,
)


@numba.njit(**_JIT)
def _choose(space: Space, n: int, skip: int, at: float, greedy: bool) -> int:
    """The neighbour in whose share of the weight `at` falls, or the one with the highest score."""
    best = -1
    if not greedy:
        best = int(np.searchsorted(space.sums[:n], at, side="right"))
        if best < n:
            return best
        best = -1  # rounding at the edge of the last share
    for j in range(n):
        if space.ok[j] and j != skip and (best < 0 or space.score[j] > space.score[best]):
            best = j
    return best


@numba.njit(parallel=True, **_JIT)
def draw(
    h: Float,
    rows: Rows,
    hop: Hop,
    n_items: int,
    slope: float,
    noise: Double,
    greedy: bool,
    bounds: Long,
) -> tuple[Int, Double]:
    """One hop of every row: the neighbour reached (-1 where none may be) and its log-probability.

    `noise` holds a number in [0, 1) per row; `greedy` takes the likeliest neighbour instead.
    `bounds` cuts the rows in chunks.
    """
    choice = np.full(len(rows.user), -1, np.int32)
    log_p = np.zeros(len(rows.user), np.float64)
    for c in numba.prange(len(bounds) - 1):
        space = make_space(n_items, hop, h.shape[1])
        top, total, skip = 0.0, 0.0, -1
        for b in range(bounds[c], bounds[c + 1]):
            user, source, item = rows.user[b], rows.source[b], rows.current[b]
            n = hop.indptr[source + 1] - hop.indptr[source]
            whose = b == bounds[c] or user != rows.user[b - 1]
            fresh = whose or source != rows.source[b - 1]
            moved = fresh or item != rows.current[b - 1]
            if whose:
                mark_list(space.mark, user, rows.lists_indptr, rows.lists_indices, user)
            if fresh:
                allow(hop, source, space.mark, user, space.ok)
            if fresh or (moved and hop.directed):
                attend(h, hop, user, source, item, slope, space)
            if moved:
                skip = skipped(hop, source, item)
                top, total = softmax(space, n, skip)
            if total > 0.0:
                j = _choose(space, n, skip, noise[b] * total, greedy)
                choice[b] = hop.indices[hop.indptr[source] + j]
                log_p[b] = space.score[j] - top - np.log(total)
    return choice, log_p
