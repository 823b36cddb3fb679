"""Compiled search over candidate items, and the change set behind a minimum."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec_bench.search.kernels import (
    NEVER,
    Goal,
    Moves,
    empties,
    flips,
    greedy,
    mean_table,
    moves_toward,
    prefix,
)
from cerec_bench.search.quick import make_quick, quick_sizes

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def minimum(goal: Goal, moves: Moves, effect: NDArray[np.float64], limit: int) -> int:
    """Fewest changes that flip, or NEVER when none within `limit` does."""
    least, found, _, _ = greedy(goal, moves, effect, limit)
    least, found = min(least, empties(goal, moves)), min(found, empties(goal, moves))
    if least < found and least <= limit:  # a tie, or a rounding away from one
        found = min(found, mean_table(goal, moves, effect, least, min(found - 1, limit))[0])
    return found if found <= limit else NEVER


@_jit
def minima(
    goal: Goal,
    own: NDArray[np.int32],
    candidate: NDArray[np.int32],
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
    limit: int,
    best_only: bool,
) -> NDArray[np.int64]:
    """Fewest changes that flip towards each candidate; NEVER where none within `limit` does.

    With `best_only` the limit falls to the fewest found so far, so only numbers equal to the
    smallest of the answer are the candidates' own minima.
    """
    out = np.empty(len(candidate), np.int64)
    longest = 0
    for j in candidate:
        longest = max(longest, indptr[j + 1] - indptr[j])
    quick = make_quick(goal, own, relation, locked, effect, longest)
    for c in range(len(candidate)):
        other = indices[indptr[candidate[c]] : indptr[candidate[c] + 1]]
        least, found = quick_sizes(goal, quick, other, relation, locked, effect, limit)
        if found > limit:
            found = NEVER
        if least < found and least <= limit:
            found = minimum(goal, moves_toward(own, other, relation, locked, effect), effect, limit)
        out[c] = found
        if best_only:
            limit = min(limit, found)
    return out


@_jit
def change_set(
    goal: Goal, moves: Moves, effect: NDArray[np.float64], limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The smallest change set: values lost and gained, one pair per change, -1 for none.

    Among sets of that size, values are replaced rather than removed or added alone wherever
    the item still flips.
    """
    m = minimum(goal, moves, effect, limit)
    if m >= NEVER:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    _, found, n_lost, n_gained = greedy(goal, moves, effect, m)
    if found > m:
        table = mean_table(goal, moves, effect, m, m)[1]
        _read_table(goal, moves, effect, m, table, n_lost, n_gained)
    _complete(goal, moves, effect, n_lost, n_gained)
    before, after = np.full(m, -1, np.int32), np.full(m, -1, np.int32)
    at = 0
    for r in range(len(n_lost)):
        for t in range(n_lost[r]):
            before[at + t] = moves.lose[moves.lose_at[r] + t]
        for t in range(n_gained[r]):
            after[at + t] = moves.gain[moves.gain_at[r] + t]
        at += max(n_lost[r], n_gained[r])
    return before, after


@_jit
def _read_table(
    goal: Goal,
    moves: Moves,
    effect: NDArray[np.float64],
    m: int,
    table: NDArray[np.float64],
    n_lost: NDArray[np.int64],
    n_gained: NDArray[np.int64],
) -> None:
    """Values lost and gained per relation by a set of m changes that the table holds."""
    lost, gained = prefix(moves.lose, effect), prefix(moves.gain, effect)
    n_relations, middle = len(n_lost), table.shape[2] // 2
    d = 0
    for near in range(2 * m + 1):  # growth 0, -1, 1, -2, ...: replacements before the rest
        d = (near + 1) // 2 * (1 if near % 2 == 0 else -1)
        total = table[n_relations, m, middle + d]
        if total < np.inf and flips(goal, goal.total + total, goal.n_values + d):
            break
    rest = m
    for r in range(n_relations - 1, -1, -1):
        n, g = _step_back(table, r, rest, d, moves, lost, gained)
        n_lost[r], n_gained[r] = n, g
        rest -= max(n, g)
        d -= g - n


@_jit
def _step_back(
    table: NDArray[np.float64],
    r: int,
    m: int,
    d: int,
    moves: Moves,
    lost: NDArray[np.float64],
    gained: NDArray[np.float64],
) -> tuple[int, int]:
    """How many values relation r loses and gains in a cell; exact sums make equality find it."""
    middle = table.shape[2] // 2
    lo, go = moves.lose_at[r], moves.gain_at[r]
    for n in range(min(moves.lose_at[r + 1] - lo, m) + 1):
        for g in range(min(moves.gain_at[r + 1] - go, m) + 1):
            rest, to = m - max(n, g), d - (g - n)
            if abs(to) > rest:
                continue
            here = (gained[go + g] - gained[go]) - (lost[lo + n] - lost[lo])
            if table[r, rest, middle + to] + here == table[r + 1, m, middle + d]:
                return n, g
    return 0, 0


@_jit
def _complete(
    goal: Goal,
    moves: Moves,
    effect: NDArray[np.float64],
    n_lost: NDArray[np.int64],
    n_gained: NDArray[np.int64],
) -> None:
    """Turn removals and additions into replacements while the item still flips."""
    total, count = goal.total, goal.n_values
    for r in range(len(n_lost)):
        for t in range(n_lost[r]):
            total -= effect[moves.lose[moves.lose_at[r] + t]]
        for t in range(n_gained[r]):
            total += effect[moves.gain[moves.gain_at[r] + t]]
        count += n_gained[r] - n_lost[r]
    for r in range(len(n_lost)):
        while n_gained[r] != n_lost[r]:
            adds = n_gained[r] < n_lost[r]
            at = moves.gain_at[r] + n_gained[r] if adds else moves.lose_at[r] + n_lost[r]
            if at == (moves.gain_at[r + 1] if adds else moves.lose_at[r + 1]):
                break
            step = effect[moves.gain[at]] if adds else -effect[moves.lose[at]]
            grown = 1 if adds else -1
            if not flips(goal, total + step, count + grown):
                break
            total, count = total + step, count + grown
            if adds:
                n_gained[r] += 1
            else:
                n_lost[r] += 1


@_jit
def solve(
    goal: Goal,
    own: NDArray[np.int32],
    other: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
    limit: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The smallest change set from the values `own` towards `other` (see `change_set`)."""
    moves = moves_toward(own, other, relation, locked, effect)
    return change_set(goal, moves, effect, limit)


@_jit
def first_of(
    item: NDArray[np.int32], sizes: NDArray[np.int64], unit: NDArray[np.float32], to: int
) -> int:
    """The position of the smallest size, then of the item most similar to `to`, then by row."""
    least = sizes.min()
    best, best_near = -1, np.float32(-np.inf)
    for at in range(len(item)):
        if sizes[at] == least:
            near = np.float32(0.0)
            for d in range(unit.shape[1]):
                near += unit[item[at], d] * unit[to, d]
            if best < 0 or near > best_near or (near == best_near and item[at] < item[best]):
                best, best_near = at, near
    return best


@_jit
def pooled_by_item(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], effect: NDArray[np.float64], mean: bool
) -> NDArray[np.float64]:
    """The pooled effect of every item's values."""
    out = np.zeros(len(indptr) - 1)
    for i in range(len(out)):
        for at in range(indptr[i], indptr[i + 1]):
            out[i] += effect[indices[at]]
        if mean:
            out[i] /= max(indptr[i + 1] - indptr[i], 1)
    return out
