"""Answers for a block of users: what is asked, question by question, into columns."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.slots import (
    REPLACE,
    Goal,
    Room,
    flips,
    make_room,
    score_after,
    smallest,
)
from cerec.explain.columns.trees import NO_GAIN, NO_LOSS, OWN, Values, spread
from cerec.recommend.rank import Doubles, Ints, Longs, first, lean, place, unseen

FOUND, NOT_FOUND, NO_ATTRIBUTES, NOTHING_CHANGEABLE, NOT_IN_QUESTION = range(5)

_LONG = np.int64(0)  # added, it makes one type of all numbers: each kernel is compiled once
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


class Rules(NamedTuple):
    """What holds for every question of a block."""

    k: int
    sign: int  # 1 takes a listed item out, -1 lifts an unlisted one in
    mode: int
    most: int  # changes of an answer
    turns: int  # answers to a question: the best and its alternatives
    bar: int  # bits NO_GAIN, NO_LOSS: what alternatives may not repeat
    one_item: bool  # whether one item must have all that is gained
    listed: bool  # whether the questions are to be filled in: the first items of each list


class Columns(NamedTuple):
    """A row per question and turn, as in `engine.Answers`; `item`, `relation` and `toward` ask."""

    item: Ints
    relation: Ints
    toward: Ints
    status: NDArray[np.int8]
    rank_before: Ints
    score_before: Doubles
    cutoff: Doubles
    replacement: Ints
    size: Ints
    score_after: Doubles
    rank_after: Ints


@lean
def _cheapest(values: Values, room: Room) -> None:
    """Fill `room.least` for the present user."""
    room.least[:] = np.inf
    for j in range(len(values.scale)):
        for p in range(values.at[j], values.at[j + 1]):
            v = values.of_item[p]
            if not values.mark[v] & NO_GAIN:
                r = values.relation[v]
                room.least[r, j] = min(room.least[r, j], room.whole[v])


@lean
def _bounds(values: Values, room: Room, mode: int, item: int) -> None:
    """Fill `room.bound` for the present item."""
    room.bound[:] = -np.inf
    last = -1
    for p in range(values.at[item], values.at[item + 1]):
        r = values.relation[values.of_item[p]]
        if r == last:
            continue
        last, a = r, room.top[r]
        if mode == REPLACE:
            for j in range(len(room.bound)):
                room.bound[j] = max(room.bound[j], a - room.least[r, j])
        else:
            a = max(a, 0.0) if values.several[r] else a
            for j in range(len(room.bound)):
                room.bound[j] = max(room.bound[j], a - min(room.least[r, j], 0.0))
    room.bound[item] = -np.inf


@lean
def _reach(room: Room, n_free: int, j: int, size: int) -> float:
    """No `size` changes toward item j do more.

    Each is worth at most the item's best, and the n-th best at most the n-th best over all values.
    """
    total = 0.0
    for n in range(size):
        total += min(room.bound[j], room.free[min(n, n_free - 1)])
    return total


@lean
def _toward_any(
    values: Values, room: Room, goal: Goal, item: int, only: int, most: int, n_free: int
) -> tuple[int, float, int]:
    """The best answer toward a single item: size (0: none), drop, and the first such item.

    The room holds the `n_free` changes of the best answer over all values.
    """
    for n in range(n_free):
        room.free[n] = room.worth[n]
    _bounds(values, room, goal.mode, item)
    lead = int(np.argmax(room.bound))  # a good answer early leaves few others to look at
    best, best_drop, best_j = min(most, 2 * values.longest) + 1, 0.0, int(_LONG - 1)
    for step in range(-1, len(room.bound)):
        j = lead if step < 0 else step
        limit = best if best_j >= 0 else best - 1
        if step == lead or (best == n_free and limit * room.bound[j] < best_drop):
            continue
        reach = _reach(room, n_free, j, limit)
        worse = best_j >= 0 and (reach < best_drop or (reach == best_drop and j > best_j))
        if worse and (best == n_free or not flips(goal, _reach(room, n_free, j, best - 1))):
            continue
        if not flips(goal, reach):
            continue
        size, drop, _ = smallest(values, room, goal, item, only, j, limit)
        if size and (size, -drop, j) < (best, -best_drop, best_j):
            best, best_drop, best_j = size, drop, j
    if best_j < 0:
        return 0, 0.0, -1
    smallest(values, room, goal, item, only, best_j, best)  # its slots back into the room
    return best, best_drop, best_j


@lean
def _goal(
    values: Values, room: Room, rules: Rules, order: Ints, n: int, item: int
) -> tuple[Goal, int, int]:
    """When the item flips, the one that changes places with it (-1: none), and its rank (0 where it
    may not be listed).
    """
    last = rules.k if rules.sign > 0 else rules.k - 1
    rival = order[last] if last < n else -1
    cutoff = room.row[rival] if rival >= 0 else np.nan
    tie = rival < item if rules.sign > 0 else item < rival
    score, rank = room.row[item], 0
    for p in range(n):
        if order[p] == item:
            rank = p + 1
    if rank == 0 and score == score:
        rank = place(room.row, item, score)
    return Goal(score, values.scale[item], cutoff, rules.sign, tie, rules.mode), rival, rank


@lean
def _solve(
    values: Values, room: Room, rules: Rules, goal: Goal, out: Columns, at: int
) -> tuple[int, int, float, int]:
    """Status, number of changes, drop, and the item they lead to; the changes are in the room."""
    item, only, toward = out.item[at] + _LONG, out.relation[at] + _LONG, out.toward[at] + _LONG
    if values.at[item] == values.at[item + 1]:
        return NO_ATTRIBUTES, 0, 0.0, toward
    for p in range(values.at[item], values.at[item + 1]):
        room.mark[values.of_item[p]] |= OWN
    size, drop, possible = smallest(values, room, goal, item, only, toward, rules.most)
    if size and rules.one_item and toward < 0:
        size, drop, toward = _toward_any(values, room, goal, item, only, rules.most, size)
    status = FOUND if size else NOT_FOUND if possible else NOTHING_CHANGEABLE
    return status, size, drop, toward


@lean
def _answer(
    values: Values,
    room: Room,
    rules: Rules,
    order: Ints,
    n: int,
    out: Columns,
    at: int,
) -> int:
    """Fill one row; the number of changes, which are in the room."""
    item = out.item[at] + _LONG
    goal, rival, rank = _goal(values, room, rules, order, n, item)
    status, size = NOT_IN_QUESTION, 0
    if rank > 0 and (rank <= rules.k) == (rules.sign > 0):
        status, size, drop, out.toward[at] = _solve(values, room, rules, goal, out, at)
    out.status[at], out.size[at] = status, size
    out.rank_before[at], out.score_before[at] = rank, goal.score
    out.cutoff[at], out.replacement[at] = goal.cutoff, rival
    if size:
        out.score_after[at] = score_after(goal, drop)
        out.rank_after[at] = place(room.row, item, out.score_after[at])
    return size


@lean
def _write(values: Values, room: Room, item: int, size: int, out: Ints, used: int) -> int:
    """Write the room's changes value by value; how many."""
    start = used
    for m in range(size):
        loss, gain = room.lost[m], room.gained[m]
        if values.tree[values.relation[max(loss, gain)]]:
            used += spread(values, room, item, loss, gain, out, used)
        else:
            out[0, used], out[1, used], out[2, used] = loss, gain, 0
            used += 1
    return used - start


