"""What a linear model tells of its scores, found by its arrays; other models tell nothing."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.told import Inside
from cerec.recommend.linear.folding import add_outer
from cerec.recommend.protocol import Doubles
from cerec.recommend.subject import Subject

_NAMES = ("own", "common", "pair_ptr", "strength", "share", "unit", "history_ptr", "item_vector")
_NOTHING: tuple[Doubles, NDArray[np.int64]] = (np.zeros(0), np.zeros(0, np.int64))


def inside_of(subject: Subject) -> Inside:
    """What the model of a subject tells."""
    a = _arrays(subject)
    if a is None:
        none, longs, ints = np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int32)
        pairs = longs, ints, np.zeros(0, np.float32)
        return Inside(False, longs, ints, none, none, none, *pairs, none, none)
    of_item = subject.of_item
    common = np.bincount(of_item.row_of(), a.common[of_item.indices], minlength=len(of_item))
    return Inside(
        True,
        a.history_ptr,
        a.history,
        a.weight,
        a.own,
        a.scale * common,
        a.pair_ptr,
        a.pair,
        a.strength,
        a.share,
        a.unit,
    )


def taken_of(subject: Subject) -> Doubles:
    """(I,) users of each item, where the model tells; else nothing."""
    return np.asarray(getattr(subject.model, "taken", np.zeros(0)))


class Through:
    """The part that each item of a history has in U_u . z_i, the factors of a linear model:

    w_h V_h . (rest V'V + sum of w V V' over the history + pull 1)^-1 z_i
    """

    def __init__(self, subject: Subject) -> None:
        self._arrays = a = _arrays(subject)
        if a is None or a.item_vector.shape[1] == 0:
            self._arrays = None
            return
        weight, _, pull = (float(x) for x in a.factor)
        inner = np.zeros_like(a.item_vector)
        of_item = subject.of_item
        np.add.at(inner, of_item.row_of(), a.value_vector[of_item.indices])
        self._z = weight * (a.item_vector - a.scale[:, None] * inner)
        self._system = a.gram + pull * np.eye(len(a.gram))

    def parts(
        self, user: NDArray[np.integer], item: NDArray[np.integer]
    ) -> tuple[Doubles, NDArray[np.int64]]:
        """The parts of all items of the user's history, row by row, and where each row starts.

        Rows of one user stand together.
        """
        a = self._arrays
        if a is None:
            return _NOTHING
        at = np.append(0, np.cumsum(np.diff(a.history_ptr)[user]))
        out = np.empty(int(at[-1]))
        known = a.history_ptr, a.history, a.weight, a.item_vector
        _parts(np.asarray(user), np.asarray(item), at, *known, self._system, self._z, out)
        return out, at


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _parts(user, item, at, history_at, history, weight, vector, system, z, out):  # type: ignore[no-untyped-def]
    """Fill `out`: one system for the rows of a user, which stand together."""
    d, first = vector.shape[1], 0
    while first < len(user):
        last, u = first, user[first]
        while last < len(user) and user[last] == u:
            last += 1
        upper, nothing = system.copy(), np.zeros(d)
        for q in range(history_at[u], history_at[u + 1]):
            add_outer(upper, nothing, vector[history[q]], weight[q])
        goal = np.empty((d, last - first))
        for n in range(first, last):
            goal[:, n - first] = z[item[n]]
        _solve_all(upper, goal)
        for n in range(first, last):
            for p in range(at[n + 1] - at[n]):
                q = history_at[u] + p
                total = 0.0
                for k in range(d):
                    total += vector[history[q], k] * goal[k, n - first]
                out[at[n] + p] = weight[q] * total
        first = last


@numba.njit(cache=True, error_model="numpy", nogil=True)
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


def _arrays(subject: Subject) -> Any:
    a = getattr(subject.model, "arrays", None)
    return a if a is not None and all(hasattr(a, name) for name in _NAMES) else None
