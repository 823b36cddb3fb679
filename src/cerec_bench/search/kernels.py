"""Compiled search for the fewest changes that turn one item's values towards another's.

Conventions shared by every function (proofs in docs/adr/0005-minimum-changes.md):
- values of an item are sorted and numbered relation by relation, so a slice of them is one
  relation; what may be lost is sorted by falling effect, what may be gained by rising effect;
- effects, scores and cut-off come multiplied by the sign of the question (+1 lowers an item,
  -1 lifts it), so that a flip is always "low enough";
- sums of effects are exact (docs/adr/0004-exact-scores.md), hence free of order.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

NEVER = 1 << 30
"""More changes than there can be: no set of changes flips."""


class Goal(NamedTuple):
    """When a changed item counts as flipped: a score below `cutoff`, or equal if `tie_flips`."""

    score: float
    """Score of the item as it is."""
    total: float
    """Sum of the effects of its values."""
    n_values: int
    """Number of its values."""
    mean: bool
    """Whether effects are pooled by their mean, else by their sum."""
    pooled: float
    """Effects of its values, pooled."""
    cutoff: float
    tie_flips: bool
    shift: float
    """Taken off every effect before adding: by sum 0; by mean just above any mean that flips,
    so that values which flip, if there are any left, have a shifted sum below 0. A multiple of
    the effects' grid."""


class Moves(NamedTuple):
    """What may change: `lose[lose_at[r]:lose_at[r + 1]]` and likewise `gain`, per relation r."""

    lose: NDArray[np.int32]
    gain: NDArray[np.int32]
    lose_at: NDArray[np.int32]
    gain_at: NDArray[np.int32]


_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def score_after(goal: Goal, total: float, count: int) -> float:
    """The score of the item had its values this sum of effects and this number."""
    share = total
    if goal.mean:
        share = total / max(count, 1)
    return goal.score + (share - goal.pooled)


@_jit
def flips(goal: Goal, total: float, count: int) -> bool:
    """Whether values with this sum of effects and this number flip the item."""
    score = score_after(goal, total, count)
    return score < goal.cutoff or (goal.tie_flips and score == goal.cutoff)


@_jit
def _sort(
    rows: NDArray[np.int32], start: int, end: int, effect: NDArray[np.float64], sign: int
) -> None:
    """Order `rows[start:end]` by `sign * effect`, rising; equal effects keep their order."""
    if end - start > 48:
        part = rows[start:end].copy()
        order = np.argsort(sign * effect[part], kind="mergesort")
        rows[start:end] = part[order]
        return
    for at in range(start + 1, end):
        row = rows[at]
        key = sign * effect[row]
        to = at
        while to > start and sign * effect[rows[to - 1]] > key:
            rows[to] = rows[to - 1]
            to -= 1
        rows[to] = row


@_jit
def moves_toward(
    own: NDArray[np.int32],
    other: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
) -> Moves:
    """Every value that `own` may lose or gain on the way to `other`, relation by relation."""
    lose, gain = np.empty(len(own), np.int32), np.empty(len(other), np.int32)
    most = len(own) + len(other)
    lose_at, gain_at = np.empty(most + 1, np.int32), np.empty(most + 1, np.int32)
    a = b = n_lose = n_gain = r = 0
    current = np.int32(-1)
    while a < len(own) or b < len(other):
        take_own = b == len(other) or (a < len(own) and own[a] <= other[b])
        value = own[a] if take_own else other[b]
        shared = a < len(own) and b < len(other) and own[a] == other[b]
        a += 1 if take_own else 0
        b += 1 if shared or not take_own else 0
        if shared or locked[value]:
            continue
        if relation[value] != current:
            current = relation[value]
            lose_at[r], gain_at[r] = n_lose, n_gain
            r += 1
        if take_own:
            lose[n_lose] = value
            n_lose += 1
        else:
            gain[n_gain] = value
            n_gain += 1
    lose_at[r], gain_at[r] = n_lose, n_gain
    for q in range(r):
        _sort(lose, lose_at[q], lose_at[q + 1], effect, -1)
        _sort(gain, gain_at[q], gain_at[q + 1], effect, 1)
    return Moves(lose[:n_lose], gain[:n_gain], lose_at[: r + 1], gain_at[: r + 1])


@_jit
def prefix(rows: NDArray[np.int32], effect: NDArray[np.float64]) -> NDArray[np.float64]:
    """Running sums of effects, from 0 for none."""
    out = np.zeros(len(rows) + 1)
    for n in range(len(rows)):
        out[n + 1] = out[n] + effect[rows[n]]
    return out


