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


@numba.njit(cache=True, error_model="numpy", nogil=True)
def effects_of(  # type: ignore[no-untyped-def]
    indptr, items, weight, value_ptr, value, share, unit, user, value_t, bits, first, last, out
):
    """Fill `out` (n, V) with e(u, .) of n histories; `user` (n, d) and `value_t` (d, V)."""
    n_values = len(share)
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
        for a in range(n_values):
            row[a] = unit[a] * (row[a] - total * share[a]) / size
        for k in range(user.shape[1]):
            x = user[u, k]
            for a in range(n_values):
                row[a] += x * value_t[k, a]
        for a in range(n_values):
            row[a] = np.rint(row[a] * up) * down


@numba.njit(cache=True, error_model="numpy", nogil=True)
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
    n_items = len(base)
    for u in range(first, last):
        row = out[u]
        for i in range(n_items):
            total = 0.0
            for q in range(value_ptr[i], value_ptr[i + 1]):
                total += effect[u, value[q]]
            row[i] = base[i] + scale[i] * total
        for k in range(user.shape[1]):
            x = user[u, k]
            for i in range(n_items):
                row[i] += x * item_t[k, i]
        for p in range(indptr[u], indptr[u + 1]):
            x = weight[p]
            for q in range(pair_ptr[items[p]], pair_ptr[items[p] + 1]):
                row[pair[q]] += x * strength[q]
