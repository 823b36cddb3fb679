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

from cerec.explain.columns.engine import Answers
from cerec.explain.columns.evidence import _direct as direct
from cerec.explain.columns.told import Inside, Things
from cerec.recommend.rank import Doubles

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


class Firmness:
    """Says how firmly answers about listed items hold; nan where nothing is known of it."""

    def __init__(self, inside: Inside, things: Things, taken: Doubles) -> None:
        """`taken` (I,): users of each item."""
        self._inside, self._things, self._taken = inside, things, taken

    def spread(self, a: Answers, k: int) -> Spread:
        """What the margins are made of."""
        thinned, refitted, size = np.zeros((3, len(a)))
        changes = a.user, a.item, a.replacement, a.indptr, a.lost, a.gained
        _spread(self._inside, self._things, self._taken, *changes, thinned, refitted, size)
        room = np.maximum(k + 1.0 - a.rank_before, 1.0)
        return Spread(thinned, refitted, size, a.score_before - a.cutoff, a.margin, room)

    def of(self, a: Answers, k: int, law: Law = LAW) -> Doubles:
        """(n,) the probability of each answer."""
        if not self._inside.told:
            return np.full(len(a), np.nan)
        return held(self.spread(a, k), law)


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
def _spread(  # type: ignore[no-untyped-def]
    inside, things, taken, user, item, rival, at, lost, gained, thinned, refitted, size
):
    """Fill the last three. Rows of one user stand together, so the rival's parts are kept."""
    longest = 0
    for u in user:
        longest = max(longest, inside.history_at[u + 1] - inside.history_at[u])
    weight = np.zeros(len(inside.unit))  # of values, in the part of a history item
    parts = np.empty((4, longest))
    mine, doubt, other, other_doubt = parts[0], parts[1], parts[2], parts[3]
    of_user, of_rival = -1, -1
    for n in range(len(item)):
        u, i, c = user[n], item[n], rival[n]
        low, high = inside.history_at[u], inside.history_at[u + 1]
        size[n] = inside.weight[low:high].sum()
        if c < 0 or size[n] == 0.0:
            continue
        here, none = (things.scale[i] / np.sqrt(size[n]), at[n], at[n + 1]), lost[:0]
        if u != of_user or c != of_rival:
            of_user, of_rival = u, c
            there = things.scale[c] / np.sqrt(size[n]), 0, 0
            _parts(inside, things, taken, u, c, there, none, none, weight, other, other_doubt)
        _parts(inside, things, taken, u, i, here, lost, gained, weight, mine, doubt)
        for p in range(high - low):
            w = inside.weight[low + p]
            thinned[n] += (w * (mine[p] - other[p])) ** 2
            refitted[n] += w * w * (doubt[p] + other_doubt[p])


@_jit
def _parts(inside, things, taken, user, item, how, lost, gained, weight, part, doubt):  # type: ignore[no-untyped-def]
    """What every item of the history adds to the score of an item after its changes, and how
    little is known of that. `weight` is zero before and after.
    """
    times, first, last = how
    own = things.of_item[things.at[item] : things.at[item + 1]]
    for v in own:
        weight[v] = times * inside.unit[v]
    for p in range(first, last):
        if lost[p] >= 0:
            weight[lost[p]] = 0.0
        if gained[p] >= 0:
            weight[gained[p]] = times * inside.unit[gained[p]]
    usual = (weight[own] * inside.share[own]).sum()
    for v in gained[first:last]:
        usual += weight[v] * inside.share[v] if v >= 0 else 0.0
    low = inside.history_at[user]
    for p in range(low, inside.history_at[user + 1]):
        h = inside.history[p]
        b = direct(inside, h, item)
        x = b - usual
        for q in range(things.at[h], things.at[h + 1]):
            x += weight[things.of_item[q]]
        part[p - low], doubt[p - low] = x, abs(b) / taken[h]
    weight[own] = 0.0
    for v in gained[first:last]:
        if v >= 0:
            weight[v] = 0.0
