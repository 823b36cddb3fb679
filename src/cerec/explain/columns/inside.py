"""What a linear model tells of its scores, found by its arrays; other models tell nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cerec.explain.columns.told import Inside
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
        counts = np.diff(a.history_ptr)[user]
        at = np.append(0, np.cumsum(counts))
        out = np.empty(int(at[-1]))
        start = np.flatnonzero(np.diff(user, prepend=-1))
        for low, high in zip(start.tolist(), [*start[1:].tolist(), len(user)], strict=True):
            here = slice(a.history_ptr[user[low]], a.history_ptr[user[low] + 1])
            mine, weight = a.item_vector[a.history[here]], a.weight[here]
            system = self._system + mine.T @ (mine * weight[:, None])
            goal = np.linalg.solve(system, self._z[item[low:high]].T)
            out[at[low] : at[high]] = ((mine @ goal) * weight[:, None]).T.ravel()
        return out, at


def _arrays(subject: Subject) -> Any:
    a = getattr(subject.model, "arrays", None)
    return a if a is not None and all(hasattr(a, name) for name in _NAMES) else None
