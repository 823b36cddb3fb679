"""How firmly an answer holds: the probability that it still flips with a tenth of the interactions
missing, given that the item is still listed. For the linear recommender, without a second fit.

After the changes the item stands `margin` below the first item after the list, its rival. That
margin is a sum over the user's history: every item of it speaks for the rival or for the changed
item. With a share p = .1 of the history missing, such a sum varies by

    var = p (1 - p) * (sum over the history of (part of h)^2  +  REFIT * sum of |B| / users of h),

where the second term is for the item-item weights B, which are fitted to fewer users. Missing items
of the history return as candidates, so the list ends higher up: RETURN of them take the place of
listed ones, each worth the average step between the item and the rival. Then

    P(holds) = Phi(AT_ZERO + SLOPE * (margin + step * returned) / sqrt(var)).

The four constants were fitted to worlds other than those they are reported on; `cerec bench
stability --fit` repeats that (docs/results/firmness.md).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from cerec.explain.changes.answers import Answers
from cerec.explain.parts import Parts, Person, direct, make_person, turn_to
from cerec.recommend.rank import Doubles, lean

_jit = numba.njit(cache=True, error_model="numpy", nogil=True)
MISSING = 0.1
"""Share of the interactions that is taken to be missing."""


class Law(NamedTuple):
    """What was fitted."""

    at_zero: float
    slope: float
    returned: float
    refit: float


LAW = Law(at_zero=0.106, slope=0.764, returned=0.171, refit=0.179)


class Spread(NamedTuple):
    """What the margins of answers are made of, a row per answer."""

    thinned: Doubles  # sum over the history of (part)^2
    refitted: Doubles
    size: Doubles  # of the history
    lead: Doubles  # of the item above its rival, before the changes
    margin: Doubles  # below it, after them
    room: Doubles  # places from the item to its rival


def spread(parts: Parts, a: Answers, k: int) -> Spread:
    """What the margins of answers about listed items are made of."""
    thinned, refitted, size = np.zeros((3, len(a)))
    changes = a.user, a.item, a.replacement, a.indptr, a.lost, a.gained
    _spread(parts, *changes, thinned, refitted, size)
    room = np.maximum(k + 1.0 - a.rank_before, 1.0)
    return Spread(thinned, refitted, size, a.score_before - a.cutoff, a.margin, room)


def probabilities(parts: Parts, a: Answers, k: int) -> Doubles:
    """(n,) how firmly each answer holds; nan where nothing is known of it."""
    return held(spread(parts, a, k), LAW) if parts.told else np.full(len(a), np.nan)


def held(s: Spread, law: Law) -> Doubles:
    """(n,) probabilities; nan for rows without an answer."""
    returned = np.minimum(law.returned * MISSING * s.size, 0.9 * s.room)
    margin = s.margin + returned * s.lead / s.room
    var = MISSING * (1.0 - MISSING) * (s.thinned + law.refit * s.refitted)
    return normal(law.at_zero + law.slope * margin / np.sqrt(np.maximum(var, 1e-18)))


def normal(x: Any) -> Any:
    """The distribution function of the normal law."""
    return 0.5 * np.asarray(_erfc(-x * math.sqrt(0.5)), np.float64)


_erfc = np.frompyfunc(math.erfc, 1, 1)


@_jit
def _spread(parts, user, item, rival, at, lost, gained, thinned, refitted, size):  # type: ignore[no-untyped-def]
    """Fill the last three. Rows of one user stand together, so the rival's parts are kept."""
    person = make_person(parts, user)
    longest = np.diff(parts.history_at).max() if len(user) else 0
    room = np.empty((4, longest))
    mine, doubt, other, other_doubt = room[0], room[1], room[2], room[3]
    of_user, of_rival, none = -1, -1, lost[:0]
    for n in range(len(item)):
        u, i, c = user[n], item[n], rival[n]
        low, high = parts.history_at[u], parts.history_at[u + 1]
        size[n] = parts.weight[low:high].sum()
        if c < 0 or size[n] == 0.0:
            continue
        if u != of_user:
            turn_to(parts, u, person)
        if u != of_user or c != of_rival:
            of_user, of_rival = u, c
            _parts(parts, person, u, c, size[n], none, none, other, other_doubt)
        changes = lost[at[n] : at[n + 1]], gained[at[n] : at[n + 1]]
        _parts(parts, person, u, i, size[n], *changes, mine, doubt)
        for p in range(high - low):
            w = parts.weight[low + p]
            thinned[n] += (w * (mine[p] - other[p])) ** 2
            refitted[n] += w * w * (doubt[p] + other_doubt[p])


@_jit
def _parts(parts, person, user, item, size, lost, gained, part, doubt):  # type: ignore[no-untyped-def]
    """What every item of the history adds to the score of an item after its changes, and how
    little is known of that.
    """
    history = parts.history[parts.history_at[user] : parts.history_at[user + 1]]
    times, usual, part = parts.scale[item] / np.sqrt(size), 0.0, part[: len(history)]
    part[:] = 0.0
    direct(parts, person, item, part)
    for p in range(len(history)):
        doubt[p] = abs(part[p]) / parts.taken[history[p]]
    for v in parts.of_item[parts.at[item] : parts.at[item + 1]]:
        usual += _add(parts, person, v, times, part)
    for v in lost:
        usual += _add(parts, person, v, -times, part) if v >= 0 else 0.0
    for v in gained:
        usual += _add(parts, person, v, times, part) if v >= 0 else 0.0
    for p in range(len(history)):
        part[p] -= usual


@lean
def _add(parts: Parts, person: Person, v: int, times: float, part: Doubles) -> float:
    """Add a value to the parts of the items that have it; what it would usually add."""
    x = times * parts.unit[v]
    for at in range(person.value_at[v], person.value_at[v + 1]):
        part[person.having[at]] += x
    return x * parts.share[v]
