"""One hop of many walks, drawn or the likeliest.

Where rows of one source stand together, LeakyReLU(h_source * h_x) is made once for several users,
for as many neighbours x at a time as stay in the cache; a user's scores are one product with it.
Work is cut in chunks that depend on the rows alone, so results are the same bits on any number of
threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from cerec.walk import hubs
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
    longest_row,
    make_query,
    make_space,
    mark_list,
    neighbours,
    place,
    score_nodes,
    with_scores,
)
from cerec.walk.softmax import normaliser, pick, softmax

_BLOCK = 16  # groups of one source that are scored together
_TILE = 256  # neighbours whose products are at hand


class Work(NamedTuple):
    """Scratch of one chunk for the groups of one source."""

    scores: Float
    """(_BLOCK, widest)."""
    leaky: Float
    """(_TILE, d)."""
    first: Long
    """Where groups begin."""


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
def _leaky(h: Float, source: int, targets: Int, first: int, slope: float, out: Float) -> None:
    """out[j] = LeakyReLU of node `source` times the j-th target, by elements."""
    e, s = h[source], np.float32(slope)
    for j in range(len(targets)):
        x, row = h[first + targets[j]], out[j]
        for k in range(len(e)):
            y = e[k] * x[k]
            row[k] = y if y > 0.0 else s * y


@numba.njit(**_JIT)
def _product(leaky: Float, u: Float, score: Float) -> None:
    """score[j] = leaky[j] . u, four at a time."""
    n, d = len(score), len(u)
    for j in range(0, n - 3, 4):
        y0, y1, y2, y3 = leaky[j], leaky[j + 1], leaky[j + 2], leaky[j + 3]
        s0, s1 = np.float32(0.0), np.float32(0.0)
        s2, s3 = np.float32(0.0), np.float32(0.0)
        for k in range(d):
            s0 += u[k] * y0[k]
            s1 += u[k] * y1[k]
            s2 += u[k] * y2[k]
            s3 += u[k] * y3[k]
        score[j], score[j + 1], score[j + 2], score[j + 3] = s0, s1, s2, s3
    for j in range(n // 4 * 4, n):
        y = leaky[j]
        s = np.float32(0.0)
        for k in range(d):
            s += u[k] * y[k]
        score[j] = s


@numba.njit(**_JIT)
def _score_block(
    h: Float, rows: Rows, hop: Hop, source: int, slope: float, count: int, space: Space, work: Work
) -> None:
    """Scores of the neighbours of the source for the user of each group.

    Which way depends on the hop alone, so that a walk does not depend on the company it is in.
    """
    if len(hop.onward_indptr) > 1:  # at an item: few neighbours, few groups
        make_query(h, rows.user[work.first[0]], hop.source_offset + source, slope, space)
        score_nodes(h, neighbours(hop, source), hop.target_offset, space)
        return
    lo, hi = hop.indptr[source], hop.indptr[source + 1]
    for p in range(lo, hi, _TILE):
        q = min(p + _TILE, hi)
        node = hop.source_offset + source
        _leaky(h, node, hop.indices[p:q], hop.target_offset, slope, work.leaky)
        for g in range(count):
            _product(work.leaky, h[rows.user[work.first[g]]], work.scores[g, p - lo : q - lo])


@numba.njit(**_JIT)
def _groups(rows: Rows, b: int, end: int, most: int, first: Long) -> int:
    """Where the groups of the source of row b begin, and in the next place where the last ends."""
    n = 0
    for r in range(b, end):
        if rows.source[r] != rows.source[b]:
            end = r
            break
        if n == 0 or rows.list[r] != rows.list[r - 1]:
            if n == most:
                end = r
                break
            first[n] = r
            n += 1
    first[n] = end
    return n


@numba.njit(**_JIT)
def _choose(
    space: Space,
    hop: Hop,
    source: int,
    current: int,
    top: float,
    total: float,
    noise: float,
    greedy: bool,
) -> tuple[int, float]:
    """The neighbour of one row, -1 where there is none, and its log-probability."""
    n = hop.indptr[source + 1] - hop.indptr[source]
    skip = place(hop, source, current) if len(hop.onward_indptr) == 1 else -1
    if skip >= 0 and not space.ok[skip]:
        skip = -1
    own_top, rest, shared = normaliser(space, n, skip, top, total)
    if rest <= 0.0:
        return -1, 0.0
    if greedy:
        j = pick_best(space, n, skip)
    elif shared:
        j = pick(space, n, skip, noise * rest)
    else:
        j = pick_slowly(space, n, skip, own_top, noise * rest)
    return hop.indices[hop.indptr[source] + j], space.score[j] - own_top - np.log(rest)


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
    bounds: Long,
) -> tuple[Int, Double]:
    """One hop of every row: the neighbour reached (-1 where none may be) and its log-probability.

    `noise` holds a number in [0, 1) per row; `greedy` takes the likeliest neighbour instead.
    `bounds` cuts the rows in chunks.
    """
    choice = np.full(len(rows.user), -1, np.int32)
    log_p = np.zeros(len(rows.user), np.float64)
    widest = longest_row(hop.indptr, rows.source)
    most = _BLOCK if len(hop.onward_indptr) == 1 else 1
    hub = most > 1 and widest >= hubs.HUB and not uniform and not greedy
    longest = longest_row(rows.lists_indptr, rows.list) if hub else 1
    for c in numba.prange(len(bounds) - 1):
        work = Work(
            np.zeros((_BLOCK, widest), np.float32),
            np.empty((_TILE, h.shape[1]), np.float32),
            np.empty(max(_BLOCK, hubs.USERS) + 1, np.int64),
        )
        first = work.first
        crowd = hubs.make_crowd(hubs.USERS if hub else 0, widest, longest, h.shape[1])
        scratch = with_scores(make_space(n_items, widest, h.shape[1]), work.scores[0])
        stamp, listed, b = 0, -1, bounds[c]
        while b < bounds[c + 1]:
            source = rows.source[b]
            if hub and len(neighbours(hop, source)) >= hubs.HUB:
                count = _groups(rows, b, bounds[c + 1], hubs.USERS, first)
                b = first[count]
                hubs.weigh(h, rows, hop, source, slope, first, count, crowd)
                for g in range(count):
                    for r in range(first[g], first[g + 1]):
                        choice[r], log_p[r] = hubs.choose(
                            h, rows, hop, r, slope, noise[r], crowd, g, scratch
                        )
                continue
            count = _groups(rows, b, bounds[c + 1], most, first)
            b = first[count]
            if not uniform:
                _score_block(h, rows, hop, source, slope, count, scratch, work)
            for g in range(count):
                which = rows.list[first[g]]
                if which != listed:
                    stamp, listed = stamp + 1, which
                    lo, hi = rows.lists_indptr[which], rows.lists_indptr[which + 1]
                    mark_list(scratch.mark, stamp, rows.lists_indices, lo, hi)
                space = scratch if g == 0 else with_scores(scratch, work.scores[g])
                allow(hop, source, space.mark, stamp, space.ok)
                top, total = softmax(space, hop.indptr[source + 1] - hop.indptr[source])
                for r in range(first[g], first[g + 1]):
                    choice[r], log_p[r] = _choose(
                        space, hop, source, rows.current[r], top, total, noise[r], greedy
                    )
    return choice, log_p
