"""What a linear model says of the parts of its scores, found by its arrays; others say nothing.

A score is a sum: own + a part for each item of the history + a part for each value.
An item h of the history adds to the score of item i, by itself and by way of the factors,

    w_h (B[h, i] + V_h . (rest V'V + sum of w V V' over the history + pull 1)^-1 z_i)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.linear.folding import system_of
from cerec.recommend.rank import Doubles, Ints, Longs, lean
from cerec.recommend.subject import Subject

_NAMES = ("own", "common", "pair_ptr", "strength", "share", "unit", "history_ptr", "item_vector")
_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


class Parts(NamedTuple):
    """Items and their values, and what is known of the model; empty where it says nothing."""

    at: Longs  # (I + 1,) where the values of each item start
    of_item: Ints
    scale: Doubles  # (I,)
    total: Doubles  # (V,) scale of all items that have the value, added up
    told: bool  # whether the model says what follows
    history_at: Longs
    history: Ints
    weight: Doubles
    own: Doubles  # (I,)
    speaker_at: Longs  # (I + 1,) where the items that speak for each item start
    speaker: Ints
    strength: NDArray[np.float32]  # B[speaker, item]
    share: Doubles  # (V,)
    unit: Doubles  # (V,)
    taken: Doubles  # (I,) users of each item
    vector: Doubles  # (I, d) factors of items, V
    rest: Doubles  # (I, d) z
    gram: Doubles  # (d, d)
    pull: float


def parts_of(subject: Subject) -> Parts:
    """What the model of a subject says."""
    of_item, n_values = subject.of_item, len(subject.vocabulary)
    each = np.repeat(subject.scale, of_item.counts)
    total = np.bincount(of_item.indices, each, minlength=n_values).astype(np.float64)
    items = of_item.indptr, of_item.indices, subject.scale, total
    a: Any = getattr(subject.model, "arrays", None)
    if a is None or not all(hasattr(a, name) for name in _NAMES):
        none, table, longs, ints = np.zeros(0), np.zeros((0, 0)), np.zeros(1, np.int64), np.zeros(0)
        pairs = longs, ints.astype(np.int32), np.zeros(0, np.float32)
        said = longs, pairs[1], none, none, *pairs, none, none, none, table, table, table, 0.0
        return Parts._make([*items, False, *said])
    weight, _, pull = (float(x) for x in a.factor)
    inner = np.zeros_like(a.item_vector)
    np.add.at(inner, of_item.row_of(), a.value_vector[of_item.indices])
    history = a.history_ptr, a.history, a.weight
    pairs = _turned(a.pair_ptr, a.pair, a.strength)
    taken = np.asarray(subject.model.taken)  # type: ignore[attr-defined]
    rest = weight * (a.item_vector - a.scale[:, None] * inner)
    factors = a.item_vector, rest, a.gram, pull
    numbers = a.own, *pairs, a.share, a.unit, taken
    return Parts._make([*items, True, *history, *numbers, *factors])


@_jit
def _turned(at, other, strength):  # type: ignore[no-untyped-def]
    """Item -> those that speak for it, from item -> those it speaks for."""
    start = np.zeros(len(at) + 1, np.int64)
    for i in other:
        start[i + 2] += 1
    start = np.cumsum(start)
    speaker, by = np.empty_like(other), np.empty_like(strength)
    for h in range(len(at) - 1):
        for q in range(at[h], at[h + 1]):
            to = start[other[q] + 1]
            speaker[to], by[to] = h, strength[q]
            start[other[q] + 1] = to + 1
    return start[:-1], speaker, by


class Person(NamedTuple):
    """The history of the present user, by item and by value."""

    place: Ints  # (I,) place of each item in it; -1 for none
    value_at: Longs  # (V + 1,) where the items that have each value start
    having: Ints  # their places


@_jit
def make_person(parts: Parts, users: Longs) -> Person:
    """Room for any of these users."""
    most = 0
    for u in users:
        n = 0
        for h in parts.history[parts.history_at[u] : parts.history_at[u + 1]]:
            n += parts.at[h + 1] - parts.at[h]
        most = max(most, n)
    place = np.full(len(parts.scale), -1, np.int32)
    return Person(place, np.zeros(len(parts.total) + 1, np.int64), np.empty(most, np.int32))


@_jit
def turn_to(parts: Parts, user: int, person: Person) -> None:
    """Fill `person` for a user."""
    person.place[:] = -1
    start = person.value_at
    start[:] = 0
    history = parts.history[parts.history_at[user] : parts.history_at[user + 1]]
    for p in range(len(history)):
        person.place[history[p]] = p
        for v in parts.of_item[parts.at[history[p]] : parts.at[history[p] + 1]]:
            start[v] += 1
    for v in range(1, len(start)):
        start[v] += start[v - 1]
    for p in range(len(history) - 1, -1, -1):
        for v in parts.of_item[parts.at[history[p]] : parts.at[history[p] + 1]]:
            start[v] -= 1
            person.having[start[v]] = p


@lean
def direct(parts: Parts, person: Person, item: int, out: Doubles) -> None:
    """Set `out` (h,), which is 0, to B[h, item] for every item h of the history."""
    for q in range(parts.speaker_at[item], parts.speaker_at[item + 1]):
        p = person.place[parts.speaker[q]]
        if p >= 0:
            out[p] = parts.strength[q]


@_jit
def history_parts(parts: Parts, person: Person, user: int, items: Ints) -> Doubles:
    """(n, h) what each item of the history adds to the scores of n items."""
    low, high = parts.history_at[user], parts.history_at[user + 1]
    out, d = np.zeros((len(items), high - low)), parts.vector.shape[1]
    for n in range(len(items)):
        direct(parts, person, items[n], out[n])
    if d:
        people = parts.history, parts.weight, low, high
        upper, _ = system_of(*people, parts.vector, parts.gram, parts.pull)
        goal, through = np.empty((d, len(items))), np.empty(len(items))
        for n in range(len(items)):
            goal[:, n] = parts.rest[items[n]]
        _solve_all(upper, goal)
        for q in range(low, high):
            through[:] = 0.0
            for k in range(d):
                x = parts.vector[parts.history[q], k]
                for n in range(len(items)):
                    through[n] += x * goal[k, n]
            for n in range(len(items)):
                out[n, q - low] += through[n]
    for n in range(len(items)):
        for q in range(low, high):
            out[n, q - low] *= parts.weight[q]
    return out


@_jit
def _solve_all(upper, goal):  # type: ignore[no-untyped-def]
    """`itemitem.solve` for all columns of `goal` (d, n)."""
    k = len(goal)
    for j in range(k):
        top = np.sqrt(upper[j, j])
        upper[j, j:] /= top
        goal[j] /= top
        for a in range(j + 1, k):
            times = upper[j, a]
            for b in range(a, k):
                upper[a, b] -= times * upper[j, b]
            for n in range(goal.shape[1]):
                goal[a, n] -= times * goal[j, n]
    for j in range(k - 1, -1, -1):
        for b in range(j + 1, k):
            for n in range(goal.shape[1]):
                goal[j, n] -= upper[j, b] * goal[b, n]
        goal[j] /= upper[j, j]
