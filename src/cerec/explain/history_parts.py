"""What each item of a user's history does to a few items' scores, for the linear recommender.

The parts are those of `history_kernels`: `direct` of the item-item ridge, `shared` of the counts of
values, which go by the root of the history's length, and `through` of the factors' fold-in. With

    M = rest V'V + sum of w V_h V_h' + pull 1,   U = M^-1 sum of w V_h

taking a set R away gives U' = U - M^-1 (sum over R of c_h w_h^1/2 V_h), where c solves
(1 - K) c = error over R, with K = the products w_h^1/2 V_h M^-1 V_g w_g^1/2 (`cross`) and
error_h = w_h^1/2 (1 - V_h . U). Taking items up is the same with the other sign.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear.model import Linear

Doubles = NDArray[np.float64]
Rows = NDArray[np.integer]

_CROSSED = 3_000_000  # entries looked at to bound what items do to each other's part


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """One user's history, H items, and J items of the catalogue."""

    lean: Doubles
    """(J,) the sum of `shared` over the user's history."""
    direct: Doubles
    shared: Doubles
    through: Doubles
    """(H, J); `through` is (0, 0) without factors."""
    weight: Doubles
    total: float
    cross: Doubles
    error: Doubles
    """(H, H) and (H,), empty without factors."""
    inverse: Doubles
    """(d, d) of M."""


class PartsOf:
    """A linear model, ready to be taken apart."""

    def __init__(self, model: Linear) -> None:
        self.arrays = a = model.arrays
        self.n_items = len(a.own)
        of_item = Ragged(a.value_ptr, a.value)
        row_of, units = of_item.row_of(), a.unit[a.value]
        usual = units * a.share[a.value]

        def summed(x: Doubles) -> Doubles:
            return a.scale * np.bincount(row_of, weights=x, minlength=self.n_items)

        self.usual = summed(usual)
        self.shared_rise = summed(np.maximum(usual, usual - units))
        self.direct_rise = np.zeros(self.n_items)
        np.maximum.at(self.direct_rise, a.pair, -a.strength.astype(np.float64))
        factor, _, pull = (float(x) for x in a.factor)
        self.gram = a.gram + pull * np.eye(len(a.gram))
        self.target = np.ascontiguousarray(factor * a.item_vector)
        widest = float((a.scale * np.maximum(of_item.counts, 1)).max(initial=1.0))
        self.grain = 4.0 * widest * 2.0 ** -float(a.bits[0])

    def lean(self, history: Rows, weight: Doubles) -> Doubles:
        """(I,) the counts' part of every score, times the root of the history's length."""
        a = self.arrays
        out = np.empty(self.n_items)
        _lean(history, weight, a.value_ptr, a.value, a.share, a.unit, a.scale, out)
        return out

    def parts(
        self,
        taken: Rows,
        weights: Doubles,
        rows: Rows,
        lean: Doubles,
        of: Rows,
        weight: Doubles,
        *,
        crossed: bool = True,
    ) -> Parts:
        """Of the items `taken`, with their weights, in the scores of `rows`, for a user with the
        history `of`, its weights and its `lean` in all items; `cross` only where asked for.
        """
        a = self.arrays
        direct = np.zeros((len(taken), len(rows)))
        shared = np.empty_like(direct)
        where = np.full(self.n_items, -1, np.int64)
        where[rows] = np.arange(len(rows))
        _direct(taken, weights, rows, where, a.pair_ptr, a.pair, a.strength, direct)
        holders = _holders(rows, a.value_ptr, a.value, len(a.share))
        facts = a.value_ptr, a.value, a.unit, a.scale, self.usual
        _shared(taken, weights, rows, *holders, *facts, shared)
        total = float(weight.sum())
        if self.target.shape[1] == 0:
            none = np.zeros((0, 0))
            return Parts(lean[rows], direct, shared, none, weights, total, none, np.zeros(0), none)
        mine = a.item_vector[of]
        system = self.gram + mine.T @ (mine * weight[:, None])
        inverse = np.asarray(np.linalg.inv(system), np.float64)
        user = inverse @ (mine.T @ weight)
        half = np.sqrt(weights)
        moved = a.item_vector[taken] * half[:, None]
        pulled = moved @ inverse
        through = pulled @ self.target[rows].T
        cross = pulled @ moved.T if crossed else np.zeros((0, 0))
        error = half * (1.0 - a.item_vector[taken] @ user)
        return Parts(lean[rows], direct, shared, through, weights, total, cross, error, inverse)

    def bounds(
        self, parts: Parts, scores: Doubles, lean: Doubles, outside: NDArray[np.bool_], sizes: int
    ) -> tuple[Doubles, Doubles, Doubles, Doubles]:
        """Middle, half, spread and far of `history_kernels.Bounds`, for up to so many sizes.

        `outside`: items that have no column.
        """
        n_sizes = 1 + min(sizes, len(parts.weight))
        if len(parts.error):
            afford = int(_CROSSED / (4.0 * len(parts.error) ** 2))
            n_sizes = min(n_sizes, max(2, afford))
        size, light = np.arange(n_sizes), np.sort(parts.weight)
        least = parts.total - np.concatenate([[0], np.cumsum(light)])[:n_sizes]
        most_gone = parts.total - np.concatenate([[0], np.cumsum(light[::-1])])[:n_sizes]
        ends = np.array([_root(least), _root(most_gone)])
        spread = np.zeros((0, 0))
        reach = np.zeros(n_sizes)
        if len(parts.error):
            spread, reach = _spread(parts.cross, parts.error, n_sizes)
        rows = np.flatnonzero(outside)
        far = np.full(n_sizes, -np.inf)
        if len(rows):
            old = float(_root(np.array([parts.total]))[0])
            heavy = float(light[-1]) if len(light) else 0.0
            _far(
                scores[rows], lean[rows], self.direct_rise[rows], self.shared_rise[rows],
                self._reach(rows, parts), ends - old, ends, size * heavy, reach, far,
            )  # fmt: skip
        return ends.mean(axis=0), np.ptp(ends, axis=0) / 2.0, spread, far

    def _reach(self, rows: Rows, parts: Parts) -> Doubles:
        """(n,) lengths by M^-1: what a change of the user's vector by one can do to these items."""
        if len(parts.error) == 0:
            return np.zeros(len(rows))
        part = self.target[rows]
        return np.sqrt(np.maximum(((part @ parts.inverse) * part).sum(axis=1), 0.0))