@lean
def _bar(room: Room, size: int, bar: int) -> None:
    """Keep the next answer from this one's gains or losses; from the others, if it has none."""
    gains = losses = False
    for n in range(size):
        gains |= room.gained[n] >= 0
        losses |= room.lost[n] >= 0
    for n in range(size):
        if room.gained[n] >= 0 and (bar & NO_GAIN or not losses):
            room.mark[room.gained[n]] |= NO_GAIN
        if room.lost[n] >= 0 and (bar & NO_LOSS or not gains):
            room.mark[room.lost[n]] |= NO_LOSS


@lean
def _enter(values: Values, room: Room, rules: Rules, effects: Doubles) -> None:
    """Turn to another user."""
    for v in range(len(effects)):
        room.effect[v] = room.whole[v] = rules.sign * effects[v]
    for v in range(len(effects) if len(values.above) else 0):
        for q in range(values.above_at[v], values.above_at[v + 1]):
            room.whole[v] += room.effect[values.above[q]]
    room.ready[:] = 0
    if rules.one_item:
        _cheapest(values, room)


@_jit
def answer_block(
    users: Longs,
    known_at: Longs,
    known: Ints,
    scores: Doubles,
    effects: Doubles,
    values: Values,
    rules: Rules,
    rows: Longs,
    out: Columns,
) -> Ints:
    """Fill the rows `rows[u]` to `rows[u + 1]` of each user; what is lost and gained, row by row,
    and whether it goes along with the change before it.

    Rows without a question have the item -1; so have turns without an answer, afterwards.
    """
    room = make_room(values, rules.one_item)
    order = np.empty(min(rules.k + 1, len(values.scale)), np.int32)
    changes, used = np.empty((3, len(out.item) + 64), np.int32), 0
    for u, user in enumerate(users):
        unseen(scores[u], known[known_at[user] : known_at[user + 1]], room.row)
        _enter(values, room, rules, effects[u])
        n = first(room.row, order)
        for p in range(rows[u], rows[u + 1], rules.turns):
            q = (p - rows[u]) // rules.turns
            if rules.listed and q < min(n, rules.k):
                out.item[p : p + rules.turns] = order[q]
            for at in range(p, p + rules.turns):
                if out.item[at] < 0:
                    break
                size = _answer(values, room, rules, order, n, out, at)
                if size == 0:
                    out.item[max(at, p + 1) : p + rules.turns] = -1
                    break
                while used + size + 2 * values.longest > changes.shape[1]:
                    changes = np.concatenate((changes, np.empty_like(changes)), axis=1)
                out.size[at] = _write(values, room, out.item[at], size, changes, used)
                used += out.size[at]
                _bar(room, size, rules.bar)
            for v in range(len(room.mark)):
                room.mark[v] = values.mark[v]
    return changes[:, :used]
