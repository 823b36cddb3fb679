"""Scores of several changed histories of one person at once, to the bit those of the model.

Lanes are the histories: one list of items, and for every lane the weights, 0 where it lacks the
item. What costs is to find out which values and items a number belongs to, and the lanes share it.
All sums keep the model's order, and adding 0 changes nothing, so a test can ask for equal bits.

H: items of all lanes together, B: lanes, done by eight, I: items, V: values,
d: width of the factors.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.folding import _fold
from cerec.recommend.linear.model import Linear

Doubles = NDArray[np.float64]
Rows = NDArray[np.integer]
LANES = 8


class Lanes:
    """A linear model, laid out for this."""

    n_lanes = LANES

    def __init__(self, model: Linear) -> None:
        self.model, self.arrays = model, model.arrays
        a = model.arrays
        of_item = Ragged(a.value_ptr, a.value)
        row_of = of_item.row_of()
        common = np.bincount(row_of, weights=a.common[a.value], minlength=len(a.own))
        self.base = a.own + a.scale * common
        factor, _, self.pull = (float(x) for x in a.factor)
        self.gram = a.gram
        inner = np.zeros_like(a.item_vector)
        np.add.at(inner, row_of, a.value_vector[a.value])
        self.item = np.ascontiguousarray(factor * (a.item_vector - a.scale[:, None] * inner))
        self.value = np.ascontiguousarray(factor * a.value_vector)

    def history(self, user: int) -> tuple[NDArray[np.int32], Doubles]:
        """A user's items and their weights."""
        a = self.arrays
        mine = slice(int(a.history_ptr[user]), int(a.history_ptr[user + 1]))
        return a.history[mine], a.weight[mine]

    def now(self, user: int) -> Doubles:
        """(I,) the scores with the history as it is."""
        return self.model.scores(np.array([user]))[0]

    def scores(self, history: Rows, weights: Doubles) -> Doubles:
        """(B, I) of `history` (H,) and `weights` (H, B)."""
        order = np.argsort(history, kind="stable")
        history, weights = np.asarray(history, np.int32)[order], weights[order]
        out = np.empty((weights.shape[1], len(self.base)))
        for start in range(0, len(out), LANES):
            part = np.zeros((len(history), LANES))
            width = min(LANES, len(out) - start)
            part[:, :width] = weights[:, start : start + width]
            out[start : start + width] = self._eight(history, part)[:, :width].T
        return out

    def _eight(self, history: NDArray[np.int32], weights: Doubles) -> Doubles:
        """(I, 8)"""
        a = self.arrays
        user = self._vectors(history, weights)
        effect, out = np.zeros((len(a.share), LANES)), np.empty((len(self.base), LANES))
        facts = a.value_ptr, a.value
        known = *facts, a.share, a.unit, user, self.value, a.bits
        _effects(history, weights, *known, effect)
        pairs = a.pair_ptr, a.pair, a.strength
        _scores(history, weights, self.base, *pairs, user, self.item, *facts, a.scale, effect, out)
        return out

    def _vectors(self, history: Rows, weights: Doubles) -> Doubles:
        """(d, B)"""
        if self.item.shape[1] == 0:
            return np.zeros((0, weights.shape[1]))
        lane, entry = np.nonzero(weights.T)
        counts = np.bincount(lane, minlength=weights.shape[1])
        indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        args = indptr, history[entry], weights[entry, lane], self.arrays.item_vector
        out = np.empty((weights.shape[1], self.item.shape[1]))
        _fold(*args, self.gram, self.pull, 0, len(out), out)
        return np.ascontiguousarray(out.T)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _effects(history, weights, value_ptr, value, share, unit, user, value_vector, bits, out):  # type: ignore[no-untyped-def]
    up, down = 2.0 ** bits[0], 2.0 ** -bits[0]
    total = np.zeros(LANES)
    for p in range(len(history)):
        for b in range(LANES):
            total[b] += weights[p, b]
        start, end = value_ptr[history[p]], value_ptr[history[p] + 1]
        _add_rows(out, value, None, start, end, weights[p])
    size = np.ones(LANES)
    for b in range(LANES):
        if total[b] > 0.0:
            size[b] = np.sqrt(total[b])
    for a in range(len(share)):
        for b in range(LANES):
            out[a, b] = unit[a] * (out[a, b] - total[b] * share[a]) / size[b]
        _add_product(out[a], user, value_vector[a])
        for b in range(LANES):
            out[a, b] = np.rint(out[a, b] * up) * down


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _scores(  # type: ignore[no-untyped-def]
    history,
    weights,
    base,
    pair_ptr,
    pair,
    strength,
    user,
    item_vector,
    value_ptr,
    value,
    scale,
    effect,
    out,
):
    total = np.empty(LANES)
    for i in range(len(base)):
        _sum_rows(effect, value, value_ptr[i], value_ptr[i + 1], total)
        for b in range(LANES):
            out[i, b] = base[i] + scale[i] * total[b]
        _add_product(out[i], user, item_vector[i])
    for p in range(len(history)):
        start, end = pair_ptr[history[p]], pair_ptr[history[p] + 1]
        _add_rows(out, pair, strength, start, end, weights[p])


