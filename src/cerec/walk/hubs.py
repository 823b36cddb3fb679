"""The hop from an attribute of very many items, where nearly all of a draw's work is.

Neighbours are taken a tile at a time. LeakyReLU(h_source * h_x) of a tile is made once for many
users and stands part by part, so that a user's scores are one product in vectors; nothing of them
is kept but the top and the weight of the tile. A draw picks a tile by its weight and scores it
again.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from cerec.walk.kernels import (
    _EXACT,
    _JIT,
    SUMMED,
    Double,
    Float,
    Hop,
    Int,
    Long,
    Rows,
    Space,
    make_query,
    neighbours,
    place,
    score_nodes,
)
from cerec.walk.softmax import exponential, pick, softmax, summed

HUB = 4096  # neighbours that make a hub; with fewer, users who share them gain little
USERS = 256  # groups that share the products of a tile, at the most
TILE = 2 * SUMMED  # neighbours of a tile
_FOUR = 4  # users, and parts of their vectors, that go through a tile at once


class Crowd(NamedTuple):
    """Scratch of one chunk for the groups of one hub."""

    users: Float
    """(users * parts,) their vectors, one after the other; 0 behind the last of them."""
    leaky: Float
    """(parts * TILE,) the first part of every neighbour's product, then the second."""
    scores: Float
    """(_FOUR * TILE,) of some users with a tile, one after the other."""
    top: Float
    """(users, tiles) highest score of each tile, -inf where nothing is allowed."""
    weight: Double
    """(users, tiles) sum of exp(score - top)."""
    off: Int
    """(users, longest list) places of what each user keeps off, rising."""
    n_off: Long
    """(users,)."""
    done: Long
    """(users,) how many of these the tiles so far held."""
    share: Double
    """(tiles,) of one row."""


@numba.njit(**_JIT)
def make_crowd(users: int, widest: int, longest: int, d: int) -> Crowd:
    """Scratch for hubs of up to `widest` neighbours and lists of up to `longest` items.

    `parts` is d, made a multiple of _FOUR.
    """
    parts, tiles = (d + _FOUR - 1) // _FOUR * _FOUR, _tiles(widest)
    return Crowd(
        np.zeros(users * parts, np.float32),
        np.zeros(parts * TILE, np.float32),
        np.empty(_FOUR * TILE, np.float32),
        np.empty((users, tiles), np.float32),
        np.empty((users, tiles), np.float64),
        np.empty((users, min(longest, widest)), np.int32),
        np.empty(users, np.int64),
        np.empty(users, np.int64),
        np.empty(tiles, np.float64),
    )


@numba.njit(**_JIT)
def _leaky(h: Float, source: int, targets: Int, first: int, slope: float, out: Float) -> None:
    """Part k of target j: LeakyReLU of node `source` times the target, by elements."""
    e, s = h[source], np.float32(slope)
    for j in range(len(targets)):
        x = h[first + targets[j]]
        for k in range(len(e)):
            y = e[k] * x[k]
            out[k * TILE + j] = y if y > 0.0 else s * y


@numba.njit(fastmath={"contract"}, **_EXACT)
def _product(leaky: Float, users: Float, out: Float) -> None:
    """out[g * TILE + j] = user g . neighbour j, for _FOUR users.

    Part after part for every pair, whatever stands beside it, so its bits are its own. Four users
    by four parts keep the arithmetic busy with what is in registers.
    """
    d = len(users) // _FOUR
    out[:] = np.float32(0.0)
    for k in range(0, d, _FOUR):
        y = leaky[k * TILE : (k + _FOUR) * TILE]
        a = users[k : k + _FOUR]
        b = users[d + k : d + k + _FOUR]
        c = users[2 * d + k : 2 * d + k + _FOUR]
        e = users[3 * d + k : 3 * d + k + _FOUR]
        a0, a1, a2, a3 = a[0], a[1], a[2], a[3]
        b0, b1, b2, b3 = b[0], b[1], b[2], b[3]
        c0, c1, c2, c3 = c[0], c[1], c[2], c[3]
        e0, e1, e2, e3 = e[0], e[1], e[2], e[3]
        for j in range(TILE):
            y0, y1, y2, y3 = y[j], y[TILE + j], y[2 * TILE + j], y[3 * TILE + j]
            out[j] = out[j] + a0 * y0 + a1 * y1 + a2 * y2 + a3 * y3
            out[TILE + j] = out[TILE + j] + b0 * y0 + b1 * y1 + b2 * y2 + b3 * y3
            out[2 * TILE + j] = out[2 * TILE + j] + c0 * y0 + c1 * y1 + c2 * y2 + c3 * y3
            out[3 * TILE + j] = out[3 * TILE + j] + e0 * y0 + e1 * y1 + e2 * y2 + e3 * y3


@numba.njit(fastmath={"nnan", "nsz"}, **_EXACT)
def _top(scores: Float) -> np.float32:
    top = np.float32(-np.inf)
    for j in range(TILE):
        if scores[j] > top:
            top = scores[j]
    return top


@numba.njit(**_EXACT)
def _weight(scores: Float, top: np.float32) -> float:
    """Sum of exp(score - top)."""
    if top == -np.inf:
        return 0.0
    for j in range(TILE):  # what is kept off (-inf) weighs less than a float32 can show beside 1
        scores[j] = exponential(scores[j] - top)
    total = 0.0
    for p in range(0, TILE, SUMMED):
        total += summed(scores[p : p + SUMMED])
    return total


