"""The fewest changes that flip one item, as a prefix of sorted changes.

**One arithmetic.** The score of item i for user u, had its values been A instead of A_i, is

    f = s + scale_i * d,    d = (sum of e over A) - (sum of e over A_i),

where the effects `e` lie on the grid of docs/adr/0004-exact-scores.md: any sum of them is exact, so
d is the sum of what single changes add, in any order. For fixed s and scale_i > 0 the computed f is
a chain of two operations with one varying operand, each rounded correctly, and correct rounding is
monotone: d <= d' implies f(d) <= f(d') *in the computed numbers*. So among sets of equal size the
one with the least d flips if any does, and is the most decisive.

**The sort.** Within a relation, sort what may be lost by falling and what may be gained by rising
effect. n changes there do best with the first n of both, so the t-th change pairs the t-th of both
and is worth `e_lost - e_gained`, which never grows with t. The best m changes over all relations
are then the first m of all changes sorted by worth, and the first m that flip are the smallest
answer. Here they are merged: of every relation only the next change is known. For each kind:

- `REPLACE`: a loss and a gain in one relation;
- `REMOVE`: a loss, worth `e_lost`;
- `ANY`: a loss, worth `max(e_lost, e_lost - e_gained)`. Where a relation holds several values, loss
  and gain do not need each other: worth `max(e_lost, 0) + max(-e_gained, 0)`.

A relation the item has no value of has no changes, and changes worth 0 are left out. Ties go to the
smaller value among equal effects and to the smaller relation among equal changes. Lifting an item
is lowering it with all signs turned, bit by bit: `Room.effect` is times the sign of the question.
A relation whose values imply each other has one change, the best of a branch (`trees`).
"""

from __future__ import annotations

import numpy as np

from cerec.explain.changes.room import Goal, Room, flips, least, next_gain
from cerec.explain.changes.trees import best_branch
from cerec.explain.changes.values import ANY, NO_GAIN, NO_LOSS, OWN, REMOVE, REPLACE, Values
from cerec.recommend.rank import Doubles, lean


@lean
def _advance(values: Values, room: Room, mode: int, n: int, toward: int) -> None:
    """Find the next change of the n-th relation of the item."""
    runs, effect = room.runs, room.effect
    first = runs.start[0]
    r = values.relation[values.of_item[runs.start[n]]]
    loss, gain = least(room.mine, runs.start[n] - first, runs.end[n] - first), -1
    if loss >= 0:
        room.mine[loss] = np.inf
        loss = values.of_item[first + loss]
    if mode != REMOVE and toward >= 0:
        first = values.at[toward]
        gain = least(room.theirs, runs.low[n] - first, runs.high[n] - first)
        if gain >= 0:
            room.theirs[gain] = np.inf
            gain = values.of_item[first + gain]
    elif mode != REMOVE:
        runs.low[n] = next_gain(values, room, r, runs.low[n]) + 1
        gain = room.best[runs.low[n] - 1] if runs.low[n] <= values.gain_at[r + 1] else -1
    several = mode == ANY and values.several[r]
    possible = loss >= 0 or (several and gain >= 0)
    if mode == REPLACE:
        possible = loss >= 0 and gain >= 0
    if several and loss >= 0 and not effect[loss] > 0.0:
        loss = -1
    if mode == ANY and gain >= 0 and not effect[gain] < 0.0:
        gain = -1
    worth = (effect[loss] if loss >= 0 else 0.0) - (effect[gain] if gain >= 0 else 0.0)
    runs.lost[n], runs.gained[n] = loss, gain
    runs.worth[n] = worth if possible else -np.inf


@lean
def _first_changes(
    values: Values, room: Room, mode: int, item: int, only: int, toward: int
) -> tuple[int, bool]:
    """Find the best change of every relation of the item, or of `only` one; how many relations
    there are, and whether any change is possible.
    """
    runs, n, possible = room.runs, 0, False
    p, end = values.at[item], values.at[item + 1]
    q, q_end = (values.at[toward], values.at[toward + 1]) if toward >= 0 else (end, end)
    _fill(values, room, room.mine, p, end, -1, NO_LOSS)
    _fill(values, room, room.theirs, q, q_end, 1, OWN | NO_GAIN)
    while p < end:
        r = values.relation[values.of_item[p]]
        runs.start[n] = p
        while p < end and values.relation[values.of_item[p]] == r:
            p += 1
        runs.end[n] = p
        while q < q_end and values.relation[values.of_item[q]] < r:
            q += 1
        runs.low[n] = q if toward >= 0 else values.gain_at[r]
        while q < q_end and values.relation[values.of_item[q]] == r:
            q += 1
        runs.high[n], runs.worth[n] = q, -np.inf
        if only < 0 or only == r:
            if values.tree[r]:
                best_branch(values, room, mode, n, toward)
            else:
                _advance(values, room, mode, n, toward)
        possible |= runs.worth[n] != -np.inf
        n += 1
    return n, possible


@lean
def _fill(
    values: Values, room: Room, out: Doubles, start: int, end: int, turn: int, barred: int
) -> None:
    """The effects of an item's values times `turn`, infinite for those with such a mark."""
    for p in range(start, end):
        v = values.of_item[p]
        out[p - start] = np.inf if room.mark[v] & barred else turn * room.effect[v]


@lean
def smallest(
    values: Values, room: Room, goal: Goal, item: int, only: int, toward: int, most: int
) -> tuple[int, float, bool]:
    """Fill the room with the fewest changes that flip the item: how many (0 if none do, or more
    than `most`), the drop, and whether any change is possible.
    """
    n, possible = _first_changes(values, room, goal.mode, item, only, toward)
    runs, drop = room.runs, 0.0
    for m in range(most):
        best, worth = -1, 0.0
        for at in range(n):
            if runs.worth[at] > worth:
                best, worth = at, runs.worth[at]
        if best < 0:
            break
        room.lost[m], room.gained[m] = runs.lost[best], runs.gained[best]
        drop += worth
        if flips(goal, drop):
            return m + 1, drop, possible
        if values.tree[values.relation[values.of_item[runs.start[best]]]]:
            runs.worth[best] = -np.inf
        else:
            _advance(values, room, goal.mode, best, toward)
    return 0, drop, possible


@lean
def toward_one(
    values: Values, room: Room, goal: Goal, item: int, only: int, most: int
) -> tuple[int, float, int]:
    """The best answer toward a single item: size (0: none), drop, and the first such item."""
    best, best_drop, best_j = most, 0.0, -1
    for j in range(len(values.scale)):
        if j == item:
            continue
        size, drop, _ = smallest(values, room, goal, item, only, j, best)
        if size and (best_j < 0 or size < best or drop > best_drop):
            best, best_drop, best_j = size, drop, j
    if best_j < 0:
        return 0, 0.0, -1
    smallest(values, room, goal, item, only, best_j, best)  # its changes back into the room
    return best, best_drop, best_j
