"""Answers for a block of users: what is asked, question by question, into columns."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.changes.room import Goal, Room, make_room, score_after
from cerec.explain.changes.search import smallest, toward_one
from cerec.explain.changes.trees import write_branch
from cerec.explain.changes.values import NO_GAIN, NO_LOSS, OWN, Values
from cerec.recommend.rank import Doubles, Ints, Longs, first, lean, place, unseen

FOUND, NOT_FOUND, NO_ATTRIBUTES, NOTHING_CHANGEABLE, NOT_IN_QUESTION = range(5)


class Rules(NamedTuple):
    """What holds for every question of a block."""

    k: int
    sign: int  # 1 takes a listed item out, -1 lifts an unlisted one in
    mode: int
    most: int  # changes of an answer
    turns: int  # answers to a question: the best and its alternatives
    one_item: bool  # whether one item must have all that is gained
    listed: bool  # whether to ask about the first items of each list


class Columns(NamedTuple):
    """A row per question and turn, as in `Answers`; `item`, `relation` and `toward` ask."""

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


@numba.njit(cache=True, error_model="numpy", nogil=True)
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
    room = make_room(values)
    order = np.empty(min(rules.k + 1, len(values.scale)), np.int32)
    changes, used = np.empty((3, len(out.item) + 64), np.int32), 0
    for u, user in enumerate(users):
        unseen(scores[u], known[known_at[user] : known_at[user + 1]], room.row)
        _enter(values, room, rules.sign, effects[u])
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
                _bar(room, size if rules.turns > 1 else 0)
            _leave(values, room, max(out.item[p], 0), rules.turns > 1)
    return changes[:, :used]


@lean
def _enter(values: Values, room: Room, sign: int, effects: Doubles) -> None:
    """Turn to another user."""
    for v in range(len(effects)):
        room.effect[v] = sign * effects[v]
    for v in range(len(effects) if len(values.above) else 0):
        room.whole[v] = room.effect[v]
        for q in range(values.above_at[v], values.above_at[v + 1]):
            room.whole[v] += room.effect[values.above[q]]
    room.ready[:] = 0


@lean
def _leave(values: Values, room: Room, item: int, barred: bool) -> None:
    """Forget the marks of an item and, where alternatives `barred` some values, of all."""
    for p in range(values.at[item], values.at[item + 1]):
        room.mark[values.of_item[p]] = values.mark[values.of_item[p]]
    for v in range(len(room.mark) if barred else 0):
        room.mark[v] = values.mark[v]


@lean
def _answer(
    values: Values, room: Room, rules: Rules, order: Ints, n: int, out: Columns, at: int
) -> int:
    """Fill one row; the number of changes, which are in the room."""
    item, score = np.int64(out.item[at]), room.row[out.item[at]]
    last = rules.k if rules.sign > 0 else rules.k - 1
    rival = order[last] if last < n else -1
    cutoff = room.row[rival] if rival >= 0 else np.nan
    rank = place(room.row, item, score) if score == score else 0
    status, size, own = NOT_IN_QUESTION, 0, range(values.at[item], values.at[item + 1])
    if rank > 0 and (rank <= rules.k) == (rules.sign > 0):
        status = NO_ATTRIBUTES
        for p in own:
            room.mark[values.of_item[p]] |= OWN
    if status == NO_ATTRIBUTES and len(own):
        tie = bool(rival < item if rules.sign > 0 else item < rival)
        goal = Goal(score, values.scale[item], cutoff, rules.sign, tie, rules.mode)
        only, toward = np.int64(out.relation[at]), np.int64(out.toward[at])
        size, drop, possible = smallest(values, room, goal, item, only, toward, rules.most)
        if size and rules.one_item and toward < 0:
            size, drop, out.toward[at] = toward_one(values, room, goal, item, only, rules.most)
        status = FOUND if size else NOT_FOUND if possible else NOTHING_CHANGEABLE
        if size:
            out.score_after[at] = score_after(goal, drop)
            out.rank_after[at] = place(room.row, item, out.score_after[at])
    out.status[at], out.size[at] = status, size
    out.rank_before[at], out.score_before[at] = rank, score
    out.cutoff[at], out.replacement[at] = cutoff, rival
    return size


@lean
def _write(values: Values, room: Room, item: int, size: int, out: Ints, used: int) -> int:
    """Write the room's changes value by value; how many."""
    start = used
    for m in range(size):
        loss, gain = room.lost[m], room.gained[m]
        if values.tree[values.relation[max(loss, gain)]]:
            used += write_branch(values, room, item, loss, gain, out, used)
        else:
            out[0, used], out[1, used], out[2, used] = loss, gain, 0
            used += 1
    return used - start


@lean
def _bar(room: Room, size: int) -> None:
    """Keep the next answer from this one's gains; from its losses, if it has none."""
    gains = False
    for n in range(size):
        gains |= room.gained[n] >= 0
    for n in range(size):
        if room.gained[n] >= 0:
            room.mark[room.gained[n]] |= NO_GAIN
        elif not gains:
            room.mark[room.lost[n]] |= NO_LOSS
