"""What the search for one item works in: when it flips, its next changes, and sorted gains."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.changes.values import NO_GAIN, OWN, Values
from cerec.recommend.rank import Doubles, Ints, Longs, lean

_FEW = 8  # gains of a relation that are sorted at first; seldom more are needed


class Goal(NamedTuple):
    """A flip: the signed score falls below the signed cut-off, or onto it where `tie` flips."""

    score: float
    scale: float
    cutoff: float
    sign: int
    tie: bool
    mode: int


class Runs(NamedTuple):
    """The next change of each relation of the present item. By place of the relation:"""

    start: Longs  # where its values start in `Values.of_item`,
    end: Longs  # and end
    low: Longs  # where gains are: from the next one in `Room.best` on, or in `Values.of_item`
    high: Longs
    lost: Ints  # the next change; -1 for nothing
    gained: Ints
    worth: Doubles  # -inf where no change is possible


class Room(NamedTuple):
    """What is known of the present user and item, and room to work in."""

    row: Doubles  # (I,) scores, nan for known items
    effect: Doubles  # (V,) times the sign
    whole: Doubles  # (V,) the same, with what each value implies
    mark: NDArray[np.uint8]  # (V,) bits OWN, NO_GAIN, NO_LOSS, GOES
    mine: Doubles  # of each own value, in order, minus its effect; inf where it may not go, or went
    theirs: (
        Doubles  # of each value of one other item its effect; inf where it may not come, or came
    )
    best: Ints  # `Values.gain`, each relation sorted as far as `ready`
    ready: Longs  # (R,)
    runs: Runs
    lost: Ints  # changes of the answer, best first; -1: nothing
    gained: Ints


@numba.njit(cache=True, error_model="numpy", nogil=True)
def make_room(values: Values) -> Room:
    """Room for one thread."""
    n_values, n_relations = len(values.relation), len(values.several)
    at, two = np.empty((4, n_relations), np.int64), np.empty((2, n_relations), np.int32)
    runs = Runs(at[0], at[1], at[2], at[3], two[0], two[1], np.empty(n_relations))
    effect = np.empty(n_values)
    whole = np.empty(n_values) if len(values.above) else effect
    mine, theirs = np.empty(values.longest), np.empty(values.longest)
    best, lost, gained = (
        np.empty(n_values, np.int32),
        np.empty(n_values, np.int32),
        np.empty(n_values, np.int32),
    )
    row, ready = np.empty(len(values.scale)), np.zeros(n_relations, np.int64)
    numbers = row, effect, whole, values.mark.copy(), mine, theirs
    return Room(*numbers, best, ready, runs, lost, gained)


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
def _sort_more(values: Values, room: Room, r: int) -> None:
    """Sort the best gains of relation r: a few, or four times as many as were."""
    low, effect, worst = values.gain_at[r], room.whole, np.inf
    gain, best = values.gain[low : values.gain_at[r + 1]], room.best[low:]
    n = min(max(_FEW, 4 * room.ready[r]), len(gain))
    for p in range(len(gain)):
        v, to = gain[p], min(p, n - 1)
        x = effect[np.uint32(v)]  # not signed: the end is not counted from
        if p >= n and x >= worst:
            continue
        while to > 0 and effect[best[to - 1]] > x:
            best[to] = best[to - 1]
            to -= 1
        best[to] = v
        worst = effect[best[min(p, n - 1)]]
    room.ready[r] = n


@lean
def next_gain(values: Values, room: Room, r: int, at: int) -> int:
    """The place in `room.best`, from `at` on, of the next gain of relation r; its end: none."""
    while at < values.gain_at[r + 1]:
        if at == values.gain_at[r] + room.ready[r]:
            _sort_more(values, room, r)
        if not room.mark[room.best[at]] & (OWN | NO_GAIN):
            break
        at += 1
    return at


@lean
def least(x: Doubles, start: int, end: int) -> int:
    """The first place of the least number from `start` to `end`; -1 where all are infinite."""
    best, least = -1, np.inf
    for p in range(start, end):
        if x[p] < least or (best < 0 and x[p] != x[p]):
            best, least = p, x[p]
    return best
