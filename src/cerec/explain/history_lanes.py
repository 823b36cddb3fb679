"""Scores of several changed histories of one person at once, to the bit those of the model.

Lanes are the histories: one list of items, and for every lane the weights, 0 where it lacks the
item. What costs is to find out which values and items a number belongs to, and the lanes share it.
All sums keep the model's order, and adding 0 changes nothing, so a test can ask for equal bits.

H: items of all lanes together, B: lanes, I: items, V: values, d: width of the factors.
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


class Lanes:
    """A linear model, laid out for this."""

    n_lanes = 16  # at once; more would not stay in the cache

    def __init__(self, model: Linear) -> None:
        self.arrays = a = model.arrays
        of_item = Ragged(a.value_ptr, a.value)
        row_of = of_item.row_of()
        common = np.bincount(row_of, weights=a.common[a.value], minlength=len(a.own))
        self.base = a.own + a.scale * common
        factor, rest, self.pull = (float(x) for x in a.factor)
        self.gram = rest * (a.item_vector.T @ a.item_vector)
        inner = np.zeros_like(a.item_vector)
        np.add.at(inner, row_of, a.value_vector[a.value])
        self.item = np.ascontiguousarray(factor * (a.item_vector - a.scale[:, None] * inner))
        self.value = np.ascontiguousarray(factor * a.value_vector)

    def history(self, user: int) -> tuple[NDArray[np.int32], Doubles]:
        """A user's items and their weights."""
        a = self.arrays
        mine = slice(int(a.history_ptr[user]), int(a.history_ptr[user + 1]))
        return a.history[mine], a.weight[mine]

    def scores(self, history: Rows, weights: Doubles) -> Doubles:
        """(B, I) of `history` (H,) and `weights` (H, B)."""
        a = self.arrays
        order = np.argsort(history, kind="stable")
        history, weights = np.asarray(history, np.int32)[order], weights[order]
        user = self._vectors(history, weights)
        effect = np.zeros((len(a.share), weights.shape[1]))
        _effects(
            history,
            weights,
            a.value_ptr,
            a.value,
            a.share,
            a.unit,
            user,
            self.value,
            a.bits,
            effect,
        )
        out = np.empty((len(self.base), weights.shape[1]))
        facts = a.value_ptr, a.value, a.scale, effect
        pairs = a.pair_ptr, a.pair, a.strength
        _scores(history, weights, self.base, *pairs, user, self.item, *facts, out)
        return np.ascontiguousarray(out.T)

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
    n_lanes = weights.shape[1]
    up, down = 2.0 ** bits[0], 2.0 ** -bits[0]
    total = np.zeros(n_lanes)
    for p in range(len(history)):
        for b in range(n_lanes):
            total[b] += weights[p, b]
        for q in range(value_ptr[history[p]], value_ptr[history[p] + 1]):
            for b in range(n_lanes):
                out[value[q], b] += weights[p, b]
    size = np.ones(n_lanes)
    for b in range(n_lanes):
        if total[b] > 0.0:
            size[b] = np.sqrt(total[b])
    for a in range(len(share)):
        for b in range(n_lanes):
            out[a, b] = unit[a] * (out[a, b] - total[b] * share[a]) / size[b]
        for k in range(len(user)):
            x = value_vector[a, k]
            for b in range(n_lanes):
                out[a, b] += user[k, b] * x
        for b in range(n_lanes):
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
    n_lanes = weights.shape[1]
    total = np.empty(n_lanes)
    for i in range(len(base)):
        total[:] = 0.0
        for q in range(value_ptr[i], value_ptr[i + 1]):
            for b in range(n_lanes):
                total[b] += effect[value[q], b]
        for b in range(n_lanes):
            out[i, b] = base[i] + scale[i] * total[b]
        for k in range(len(user)):
            x = item_vector[i, k]
            for b in range(n_lanes):
                out[i, b] += user[k, b] * x
    for p in range(len(history)):
        for q in range(pair_ptr[history[p]], pair_ptr[history[p] + 1]):
            x = np.float64(strength[q])
            for b in range(n_lanes):
                out[pair[q], b] += weights[p, b] * x


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
