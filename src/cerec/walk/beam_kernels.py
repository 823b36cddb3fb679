"""One level of a beam, compiled.

What lies behind an attribute is scored once for consecutive rows of one user and one list.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from cerec.walk.kernels import (
    _JIT,
    Double,
    Float,
    Hop,
    Int,
    Long,
    Space,
    allow,
    make_query,
    make_space,
    mark_list,
    place,
)
from cerec.walk.softmax import attend, normaliser


class Behind(NamedTuple):
    """The likeliest items behind attributes, for the user and list of this moment."""

    group: Long
    """(A,) number of the user and list an entry was made for."""
    kept: Int
    """(A,) items kept, at most W."""
    item: Int
    """(A, W) by falling log-probability, the first of equals first."""
    log_p: Double
    """(A, W) of the step from the attribute to the item."""


@numba.njit(**_JIT)
def enter_rows(
    h: Float,
    user: Int,
    start: Int,
    state: Int,
    base: Double,
    off_indptr: Long,
    off_indices: Int,
    near: Hop,
    far: Hop,
    n_items: int,
    slope: float,
    uniform: tuple[bool, bool],
    new: Int,
    parent: Int,
    via: Int,
    value: Double,
) -> None:
    """Enter the next items (B, W), the beam state each comes from, its attribute and its
    log-probability. On the calling thread: callers with many states run several of these.
    """
    width, n_attributes = state.shape[1], len(far.indptr) - 1
    widest = max(_widest(near.indptr), _widest(far.indptr))
    space = make_space(n_items, widest, h.shape[1])
    behind = Behind(
        np.zeros(n_attributes, np.int64),
        np.empty(n_attributes, np.int32),
        np.empty((n_attributes, width), np.int32),
        np.empty((n_attributes, width), np.float64),
    )
    best = np.full(n_items, -np.inf)
    origin = np.zeros((2, n_items), np.int32)
    touched = np.empty(n_items, np.int32)
    group, lasting = 0, False
    for b in range(len(state)):
        mark_list(space.mark, b + 1, off_indices, off_indptr[b], off_indptr[b + 1])
        inside = space.mark[start[b]] == b + 1
        if not (lasting and inside and _alike(user, off_indptr, off_indices, b)):
            group += 1
        lasting = inside  # else the start itself is kept off, for this row alone
        mark_list(space.mark, b + 1, start, b, b + 1)
        n_touched, bar = 0, -np.inf
        for w in range(width):
            if state[b, w] >= 0:
                n_touched, bar = _expand(
                    h, user[b], state[b, w], w, base[b, w], near, far, slope, uniform, width,
                    b + 1, state[b, w] == start[b], group, behind, space, best, origin, touched,
                    n_touched, bar,
                )  # fmt: skip
        reached = touched[:n_touched]
        good = np.sort(reached[best[reached] >= bar])  # few: `bar` is the last that enters
        order = np.argsort(-best[good], kind="mergesort")
        for w in range(min(width, len(good))):
            x = good[order[w]]
            new[b, w], value[b, w] = x, best[x]
            parent[b, w], via[b, w] = origin[0, x], origin[1, x]
        best[reached] = -np.inf


@numba.njit(**_JIT)
def _alike(user: Int, indptr: Long, indices: Int, b: int) -> bool:
    """Whether row b has the user and the list of the row before."""
    one = indices[indptr[b - 1] : indptr[b]]
    other = indices[indptr[b] : indptr[b + 1]]
    return user[b - 1] == user[b] and len(one) == len(other) and bool((one == other).all())


@numba.njit(**_JIT)
def _widest(indptr: Long) -> int:
    most = 1
    for r in range(len(indptr) - 1):
        most = max(most, indptr[r + 1] - indptr[r])
    return most


@numba.njit(**_JIT)
def _expand(
    h: Float,
    user: int,
    item: int,
    w: int,
    base: float,
    near: Hop,
    far: Hop,
    slope: float,
    uniform: tuple[bool, bool],
    width: int,
    stamp: int,
    at_start: bool,
    group: int,
    behind: Behind,
    space: Space,
    best: Double,
    origin: Int,
    touched: Int,
    n_touched: int,
    bar: float,
) -> tuple[int, float]:
    """Enter what state w of a beam reaches; `bar` is what a path must beat to enter the beam."""
    allow(near, item, space.mark, stamp, space.ok)
    make_query(h, user, near.source_offset + item, slope, space)
    top, total = attend(h, near, item, uniform[0], space)
    if total <= 0.0:
        return n_touched, bar
    lo = near.indptr[item]
    n = near.indptr[item + 1] - lo
    first = np.full(n, -np.inf)
    log_weight = top + np.log(total)
    for j in range(n):
        if space.ok[j]:
            first[j] = base + space.score[j] - log_weight
    for j in np.argsort(-first, kind="mergesort"):
        if first[j] == -np.inf or first[j] <= bar:
            break
        attribute = near.indices[lo + j]
        if at_start:
            if behind.group[attribute] != group:
                _keep(h, user, attribute, far, slope, uniform[1], stamp, group, behind, space)
            n_touched = _enter_kept(
                w, attribute, first[j], behind, best, origin, touched, n_touched
            )
        else:
            n_touched = _enter(
                h, user, item, w, attribute, first[j], far, slope, uniform[1], stamp, space, best,
                origin, touched, n_touched,
            )  # fmt: skip
        if n_touched >= width:
            bar = np.partition(best[touched[:n_touched]], n_touched - width)[n_touched - width]
    return n_touched, bar


@numba.njit(**_JIT)
def _keep(
    h: Float,
    user: int,
    attribute: int,
    far: Hop,
    slope: float,
    uniform: bool,
    stamp: int,
    group: int,
    behind: Behind,
    space: Space,
) -> None:
    """Score the items behind an attribute and keep the likeliest, as many as a beam can hold.

    Of the items behind one attribute no more can be in the beam: each of these would be ahead.
    """
    allow(far, attribute, space.mark, stamp, space.ok)
    make_query(h, user, far.source_offset + attribute, slope, space)
    top, total = attend(h, far, attribute, uniform, space)
    lo = far.indptr[attribute]
    n = far.indptr[attribute + 1] - lo
    log_weight = top + np.log(total)
    items, log_p = behind.item[attribute], behind.log_p[attribute]
    width, kept = len(items), 0
    for j in range(n):
        value = space.score[j] - log_weight if space.ok[j] else -np.inf
        if not space.ok[j] or (kept == width and value <= log_p[width - 1]):
            continue
        to = min(kept, width - 1)
        while to > 0 and log_p[to - 1] < value:
            items[to], log_p[to] = items[to - 1], log_p[to - 1]
            to -= 1
        items[to], log_p[to] = far.indices[lo + j], value
        kept = min(kept + 1, width)
    behind.kept[attribute], behind.group[attribute] = kept, group


@numba.njit(**_JIT)
def _enter_kept(
    w: int,
    attribute: int,
    base: float,
    behind: Behind,
    best: Double,
    origin: Int,
    touched: Int,
    n_touched: int,
) -> int:
    """Enter the likeliest items behind one attribute; returns how many the level has reached."""
    for j in range(behind.kept[attribute]):
        x, value = behind.item[attribute, j], base + behind.log_p[attribute, j]
        if best[x] == -np.inf:
            touched[n_touched] = x
            n_touched += 1
        if value > best[x]:
            best[x] = value
            origin[0, x], origin[1, x] = w, attribute
    return n_touched


@numba.njit(**_JIT)
def _enter(
    h: Float,
    user: int,
    item: int,
    w: int,
    attribute: int,
    base: float,
    far: Hop,
    slope: float,
    uniform: bool,
    stamp: int,
    space: Space,
    best: Double,
    origin: Int,
    touched: Int,
    n_touched: int,
) -> int:
    """As `_enter_kept` for all items behind an attribute but the one the walk stands on."""
    allow(far, attribute, space.mark, stamp, space.ok)
    make_query(h, user, far.source_offset + attribute, slope, space)
    top, total = attend(h, far, attribute, uniform, space)
    lo = far.indptr[attribute]
    n = far.indptr[attribute + 1] - lo
    skip = place(far, attribute, item)
    if skip >= 0 and not space.ok[skip]:
        skip = -1
    own_top, rest, _ = normaliser(space, n, skip, top, total)
    log_weight = own_top + np.log(rest)
    for j in range(n):
        if not space.ok[j] or j == skip:
            continue
        x = far.indices[lo + j]
        value = base + space.score[j] - log_weight
        if best[x] == -np.inf:
            touched[n_touched] = x
            n_touched += 1
        if value > best[x]:
            best[x] = value
            origin[0, x], origin[1, x] = w, attribute
    return n_touched
