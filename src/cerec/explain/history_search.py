"""The smallest set of a history without which an item is overtaken by k others: compiled search.

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
_TABLE = 4_000_000  # entries of a table of bounds


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


_jit = numba.njit(cache=True, error_model="numpy", nogil=True)


@_jit
def root(total):  # type: ignore[no-untyped-def]
    """What r is for a history of this weight."""
    return 1.0 / np.sqrt(total) if total > 1e-9 else 1.0


@_jit
def _add(out, row, t, low, high):  # type: ignore[no-untyped-def]
    """Add to the leads over column t a part of the scores, times at most what is between these."""
    own, outside = row[t], out[t] + max(-low * row[t], -high * row[t])
    for j in range(len(out)):
        x = row[j] - own
        out[j] += max(low * x, high * x)
    out[t] = outside


@_jit
def _leads(p, t, chosen, out):  # type: ignore[no-untyped-def]
    """Fill `out` (C,) with the leads over column t without these items."""
    n = len(chosen)
    out[:] = 0.0
    _add(out, p.score, t, 1.0, 1.0)
    for h in chosen:
        _add(out, p.direct[h], t, 1.0, 1.0)
    if len(p.shared):
        new = root(p.total - p.weight[chosen].sum())
        _add(out, p.lean, t, new - root(p.total), new - root(p.total))
        for h in chosen:
            _add(out, p.shared[h], t, new, new)
    if len(p.through) and n:
        system, c = np.empty((n, n)), p.error[chosen]
        for a in range(n):
            for b in range(n):
                system[a, b] = (a == b) - p.cross[chosen[a], chosen[b]]
        solve(system, c)
        for a in range(n):
            _add(out, p.through[chosen[a]], t, c[a], c[a])


@_jit
def _ahead(lead, t, least):  # type: ignore[no-untyped-def]
    """Rivals whose lead is above `least`."""
    n = 0
    for j in range(len(lead)):
        n += lead[j] > least
    return n - (lead[t] > least)


@_jit
def _margin(lead, t, k, most):  # type: ignore[no-untyped-def]
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


@_jit
def _gains(p, t, n):  # type: ignore[no-untyped-def]
    """(C,) and (H, C) upper bounds of the leads of sets of n, as a sum over what goes."""
    base, gain = np.zeros(len(p.score)), np.zeros(p.direct.shape)
    _add(base, p.score, t, 1.0, 1.0)
    base[t] += p.far[n]
    if len(p.shared):
        now = root(p.total)
        _add(base, p.lean, t, p.root_low[n] - now, p.root_high[n] - now)
    for h in range(len(gain)):
        _add(gain[h], p.direct[h], t, 1.0, 1.0)
        if len(p.shared):
            _add(gain[h], p.shared[h], t, p.root_low[n], p.root_high[n])
        if len(p.through):
            _add(gain[h], p.through[h], t, p.low[n, h], p.high[n, h])
    return base, gain


@_jit
def _keep(best, row):  # type: ignore[no-untyped-def]
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


@_jit
def _most(gain, n, least):  # type: ignore[no-untyped-def]
    """(n + 1, C) the most that sets of up to n items can add."""
    best, out = np.full((n, gain.shape[1]), least), np.zeros((n + 1, gain.shape[1]))
    for row in gain:
        _keep(best, row)
    for m in range(n):
        out[m + 1] = out[m] + best[m]
    return out


@_jit
def _possible(lead, at, k, tol):  # type: ignore[no-untyped-def]
    """Whether k rivals, or an item without a column, could be ahead with these leads."""
    return lead[at] >= -tol or _ahead(lead, at, -tol) >= k


@_jit
def _judged(p, t, k, chosen, lead, maybe, tell):  # type: ignore[no-untyped-def]
    """What a set with these leads does. 1: it does it; 0: it does not, or the model must judge and
    it is noted; -1: more rivals are needed to tell.
    """
    n, at = len(chosen), tell[MAYBES]
    if _ahead(lead, t, p.tol) >= k:
        return 1
    if _ahead(lead, t, -p.tol) >= k:
        if at < len(maybe):
            maybe[at, 0] = n
            maybe[at, 1 : n + 1] = chosen
            tell[MAYBES] += 1
        else:
            tell[PROVEN] = 0
        return 0
    return 0 if lead[t] + p.far[min(n, len(p.far) - 1)] < -p.tol else -1


@_jit
def _single(p, t, k, lead, maybe, tell):  # type: ignore[no-untyped-def]
    """The one item without which the target falls deepest, or -1."""
    start = np.zeros(len(lead))
    _add(start, p.score, t, 1.0, 1.0)
    best, deepest = -1, 0.0
    for h in range(len(p.alone)):
        lead[:] = start
        _add(lead, p.alone[h], t, 1.0, 1.0)
        does = _judged(p, t, k, np.array([h]), lead, maybe, tell)
        now = _margin(lead, t, k, len(lead)) if does == 1 else 0.0
        if does == 1 and (best < 0 or now > deepest):
            best, deepest = h, now
        elif does < 0:
            tell[WIDE], tell[PROVEN] = 1, 0
    return best


@_jit
def _by_margin(p, t, k, most, lead, chosen):  # type: ignore[no-untyped-def]
    """Take away what brings the k-th rival nearest, again and again; the size, or 0."""
    width = min(len(p.score), 1 + k + RIVALS)
    trial, gone = np.empty(width), np.zeros(len(p.alone), np.bool_)
    _leads(p, t, chosen[:0], lead)
    for n in range(most):
        best, nearest = -1, -np.inf
        for h in range(len(gone)):
            if not gone[h]:
                trial[:] = lead[:width]
                _add(trial, p.alone[h, :width], t, 1.0, 1.0)
                now = _margin(trial, t, k, width)
                if best < 0 or now > nearest:
                    best, nearest = h, now
        chosen[n] = best
        gone[best] = True
        _leads(p, t, chosen[: n + 1], lead)
        if _ahead(lead, t, p.tol) >= k:
            return n + 1
    return 0


@_jit
def _by_rival(p, t, k, most, size, lead, chosen):  # type: ignore[no-untyped-def]
    """Take away what helps one rival most; a set smaller than `size` goes into `chosen`."""
    width = min(len(p.score), 1 + k + RIVALS)
    about = np.empty(width)
    tried = 0
    for j in range(len(p.score)):
        limit = size - 1 if size > 0 else most
        if tried == RIVALS or limit < 2:
            break
        if j == t or p.score[j] > p.score[t]:
            continue
        tried += 1
        order = np.argsort(p.alone[:, t] - p.alone[:, j])
        about[:] = 0.0
        _add(about, p.score[:width], t, 1.0, 1.0)
        for n in range(1, limit + 1):
            _add(about, p.alone[order[n - 1], :width], t, 1.0, 1.0)
            if n == 1 or _ahead(about, t, -p.tol) < k:
                continue
            _leads(p, t, order[:n], lead)
            if _ahead(lead, t, p.tol) >= k:
                size = n
                chosen[:n] = order[:n]
                break
    return size


@_jit
def _reduced(p, t, k, size, lead, chosen, tell):  # type: ignore[no-untyped-def]
    """Leave out of the first `size` of `chosen` what can be, one after the other; the size."""
    h, kept, tried = 0, 0, 0
    while tried < size:
        h = h % size
        left = np.concatenate((chosen[:h], chosen[h + 1 : size]))
        _leads(p, t, left, lead)
        if _ahead(lead, t, p.tol) >= k:
            chosen[: size - 1] = left
            size, tried, kept = size - 1, 0, 0
            continue
        outside = lead[t] + p.far[min(size - 1, len(p.far) - 1)]
        kept += _ahead(lead, t, -p.tol) < k and outside < -p.tol
        tried, h = tried + 1, h + 1
    tell[TIGHT] = kept == size
    return size


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
    reach = up + _most(gain, len(p.far) - 1, 0.0)
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


@_jit
def _columns(base, gain, total, t, tol):  # type: ignore[no-untyped-def]
    """Columns that can be ahead at all, and history items by how much they help those behind."""
    can, help_of = np.zeros(len(base), np.bool_), np.zeros(len(gain))
    for j in range(len(base)):
        can[j] = j == t or total[j] > -tol
        if can[j] and base[j] < 0.0 and j != t:
            for h in range(len(gain)):
                help_of[h] += gain[h, j]
    return np.flatnonzero(can), np.argsort(-help_of, kind="mergesort")


@_jit
def _tables(n, gain, columns, order):  # type: ignore[no-untyped-def]
    """(H, c) gains in this order; (H + 1, n + 1, c) the most that m of those from h on can give."""
    n_history, width = len(gain), len(columns)
    part, top = np.empty((n_history, width)), np.zeros((n_history + 1, n + 1, width))
    rest = np.full((n, width), -np.inf)
    for h in range(n_history - 1, -1, -1):
        for c in range(width):
            part[h, c] = gain[order[h], columns[c]]
        _keep(rest, part[h])
        for m in range(n):
            for c in range(width):
                top[h, m + 1, c] = top[h, m, c] + rest[m, c]
    return part, top


@_jit
def _search(n, p, t, k, budget, lead, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """Of all sets of size n. 1: one does it, now in `chosen`; 0: none; -1: given up."""
    base, gain = _gains(p, t, n)
    total = base + _most(gain, n, -np.inf)[n]
    budget[0] -= gain.size // 8
    if not _possible(total, t, k, p.tol):
        return 0
    columns, order = _columns(base, gain, total, t, p.tol)
    if len(gain) * (n + 1) * len(columns) > _TABLE:
        return -1
    part, top = _tables(n, gain, columns, order)
    at, sums = np.searchsorted(columns, t), np.empty((n + 1, len(columns)))
    sums[0] = base[columns]
    picked, place = np.empty(n, np.int64), np.zeros(n + 1, np.int64)
    while _next(n, part, top, order, at, k, p.tol, budget, sums, picked, place):
        budget[0] -= n * len(base)
        _leads(p, t, picked, lead)
        found = _judged(p, t, k, picked, lead, maybe, tell)
        if found > 0:
            chosen[:n] = picked
            return 1
        if found < 0:
            tell[WIDE] = 1
            return -1
    return 0 if budget[0] >= 0 else -1


@_jit
def _next(n, part, top, order, at, k, tol, budget, sums, picked, place):  # type: ignore[no-untyped-def]
    """Depth first to the next set that its bounds do not exclude, now in `picked`."""
    n_history, width = part.shape
    depth, now = 0, np.empty(width)
    while depth < n - 1 and place[depth + 1] > 0:
        depth += 1  # where the last one was found
    while depth >= 0 and budget[0] >= 0:
        h, missing = place[depth], n - depth
        budget[0] -= width
        if h <= n_history - missing:
            now[:] = sums[depth] + top[h, missing]
        if h > n_history - missing or not _possible(now, at, k, tol):
            place[depth] = 0
            depth -= 1
            continue
        place[depth] += 1
        picked[depth] = order[h]
        sums[depth + 1] = sums[depth] + part[h]
        if missing > 1:
            depth += 1
            place[depth] = h + 1
        elif _possible(sums[n], at, k, tol):
            return True
    return False


@_jit
def _smallest(p, t, k, most, work, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    tell[:] = 0
    tell[PROVEN] = 1
    n_history, lead = len(p.alone), np.empty(len(p.score))
    chosen[0] = _single(p, t, k, lead, maybe, tell)
    if chosen[0] >= 0:
        tell[:] = 0
        tell[SIZE], tell[PROVEN] = 1, 1
        return
    most = min(most, n_history)
    size = _by_margin(p, t, k, most, lead, chosen)
    size = _by_rival(p, t, k, most, size, lead, chosen)
    if size == 0 and most < n_history:
        tell[PROVEN] = 0
    budget = np.array([work])
    last = (size - 1 if size > 0 else most) if tell[PROVEN] else 0
    for n in range(2, last + 1):
        if n >= len(p.far):
            tell[WIDE], tell[PROVEN] = 1, 0
            break
        found = _search(n, p, t, k, budget, lead, chosen, maybe, tell)
        if found == 1:
            size = n
        elif found < 0:
            tell[PROVEN] = 0
        if found != 0:
            break
    if size > 2 and tell[PROVEN] == 0:
        size = _reduced(p, t, k, size, lead, chosen, tell)
    tell[SIZE] = size
    tell[NONE] = size == 0 and tell[PROVEN] == 1  # unless one of the maybes does it


@_jit
def smallest(p, targets, k, most, work, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """For every target, a column: put the smallest set found into `chosen`, and say in `tell` what
    is known of it.

    `maybe` takes sets that only the model can judge: size, then items. Sets are of at most `most`
    items; `work` is how much the depth-first search may do. The last three have a row each.
    """
    for n in range(len(targets)):
        _smallest(p, targets[n], k, most, work, chosen[n], maybe[n], tell[n])
