"""One level of a beam, compiled."""

from __future__ import annotations

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
    attend,
    make_space,
    mark_list,
    skipped,
    softmax,
)


@numba.njit(**_JIT)
def enter_rows(  # noqa: C901  one loop nest; calls cost
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
    new: Int,
    parent: Int,
    via: Int,
    value: Double,
) -> None:
    """Enter the next items (B, W), the beam state each comes from, its attribute and its
    log-probability. On the calling thread: callers with many states run several of these.
    """
    width = state.shape[1]
    first, second = make_space(n_items, near, h.shape[1]), make_space(n_items, far, h.shape[1])
    best = np.full(n_items, -np.inf)
    origin = np.zeros((2, n_items), np.int32)
    touched = np.empty(n_items, np.int32)
    for b in range(len(state)):
        for mark in (first.mark, second.mark):
            mark_list(mark, b, off_indptr, off_indices, b)
            mark[start[b]] = b
        n_touched, bar = 0, -np.inf
        for w in range(width):
            item = state[b, w]
            if item < 0:
                continue
            n = near.indptr[item + 1] - near.indptr[item]
            allow(near, item, first.mark, b, first.ok)
            attend(h, near, user[b], item, item, slope, first)
            top, total = softmax(first, n, -1)
            if total <= 0.0:
                continue
            chance = np.full(n, -np.inf)
            for j in range(n):
                if first.ok[j]:
                    chance[j] = base[b, w] + first.score[j] - top - np.log(total)
            for j in np.argsort(-chance, kind="mergesort"):
                if chance[j] == -np.inf or chance[j] <= bar:
                    break  # no path through what is left can enter the beam
                attribute = near.indices[near.indptr[item] + j]
                n_touched = _enter(
                    h, user[b], item, w, attribute, chance[j], far, slope, b, second, best, origin,
                    touched, n_touched,
                )  # fmt: skip
                if n_touched >= width:
                    reached = best[touched[:n_touched]]
                    bar = np.partition(reached, n_touched - width)[n_touched - width]
        reached = touched[:n_touched]
        good = np.sort(reached[best[reached] >= bar])  # few: `bar` is the last that enters
        order = np.argsort(-best[good], kind="mergesort")
        for w in range(min(width, len(good))):
            x = good[order[w]]
            new[b, w], value[b, w] = x, best[x]
            parent[b, w], via[b, w] = origin[0, x], origin[1, x]
        best[reached] = -np.inf


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
    stamp: int,
    space: Space,
    best: Double,
    origin: Int,
    touched: Int,
    n_touched: int,
) -> int:
    """Enter the items behind one attribute; returns how many the level has reached."""
    allow(far, attribute, space.mark, stamp, space.ok)
    attend(h, far, user, attribute, item, slope, space)
    lo, skip = far.indptr[attribute], skipped(far, attribute, item)
    n = far.indptr[attribute + 1] - lo
    top, total = softmax(space, n, skip)
    for j in range(n):
        if not space.ok[j] or j == skip:
            continue
        x = far.indices[lo + j]
        value = base + space.score[j] - top - np.log(total)
        if best[x] == -np.inf:
            touched[n_touched] = x
            n_touched += 1
        if value > best[x]:
            best[x] = value
            origin[0, x], origin[1, x] = w, attribute
    return n_touched
