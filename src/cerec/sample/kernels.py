"""Attention over ragged neighbours, softmax and draw in one pass; and its gradient.

One hop goes from a source node to one of its neighbours x with probability proportional to
exp(a(source, x)), a = h_u . LeakyReLU(h_source * h_x). With slope s, LeakyReLU(y) = c1 y + c2 |y|,
so a is two dot products with a query made once per group,

    a = (c1 h_u * h_source) . h_x + (c2 h_u * |h_source|) . |h_x|,

and the tensor of all products is never built. Rows come sorted by (list, source): neighbours
are scored once per group, every further row of it costs a binary search.

Work is cut in chunks whose number depends on the number of rows alone, so results are the same
bits on any number of threads.
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
_JIT = {"cache": True, "error_model": "numpy", "nogil": True, "fastmath": _FAST}
_DOMINATED = 1e-9  # of the group's weight: below it, a row's own softmax is worth recomputing


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
    """States sorted by (list, source); `lists` says which items may not be reached."""

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
    cum: Double
    near: Float
    far: Float
    ok: NDArray[np.bool_]


@numba.njit(**_JIT)
def make_space(n_items: int, widest: int, d: int) -> Space:
    """Scratch for rows of up to `widest` neighbours."""
    return Space(
        np.zeros(n_items, np.int32),
        np.empty(widest, np.float32),
        np.empty(widest + 1, np.float64),
        np.empty(d, np.float32),
        np.empty(d, np.float32),
        np.empty(widest, np.bool_),
    )


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
def attend(h: Float, hop: Hop, source: int, uniform: bool, space: Space) -> float:
    """Scores and running softmax weights of the allowed neighbours; returns the top score."""
    lo = hop.indptr[source]
    n = hop.indptr[source + 1] - lo
    near, far = space.near, space.far
    top = -np.inf
    for j in range(n):
        if not space.ok[j]:
            continue
        x = h[hop.target_offset + hop.indices[lo + j]]
        s = np.float32(0.0)
        if not uniform:
            for k in range(len(near)):
                s += near[k] * x[k] + far[k] * np.abs(x[k])
        space.score[j] = s
        if s > top:
            top = float(s)
    space.cum[0] = 0.0
    for j in range(n):
        step = np.exp(space.score[j] - top) if space.ok[j] else 0.0
        space.cum[j + 1] = space.cum[j] + step
    return top


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
def own_softmax(space: Space, n: int, skip: int) -> tuple[float, float]:
    """Top score and weight of the allowed neighbours but `skip`, summed for this row alone."""
    top = -np.inf
    for j in range(n):
        if space.ok[j] and j != skip:
            top = max(top, space.score[j])
    total = 0.0
    for j in range(n):
        if space.ok[j] and j != skip:
            total += np.exp(space.score[j] - top)
    return top, total


@numba.njit(**_JIT)
def normaliser(space: Space, n: int, skip: int, top: float) -> tuple[float, float, bool]:
    """Top score and weight without neighbour `skip`, and whether the group's weights hold.

    They do not where the skipped neighbour had all but a billionth of the weight.
    """
    rest = space.cum[n]
    if skip >= 0:
        rest -= space.cum[skip + 1] - space.cum[skip]
    if rest > _DOMINATED * space.cum[n]:
        return top, rest, True
    own_top, own = own_softmax(space, n, skip)
    return own_top, own, False


@numba.njit(**_JIT)
def pick(space: Space, n: int, skip: int, at: float) -> int:
    """The neighbour in whose share of the group's weight (without `skip`) `at` falls."""
    if skip >= 0 and at >= space.cum[skip]:
        at += space.cum[skip + 1] - space.cum[skip]
    lo, hi = 0, n
    while lo < hi:
        middle = (lo + hi) // 2
        if space.cum[middle + 1] <= at:
            lo = middle + 1
        else:
            hi = middle
    j = min(lo, n - 1)
    while j < n and (not space.ok[j] or j == skip):  # rounding at the edge of a share
        j += 1
    if j == n:
        j = n - 1
        while not space.ok[j] or j == skip:
            j -= 1
    return j


@numba.njit(**_JIT)
def pick_slowly(space: Space, n: int, skip: int, top: float, at: float) -> int:
    """As `pick`, summing the row's own weights."""
    last, total = -1, 0.0
    for j in range(n):
        if space.ok[j] and j != skip:
            last = j
            total += np.exp(space.score[j] - top)
            if total > at:
                break
    return last


@numba.njit(**_JIT)
def pick_best(space: Space, n: int, skip: int) -> int:
    """The allowed neighbour with the highest score, the first of equals."""
    best = -1
    for j in range(n):
        if space.ok[j] and j != skip and (best < 0 or space.score[j] > space.score[best]):
            best = j
    return best


@numba.njit(**_JIT)
def widest_row(hop: Hop, source: Int) -> int:
    """Most neighbours any of the sources has."""
    most = 1
    for b in range(len(source)):
        most = max(most, hop.indptr[source[b] + 1] - hop.indptr[source[b]])
    return most


@numba.njit(parallel=True, **_JIT)
def draw(
    h: Float,
    rows: Rows,
    hop: Hop,
    n_items: int,
    slope: float,
    uniform: bool,
    noise: Double,
    greedy: bool,
    n_chunks: int,
) -> tuple[Int, Double]:
    """One hop of every row: the neighbour reached (-1 where none may be) and its log-probability.

    `noise` holds a number in [0, 1) per row; `greedy` takes the likeliest neighbour instead.
    """
    n_rows = len(rows.user)
    choice = np.full(n_rows, -1, np.int32)
    log_p = np.zeros(n_rows, np.float64)
    widest = widest_row(hop, rows.source)
    for c in numba.prange(n_chunks):
        space = make_space(n_items, widest, h.shape[1])
        stamp, last, top = 0, -1, 0.0
        for b in range(c * n_rows // n_chunks, (c + 1) * n_rows // n_chunks):
            source = rows.source[b]
            fresh = stamp == 0 or rows.list[b] != rows.list[b - 1]
            if fresh:
                stamp += 1
                which = rows.list[b]
                lo, hi = rows.lists_indptr[which], rows.lists_indptr[which + 1]
                mark_list(space.mark, stamp, rows.lists_indices, lo, hi)
            if fresh or source != last:
                allow(hop, source, space.mark, stamp, space.ok)
                make_query(h, rows.user[b], hop.source_offset + source, slope, space)
                top = attend(h, hop, source, uniform, space)
                last = source
            n = hop.indptr[source + 1] - hop.indptr[source]
            skip = place(hop, source, rows.current[b]) if len(hop.onward_indptr) == 1 else -1
            if skip >= 0 and not space.ok[skip]:
                skip = -1
            own_top, rest, shared = normaliser(space, n, skip, top)
            if rest <= 0.0:
                continue
            if greedy:
                j = pick_best(space, n, skip)
            elif shared:
                j = pick(space, n, skip, noise[b] * rest)
            else:
                j = pick_slowly(space, n, skip, own_top, noise[b] * rest)
            choice[b] = hop.indices[hop.indptr[source] + j]
            log_p[b] = space.score[j] - own_top - np.log(rest)
    return choice, log_p
