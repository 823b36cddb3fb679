"""The smallest set of a history without which an item is overtaken by k others: compiled search.

A `Case` is one user and one target. Column 0 is the target's own score with the sign turned, the
others are rivals: how far they are ahead of the target. With a set R of n items gone,

    lead(R) = start + (r(R) - r) lean + sum over R of (direct + r(R) shared) + sum of c_h(R) through
    r(R) = (total - weight of R)^-1/2,   c(R) = (1 - cross of R)^-1 error of R

`sign` +1 instead of -1 takes items up. For one size n all is linear in R but for what weights do to
r and what the items of R do to each other's c; `Bounds` says how far those can go. Leads within
`tol` of 0 are left to the model itself. H: items of the history, C: columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.linear.itemitem import solve

Doubles = NDArray[np.float64]
Rows = NDArray[np.int64]

RIVALS = 40  # that greedy sets are made against
SIZE, PROVEN, MAYBES, WIDE, NONE = range(5)
"""Places in what `smallest` tells: size of the set it is sure of (0: none); whether every smaller
one is excluded or among the maybes; how many maybes; whether more rivals could prove more; whether
no set at all does it."""
_TABLE = 4_000_000  # entries of a table of bounds
_NONE = -np.inf


class Case(NamedTuple):
    """One user and one target; all arrays but `cross` have H rows or C columns."""

    start: Doubles
    lean: Doubles
    direct: Doubles
    shared: Doubles
    through: Doubles
    """(H, C); without factors (0, 0), and `cross` and `error` are empty too."""
    weight: Doubles
    total: float
    cross: Doubles
    error: Doubles
    sign: float


class Bounds(NamedTuple):
    """What can be said of all sets of one size; the first axis is the size."""

    middle: Doubles
    half: Doubles
    """r(R) is within `half` of `middle`."""
    spread: Doubles
    """(N, H) how far c_h(R) can be from what it is when h goes alone."""
    far: Doubles
    """No item that has no column has a higher score."""
    tol: float


@numba.njit(cache=True, error_model="numpy", nogil=True)
def root(total):  # type: ignore[no-untyped-def]
    """What r is for a history of this weight."""
    return 1.0 / np.sqrt(total) if total > 1e-9 else 1.0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def leads(case, chosen, n, out):  # type: ignore[no-untyped-def]
    """Fill `out` (C,) with the leads without the first n of `chosen`."""
    total = case.total
    for p in range(n):
        total += case.sign * case.weight[chosen[p]]
    new = root(total)
    change = new - root(case.total)
    for j in range(len(out)):
        out[j] = case.start[j] + change * case.lean[j]
    for p in range(n):
        h = chosen[p]
        for j in range(len(out)):
            out[j] += case.direct[h, j] + new * case.shared[h, j]
    if len(case.error) == 0 or n == 0:
        return
    system, goal = np.empty((n, n)), np.empty(n)
    for p in range(n):
        goal[p] = case.error[chosen[p]]
        for q in range(n):
            system[p, q] = case.sign * case.cross[chosen[p], chosen[q]]
        system[p, p] += 1.0
    solve(system, goal)
    for p in range(n):
        for j in range(len(out)):
            out[j] += goal[p] * case.through[chosen[p], j]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def ahead(lead, least):  # type: ignore[no-untyped-def]
    """Rivals whose lead is above `least`."""
    n = 0
    for j in range(1, len(lead)):
        n += lead[j] > least
    return n


@numba.njit(cache=True, error_model="numpy", nogil=True)
def margin(lead, k, most):  # type: ignore[no-untyped-def]
    """The k-th largest lead among the first `most` rivals; above 0: the target is out."""
    best = np.full(k, _NONE)
    for j in range(1, min(len(lead), most + 1)):
        x = lead[j]
        if x > best[k - 1]:
            at = k - 1
            while at > 0 and best[at - 1] < x:
                best[at] = best[at - 1]
                at -= 1
            best[at] = x
    return best[k - 1]


@numba.njit(cache=True, error_model="numpy", nogil=True)
def alone(case, h):  # type: ignore[no-untyped-def]
    """What c is for an item that goes alone."""
    if len(case.error) == 0:
        return 0.0
    return case.error[h] / (1.0 + case.sign * case.cross[h, h])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def gains(case, middle, half, spread):  # type: ignore[no-untyped-def]
    """(C,) and (H, C) upper bounds of the leads of one size, as a sum over what goes."""
    n_columns, change = len(case.start), middle - root(case.total)
    base = np.empty(n_columns)
    for j in range(n_columns):
        base[j] = case.start[j] + change * case.lean[j] + half * abs(case.lean[j])
    out = np.empty(case.direct.shape)
    for h in range(len(out)):
        for j in range(n_columns):
            x = case.shared[h, j]
            out[h, j] = case.direct[h, j] + middle * x + half * abs(x)
        if len(case.error):
            c = alone(case, h)
            for j in range(n_columns):
                x = case.through[h, j]
                out[h, j] += c * x + spread[h] * abs(x)
    return base, out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def keep(best, row):  # type: ignore[no-untyped-def]
    """Put a row of gains into the falling lists `best` (n, C) of every column."""
    n = len(best)
    for j in range(len(row)):
        x = row[j]
        if x > best[n - 1, j]:
            at = n - 1
            while at > 0 and best[at - 1, j] < x:
                best[at, j] = best[at - 1, j]
                at -= 1
            best[at, j] = x


@numba.njit(cache=True, error_model="numpy", nogil=True)
def possible(lead, more, k, far, tol):  # type: ignore[no-untyped-def]
    """Whether k rivals, or items without a column, could be ahead with `more` on top."""
    if not lead[0] + more[0] + far < -tol:
        return True
    n = 0
    for j in range(1, len(lead)):
        n += lead[j] + more[j] > -tol
    return n >= k


@numba.njit(cache=True, error_model="numpy", nogil=True)
def note(chosen, n, maybe, tell):  # type: ignore[no-untyped-def]
    """Keep a set that the model itself must judge; `PROVEN` is lost where there are too many."""
    at = tell[MAYBES]
    if at == len(maybe):
        tell[PROVEN] = 0
        return
    maybe[at, 0] = n
    maybe[at, 1 : n + 1] = chosen[:n]
    tell[MAYBES] += 1


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _columns(base, gain, best, tol):  # type: ignore[no-untyped-def]
    """Columns that can be ahead at all, and history items by how much they help those behind."""
    can = np.zeros(len(base), np.bool_)
    can[0] = True
    help_of = np.zeros(len(gain))
    for j in range(1, len(base)):
        can[j] = base[j] + best[:, j].sum() > -tol
        if can[j] and base[j] < 0.0:
            for h in range(len(gain)):
                help_of[h] += gain[h, j]
    return np.flatnonzero(can), np.argsort(-help_of, kind="mergesort")


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _tables(n, gain, columns, order):  # type: ignore[no-untyped-def]
    """(H, c) gains in this order; (H + 1, n + 1, c) the most that m of those from t on can give."""
    n_history, width = len(gain), len(columns)
    part, top = np.empty((n_history, width)), np.zeros((n_history + 1, n + 1, width))
    rest = np.full((n, width), _NONE)
    for t in range(n_history - 1, -1, -1):
        for c in range(width):
            part[t, c] = gain[order[t], columns[c]]
        keep(rest, part[t])
        for m in range(n):
            for c in range(width):
                top[t, m + 1, c] = top[t, m, c] + rest[m, c]
    return part, top


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _judged(case, picked, n, k, far, tol, exact, maybe, tell):  # type: ignore[no-untyped-def]
    """What a whole set does. 1: it does it; 0: it does not, or is noted; -1: more rivals needed."""
    leads(case, picked, n, exact)
    if ahead(exact, tol) >= k:
        return 1
    if ahead(exact, -tol) >= k:
        note(picked, n, maybe, tell)
    elif not exact[0] + far < -tol:
        tell[WIDE] = 1
        return -1
    return 0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def search(n, k, case, base, gain, best, far, tol, budget, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """Depth first over the sets of size n. 1: found, now in `chosen`; 0: none; -1: given up."""
    columns, order = _columns(base, gain, best, tol)
    n_history, width = len(gain), len(columns)
    if n_history * (n + 1) * width > _TABLE:
        return -1
    part, top = _tables(n, gain, columns, order)
    lead = np.empty((n + 1, width))
    lead[0] = base[columns]
    exact, picked, place = np.empty(len(base)), np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    depth = 0
    while depth >= 0 and budget[0] >= 0:
        t, missing = place[depth], n - depth
        budget[0] -= width
        if t > n_history - missing or not possible(lead[depth], top[t, missing], k, far, tol):
            depth -= 1
            place[depth] += 1  # of no use, and no harm, where depth is -1
            continue
        picked[depth] = order[t]
        for c in range(width):
            lead[depth + 1, c] = lead[depth, c] + part[t, c]
        if missing > 1:
            place[depth + 1] = t + 1
            depth += 1
            continue
        place[depth] += 1
        if possible(lead[n], top[n_history, 0], k, far, tol):
            budget[0] -= n * len(base)
            found = _judged(case, picked, n, k, far, tol, exact, maybe, tell)
            if found != 0:
                chosen[:n] = picked if found > 0 else chosen[:n]
                return found
    return -1 if depth >= 0 else 0
