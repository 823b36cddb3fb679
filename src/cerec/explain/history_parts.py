"""What each item of a user's history does to scores: the parts that the search adds up.

The default recommender is taken apart by formula. `direct` is its item-item ridge; `shared` are its
counts of values, which go by the root of the history's length; `through` are its factors. With

    M = rest V'V + sum of w V_h V_h' + pull 1,   U = M^-1 sum of w V_h

taking a set R away gives U' = U - M^-1 (sum over R of c_h w_h^1/2 V_h), where c solves
(1 - K) c = error over R, with K = the products w_h^1/2 V_h M^-1 V_g w_g^1/2 (`cross`) and
error_h = w_h^1/2 (1 - V_h . U). Taking items up is the same with the other sign.

Any other recommender is asked for its scores without each item. Where scores are a sum over the
history, and two halves of it tell whether they are, that is all there is to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.explain.history_kernels import Doubles, Parts
from cerec.recommend.linear.model import Linear

Rows = NDArray[np.integer[Any]]
History = tuple[Rows, Doubles]
"""Items in order, and their weights."""

_CROSSED = 12_000_000  # entries looked at to bound what items do to each other's part
_ASKED = 64  # histories that a model scores together
_SUM = 1e-4  # of the spread of scores: what a sum over the history may be off
_NONE, _EMPTY = np.zeros((0, 0)), np.zeros(0)


@dataclass(frozen=True, slots=True, eq=False)
class HistoryPerson:
    """One user: the history, its weights, all scores, and what is never listed."""

    history: Rows
    weight: Doubles
    scores: Doubles
    seen: NDArray[np.bool_]

    def best(self, most: int) -> NDArray[np.int64]:
        """The best items that may be listed, best first, ties in catalogue order."""
        rows = self.listable()
        score = self.scores[rows]
        if len(rows) > most:
            keep = score >= np.partition(score, len(rows) - most)[len(rows) - most]
            rows, score = rows[keep], score[keep]
        return rows[np.argsort(-score, kind="stable")][:most]

    def listable(self) -> NDArray[np.int64]:
        """All items that may be listed."""
        return np.flatnonzero(~self.seen & ~np.isnan(self.scores))


class Asked:
    """A recommender that scores histories, by asking alone; they have no weights."""

    def __init__(self, model: Any, histories: Ragged) -> None:
        self._histories = histories
        both = getattr(model, "both_from", None)
        self._ask = model.scores_from if both is None else lambda rows: both(rows)[0]

    def histories(self, users: Rows) -> list[History]:
        """What users have, each item of weight one."""
        rows = [np.asarray(self._histories.row(u)) for u in users.tolist()]
        return [(row, np.ones(len(row))) for row in rows]

    def scores(self, histories: Sequence[History]) -> Doubles:
        """(n, I) by the history: what a recommender has stored of a user may differ."""
        starts = range(0, len(histories), _ASKED)
        some = [self._ask([h for h, _ in histories[n : n + _ASKED]]) for n in starts]
        return np.concatenate([np.asarray(x, np.float64) for x in some])

    def parts(self, person: HistoryPerson, columns: Rows) -> Parts:
        """By leaving out one item at a time. Where scores are no sum over the history, or items
        have no column, `far` is endless.
        """
        n, spread = len(person.history), float(np.nanstd(person.scores))
        half = np.arange(n) < n // 2
        away = [*np.eye(n, dtype=bool), half, ~half]
        asked = self.scores([(person.history[~x], person.weight[~x]) for x in away])
        gone = asked[:, columns] - person.scores[columns]
        alone, told = gone[:n], np.array([gone[:n][x].sum(axis=0) for x in (half, ~half)])
        off = float(np.abs(gone[n:] - told).max(initial=0.0))
        far = np.full(1 + n, np.inf)
        if len(columns) == len(person.listable()):
            far[: 2 if not off <= _SUM * spread else None] = -np.inf
        alone = np.nan_to_num(alone, nan=-1e30)  # not listed any more
        parts = _EMPTY, alone, _NONE, _NONE, person.weight, float(n), _NONE, _EMPTY
        tol = (2.0 * off if off <= _SUM * spread else 0.0) + 1e-11 * spread
        bounds = _EMPTY, _EMPTY, _NONE, _NONE, far, tol
        return Parts(person.scores[columns], alone, *parts, *bounds)

    def bounds(self, parts: Parts, sizes: int) -> Parts:  # noqa: ARG002
        """As they are: a sum needs none."""
        return parts


class Own:
    """The default recommender, taken apart."""

    def __init__(self, model: Linear) -> None:
        self.model, self.arrays = model, model.arrays
        a = model.arrays
        self._facts = a.value_ptr, a.value
        row_of = Ragged(*self._facts).row_of()
        usual = a.unit[a.value] * a.share[a.value]
        self._usual = a.scale * np.bincount(row_of, weights=usual, minlength=len(a.own))
        holders = Ragged.from_pairs(a.value, row_of.astype(np.int32), len(a.share))
        self._holders = holders.indptr, holders.indices
        factor, _, pull = (float(x) for x in a.factor)
        self._gram = a.gram + pull * np.eye(len(a.gram))
        self._target = np.ascontiguousarray(factor * a.item_vector)
        widest = float((a.scale * np.maximum(np.diff(a.value_ptr), 1)).max(initial=1.0))
        self._grain = 4.0 * widest * 2.0 ** -float(a.bits[0])

    def histories(self, users: Rows) -> list[History]:
        """What users have."""
        a = self.arrays
        spans = [slice(a.history_ptr[u], a.history_ptr[u + 1]) for u in users.tolist()]
        return [(a.history[x], a.weight[x]) for x in spans]

    def scores(self, histories: Sequence[History]) -> Doubles:
        """(n, I)"""
        starts = range(0, len(histories), _ASKED)
        some = [list(zip(*histories[n : n + _ASKED], strict=True)) for n in starts]
        return np.concatenate([self.model.both_from(*part)[0] for part in some])

    def parts(self, person: HistoryPerson, columns: Rows) -> Parts:
        """By formula."""
        history, weight = person.history, person.weight
        direct, shared, through, pulled, moved, error = self._of(person, history, weight, columns)
        lean, total, cross = shared.sum(axis=0), float(weight.sum()), pulled @ moved.T
        new = _root(total - weight)[:, None]
        alone = (new - _root(total)) * lean - direct - new * shared
        if len(error):
            alone -= (error / (1.0 - np.diag(cross)))[:, None] * through
        far = np.full(2, -np.inf if len(columns) == len(person.listable()) else np.inf)
        tol = self._grain + 1e-11 * float(np.abs(person.scores[columns]).max(initial=1.0))
        parts = lean, -direct, -shared, -through, weight, total, cross, error
        bounds = _EMPTY, _EMPTY, _NONE, _NONE, far, tol
        return Parts(person.scores[columns], alone, *parts, *bounds)

    def bounds(self, parts: Parts, sizes: int) -> Parts:
        """Of the root of what is left, and of c."""
        n_sizes, light = 1 + min(sizes, len(parts.weight)), np.sort(parts.weight)
        low, high = _NONE, _NONE
        if len(parts.error):
            n_sizes = min(n_sizes, max(2, int(_CROSSED / (4.0 * len(parts.error) ** 2))))
            largest = float(np.linalg.eigvalsh(parts.cross).max(initial=0.0))
            low, high = _between(parts.cross, parts.error, min(largest, 1.0 - 1e-6), n_sizes)
        gone = [np.concatenate([[0.0], np.cumsum(w)])[:n_sizes] for w in (light, light[::-1])]
        ends = _root(parts.total - np.array(gone))
        far = np.full(n_sizes, parts.far[0])
        return parts._replace(root_low=ends[0], root_high=ends[1], low=low, high=high, far=far)

    def taken_up(self, person: HistoryPerson, rows: Rows, columns: Rows) -> Doubles:
        """(n, C) what each of these items, of weight one, would add to the scores."""
        lean = self._of(person, person.history, person.weight, columns)[1].sum(axis=0)
        direct, shared, through, pulled, moved, error = self._of(
            person, rows, np.ones(len(rows)), columns
        )
        total = person.weight.sum()
        out = direct + _root(total + 1.0) * shared + (_root(total + 1.0) - _root(total)) * lean
        if len(error):
            out += (error / (1.0 + (pulled * moved).sum(axis=1)))[:, None] * through
        return np.asarray(out)

    def _of(
        self, person: HistoryPerson, taken: Rows, weight: Doubles, columns: Rows
    ) -> tuple[Doubles, ...]:
        """direct, shared, through (n, C) of some items; their vectors times M^-1, and as they are;
        their errors.
        """
        a = self.arrays
        direct, shared = np.zeros((2, len(taken), len(columns)))
        pairs = a.pair_ptr, a.pair, a.strength
        facts = *self._facts, *self._holders, a.unit, a.scale, self._usual
        _by_item(taken, weight, columns, *pairs, *facts, direct, shared)
        moved = a.item_vector[taken] * np.sqrt(weight)[:, None]
        if self._target.shape[1] == 0:
            return direct, shared, _NONE, moved, moved, _EMPTY
        mine = a.item_vector[person.history]
        inverse = np.linalg.inv(self._gram + mine.T @ (mine * person.weight[:, None]))
        error = np.sqrt(weight) - moved @ (inverse @ (mine.T @ person.weight))
        pulled = moved @ inverse
        return direct, shared, pulled @ self._target[columns].T, pulled, moved, error


def _root(total: Any) -> Doubles:
    return np.where(total > 1e-9, 1.0 / np.sqrt(np.maximum(total, 1e-9)), 1.0)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _by_item(  # type: ignore[no-untyped-def]
    taken, weight, columns, pair_ptr, pair, strength, value_ptr, value, holder_ptr, holder,
    unit, scale, usual, direct, shared,
):  # fmt: skip
    """Fill `direct` and `shared` (n, C)."""
    near, alike = np.zeros(len(scale)), np.zeros(len(scale))
    for p in range(len(taken)):
        near[:], alike[:] = 0.0, 0.0
        for q in range(pair_ptr[taken[p]], pair_ptr[taken[p] + 1]):
            near[pair[q]] = strength[q]
        for a in value[value_ptr[taken[p]] : value_ptr[taken[p] + 1]]:
            for i in holder[holder_ptr[a] : holder_ptr[a + 1]]:
                alike[i] += unit[a]
        for j in range(len(columns)):
            i = columns[j]
            direct[p, j] = weight[p] * near[i]
            shared[p, j] = weight[p] * (scale[i] * alike[i] - usual[i])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _between(cross, error, largest, n_sizes):  # type: ignore[no-untyped-def]
    """(N, H) and (N, H) between which c_h is.

    c_h (1 - K_hh) = error_h + sum over the others of K_hg c_g: bounds of all c give better ones.
    The first is |error| / (1 - largest eigenvalue of K).
    """
    n_history = len(error)
    low, high = np.zeros((n_sizes, n_history)), np.zeros((n_sizes, n_history))
    squares = np.cumsum(np.sort(error * error)[::-1])
    up, down = np.empty(n_history), np.empty(n_history)
    for n in range(1, n_sizes):
        high[n] = np.sqrt(squares[n - 1]) / (1.0 - largest)
        low[n] = -high[n]
        best = np.zeros(max(n - 1, 1))
        for _ in range(3 if n > 1 else 1):
            for h in range(n_history):
                most, least = 0.0, 0.0
                if n > 1:
                    for g in range(n_history):
                        x, y = cross[h, g] * low[n, g], cross[h, g] * high[n, g]
                        up[g], down[g] = max(x, y), max(-x, -y)
                    most, least = _largest(up, h, best), _largest(down, h, best)
                room = 1.0 - cross[h, h]
                high[n, h] = min(high[n, h], (error[h] + most) / room)
                low[n, h] = max(low[n, h], (error[h] - least) / room)
    return low, high


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _largest(row, without, best):  # type: ignore[no-untyped-def]
    """The largest entries of a row above 0, but for one entry, added up."""
    n = len(best)
    best[:] = 0.0
    for g in range(len(row)):
        x = row[g]
        if g != without and x > best[n - 1]:
            at = n - 1
            while at > 0 and best[at - 1] < x:
                best[at] = best[at - 1]
                at -= 1
            best[at] = x
    return best.sum()
