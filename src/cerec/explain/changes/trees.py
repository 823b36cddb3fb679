"""Relations whose values imply each other: an answer changes whole branches there.

What is lost goes with all that implies it, and with what nothing else of the item implies; what is
gained comes with all that it implies. A parent that both branches have stays. So a changed item
never has a child without its parent, one change is worth `sum of e over the lost branch - sum of e
over the gained one`, and the sort of `search` stays exact.
"""

from __future__ import annotations

import numpy as np

from cerec.explain.changes.room import Room, next_gain
from cerec.explain.changes.values import (
    ANY,
    GOES,
    NO_GAIN,
    NO_LOSS,
    OWN,
    REMOVE,
    REPLACE,
    Values,
)
from cerec.recommend.rank import Ints, lean


@lean
def _implies(values: Values, child: int, parent: int) -> bool:
    """Whether all that has the child has the parent."""
    found = False
    for q in range(values.above_at[child], values.above_at[child + 1]):
        found |= values.above[q] == parent
    return found


@lean
def _cut(values: Values, room: Room, start: int, end: int, v: int) -> tuple[float, bool]:
    """Mark the branch that goes with the own value v of the relation at `start` to `end`; the sum
    of its effects, and whether all of it may go.
    """
    total, may, mark = 0.0, True, room.mark
    for q in range(start, end):
        mark[values.of_item[q]] &= OWN | NO_GAIN | NO_LOSS
    for q in range(start, end):
        w = values.of_item[q]
        goes = w == v or _implies(values, w, v)
        if not goes and _implies(values, v, w):
            goes = True
            for p in range(start, end):
                x = values.of_item[p]
                if x != v and not _implies(values, x, v) and not _implies(values, v, x):
                    goes &= not _implies(values, x, w)
        if goes:
            mark[w] |= GOES
            total += room.effect[w]
            may &= not mark[w] & NO_LOSS
    return total, may


@lean
def _may_come(values: Values, room: Room, g: int) -> bool:
    """Whether g may be gained with all that it implies, in place of the branch that goes."""
    if room.mark[g] & (OWN | NO_GAIN):
        return False
    for q in range(values.above_at[g], values.above_at[g + 1]):
        m = room.mark[values.above[q]]
        if m & NO_GAIN or (m & OWN and not m & GOES):
            return False
    return True


@lean
def _best_gain(values: Values, room: Room, r: int, n: int, toward: int) -> int:
    """The best value of tree r to gain in place of the branch that goes; -1: none."""
    best = -1
    if toward >= 0:
        for p in range(room.runs.low[n], room.runs.high[n]):
            v = values.of_item[p]
            if (best < 0 or room.whole[v] < room.whole[best]) and _may_come(values, room, v):
                best = v
        return best
    at = next_gain(values, room, r, values.gain_at[r])
    while at < values.gain_at[r + 1]:
        if _may_come(values, room, room.best[at]):
            return room.best[at]
        at = next_gain(values, room, r, at + 1)
    return best


@lean
def best_branch(values: Values, room: Room, mode: int, n: int, toward: int) -> None:
    """Find the best change of a branch for the n-th relation of the item."""
    runs, best, possible = room.runs, 0.0, False
    start, end = runs.start[n], runs.end[n]
    r = values.relation[values.of_item[start]]
    runs.lost[n] = runs.gained[n] = -1
    for p in range(start - 1, end):
        v, a, may = -1, 0.0, mode == ANY and values.several[r]
        if p >= start:
            v = values.of_item[p]
            a, may = _cut(values, room, start, end, v)
        if not may:
            continue
        g = -1 if mode == REMOVE else _best_gain(values, room, r, n, toward)
        if g >= 0 and mode == ANY and v >= 0 and not room.whole[g] < 0.0:
            g = -1
        if g < 0 and (mode == REPLACE or v < 0):
            continue
        possible = True
        worth = a - room.whole[g] if g >= 0 else a
        if worth > best:
            best, runs.lost[n], runs.gained[n] = worth, v, g
    runs.worth[n] = best if possible else -np.inf


@lean
def write_branch(
    values: Values, room: Room, item: int, lost: int, gained: int, out: Ints, used: int
) -> int:
    """Write one change of a tree value by value, deepest first, from `used` on; how many."""
    r = values.relation[max(lost, gained)]
    start, end = values.at[item], values.at[item + 1]
    while start < end and values.relation[values.of_item[start]] != r:
        start += 1
    while end > start and values.relation[values.of_item[end - 1]] != r:
        end -= 1
    n_lose = n_gain = 0
    if lost >= 0:
        _cut(values, room, start, end, lost)
        for q in range(start, end):
            w = values.of_item[q]
            if room.mark[w] & GOES and not (gained >= 0 and _implies(values, gained, w)):
                _put_deepest(values, out[0], used, n_lose, w)
                n_lose += 1
    if gained >= 0:
        out[1, used], n_gain = gained, 1
        for q in range(values.above_at[gained], values.above_at[gained + 1]):
            if not room.mark[values.above[q]] & OWN:
                _put_deepest(values, out[1], used, n_gain, values.above[q])
                n_gain += 1
    n = max(n_lose, n_gain)
    for m in range(n):
        out[0, used + m] = out[0, used + m] if m < n_lose else -1
        out[1, used + m] = out[1, used + m] if m < n_gain else -1
        out[2, used + m] = m > 0
    return n


@lean
def _put_deepest(values: Values, rows: Ints, start: int, n: int, v: int) -> None:
    """Insert v among `rows[start : start + n]`, behind those that imply as much or more."""
    depth, to = values.above_at[v + 1] - values.above_at[v], start + n
    while to > start:
        w = rows[to - 1]
        if values.above_at[w + 1] - values.above_at[w] >= depth:
            break
        rows[to] = w
        to -= 1
    rows[to] = v