def _root(total: Doubles) -> Doubles:
    return np.where(total > 1e-9, 1.0 / np.sqrt(np.maximum(total, 1e-9)), 1.0)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _lean(history, weight, value_ptr, value, share, unit, scale, out):  # type: ignore[no-untyped-def]
    count, total = np.zeros(len(share)), weight.sum()
    for p in range(len(history)):
        for q in range(value_ptr[history[p]], value_ptr[history[p] + 1]):
            count[value[q]] += weight[p]
    for a in range(len(share)):
        count[a] = unit[a] * (count[a] - total * share[a])
    for i in range(len(out)):
        x = 0.0
        for q in range(value_ptr[i], value_ptr[i + 1]):
            x += count[value[q]]
        out[i] = scale[i] * x


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _direct(taken, weights, rows, where, pair_ptr, pair, strength, out):  # type: ignore[no-untyped-def]
    for p in range(len(taken)):
        start, end = pair_ptr[taken[p]], pair_ptr[taken[p] + 1]
        if end - start <= 12 * len(rows):
            for q in range(start, end):
                if where[pair[q]] >= 0:
                    out[p, where[pair[q]]] = weights[p] * strength[q]
            continue
        for j in range(len(rows)):
            at = start + np.searchsorted(pair[start:end], rows[j])
            if at < end and pair[at] == rows[j]:
                out[p, j] = weights[p] * strength[at]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _holders(rows, value_ptr, value, n_values):  # type: ignore[no-untyped-def]
    """Value -> positions in `rows` of the items that have it."""
    indptr = np.zeros(n_values + 1, np.int64)
    for i in rows:
        for q in range(value_ptr[i], value_ptr[i + 1]):
            indptr[value[q] + 1] += 1
    for a in range(n_values):
        indptr[a + 1] += indptr[a]
    out, filled = np.empty(indptr[n_values], np.int64), indptr.copy()
    for j in range(len(rows)):
        for q in range(value_ptr[rows[j]], value_ptr[rows[j] + 1]):
            out[filled[value[q]]] = j
            filled[value[q]] += 1
    return indptr, out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _shared(taken, weights, rows, ptr, holder, value_ptr, value, unit, scale, usual, out):  # type: ignore[no-untyped-def]
    for p in range(len(taken)):
        x = out[p]
        x[:] = 0.0
        for q in range(value_ptr[taken[p]], value_ptr[taken[p] + 1]):
            for at in range(ptr[value[q]], ptr[value[q] + 1]):
                x[holder[at]] += unit[value[q]]
        for j in range(len(rows)):
            x[j] = weights[p] * (scale[rows[j]] * x[j] - usual[rows[j]])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _spread(cross, error, n_sizes):  # type: ignore[no-untyped-def]
    """(N, H) how far c_h can be from its value alone; (N,) the longest sum of c_h w_h^1/2 V_h.

    c_h (1 - K_hh) = error_h + sum over the others of K_hg c_g, so a bound of all |c| gives a better
    one; the first is |error| / (1 - largest eigenvalue of K), below 1 for any subset.
    """
    n_history = len(error)
    spread, reach = np.zeros((n_sizes, n_history)), np.zeros(n_sizes)
    single = np.empty(n_history)
    for h in range(n_history):
        single[h] = abs(error[h]) / (1.0 - cross[h, h])
    norm = 0.0
    for h in range(n_history):
        norm = max(norm, np.abs(cross[h]).sum())
    squares, length = np.sort(error * error)[::-1], np.sqrt(np.diag(cross))
    weighed = np.empty(n_history)
    for n in range(1, n_sizes):
        best = np.full(max(n - 1, 1), 0.0)
        largest = 0.0
        for h in range(n_history):
            largest = max(largest, cross[h, h] + _best_sum(cross[h], h, n - 1, best))
        room = 1.0 - min(largest, norm)
        bound = np.full(n_history, 1e30)  # times nothing it is nothing, unlike inf
        if room > 1e-6:
            bound[:] = np.sqrt(squares[:n].sum()) / room
        for _ in range(2):
            now = np.empty(n_history)
            for h in range(n_history):
                for g in range(n_history):
                    weighed[g] = cross[h, g] * bound[g]
                spread[n, h] = _best_sum(weighed, h, n - 1, best) / (1.0 - cross[h, h])
                now[h] = min(bound[h], single[h] + spread[n, h])
            bound = now
        each = np.sort(bound * length)[::-1]
        reach[n] = each[:n].sum()
    return spread, reach


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _best_sum(row, without, n, best):  # type: ignore[no-untyped-def]
    """The n largest sizes in a row, but for one entry, added up."""
    if n == 0:
        return 0.0
    best[:n] = 0.0
    for g in range(len(row)):
        x = abs(row[g])
        if g != without and x > best[n - 1]:
            at = n - 1
            while at > 0 and best[at - 1] < x:
                best[at] = best[at - 1]
                at -= 1
            best[at] = x
    return best[:n].sum()


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _far(scores, lean, direct, shared, reach, change, root, weight, length, out):  # type: ignore[no-untyped-def]
    """(N,) the highest score that any of these items can have, for every size of a set."""
    for n in range(len(out)):
        for i in range(len(scores)):
            moved = max(change[0, n] * lean[i], change[1, n] * lean[i])
            rise = weight[n] * (direct[i] + max(root[0, n], root[1, n]) * shared[i])
            out[n] = max(out[n], scores[i] + moved + rise + length[n] * reach[i])
