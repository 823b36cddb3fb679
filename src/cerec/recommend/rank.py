"""Who comes before whom, from doubles: the one rule for lists, cut-offs and ranks.

A score that is no number marks an item that may not be listed. Equal scores keep the order of the
catalogue. Known items of user u are `known[known_at[u]:known_at[u + 1]]`.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Doubles = NDArray[np.float64]

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)
lean = numba.njit(cache=True, error_model="numpy", nogil=True, _nrt=False)
"""For functions that make no arrays: counting references to theirs would take most of the time."""


@lean
def first(row: Doubles, order: Ints) -> int:
    """Fill `order` with the items that come first, best first; how many there are.

    By insertion: few items displace another, so a short list costs little more than a scan.
    """
    n, most = 0, len(order)
    if most == 0:
        return 0
    worst = -np.inf  # of a full list
    for i in range(len(row)):
        x = row[i]
        if (n == most and not x > worst) or x != x:
            continue
        to = min(n, most - 1)
        n = to + 1
        while to > 0 and row[order[to - 1]] < x:
            order[to] = order[to - 1]
            to -= 1
        order[to] = i
        if n == most:
            worst = row[order[n - 1]]
    return n


@lean
def place(row: Doubles, item: int, score: float) -> int:
    """The rank of `item` had it this score: 1 plus the number of other items before it."""
    ahead = 1 if row[item] <= score or row[item] != row[item] else 0
    for i in range(len(row)):  # by number: loops over slices do not become vector instructions
        ahead += 1 if row[i] > score else 0
    for i in range(item):
        ahead += 1 if row[i] == score else 0
    return ahead


@lean
def unseen(row: Doubles, known: Ints, out: Doubles) -> None:
    """Copy the scores of one user to `out`, nan for known items."""
    for i in range(len(row)):
        out[i] = row[i]
    for i in known:
        out[i] = np.nan


@_jit
def lists(scores: Doubles, known_at: Longs, known: Ints, k: int) -> Ints:
    """The first k unknown items of each user, best first, (n, k); -1 where there are fewer."""
    out = np.full((len(scores), k), -1, np.int32)
    row = np.empty(scores.shape[1])
    for u in range(len(scores)):
        unseen(scores[u], known[known_at[u] : known_at[u + 1]], row)
        first(row, out[u, : min(k, len(row))])
    return out


@_jit
def ranks_after(
    scores: Doubles, known_at: Longs, known: Ints, user: Longs, item: Longs, score: Doubles
) -> Longs:
    """The rank of each item for each user, had that item alone this score."""
    out = np.empty(len(user), np.int64)
    row = np.empty(scores.shape[1])
    for p, u in enumerate(user):
        unseen(scores[u], known[known_at[u] : known_at[u + 1]], row)
        out[p] = place(row, item[p], score[p])
    return out
