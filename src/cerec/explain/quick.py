"""Sizes of smallest change sets without the sets: what runs once for every candidate."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.kernels import NEVER, Goal, flips

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


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


@_jit
def make_quick(
    goal: Goal,
    own: NDArray[np.int32],
    relation: NDArray[np.int32],
    locked: NDArray[np.bool_],
    effect: NDArray[np.float64],
) -> Quick:
    """Sort what the item may lose, once for all candidates."""
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
    return Quick(useful[:n], lose_at, owned, mark, need)


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
    most = len(quick.lose) + len(other)
    benefit, total, count = np.zeros(most), np.zeros(most), np.zeros(most, np.int64)
    n = _collect(goal, quick, other, relation, locked, effect, benefit, total, count)
    for v in other:
        quick.mark[v] = 0
    least, found = _take(goal, quick.need, benefit[:n], total[:n], count[:n], limit)
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
    benefit: NDArray[np.float64],
    total: NDArray[np.float64],
    count: NDArray[np.int64],
) -> int:
    """Every useful change: its benefit, and what it adds to the sum and number of values."""
    n = at = 0
    for r in range(len(quick.lose_at) - 1):
        n_lose = n
        for v in quick.lose[quick.lose_at[r] : quick.lose_at[r + 1]]:
            if quick.mark[v] == 0:
                benefit[n_lose] = effect[v] - goal.shift
                total[n_lose], count[n_lose] = -effect[v], -1
                n_lose += 1
        start = at
        while at < len(other) and relation[other[at]] == r:
            at += 1
        gains = np.empty(at - start)
        n_gain = 0
        for v in other[start:at]:
            if quick.owned[v] == 0 and not locked[v] and effect[v] < goal.shift:
                gains[n_gain] = effect[v]
                n_gain += 1
        gains = np.sort(gains[:n_gain])
        for t in range(n_gain):
            benefit[n + t] += goal.shift - gains[t]
            total[n + t] += gains[t]
            count[n + t] += 1
        n = max(n_lose, n + n_gain)
    return n


@_jit
def _take(
    goal: Goal,
    need: float,
    benefit: NDArray[np.float64],
    total: NDArray[np.float64],
    count: NDArray[np.int64],
    limit: int,
) -> tuple[int, int]:
    """The most beneficial changes first, until the benefit may do and until the item flips."""
    if len(benefit) == 0 or (goal.mean and benefit.sum() <= need):
        return NEVER, NEVER
    if goal.mean and limit < len(benefit) and benefit.max() * limit <= need:
        return NEVER, NEVER
    order = np.argsort(-benefit, kind="mergesort")
    reached, sum_now, count_now, least = 0.0, goal.total, goal.n_values, NEVER
    for m in range(min(limit, len(order))):
        at = order[m]
        reached += benefit[at]
        sum_now += total[at]
        count_now += count[at]
        if least == NEVER and (goal.mean and reached > need):
            least = m + 1
        if flips(goal, sum_now, count_now):
            return (least if goal.mean else m + 1), m + 1
    return least, NEVER
