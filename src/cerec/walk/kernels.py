"""Attention over ragged neighbours: what the draw, its gradient and the beam have in common.

A hop goes from a source to one of its neighbours x with probability proportional to exp(a),
a = h_u . LeakyReLU(h_source * h_x). With slope s, LeakyReLU(y) = c1 y + c2 |y|, so a is two dot
products with a query that is made once,

    a = (c1 h_u * h_source) . h_x + (c2 h_u * |h_source|) . |h_x|,

and no product of two nodes is ever stored. A `directed` hop adds h_e . h_x to a, with e the item
the walk stands on.
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

_EXACT = {"cache": True, "error_model": "numpy", "nogil": True}
_JIT = {**_EXACT, "fastmath": {"reassoc", "contract", "nsz", "arcp"}}


class Hop(NamedTuple):
    """One hop of the walk: ragged neighbours, and where their nodes are numbered from."""

    indptr: Long
    indices: Int
    source_offset: int
    target_offset: int
    onward_indptr: Long
    """Items behind each target, for a hop whose targets must lead somewhere; else one zero."""
    onward_indices: Int
    items: int
    """Where the nodes of items are numbered from."""
    directed: bool
    uniform: bool


class Rows(NamedTuple):
    """States, those of one user, source and item together."""

    user: Int
    source: Int
    current: Int
    """The item the walk stands on, which it must leave."""
    lists_indptr: Long
    """User -> items to keep off."""
    lists_indices: Int


class Space(NamedTuple):
    """Scratch of one chunk."""

    mark: Int
    score: Float
    sums: Double
    """Running sums of exp(score - top) over what is allowed."""
    near: Float
    far: Float
    ok: NDArray[np.bool_]


@numba.njit(**_JIT)
def make_space(n_items: int, hop: Hop, d: int) -> Space:
    """Scratch for all rows of a hop."""
    widest = 1
    for r in range(len(hop.indptr) - 1):
        widest = max(widest, hop.indptr[r + 1] - hop.indptr[r])
    return Space(
        np.full(n_items, -1, np.int32),
        np.empty(widest, np.float32),
        np.empty(widest, np.float64),
        np.empty(d, np.float32),
        np.empty(d, np.float32),
        np.empty(widest, np.bool_),
    )


@numba.njit(**_JIT)
def mark_list(mark: Int, stamp: int, indptr: Long, indices: Int, row: int) -> None:
    """Stamp the items of one list."""
    for p in range(indptr[row], indptr[row + 1]):
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
def attend(
    h: Float, hop: Hop, user: int, source: int, item: int, slope: float, space: Space
) -> None:
    """Scores of all neighbours of `source`, four at a time: one vector waits for its memory."""
    rows = hop.indices[hop.indptr[source] : hop.indptr[source + 1]]
    first, near, far, score = hop.target_offset, space.near, space.far, space.score
    if hop.uniform:
        score[: len(rows)] = np.float32(0.0)
        return
    n, d, u, e = len(rows), h.shape[1], h[user], h[hop.source_offset + source]
    c1, c2 = np.float32((1 + slope) / 2), np.float32((1 - slope) / 2)
    for k in range(d):
        near[k] = c1 * u[k] * e[k]
        far[k] = c2 * u[k] * np.abs(e[k])
    if hop.directed:
        near += h[hop.items + item]
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


@numba.njit(**_EXACT)
def softmax(space: Space, n: int, skip: int) -> tuple[float, float]:
    """The top score of what is allowed without `skip`, and the weight of all of it (0: nothing)."""
    top, total = -np.inf, 0.0
    for j in range(n):
        if space.ok[j] and j != skip:
            top = max(top, space.score[j])
    for j in range(n):
        if space.ok[j] and j != skip:
            total += np.exp(space.score[j] - top)
        space.sums[j] = total
    return top, total


@numba.njit(**_JIT)
def skipped(hop: Hop, source: int, item: int) -> int:
    """Place of the item one stands on among the neighbours of an attribute; -1 elsewhere."""
    return place(hop, source, item) if len(hop.onward_indptr) == 1 else -1


@numba.njit(**_JIT)
def place(hop: Hop, source: int, item: int) -> int:
    """Position of `item` among the neighbours of `source`, -1 where it is not (binary search)."""
    lo, hi = hop.indptr[source], hop.indptr[source + 1]
    at = int(np.searchsorted(hop.indices[lo:hi], item))
    return at if lo + at < hi and hop.indices[lo + at] == item else -1