@_jit
def slots(goal: Goal, moves: Moves, effect: NDArray[np.float64]) -> NDArray[np.int64]:
    """The relation of each useful change, the most helpful change first.

    The t-th change of a relation loses its t-th worst value if that helps and gains its t-th
    best if that helps, so its benefit never grows with t and a sorted merge takes prefixes.
    """
    most = len(moves.lose) + len(moves.gain)
    benefit, owner = np.empty(most), np.empty(most, np.int64)
    n = 0
    for r in range(len(moves.lose_at) - 1):
        lo, n_lose = moves.lose_at[r], moves.lose_at[r + 1] - moves.lose_at[r]
        go, n_gain = moves.gain_at[r], moves.gain_at[r + 1] - moves.gain_at[r]
        for t in range(max(n_lose, n_gain)):
            gone = max(effect[moves.lose[lo + t]] - goal.shift, 0.0) if t < n_lose else 0.0
            came = min(effect[moves.gain[go + t]] - goal.shift, 0.0) if t < n_gain else 0.0
            if came - gone == 0.0:
                break
            benefit[n], owner[n] = came - gone, r
            n += 1
    order = np.argsort(benefit[:n], kind="mergesort")
    return owner[:n][order]


@_jit
def greedy(
    goal: Goal, moves: Moves, effect: NDArray[np.float64], limit: int
) -> tuple[int, int, NDArray[np.int64], NDArray[np.int64]]:
    """Most helpful changes first: a lower bound on the minimum, a size that flips (NEVER where
    there is none within the limit), and the values lost and gained per relation by then.
    """
    n_relations = len(moves.lose_at) - 1
    n_lost, n_gained = np.zeros(n_relations, np.int64), np.zeros(n_relations, np.int64)
    used = np.zeros(n_relations, np.int64)
    total, count, least = goal.total, goal.n_values, NEVER
    owner = slots(goal, moves, effect)
    for m in range(min(limit, len(owner))):
        r = owner[m]
        lose, gain = moves.lose_at[r] + used[r], moves.gain_at[r] + used[r]
        used[r] += 1
        if lose < moves.lose_at[r + 1] and effect[moves.lose[lose]] > goal.shift:
            total, count, n_lost[r] = total - effect[moves.lose[lose]], count - 1, n_lost[r] + 1
        if gain < moves.gain_at[r + 1] and effect[moves.gain[gain]] < goal.shift:
            total, count, n_gained[r] = total + effect[moves.gain[gain]], count + 1, n_gained[r] + 1
        if least == NEVER and goal.mean and total - count * goal.shift < 0.0:
            least = m + 1
        if flips(goal, total, count):
            return (least if goal.mean else m + 1), m + 1, n_lost, n_gained
    return (least if goal.mean else NEVER), NEVER, n_lost, n_gained


@_jit
def empties(goal: Goal, moves: Moves) -> int:
    """Pooling by mean: changes that leave no value at all, if that can be and flips, else NEVER.

    The mean of nothing is 0, which no shifted sum tells.
    """
    if goal.mean and len(moves.lose) == goal.n_values and flips(goal, 0.0, 0):
        return goal.n_values
    return NEVER


@_jit
def mean_row(
    table: NDArray[np.float64],
    m: int,
    moves: Moves,
    lost: NDArray[np.float64],
    gained: NDArray[np.float64],
) -> None:
    """Fill `table[:, m]`: the least sum by exactly m changes, for each growth in number.

    `table[r + 1, m, middle + d]` is over the first r + 1 relations, d = gained - lost values.
    """
    middle = table.shape[2] // 2
    table[0, m, :] = np.inf
    if m == 0:
        table[0, 0, middle] = 0.0
    for r in range(len(moves.lose_at) - 1):
        lo, go = moves.lose_at[r], moves.gain_at[r]
        n_lose, n_gain = moves.lose_at[r + 1] - lo, moves.gain_at[r + 1] - go
        row = table[r + 1, m]
        row[:] = np.inf
        for n in range(min(n_lose, m) + 1):
            for g in range(min(n_gain, m) + 1):
                here = (gained[go + g] - gained[go]) - (lost[lo + n] - lost[lo])
                rest = m - max(n, g)
                before = table[r, rest]
                for d in range(middle - rest, middle + rest + 1):
                    total = before[d] + here
                    if total < row[d + g - n]:
                        row[d + g - n] = total


@_jit
def mean_table(
    goal: Goal, moves: Moves, effect: NDArray[np.float64], least: int, most: int
) -> tuple[int, NDArray[np.float64]]:
    """Pooling by mean: fewest changes that flip, if from `least` to `most` (else NEVER), and the
    table of least sums behind it.
    """
    lost, gained = prefix(moves.lose, effect), prefix(moves.gain, effect)
    n_relations = len(moves.lose_at) - 1
    possible = 0
    for r in range(n_relations):
        possible += max(
            moves.lose_at[r + 1] - moves.lose_at[r], moves.gain_at[r + 1] - moves.gain_at[r]
        )
    size = max(min(most, possible), 0)
    table = np.empty((n_relations + 1, size + 1, 2 * size + 1))
    for m in range(size + 1):
        mean_row(table, m, moves, lost, gained)
        if m < least:
            continue
        for d in range(-m, m + 1):
            total = table[n_relations, m, size + d]
            if total < np.inf and flips(goal, goal.total + total, goal.n_values + d):
                return m, table
    return NEVER, table
