"""Softmax over the neighbours of one source, and draws from it."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.walk.kernels import _EXACT, _JIT, SUMMED, Float, Hop, Space, neighbours, score_nodes

_DOMINATED = 1e-9  # of the group's weight: below it, a row's own softmax is worth recomputing


@numba.njit(**_EXACT)
def exponential(x: np.float32) -> np.float32:
    """exp(x) of x <= 0, at least exp(-87), to two units in the last place of a float32.

    Cephes' expf, without a branch or a call, so that it runs in vectors.
    """
    one, half, least = np.float32(1.0), np.float32(0.5), np.float32(-87.0)
    per_bit, high, low = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
    x = max(x, least)
    bits = np.floor(x * per_bit + half)
    x = x - bits * high
    x = x - bits * low
    y = np.float32(1.9875691500e-4)
    y = y * x + np.float32(1.3981999507e-3)
    y = y * x + np.float32(8.3334519073e-3)
    y = y * x + np.float32(4.1665795894e-2)
    y = y * x + np.float32(1.6666665459e-1)
    y = y * x + np.float32(5.0000001201e-1)
    y = y * x * x + x + one
    power = np.int32((np.int32(bits) + np.int32(127)) << np.int32(23)).view(np.float32)
    return y * power


@numba.njit(**_EXACT)
def _weights(score: Float, ok: NDArray[np.bool_], top: float, weight: Float) -> None:
    """exp(score - top), 0 where not allowed."""
    for j in range(len(score)):
        found = exponential(np.float32(score[j] - np.float32(top)))
        weight[j] = found if ok[j] else np.float32(0.0)


@numba.njit(fastmath={"nnan", "nsz"}, **_EXACT)
def _top(score: Float, ok: NDArray[np.bool_]) -> float:
    """The highest score allowed, -inf where none is; no NaN may be among them."""
    top = np.float32(-np.inf)
    for j in range(len(score)):
        mine = score[j] if ok[j] else np.float32(-np.inf)
        if mine > top:  # `max` would not run in vectors
            top = mine
    return float(top)


@numba.njit(**_EXACT)
def summed(weight: Float) -> float:
    """Of SUMMED weights, in eight lanes: always in this order, so always the same bits."""
    s0, s1, s2, s3, s4, s5, s6, s7 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for j in range(0, SUMMED, 8):
        s0 += weight[j]
        s1 += weight[j + 1]
        s2 += weight[j + 2]
        s3 += weight[j + 3]
        s4 += weight[j + 4]
        s5 += weight[j + 5]
        s6 += weight[j + 6]
        s7 += weight[j + 7]
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))


@numba.njit(**_JIT)
def softmax(space: Space, n: int) -> tuple[float, float]:
    """Weights of the n scores where allowed, and their sums; the top score and the whole weight."""
    score, ok, weight = space.score[:n], space.ok[:n], space.weight
    top = _top(score, ok)
    _weights(score, ok, top, weight[:n])
    blocks = (n + SUMMED - 1) // SUMMED
    weight[n : blocks * SUMMED] = np.float32(0.0)
    total = 0.0
    for b in range(blocks):
        space.sums[b] = summed(weight[b * SUMMED : (b + 1) * SUMMED])
        total += space.sums[b]
    return top, total


@numba.njit(**_JIT)
def pick(space: Space, n: int, skip: int, at: float) -> int:
    """The neighbour in whose share of the group's weight (without `skip`) `at` falls."""
    for b in range((n + SUMMED - 1) // SUMMED):
        mine = skip >= 0 and skip // SUMMED == b
        share = space.sums[b] - space.weight[skip] if mine else space.sums[b]
        if at >= share:
            at -= share
            continue
        for j in range(b * SUMMED, min((b + 1) * SUMMED, n)):
            if space.ok[j] and j != skip:
                at -= space.weight[j]
                if at < 0.0:
                    return j
    j = n - 1  # rounding at the edge of the last share
    while not space.ok[j] or j == skip:
        j -= 1
    return j


@numba.njit(**_JIT)
def attend(h: Float, hop: Hop, source: int, uniform: bool, space: Space) -> tuple[float, float]:
    """Scores and softmax weights of the allowed neighbours; the top score and the whole weight."""
    n = hop.indptr[source + 1] - hop.indptr[source]
    if uniform:
        space.score[:n] = np.float32(0.0)
    else:
        score_nodes(h, neighbours(hop, source), hop.target_offset, space)
    return softmax(space, n)


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
def normaliser(
    space: Space, n: int, skip: int, top: float, total: float
) -> tuple[float, float, bool]:
    """Top score and weight without neighbour `skip`, and whether the group's weights hold.

    They do not where the skipped neighbour had all but a billionth of the weight.
    """
    rest = total - space.weight[skip] if skip >= 0 else total
    if rest > _DOMINATED * total:
        return top, rest, True
    own_top, own = own_softmax(space, n, skip)
    return own_top, own, False
