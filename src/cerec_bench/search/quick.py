"""Sizes of smallest change sets without the sets: what runs once for every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec_bench.search.kernels import NEVER, Goal, flips

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)
_inlined = numba.njit(error_model="numpy", nogil=True, inline="always")  # runs per relation


class Quick(NamedTuple):
    """What all candidates of one item share, and room to work in."""

    lose: NDArray[np.int32]
    """Values whose loss helps, relation by relation, the most helpful of a relation first."""
    lose_at: NDArray[np.int64]
    """(R + 1,) where each relation starts in `lose`."""
    owned: NDArray[np.int32]
    """(V,) 1 for the item's own values."""
    mark: NDArray[np.int32]
    """(V,) scratch: 1 for the candidate's values while it is looked at."""
    need: float
    """Benefit that changes must exceed: the shifted sum of the item's own values."""
    benefit: NDArray[np.float64]
    """Scratch, one entry per useful change of a candidate: what it is worth,"""
    total: NDArray[np.float64]
    """what it adds to the sum of effects,"""
    growth: NDArray[np.int64]
    """and to the number of values."""
    gains: NDArray[np.float64]
    """Scratch: effects of the useful gains of one relation."""


@_jit
def make_quick(
    goal: Goal,
    own: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
    longest: int,
) -> Quick:
    """Sort what the item may lose, once for all candidates of at most `longest` values."""
    n_relations = relation[-1] + 1 if len(relation) else 0
    owned, mark = np.zeros(len(relation), np.int32), np.zeros(len(relation), np.int32)
    useful = np.empty(len(own), np.int32)
    lose_at = np.zeros(n_relations + 1, np.int64)
    n = 0
    for v in own:
        owned[v] = 1
        if not locked[v] and effect[v] > goal.shift:
            useful[n] = v
            lose_at[relation[v] + 1] += 1
            n += 1
    for r in range(n_relations):
        lose_at[r + 1] += lose_at[r]
        part = useful[lose_at[r] : lose_at[r + 1]].copy()
        order = np.argsort(-effect[part], kind="mergesort")
        useful[lose_at[r] : lose_at[r + 1]] = part[order]
    need = goal.total - goal.n_values * goal.shift
    room = len(own) + longest
    scratch = np.empty(room), np.empty(room), np.empty(room, np.int64), np.empty(longest)
    return Quick(useful[:n], lose_at, owned, mark, need, *scratch)


@_jit
def quick_sizes(
    goal: Goal,
    quick: Quick,
    other: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
    limit: int,
) -> tuple[int, int]:
    """As `kernels.greedy`, with `kernels.empties`: a lower bound and a size that flips."""
    kept = 0
    for v in other:
        quick.mark[v] = 1
        kept += quick.owned[v]
    n = _collect(goal, quick, other, relation, locked, effect)
    for v in other:
        quick.mark[v] = 0
    least, found = _take(goal, quick, n, limit)
    if goal.mean and kept == 0 and flips(goal, 0.0, 0):
        # nothing shared; whether a lock holds a value back is for the exact search to see
        least = min(least, goal.n_values)
    return least, found


@_jit
def _collect(
    goal: Goal,
    quick: Quick,
    other: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
) -> int:
    """Write every useful change to the scratch; how many there are."""
    benefit, total, count = quick.benefit, quick.total, quick.growth
    n = at = 0
    for r in range(len(quick.lose_at) - 1):
        first = n
        for v in quick.lose[quick.lose_at[r] : quick.lose_at[r + 1]]:
            if quick.mark[v] == 0:
                benefit[n], total[n], count[n] = effect[v] - goal.shift, -effect[v], -1
                n += 1
        start = at
        while at < len(other) and relation[other[at]] == r:
            at += 1
        if at > start:
            n = max(n, _add_gains(goal, quick, other, start, at, locked, effect, first, n))
    return n


@_inlined
def _add_gains(
    goal: Goal,
    quick: Quick,
    other: NDArray[np.int32],
    start: int,
    stop: int,
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
    first: int,
    end: int,
) -> int:
    """Pair the gains of a relation, best first, with its losses in the scratch from `first`."""
    gains = quick.gains
    n = 0
    for g in range(start, stop):
        v = other[g]
        if quick.owned[v] == 0 and not locked[v] and effect[v] < goal.shift:
            gains[n] = effect[v]
            n += 1
    if n == 0:
        return first
    sort_few(gains, n)
    for t in range(n):
        if first + t >= end:
            quick.benefit[first + t], quick.total[first + t], quick.growth[first + t] = 0.0, 0.0, 0
        quick.benefit[first + t] += goal.shift - gains[t]
        quick.total[first + t] += gains[t]
        quick.growth[first + t] += 1
    return first + n


@_inlined
def sort_few(numbers: NDArray[np.float64], n: int) -> None:
    """Sort the first n numbers; by insertion when they are few, which they mostly are."""
    if n > 48:
        numbers[:n] = np.sort(numbers[:n])
        return
    for at in range(1, n):
        number, to = numbers[at], at
        while to > 0 and numbers[to - 1] > number:
            numbers[to] = numbers[to - 1]
            to -= 1
        numbers[to] = number


@_jit
def _hopeless(goal: Goal, quick: Quick, n: int, limit: int) -> bool:
    """Whether not even all changes, or `limit` times the best one, can do."""
    most = quick.benefit[:n].sum()
    most = min(most, quick.benefit[:n].max() * min(limit, n))
    if goal.mean:
        return most <= quick.need
    return not flips(goal, goal.total - most, 0)


@_jit
def _take(goal: Goal, quick: Quick, n: int, limit: int) -> tuple[int, int]:
    """The most beneficial changes first, until the benefit may do and until the item flips."""
    if n == 0 or _hopeless(goal, quick, n, limit):
        return NEVER, NEVER
    benefit = quick.benefit[:n]
    reached, sum_now, count_now, least = 0.0, goal.total, goal.n_values, NEVER
    for m in range(min(limit, n)):
        at = benefit.argmax()
        reached += benefit[at]
        sum_now += quick.total[at]
        count_now += quick.growth[at]
        benefit[at] = -1.0
        if least == NEVER and goal.mean and reached > quick.need:
            least = m + 1
        if flips(goal, sum_now, count_now):
            return (least if goal.mean else m + 1), m + 1
    return least, NEVER
