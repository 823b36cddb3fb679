"""The fewest changes that flip one item, as a prefix of sorted changes.

**One arithmetic.** The score of item i for user u, had its values been A instead of A_i, is

    f = s + scale_i * d,    d = (sum of e over A) - (sum of e over A_i),

where the effects `e` lie on the grid of docs/adr/0004-exact-scores.md: any sum of them is exact, so
d is the sum of what single changes add, in any order. For fixed s and scale_i > 0 the computed f is
a chain of two operations with one varying operand, each rounded correctly, and correct rounding is
monotone: d <= d' implies f(d) <= f(d') *in the computed numbers*. So among sets of equal size the
one with the least d flips if any does, and is the most decisive.

**The sort.** Within a relation, sort what may be lost by falling and what may be gained by rising
effect. n changes there do best with the first n of both, so the t-th change, a *slot*, pairs the
t-th of both and is worth `e_lost - e_gained`, which never grows with t. The best m changes over all
relations are then the first m of all slots sorted by worth, and the first m that flip are the
smallest answer. So it is for each kind of changes:

- `REPLACE`: a loss and a gain in one relation;
- `REMOVE`: a loss, worth `e_lost`;
- `ANY`: a loss, worth `max(e_lost, e_lost - e_gained)`. Where a relation holds several values, loss
  and gain do not need each other: worth `max(e_lost, 0) + max(-e_gained, 0)`.

A relation the item has no value of has no slots, and slots worth 0 are left out. Ties go to the
smaller value among equal effects and to the smaller relation among equal slots. Lifting an item is
lowering it with all signs turned, bit by bit: `Room.effect` is times the sign of the question.
A relation whose values imply each other has one slot, the best change of a branch (`trees`).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.trees import NO_GAIN, NO_LOSS, OWN, Values, cut, grafts
from cerec.recommend.rank import Doubles, Ints, Longs, lean

REPLACE, REMOVE, ANY = range(3)
_FEW = 8  # gains of a relation that are sorted at first; seldom more are needed

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


class Goal(NamedTuple):
    """A flip: the signed score falls below the signed cut-off, or onto it where `tie` flips."""

    score: float
    scale: float
    cutoff: float
    sign: int
    tie: bool
    mode: int


class Room(NamedTuple):
    """What is known of the present user and item, and room to work in."""

    row: Doubles  # (I,) scores, nan for known items
    effect: Doubles  # (V,) times the sign
    whole: Doubles  # (V,) the same, with what each value implies
    mark: NDArray[np.uint8]  # (V,) bits OWN, NO_GAIN, NO_LOSS, GOES
    best: Ints  # `Values.gain`, each relation sorted as far as `ready`
    ready: Longs  # (R,)
    lose: Ints  # of one relation of the item, best first
    gain: Ints
    top: Doubles  # (R,) effect of the best loss, -inf for none
    lost: Ints  # slots, best first: what each loses (-1: nothing),
    gained: Ints  # gains,
    worth: Doubles  # and is worth
    free: Doubles  # `worth` over all values, while single items are looked at
    bound: Doubles  # (I,) no change toward an item is worth more
    least: Doubles  # (R, I) the least effect that an item has to give; empty if not needed


@_jit
def make_room(values: Values, one_item: bool) -> Room:
    """Room for one thread."""
    n_items, n_values, n_relations = len(values.scale), len(values.relation), len(values.several)
    by_item, by_value = np.empty((2, n_items)), np.empty((4, n_values))
    ints = np.empty((4, n_values), np.int32)
    lose, ready = np.empty(values.longest, np.int32), np.zeros(n_relations, np.int64)
    least = np.empty((n_relations, n_items if one_item else 0))
    row, bound, mark, top = by_item[0], by_item[1], values.mark.copy(), np.empty(n_relations)
    effect, whole, worth, free = by_value[0], by_value[1], by_value[2], by_value[3]
    best, gain, lost, gained = ints[0], ints[1], ints[2], ints[3]
    slots = lost, gained, worth, free, bound, least
    return Room(row, effect, whole, mark, best, ready, lose, gain, top, *slots)


@lean
def score_after(goal: Goal, drop: float) -> float:
    """The score had the signed sum of effects fallen by `drop`."""
    return goal.score + goal.scale * (-goal.sign * drop)


@lean
def flips(goal: Goal, drop: float) -> bool:
    """Whether that flips the item."""
    score = score_after(goal, drop)
    return goal.sign * score < goal.sign * goal.cutoff or (goal.tie and score == goal.cutoff)


@lean
def _insert(rows: Ints, to: int, v: int, effect: Doubles, turn: int) -> None:
    """Put v into `rows[:to + 1]`, rising by `turn * effect`, behind its equals."""
    x = turn * effect[v]
    while to > 0 and turn * effect[rows[to - 1]] > x:
        rows[to] = rows[to - 1]
        to -= 1
    rows[to] = v


@lean
def _sort_more(values: Values, room: Room, r: int) -> None:
    """Sort the best gains of relation r: a few, or four times as many as were."""
    low = values.gain_at[r]
    best, effect = room.best[low:], room.whole
    n, want, worst = 0, max(_FEW, 4 * room.ready[r]), np.inf
    for at in range(low, values.gain_at[r + 1]):
        v = values.gain[at]
        if n < want:
            n += 1
        elif effect[v] >= worst:
            continue
        _insert(best, n - 1, v, effect, 1)
        worst = effect[best[n - 1]]
    room.ready[r] = n


@lean
def _gains(values: Values, room: Room, r: int, toward: int, most: int) -> int:
    """Fill `room.gain` with what to gain in relation r, best first; how many.

    Up to `most` of all values, or whatever the item `toward` has.
    """
    n = 0
    if toward >= 0:
        for p in range(values.at[toward], values.at[toward + 1]):
            v = values.of_item[p]
            if values.relation[v] == r and not room.mark[v] & (OWN | NO_GAIN):
                _insert(room.gain, n, v, room.effect, 1)
                n += 1
        return n
    low = values.gain_at[r]
    for at in range(low, values.gain_at[r + 1]):
        if n == most:
            break
        if at == low + room.ready[r]:
            _sort_more(values, room, r)
        v = room.best[at]
        if not room.mark[v] & (OWN | NO_GAIN):
            room.gain[n] = v
            n += 1
    return n


@lean
def _pair(
    values: Values, room: Room, mode: int, r: int, n_lose: int, toward: int, most: int, n: int
) -> tuple[int, int]:
    """Sort up to `most` slots of relation r in among the n there are.

    How many there are then, and how many there could have been, helpful or not.
    """
    several = mode == ANY and values.several[r]
    most = most if several else min(most, n_lose)
    n_gain = 0 if mode == REMOVE else _gains(values, room, r, toward, most)
    if mode == REPLACE or several:
        most = min(most, max(n_lose, n_gain) if several else n_gain)
    for t in range(most):
        loss, gain, a, b = -1, -1, 0.0, 0.0
        if t < n_lose and not (several and room.effect[room.lose[t]] <= 0.0):
            loss = room.lose[t]
            a = room.effect[loss]
        if t < n_gain and not (mode == ANY and room.effect[room.gain[t]] >= 0.0):
            gain = room.gain[t]
            b = room.effect[gain]
        if not a - b > 0.0:
            break
        n = _enter_slot(room, n, a - b, loss, gain)
    return n, most


@lean
def _enter_slot(room: Room, n: int, worth: float, loss: int, gain: int) -> int:
    """Sort a slot in behind its equals; how many there are."""
    to = n
    while to > 0 and room.worth[to - 1] < worth:
        room.worth[to] = room.worth[to - 1]
        room.lost[to], room.gained[to] = room.lost[to - 1], room.gained[to - 1]
        to -= 1
    room.worth[to], room.lost[to], room.gained[to] = worth, loss, gain
    return n + 1


@lean
def _graft(values: Values, room: Room, r: int, toward: int) -> int:
    """The best value to gain in tree r in place of the branch that goes; -1: none."""
    best = -1
    if toward >= 0:
        for p in range(values.at[toward], values.at[toward + 1]):
            v = values.of_item[p]
            better = best < 0 or room.whole[v] < room.whole[best]
            if better and values.relation[v] == r and grafts(values, room.mark, v):
                best = v
        return best
    low = values.gain_at[r]
    for at in range(low, values.gain_at[r + 1]):
        if at == low + room.ready[r]:
            _sort_more(values, room, r)
        if grafts(values, room.mark, room.best[at]):
            return room.best[at]
    return best


@lean
def _branch(
    values: Values, room: Room, mode: int, r: int, start: int, end: int, toward: int, n: int
) -> tuple[int, bool]:
    """Sort the best change of tree r in; whether any change is possible."""
    best, loss, gain, possible = 0.0, -1, -1, False
    room.top[r] = -np.inf
    for p in range(start - 1, end):
        v, a, may = -1, 0.0, mode == ANY and values.several[r]
        if p >= start:
            v = values.of_item[p]
            a, may = cut(values, room.mark, room.effect, start, end, v)
        if not may:
            continue
        g = -1 if mode == REMOVE else _graft(values, room, r, toward)
        if g >= 0 and mode == ANY and v >= 0 and not room.whole[g] < 0.0:
            g = -1
        if g < 0 and (mode == REPLACE or v < 0):
            continue
        room.top[r], possible = max(room.top[r], a), True
        worth = a - room.whole[g] if g >= 0 else a
        if worth > best:
            best, loss, gain = worth, v, g
    return (_enter_slot(room, n, best, loss, gain) if best > 0.0 else n), possible


@lean
def _slots(
    values: Values, room: Room, mode: int, item: int, only: int, toward: int, cap: int
) -> tuple[int, bool, bool]:
    """Sort the item's slots, up to `cap` of each relation, or of the relation `only` if not -1.

    How many help, whether any change is possible, and whether there may be more.
    """
    n, possible, more = 0, False, False
    p, end = values.at[item], values.at[item + 1]
    while p < end:
        r, n_lose, start = values.relation[values.of_item[p]], 0, p
        asked = only < 0 or only == r
        while p < end and values.relation[values.of_item[p]] == r:
            v = values.of_item[p]
            if asked and not room.mark[v] & NO_LOSS:
                _insert(room.lose, n_lose, v, room.effect, -1)
                n_lose += 1
            p += 1
        room.top[r] = room.effect[room.lose[0]] if n_lose else -np.inf
        if asked and values.tree[r]:
            n, some = _branch(values, room, mode, r, start, p, toward, n)
            possible |= some
        elif asked:
            n, most = _pair(values, room, mode, r, n_lose, toward, cap, n)
            possible, more = possible or most > 0, more or most == cap
    return n, possible, more


@lean
def smallest(
    values: Values, room: Room, goal: Goal, item: int, only: int, toward: int, most: int
) -> tuple[int, float, bool]:
    """The first slots of the room that flip the item: how many (0 if none do, or more than `most`),
    the drop, and whether any change is possible.

    The m first slots hold at most m of a relation, so few of each are sorted until more are needed.
    """
    cap = min(4, most)
    while True:
        n, possible, more = _slots(values, room, goal.mode, item, only, toward, cap)
        drop = 0.0
        for m in range(min(n, cap if more else most)):
            drop += room.worth[m]
            if flips(goal, drop):
                return m + 1, drop, possible
        if not more or cap == most:
            return 0, drop, possible
        cap = min(8 * cap, most)
