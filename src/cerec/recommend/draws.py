"""Random draws inside numba kernels: one 64-bit state per call, the same on every machine."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

TRIES = 64  # draws before falling back on a scan or giving up


def fresh_state(rng: np.random.Generator) -> NDArray[np.uint64]:
    """The state of one kernel call, drawn from `rng`."""
    return rng.integers(0, 2**63, size=1, dtype=np.uint64)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def below(state: NDArray[np.uint64], n: int) -> int:
    """A number in 0..n-1 (splitmix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return int(np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0) * n)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def holds(indptr: NDArray[np.int64], indices: NDArray[np.int32], row: int, entry: int) -> bool:
    """True when `entry` is in the (sorted) row."""
    low, high = indptr[row], indptr[row + 1]
    while low < high:
        middle = (low + high) >> 1
        if indices[middle] < entry:
            low = middle + 1
        else:
            high = middle
    return low < indptr[row + 1] and indices[low] == entry


@numba.njit(cache=True, error_model="numpy", nogil=True)
def unknown_item(
    state: NDArray[np.uint64],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    user: int,
    n_items: int,
) -> int:
    """An item the user does not know, uniformly; -1 when the user knows them all."""
    if indptr[user + 1] - indptr[user] >= n_items:
        return -1
    for _ in range(TRIES):
        item = below(state, n_items)
        if not holds(indptr, indices, user, item):
            return item
    start = below(state, n_items)  # a user who knows nearly all
    for step in range(n_items):
        item = (start + step) % n_items
        if not holds(indptr, indices, user, item):
            return item
    return -1


@numba.njit(cache=True, error_model="numpy", nogil=True)
def walk(
    state: NDArray[np.uint64],
    item: int,
    steps: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],
    holders: NDArray[np.int32],
) -> int:
    """Where `steps` uniform item-value-item steps end; -1 from an item without shared values.

    A step never returns to the item it leaves.
    """
    at = item
    for _ in range(steps):
        n = indptr[at + 1] - indptr[at]
        to = -1
        for _ in range(TRIES if n > 0 else 0):
            value = indices[indptr[at] + below(state, n)]
            first = holder_indptr[value]
            to = holders[first + below(state, holder_indptr[value + 1] - first)]
            if to != at:
                break
            to = -1
        if to < 0:
            return -1
        at = to
    return at
