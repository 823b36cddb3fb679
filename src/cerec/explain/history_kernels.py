"""The smallest set of a history without which an item is overtaken by k others: kernels.

`Parts` is one user and C columns: items that may be listed, best first. With a set R of n items of
the history gone, a score is

    score + (r(R) - r) lean + sum over R of (direct + r(R) shared + c_h(R) through)
    r(R) = (total - weight of R)^-1/2,   c(R) = (1 - cross of R)^-1 error of R

For one size n that is a sum over R but for r and c. `low` and `high` say between which values they
are, so that a sum bounds it. The lead of a rival is its score less the target's. In leads, the
target's own column stands for all items that have no column: none of them scores above `far`.
Leads within `tol` of 0 are left to the model itself. H: items of the history, N: sizes of sets.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.recommend.linear.itemitem import solve

Doubles = NDArray[np.float64]

RIVALS = 40  # that greedy sets are made against
SIZE, PROVEN, MAYBES, WIDE, NONE, TIGHT = range(6)
"""Places in what `smallest` tells: size of the set it is sure of (0: none); whether every smaller
one is excluded or among the maybes; how many maybes; whether more rivals could prove more; whether
no set at all does it; whether no item of the set can be left out."""


class Parts(NamedTuple):
    """One user and C columns; a part that is not there is (0, 0)."""

    score: Doubles
    alone: Doubles
    """(H, C) what taking one item away adds to each score."""
    lean: Doubles
    direct: Doubles
    shared: Doubles
    through: Doubles
    weight: Doubles
    total: float
    cross: Doubles
    """(H, H), and `error` (H,)."""
    error: Doubles
    root_low: Doubles
    root_high: Doubles
    """(N,) between which r(R) is."""
    low: Doubles
    high: Doubles
    """(N, H) between which c_h(R) is."""
    far: Doubles
    """(N,)"""
    tol: float


jit = numba.njit(cache=True, error_model="numpy", nogil=True)
"""All kernels of the search."""


@jit
def root(total):  # type: ignore[no-untyped-def]
    """What r is for a history of this weight."""
    return 1.0 / np.sqrt(total) if total > 1e-9 else 1.0


@jit
def add(out, row, t, low, high):  # type: ignore[no-untyped-def]
    """Add to the leads over column t a part of the scores, times at most what is between these."""
    own, outside = row[t], out[t] + max(-low * row[t], -high * row[t])
    for j in range(len(out)):
        x = row[j] - own
        out[j] += max(low * x, high * x)
    out[t] = outside


@jit
def leads(p, t, chosen, out):  # type: ignore[no-untyped-def]
    """Fill `out` (C,) with the leads over column t without these items."""
    n = len(chosen)
    out[:] = 0.0
    add(out, p.score, t, 1.0, 1.0)
    for h in chosen:
        add(out, p.direct[h], t, 1.0, 1.0)
    if len(p.shared):
        new = root(p.total - p.weight[chosen].sum())
        add(out, p.lean, t, new - root(p.total), new - root(p.total))
        for h in chosen:
            add(out, p.shared[h], t, new, new)
    if len(p.through) and n:
        system, c = np.empty((n, n)), p.error[chosen]
        for a in range(n):
            for b in range(n):
                system[a, b] = (a == b) - p.cross[chosen[a], chosen[b]]
        solve(system, c)
        for a in range(n):
            add(out, p.through[chosen[a]], t, c[a], c[a])


@jit
def ahead(lead, t, least):  # type: ignore[no-untyped-def]
    """Rivals whose lead is above `least`."""
    n = 0
    for j in range(len(lead)):
        n += lead[j] > least
    return n - (lead[t] > least)


@jit
def margin(lead, t, k, most):  # type: ignore[no-untyped-def]
    """The k-th largest lead among the first `most` columns; above 0: the target is out."""
    best = np.full(k, -np.inf)
    for j in range(min(len(lead), most)):
        x = lead[j]
        if x > best[k - 1] and j != t:
            at = k - 1
            while at > 0 and best[at - 1] < x:
                best[at] = best[at - 1]
                at -= 1
            best[at] = x
    return best[k - 1]


@jit
def gains(p, t, n):  # type: ignore[no-untyped-def]
    """(C,) and (H, C) upper bounds of the leads of sets of n, as a sum over what goes."""
    base, gain = np.zeros(len(p.score)), np.zeros(p.direct.shape)
    add(base, p.score, t, 1.0, 1.0)
    base[t] += p.far[n]
    if len(p.shared):
        now = root(p.total)
        add(base, p.lean, t, p.root_low[n] - now, p.root_high[n] - now)
    for h in range(len(gain)):
        add(gain[h], p.direct[h], t, 1.0, 1.0)
        if len(p.shared):
            add(gain[h], p.shared[h], t, p.root_low[n], p.root_high[n])
        if len(p.through):
            add(gain[h], p.through[h], t, p.low[n, h], p.high[n, h])
    return base, gain


@jit
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


@jit
def most_of(gain, n, least):  # type: ignore[no-untyped-def]
    """(n + 1, C) the most that sets of up to n items can add."""
    best, out = np.full((n, gain.shape[1]), least), np.zeros((n + 1, gain.shape[1]))
    for row in gain:
        keep(best, row)
    for m in range(n):
        out[m + 1] = out[m] + best[m]
    return out


@jit
def possible(lead, at, k, tol):  # type: ignore[no-untyped-def]
    """Whether k rivals, or an item without a column, could be ahead with these leads."""
    return lead[at] >= -tol or ahead(lead, at, -tol) >= k


@jit
def judged(p, t, k, chosen, lead, maybe, tell):  # type: ignore[no-untyped-def]
    """What a set with these leads does. 1: it does it; 0: it does not, or the model must judge and
    it is noted; -1: more rivals are needed to tell.
    """
    n, at = len(chosen), tell[MAYBES]
    if ahead(lead, t, p.tol) >= k:
        return 1
    if ahead(lead, t, -p.tol) >= k:
        if at < len(maybe):
            maybe[at, 0] = n
            maybe[at, 1 : n + 1] = chosen
            tell[MAYBES] += 1
        else:
            tell[PROVEN] = 0
        return 0
    return 0 if lead[t] + p.far[min(n, len(p.far) - 1)] < -p.tol else -1


def narrowed(p: Parts, k: int, width: int) -> Parts | None:
    """The parts of so many columns: the first, that is all targets, and those that can rise
    highest. None where that is all there are. `far` says how high the others can.
    """
    if len(p.score) <= width:
        return None
    gain, up = p.direct.copy(), p.score.copy()
    if len(p.shared):
        ends = p.root_low.min(), p.root_high.max()
        gain += np.maximum(ends[0] * p.shared, ends[1] * p.shared)
        up += np.maximum(*((x - root(p.total)) * p.lean for x in ends))
    if len(p.through):
        low, high = p.low[1:].min(axis=0), p.high[1:].max(axis=0)
        gain += np.maximum(low[:, None] * p.through, high[:, None] * p.through)
    reach = up + most_of(gain, len(p.far) - 1, 0.0)
    order = reach[-1].copy()
    order[: 2 * k + RIVALS] = np.inf
    keep = np.sort(np.argpartition(-order, width)[:width])
    far = np.maximum(p.far, np.delete(reach, keep, axis=1).max(axis=1))
    alone, direct, shared, through = (
        np.ascontiguousarray(x[:, keep]) if len(x) else x
        for x in (p.alone, p.direct, p.shared, p.through)
    )
    lean = p.lean[keep] if len(p.lean) else p.lean
    return p._replace(
        score=p.score[keep], alone=alone, lean=lean, direct=direct, shared=shared,
        through=through, far=far,
    )  # fmt: skip
