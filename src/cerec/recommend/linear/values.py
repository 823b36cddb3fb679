"""What a user's history says of every value: how far above or below the usual count it is.

    e(u, a) = weight_a * (n_u(a) - n_u q_a) / sqrt(n_u) + U_u . x_a

`n_u(a)` counts the user's items with value a, `n_u` all of them, `q_a` is the share of everybody's
interactions on items with a. So a value counts by how far the user is from what is usual, and over
all users the first part adds up to about nothing: what everybody likes is the item's popularity.

Effects are rounded to a multiple of `2**-bits`, coarse enough that sums over any set of values are
exact and hence equal in any order (docs/adr/0004-exact-scores.md).
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged

KAPPA = 0.01  # keeps values that hardly anybody has from counting for too much
_SUMMANDS = 20  # log2 of how many effects may be added up without rounding


def usable(facts: Facts, support: int) -> NDArray[np.bool_]:
    """(V,) values that enough items have to say something of."""
    return np.asarray(facts.holders.counts >= support)


def only(of_item: Ragged, keep: NDArray[np.bool_]) -> Ragged:
    """Item -> values, without those that are not kept; row numbers stay."""
    kept = keep[of_item.indices]
    counts = np.bincount(of_item.row_of()[kept], minlength=len(of_item))
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Ragged(indptr, of_item.indices[kept])


def shares(
    history: Ragged, weight: NDArray[np.float64], of_item: Ragged, n_values: int
) -> NDArray[np.float64]:
    """(V,) q: the share of all interactions that are on items with the value."""
    taken = np.bincount(history.indices, weights=weight, minlength=len(of_item))
    on = np.bincount(of_item.indices, weights=taken[of_item.row_of()], minlength=n_values)
    return on / max(float(taken.sum()), 1e-12)


def scales(of_item: Ragged) -> NDArray[np.float64]:
    """(I,) g: an item of many values counts each of them less; it stays when values change."""
    return np.asarray(1.0 / np.sqrt(np.maximum(of_item.counts, 1)))


def unit_weights(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """(V,) what one item above the usual count is worth before relations are weighed."""
    return np.asarray(1.0 / np.sqrt(share + KAPPA))


def grid_bits(largest: float) -> int:
    """Fractional bits such that 2**20 effects of this size add up without rounding."""
    return 52 - _SUMMANDS - math.ceil(math.log2(max(largest, 1e-30)))


_TILE = 512  # columns whose partial sums stay in the nearest cache
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def add_product(left, right_t, first, last, out):  # type: ignore[no-untyped-def]
    """Add `left` (n, d) times `right_t` (d, m) to rows of `out` (n, m), term by term in order."""
    d = left.shape[1]
    for start in range(0, right_t.shape[1], _TILE):
        stop = min(start + _TILE, right_t.shape[1])
        for u in range(first, last):
            row, k = out[u, start:stop], 0
            while k + 4 <= d:  # fewer loads and stores, the same sums
                x0, x1, x2, x3 = left[u, k], left[u, k + 1], left[u, k + 2], left[u, k + 3]
                t0, t1 = right_t[k, start:stop], right_t[k + 1, start:stop]
                t2, t3 = right_t[k + 2, start:stop], right_t[k + 3, start:stop]
                for a in range(stop - start):
                    row[a] = (((row[a] + x0 * t0[a]) + x1 * t1[a]) + x2 * t2[a]) + x3 * t3[a]
                k += 4
            for k in range(d - d % 4, d):
                x, t = left[u, k], right_t[k, start:stop]
                for a in range(stop - start):
                    row[a] += x * t[a]


@_jit
def effects_of(  # type: ignore[no-untyped-def]
    indptr, items, weight, value_ptr, value, share, unit, user, value_t, bits, first, last, out
):
    """Fill `out` (n, V) with e(u, .) of n histories; `user` (n, d) and `value_t` (d, V)."""
    up, down = 2.0**bits, 2.0**-bits
    for u in range(first, last):
        row = out[u]
        row[:] = 0.0
        total = 0.0
        for p in range(indptr[u], indptr[u + 1]):
            total += weight[p]
            for q in range(value_ptr[items[p]], value_ptr[items[p] + 1]):
                row[value[q]] += weight[p]
        size = np.sqrt(total) if total > 0.0 else 1.0
        for a in range(len(share)):
            row[a] = unit[a] * (row[a] - total * share[a]) / size
    add_product(user, value_t, first, last, out)
    for u in range(first, last):
        row = out[u]
        for a in range(len(share)):
            row[a] = np.rint(row[a] * up) * down


@_jit
def _add_values(value_ptr, value, scale, effect, first, last, out):  # type: ignore[no-untyped-def]
    """Add to scores what values carry, for four users at once: the values are looked up once."""
    four, u = np.empty((effect.shape[1], 4)), first
    while u + 4 <= last:
        for j in range(4):
            for a in range(len(four)):
                four[a, j] = effect[u + j, a]
        for i in range(len(scale)):
            t0 = t1 = t2 = t3 = 0.0
            for q in range(value_ptr[i], value_ptr[i + 1]):
                e = four[value[q]]
                t0 += e[0]
                t1 += e[1]
                t2 += e[2]
                t3 += e[3]
            out[u, i] += scale[i] * t0
            out[u + 1, i] += scale[i] * t1
            out[u + 2, i] += scale[i] * t2
            out[u + 3, i] += scale[i] * t3
        u += 4
    for n in range(u, last):
        for i in range(len(scale)):
            total = 0.0
            for q in range(value_ptr[i], value_ptr[i + 1]):
                total += effect[n, value[q]]
            out[n, i] += scale[i] * total


@_jit
def scores_of(  # type: ignore[no-untyped-def]
    indptr,
    items,
    weight,
    base,
    pair_ptr,
    pair,
    strength,
    user,
    item_t,
    value_ptr,
    value,
    scale,
    effect,
    first,
    last,
    out,
):
    """Fill `out` (n, I) with the scores of n histories; `effect` (n, V) of `effects_of`."""
    for u in range(first, last):
        out[u] = base
    _add_values(value_ptr, value, scale, effect, first, last, out)
    add_product(user, item_t, first, last, out)
    for u in range(first, last):
        row = out[u]
        for p in range(indptr[u], indptr[u + 1]):
            x, start, stop = weight[p], pair_ptr[items[p]], pair_ptr[items[p] + 1]
            other, by = pair[start:stop], strength[start:stop]
            for q in range(len(other)):
                row[other[q]] += x * by[q]
