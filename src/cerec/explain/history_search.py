"""From the kernels to one answer: singles, greedy sets as an upper bound, then size by size."""

from __future__ import annotations

import numpy as np

from cerec.explain.history_kernels import (
    NONE,
    PROVEN,
    RIVALS,
    SIZE,
    TIGHT,
    WIDE,
    add,
    ahead,
    gains,
    jit,
    judged,
    keep,
    leads,
    margin,
    most_of,
    possible,
)

_TABLE = 4_000_000  # entries of a table of bounds


@jit
def _single(p, t, k, lead, maybe, tell):  # type: ignore[no-untyped-def]
    """The one item without which the target falls deepest, or -1."""
    start = np.zeros(len(lead))
    add(start, p.score, t, 1.0, 1.0)
    best, deepest = -1, 0.0
    for h in range(len(p.alone)):
        lead[:] = start
        add(lead, p.alone[h], t, 1.0, 1.0)
        does = judged(p, t, k, np.array([h]), lead, maybe, tell)
        now = margin(lead, t, k, len(lead)) if does == 1 else 0.0
        if does == 1 and (best < 0 or now > deepest):
            best, deepest = h, now
        elif does < 0:
            tell[WIDE], tell[PROVEN] = 1, 0
    return best


@jit
def _by_margin(p, t, k, most, lead, chosen):  # type: ignore[no-untyped-def]
    """Take away what brings the k-th rival nearest, again and again; the size, or 0."""
    width = min(len(p.score), 1 + k + RIVALS)
    trial, gone = np.empty(width), np.zeros(len(p.alone), np.bool_)
    leads(p, t, chosen[:0], lead)
    for n in range(most):
        best, nearest = -1, -np.inf
        for h in range(len(gone)):
            if not gone[h]:
                trial[:] = lead[:width]
                add(trial, p.alone[h, :width], t, 1.0, 1.0)
                now = margin(trial, t, k, width)
                if best < 0 or now > nearest:
                    best, nearest = h, now
        chosen[n] = best
        gone[best] = True
        leads(p, t, chosen[: n + 1], lead)
        if ahead(lead, t, p.tol) >= k:
            return n + 1
    return 0


@jit
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
        add(about, p.score[:width], t, 1.0, 1.0)
        for n in range(1, limit + 1):
            add(about, p.alone[order[n - 1], :width], t, 1.0, 1.0)
            if n == 1 or ahead(about, t, -p.tol) < k:
                continue
            leads(p, t, order[:n], lead)
            if ahead(lead, t, p.tol) >= k:
                size = n
                chosen[:n] = order[:n]
                break
    return size


@jit
def _reduced(p, t, k, size, lead, chosen, tell):  # type: ignore[no-untyped-def]
    """Leave out of the first `size` of `chosen` what can be, one after the other; the size."""
    h, kept, tried = 0, 0, 0
    while tried < size:
        h = h % size
        left = np.concatenate((chosen[:h], chosen[h + 1 : size]))
        leads(p, t, left, lead)
        if ahead(lead, t, p.tol) >= k:
            chosen[: size - 1] = left
            size, tried, kept = size - 1, 0, 0
            continue
        outside = lead[t] + p.far[min(size - 1, len(p.far) - 1)]
        kept += ahead(lead, t, -p.tol) < k and outside < -p.tol
        tried, h = tried + 1, h + 1
    tell[TIGHT] = kept == size
    return size


@jit
def _columns(base, gain, total, t, tol):  # type: ignore[no-untyped-def]
    """Columns that can be ahead at all, and history items by how much they help those behind."""
    can, help_of = np.zeros(len(base), np.bool_), np.zeros(len(gain))
    for j in range(len(base)):
        can[j] = j == t or total[j] > -tol
        if can[j] and base[j] < 0.0 and j != t:
            for h in range(len(gain)):
                help_of[h] += gain[h, j]
    return np.flatnonzero(can), np.argsort(-help_of, kind="mergesort")


@jit
def _tables(n, gain, columns, order):  # type: ignore[no-untyped-def]
    """(H, c) gains in this order; (H + 1, n + 1, c) the most that m of those from h on can give."""
    n_history, width = len(gain), len(columns)
    part, top = np.empty((n_history, width)), np.zeros((n_history + 1, n + 1, width))
    rest = np.full((n, width), -np.inf)
    for h in range(n_history - 1, -1, -1):
        for c in range(width):
            part[h, c] = gain[order[h], columns[c]]
        keep(rest, part[h])
        for m in range(n):
            for c in range(width):
                top[h, m + 1, c] = top[h, m, c] + rest[m, c]
    return part, top


@jit
def _search(n, p, t, k, budget, lead, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """Of all sets of size n. 1: one does it, now in `chosen`; 0: none; -1: given up."""
    base, gain = gains(p, t, n)
    total = base + most_of(gain, n, -np.inf)[n]
    budget[0] -= gain.size // 8
    if not possible(total, t, k, p.tol):
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
        leads(p, t, picked, lead)
        found = judged(p, t, k, picked, lead, maybe, tell)
        if found > 0:
            chosen[:n] = picked
            return 1
        if found < 0:
            tell[WIDE] = 1
            return -1
    return 0 if budget[0] >= 0 else -1


@jit
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
        if h > n_history - missing or not possible(now, at, k, tol):
            place[depth] = 0
            depth -= 1
            continue
        place[depth] += 1
        picked[depth] = order[h]
        sums[depth + 1] = sums[depth] + part[h]
        if missing > 1:
            depth += 1
            place[depth] = h + 1
        elif possible(sums[n], at, k, tol):
            return True
    return False


@jit
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


@jit
def smallest(p, targets, k, most, work, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """For every target, a column: put the smallest set found into `chosen`, and say in `tell` what
    is known of it.

    `maybe` takes sets that only the model can judge: size, then items. Sets are of at most `most`
    items; `work` is how much the depth-first search may do. The last three have a row each.
    """
    for n in range(len(targets)):
        _smallest(p, targets[n], k, most, work, chosen[n], maybe[n], tell[n])