# Eight names instead of a loop: numbers that have a name stay in registers, and each line of eight
# becomes one or two vector instructions. With a loop over the lanes this takes four times as long.


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _sum_rows(table, rows, start, end, out):  # type: ignore[no-untyped-def]
    """The sum of some rows of a table, which is exact in any order."""
    a = b = c = d = e = f = g = h = 0.0
    for q in range(start, end):
        x = table[rows[q]]
        a, b, c, d = a + x[0], b + x[1], c + x[2], d + x[3]
        e, f, g, h = e + x[4], f + x[5], g + x[6], h + x[7]
    out[0], out[1], out[2], out[3] = a, b, c, d
    out[4], out[5], out[6], out[7] = e, f, g, h


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _add_product(out, user, vector):  # type: ignore[no-untyped-def]
    """Add the products of eight users' vectors (d, 8) and one other."""
    a, b, c, d, e, f, g, h = out[0], out[1], out[2], out[3], out[4], out[5], out[6], out[7]
    for k in range(len(user)):
        x, y = user[k], vector[k]
        a, b, c, d = a + x[0] * y, b + x[1] * y, c + x[2] * y, d + x[3] * y
        e, f, g, h = e + x[4] * y, f + x[5] * y, g + x[6] * y, h + x[7] * y
    out[0], out[1], out[2], out[3] = a, b, c, d
    out[4], out[5], out[6], out[7] = e, f, g, h


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _add_rows(out, rows, times, start, end, weight):  # type: ignore[no-untyped-def]
    """Add eight weights, times a factor where there is one, to some rows of a table."""
    a, b, c, d = weight[0], weight[1], weight[2], weight[3]
    e, f, g, h = weight[4], weight[5], weight[6], weight[7]
    for q in range(start, end):
        x = out[rows[q]]
        y = 1.0 if times is None else np.float64(times[q])
        i, j, k, m = x[0] + a * y, x[1] + b * y, x[2] + c * y, x[3] + d * y
        n, o, p, r = x[4] + e * y, x[5] + f * y, x[6] + g * y, x[7] + h * y
        x[0], x[1], x[2], x[3] = i, j, k, m
        x[4], x[5], x[6], x[7] = n, o, p, r


@numba.njit(cache=True, error_model="numpy", nogil=True)
def place(scores, seen, target, top):  # type: ignore[no-untyped-def]
    """The rank of the target, and the best items into `top`, best first, -1 where there are none.

    Items that are seen or nan are not listed; equal scores keep the order of the catalogue.
    """
    length, held, own, ahead = len(top), 0, scores[target], 0
    for i in range(len(scores)):
        x = scores[i]
        if seen[i] or np.isnan(x):
            continue
        ahead += i != target and (x > own or (x == own and i < target))
        if held == length and not x > scores[top[length - 1]]:
            continue
        at = min(held, length - 1)
        while at > 0 and scores[top[at - 1]] < x:
            top[at] = top[at - 1]
            at -= 1
        top[at] = i
        held = min(held + 1, length)
    top[held:] = -1
    return 1 + ahead
