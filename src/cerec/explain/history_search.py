"""From the kernels to one answer: singles, greedy sets as an upper bound, then size by size."""

from __future__ import annotations

import numba
import numpy as np

from cerec.explain.history_kernels import (
    MAYBES,
    NONE,
    PROVEN,
    RIVALS,
    SIZE,
    WIDE,
    Bounds,
    Case,
    ahead,
    alone,
    gains,
    keep,
    leads,
    margin,
    note,
    possible,
    root,
    search,
)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def smallest(case, bounds, k, most, work, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    """Put the smallest set found into `chosen`, and say in `tell` what is known of it.

    `maybe` takes sets that only the model can judge: size, then items. Sets are of at most `most`
    items; `work` is how much the depth-first search may do.
    """
    n_history = len(case.direct)
    tell[:] = 0
    tell[PROVEN] = 1
    best = _single(case, bounds, k, maybe, tell)
    if best >= 0:
        chosen[0] = best
        tell[SIZE] = 1
        return
    if tell[WIDE]:
        tell[PROVEN] = 0
    most = min(most, n_history)
    size = _by_margin(case, bounds, k, most, chosen)
    size = _by_rival(case, bounds, k, most, size, chosen)
    budget = np.array([work])
    last = (size - 1 if size > 0 else most) if tell[PROVEN] else 0
    if size == 0 and most < n_history:
        tell[PROVEN] = 0
    for n in range(2, last + 1):
        if n >= len(bounds.middle):
            tell[WIDE] = 1
            break
        found = _of_size(n, case, bounds, k, budget, chosen, maybe, tell)
        if found == 1:
            size = n
            break
        if found < 0:
            tell[PROVEN] = 0
            break
    if tell[WIDE]:
        tell[PROVEN] = 0
    tell[SIZE] = size
    tell[NONE] = size == 0 and tell[PROVEN] == 1  # unless one of the maybes does it


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _single(case, bounds, k, maybe, tell):  # type: ignore[no-untyped-def]
    """The one item without which the target falls deepest, or -1."""
    lead, chosen = np.empty(len(case.start)), np.empty(1, np.int64)
    best, best_margin = -1, 0.0
    for h in range(len(case.direct)):
        chosen[0] = h
        leads(case, chosen, 1, lead)
        if ahead(lead, bounds.tol) >= k:
            now = margin(lead, k, len(lead))
            if best < 0 or now > best_margin:
                best, best_margin = h, now
        elif ahead(lead, -bounds.tol) >= k:
            note(chosen, 1, maybe, tell)
        elif not lead[0] + bounds.far[1] < -bounds.tol:
            tell[WIDE] = 1
    if best >= 0:
        tell[WIDE], tell[MAYBES], tell[PROVEN] = 0, 0, 1
    return best


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _of_size(n, case, bounds, k, budget, chosen, maybe, tell):  # type: ignore[no-untyped-def]
    spread = bounds.spread[n] if len(bounds.spread) else np.zeros(0)
    base, gain = gains(case, bounds.middle[n], bounds.half[n], spread)
    best = np.full((n, len(base)), -np.inf)
    for h in range(len(gain)):
        keep(best, gain[h])
    total = np.zeros(len(base))
    for m in range(n):
        total += best[m]
    budget[0] -= gain.size // 8
    if not possible(base, total, k, bounds.far[n], bounds.tol):
        return 0
    far, tol = bounds.far[n], bounds.tol
    return search(n, k, case, base, gain, best, far, tol, budget, chosen, maybe, tell)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _by_margin(case, bounds, k, most, chosen):  # type: ignore[no-untyped-def]
    """Take away what brings the k-th rival nearest, again and again; the size, or 0."""
    width = min(len(case.start), 1 + k + RIVALS)
    lead, trial = np.empty(len(case.start)), np.empty(width)
    gone = np.zeros(len(case.direct), np.bool_)
    leads(case, chosen, 0, lead)
    total = case.total
    for n in range(most):
        best, best_margin = -1, -np.inf
        for h in range(len(gone)):
            if gone[h]:
                continue
            new, c = root(total + case.sign * case.weight[h]), alone(case, h)
            for j in range(1, width):
                trial[j] = lead[j] + case.direct[h, j] + new * case.shared[h, j]
            if c != 0.0:
                for j in range(1, width):
                    trial[j] += c * case.through[h, j]
            now = margin(trial, k, width)
            if best < 0 or now > best_margin:
                best, best_margin = h, now
        chosen[n] = best
        gone[best] = True
        total += case.sign * case.weight[best]
        leads(case, chosen, n + 1, lead)
        if ahead(lead, bounds.tol) >= k:
            return n + 1
    return 0


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _by_rival(case, bounds, k, most, size, chosen):  # type: ignore[no-untyped-def]
    """The same against one rival at a time; a smaller set than `size` goes into `chosen`."""
    lead, trial = np.empty(len(case.start)), np.empty(most, np.int64)
    taken = np.empty(len(case.direct))
    new = root(case.total + case.sign * case.total / max(len(taken), 2))
    tried = 0
    for j in range(1, len(case.start)):
        limit = size - 1 if size > 0 else most
        if tried == RIVALS or limit < 2:
            break
        if case.start[j] > 0.0:
            continue
        tried += 1
        for h in range(len(taken)):
            taken[h] = case.direct[h, j] + new * case.shared[h, j]
            if len(case.error):
                taken[h] += alone(case, h) * case.through[h, j]
        for n in range(limit):
            trial[n] = np.argmax(taken)
            taken[trial[n]] = -np.inf
            if n == 0:
                continue
            leads(case, trial, n + 1, lead)
            if ahead(lead, bounds.tol) >= k:
                size = n + 1
                chosen[:size] = trial[:size]
                break
    return size


@numba.njit(cache=True, error_model="numpy", nogil=True)
def relative(target, sign, score, lean, direct, shared, through, weight, total, cross, error):  # type: ignore[no-untyped-def]
    """The case of one target: column 0 is its own, then the other columns in their order."""
    n_columns = len(score)
    start, more = np.empty(n_columns), np.empty(n_columns)
    start[0], more[0] = -score[target], -lean[target]
    out_direct = np.empty(direct.shape)
    out_shared = np.empty(direct.shape)
    out_through = np.empty(through.shape)
    at = 1
    for j in range(n_columns):
        if j != target:
            start[at] = score[j] - score[target]
            more[at] = lean[j] - lean[target]
            at += 1
    _apart(direct, target, sign, out_direct)
    _apart(shared, target, sign, out_shared)
    _apart(through, target, sign, out_through)
    return Case(start, more, out_direct, out_shared, out_through, weight, total, cross, error, sign)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _apart(part, target, sign, out):  # type: ignore[no-untyped-def]
    for h in range(len(part)):
        own = part[h, target]
        out[h, 0] = -sign * own
        for j in range(target):
            out[h, j + 1] = sign * (part[h, j] - own)
        for j in range(target + 1, part.shape[1]):
            out[h, j] = sign * (part[h, j] - own)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def smallest_of_user(  # type: ignore[no-untyped-def]
    targets,
    k,
    most,
    work,
    score,
    lean,
    direct,
    shared,
    through,
    weight,
    total,
    cross,
    error,
    middle,
    half,
    spread,
    far,
    tol,
    chosen,
    maybe,
    tell,
):
    """`smallest` for several targets, given by column; the last three have a row for each."""
    bounds = Bounds(middle, half, spread, far, tol)
    for n in range(len(targets)):
        case = relative(
            targets[n], -1.0, score, lean, direct, shared, through, weight, total, cross, error
        )
        smallest(case, bounds, k, most, work, chosen[n], maybe[n], tell[n])


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _left(case, chosen, n, own, k, lead):  # type: ignore[no-untyped-def]
    """The k-th lead when items, now rivals no more, are taken up; below 0: the target is in."""
    leads(case, chosen, n, lead)
    for p in range(n):
        if own[chosen[p]] > 0:
            lead[own[chosen[p]]] = -np.inf
    return margin(lead, k, len(lead))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def up_singles(case, own, k, out):  # type: ignore[no-untyped-def]
    """Fill `out` with what is left of the k-th lead when each item is taken up alone."""
    lead, chosen = np.empty(len(case.start)), np.empty(1, np.int64)
    for h in range(len(own)):
        chosen[0] = h
        out[h] = _left(case, chosen, 1, own, k, lead)


@numba.njit(cache=True, error_model="numpy", nogil=True)
def up_more(case, own, k, tol, chosen, sizes):  # type: ignore[no-untyped-def]
    """Pairs that may do, the best first, and in the last row a greedy set of two or more."""
    n_pairs, n_items = len(chosen) - 1, len(own)
    lead, trial = np.empty(len(case.start)), np.empty(chosen.shape[1], np.int64)
    best = np.full(n_pairs, np.inf)
    for g in range(n_items):
        for h in range(g + 1, n_items):
            trial[0], trial[1] = g, h
            now = _left(case, trial, 2, own, k, lead)
            at = n_pairs
            while at > 0 and best[at - 1] > now:
                at -= 1
            if now <= tol and at < n_pairs:
                best[at + 1 :] = best[at : n_pairs - 1].copy()
                chosen[at + 1 : n_pairs] = chosen[at : n_pairs - 1].copy()
                best[at], chosen[at, :2] = now, trial[:2]
    sizes[:n_pairs] = np.where(best < np.inf, 2, 0)
    gone = np.zeros(n_items, np.bool_)
    for n in range(chosen.shape[1]):
        nearest, which = np.inf, -1
        for h in range(n_items):
            if not gone[h]:
                trial[n] = h
                now = _left(case, trial, n + 1, own, k, lead)
                if which < 0 or now < nearest:
                    nearest, which = now, h
        trial[n] = which
        gone[which] = True
        if n > 0 and nearest < -tol:
            chosen[n_pairs, : n + 1] = trial[: n + 1]
            sizes[n_pairs] = n + 1
            return