@numba.njit(**_JIT)
def weigh(
    h: Float, rows: Rows, hop: Hop, source: int, slope: float, first: Long, count: int, crowd: Crowd
) -> None:
    """Top and weight of every tile of the hub's neighbours, for the user of each group."""
    d, lo, parts = h.shape[1], hop.indptr[source], len(crowd.leaky) // TILE
    n, node = hop.indptr[source + 1] - lo, hop.source_offset + source
    crowd.users[:] = np.float32(0.0)
    for g in range(count):
        crowd.users[g * parts : g * parts + d] = h[rows.user[first[g]]]
        _keep_off(rows, hop, source, rows.list[first[g]], crowd, g)
    for tile in range(_tiles(n)):
        p, q = tile * TILE, min((tile + 1) * TILE, n)
        _leaky(h, node, hop.indices[lo + p : lo + q], hop.target_offset, slope, crowd.leaky)
        for g in range(0, count, _FOUR):
            _product(crowd.leaky, crowd.users[g * parts : (g + _FOUR) * parts], crowd.scores)
            for i in range(g, min(g + _FOUR, count)):
                scores = crowd.scores[(i - g) * TILE : (i - g + 1) * TILE]
                scores[q - p :] = np.float32(-np.inf)
                while crowd.done[i] < crowd.n_off[i] and crowd.off[i, crowd.done[i]] < q:
                    scores[crowd.off[i, crowd.done[i]] - p] = np.float32(-np.inf)
                    crowd.done[i] += 1
                crowd.top[i, tile] = _top(scores)
                crowd.weight[i, tile] = _weight(scores, crowd.top[i, tile])


@numba.njit(**_JIT)
def _keep_off(rows: Rows, hop: Hop, source: int, which: int, crowd: Crowd, g: int) -> None:
    """The places of a list's items among the neighbours; lists are sorted, so these rise."""
    n = 0
    for p in range(rows.lists_indptr[which], rows.lists_indptr[which + 1]):
        at = place(hop, source, rows.lists_indices[p])
        if at >= 0:
            crowd.off[g, n] = at
            n += 1
    crowd.n_off[g], crowd.done[g] = n, 0


@numba.njit(**_JIT)
def choose(
    h: Float, rows: Rows, hop: Hop, r: int, slope: float, noise: float, crowd: Crowd, g: int,
    space: Space,
) -> tuple[int, float]:  # fmt: skip
    """The neighbour row r of group g goes to, -1 where there is none, and its log-probability.

    The tile of the item the row stands on is weighed anew without it, so that nothing is lost
    where that item had nearly all the weight.
    """
    source = rows.source[r]
    near = neighbours(hop, source)
    top, weight = crowd.top[g, : _tiles(len(near))], crowd.weight[g]
    skip = place(hop, source, rows.current[r])
    make_query(h, rows.user[r], hop.source_offset + source, slope, space)
    if skip >= 0:
        t = skip // TILE
        before = top[t], weight[t]
        top[t], weight[t] = _attend_tile(h, hop, near, t, skip, crowd, g, space)
        rest = _share(top, weight, crowd.share)
        top[t], weight[t] = before
    else:
        rest = _share(top, weight, crowd.share)
    if not rest > 0.0:
        return -1, 0.0
    t, within = _find(crowd.share[: len(top)], noise * rest)
    tile_top, mine = _attend_tile(h, hop, near, t, skip, crowd, g, space)
    j = pick(space, len(near[t * TILE : (t + 1) * TILE]), -1, within * mine)
    log_p = np.log(crowd.share[t] / rest) + space.score[j] - tile_top - np.log(mine)
    return near[t * TILE + j], log_p


@numba.njit(**_JIT)
def _tiles(n: int) -> int:
    return (n + TILE - 1) // TILE


@numba.njit(**_JIT)
def _attend_tile(
    h: Float, hop: Hop, near: Int, t: int, skip: int, crowd: Crowd, g: int, space: Space
) -> tuple[float, float]:
    """Scores and weights of tile t without `skip`, by the query at hand; its top and its weight."""
    p, targets = t * TILE, near[t * TILE : (t + 1) * TILE]
    score_nodes(h, targets, hop.target_offset, space)
    ok, off = space.ok[: len(targets)], crowd.off[g, : crowd.n_off[g]]
    ok[:] = True
    for at in range(np.searchsorted(off, p), len(off)):
        if off[at] >= p + len(targets):
            break
        ok[off[at] - p] = False
    if p <= skip < p + len(targets):
        ok[skip - p] = False
    return softmax(space, len(targets))


@numba.njit(**_EXACT)
def _share(top: Float, weight: Double, share: Double) -> float:
    """Weights of tiles beside the highest top of all; returns their sum."""
    best, rest = np.float32(-np.inf), 0.0
    for t in range(len(top)):
        best = max(best, top[t])
    for t in range(len(top)):
        share[t] = weight[t] * exponential(top[t] - best) if weight[t] > 0.0 else 0.0
        rest += share[t]
    return rest


@numba.njit(**_JIT)
def _find(share: Double, at: float) -> tuple[int, float]:
    """The tile in whose share `at` falls, and how far into it."""
    last = 0
    for t in range(len(share)):
        if share[t] > 0.0:
            last = t
            if at < share[t]:
                return t, at / share[t]
            at -= share[t]
    return last, 1.0  # rounding at the edge of the last share
