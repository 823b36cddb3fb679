"""Attention over ragged neighbours: what the draw, its gradient and the beam have in common.

One hop goes from a source node to one of its neighbours x with probability proportional to
exp(a(source, x)), a = h_u . LeakyReLU(h_source * h_x). With slope s, LeakyReLU(y) = c1 y + c2 |y|,
so a is two dot products with a query made once per group,

    a = (c1 h_u * h_source) . h_x + (c2 h_u * |h_source|) . |h_x|,

and the tensor of all products is never built. Rows of one source and list stand
together: their neighbours are scored once, every further row of them costs a search among sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

Int = NDArray[np.int32]
Long = NDArray[np.int64]
Float = NDArray[np.float32]
Double = NDArray[np.float64]

_FAST = {"reassoc", "contract", "nsz", "arcp"}
_EXACT = {"cache": True, "error_model": "numpy", "nogil": True}
_JIT = {**_EXACT, "fastmath": _FAST}
SUMMED = 64  # neighbours whose weights are summed before they are searched one by one


class Hop(NamedTuple):
    """One hop of the walk: ragged neighbours, and where their nodes are numbered from."""

    indptr: Long
    indices: Int
    source_offset: int
    target_offset: int
    onward_indptr: Long
    """Items behind each target, for a hop whose targets must lead somewhere; else one zero."""
    onward_indices: Int


class Rows(NamedTuple):
    """States, those of one source and list together; `lists` says which items to keep off."""

    user: Int
    source: Int
    current: Int
    """The item the walk stands on, which it must leave."""
    list: Int
    lists_indptr: Long
    lists_indices: Int


class Space(NamedTuple):
    """Scratch of one chunk."""

    mark: Int
    score: Float
    weight: Float
    """(a multiple of SUMMED,): 0 for what is not allowed and behind the last neighbour."""
    sums: Double
    """Of every SUMMED weights."""
    near: Float
    far: Float
    ok: NDArray[np.bool_]


@numba.njit(**_JIT)
def neighbours(hop: Hop, source: int) -> Int:
    """Of one source, rising."""
    return hop.indices[hop.indptr[source] : hop.indptr[source + 1]]


@numba.njit(**_JIT)
def make_space(n_items: int, widest: int, d: int) -> Space:
    """Scratch for rows of up to `widest` neighbours."""
    blocks = (widest + SUMMED - 1) // SUMMED
    return Space(
        np.zeros(n_items, np.int32),
        np.empty(widest, np.float32),
        np.empty(blocks * SUMMED, np.float32),
        np.empty(blocks, np.float64),
        np.empty(d, np.float32),
        np.empty(d, np.float32),
        np.empty(widest, np.bool_),
    )


@numba.njit(**_JIT)
def with_scores(space: Space, score: Float) -> Space:
    """The same scratch with other scores."""
    return Space(space.mark, score, space.weight, space.sums, space.near, space.far, space.ok)


@numba.njit(**_JIT)
def mark_list(mark: Int, stamp: int, indices: Int, lo: int, hi: int) -> None:
    """Stamp the items of one list."""
    for p in range(lo, hi):
        mark[indices[p]] = stamp


@numba.njit(**_JIT)
def allow(hop: Hop, source: int, mark: Int, stamp: int, ok: NDArray[np.bool_]) -> None:
    """`ok[j]`: may the walk go to neighbour j of `source`?

    Items: not on the list. Attributes: some item other than `source` is behind them, not on the
    list; so a walk never enters a dead end.
    """
    lo, hi = hop.indptr[source], hop.indptr[source + 1]
    for p in range(lo, hi):
        x = hop.indices[p]
        if len(hop.onward_indptr) == 1:
            ok[p - lo] = mark[x] != stamp
            continue
        ok[p - lo] = False
        for q in range(hop.onward_indptr[x], hop.onward_indptr[x + 1]):
            item = hop.onward_indices[q]
            if item != source and mark[item] != stamp:
                ok[p - lo] = True
                break


@numba.njit(**_JIT)
def make_query(h: Float, user: int, node: int, slope: float, space: Space) -> None:
    """The two halves of the query of (user, node)."""
    c1, c2 = np.float32((1 + slope) / 2), np.float32((1 - slope) / 2)
    u, e, near, far = h[user], h[node], space.near, space.far
    for k in range(h.shape[1]):
        near[k] = c1 * u[k] * e[k]
        far[k] = c2 * u[k] * np.abs(e[k])


@numba.njit(**_JIT)
def score_nodes(h: Float, rows: Int, first: int, space: Space) -> None:
    """Scores of nodes `first + rows`, four at a time: one vector alone waits for its memory."""
    near, far, score = space.near, space.far, space.score
    n, d = len(rows), len(near)
    for j in range(0, n - 3, 4):
        x0, x1 = h[first + rows[j]], h[first + rows[j + 1]]
        x2, x3 = h[first + rows[j + 2]], h[first + rows[j + 3]]
        s0, s1 = np.float32(0.0), np.float32(0.0)
        s2, s3 = np.float32(0.0), np.float32(0.0)
        for k in range(d):
            s0 += near[k] * x0[k] + far[k] * np.abs(x0[k])
            s1 += near[k] * x1[k] + far[k] * np.abs(x1[k])
            s2 += near[k] * x2[k] + far[k] * np.abs(x2[k])
            s3 += near[k] * x3[k] + far[k] * np.abs(x3[k])
        score[j], score[j + 1], score[j + 2], score[j + 3] = s0, s1, s2, s3
    for j in range(n // 4 * 4, n):
        x = h[first + rows[j]]
        s = np.float32(0.0)
        for k in range(d):
            s += near[k] * x[k] + far[k] * np.abs(x[k])
        score[j] = s


@numba.njit(**_JIT)
def place(hop: Hop, source: int, item: int) -> int:
    """Position of `item` among the neighbours of `source`, -1 where it is not (binary search)."""
    lo, hi = hop.indptr[source], hop.indptr[source + 1]
    first = lo
    while lo < hi:
        middle = (lo + hi) // 2
        if hop.indices[middle] < item:
            lo = middle + 1
        else:
            hi = middle
    found = lo < hop.indptr[source + 1] and hop.indices[lo] == item
    return lo - first if found else -1


@numba.njit(**_JIT)
def longest_row(indptr: Long, rows: Int) -> int:
    """Most entries any of the rows has, at least 1."""
    most = 1
    for r in rows:
        most = max(most, indptr[r + 1] - indptr[r])
    return most
