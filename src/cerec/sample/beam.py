"""The likeliest paths of a policy, exactly, by a beam.

One level takes every state of a row's beam one step (item -> attribute -> item) on and keeps the
`width` likeliest distinct items with their best path. Attributes are tried by falling
probability; the rest is skipped once no path through it can still enter the beam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.ragged import Ragged
from cerec.sample.kernels import (
    _JIT,
    Double,
    Float,
    Hop,
    Int,
    Long,
    Space,
    allow,
    attend,
    make_query,
    make_space,
    mark_list,
    normaliser,
    place,
)
from cerec.sample.paths import PathSampler, Proposals


@dataclass(frozen=True, slots=True, eq=False)
class Beams:
    """The ends of the likeliest walks of B states, best first."""

    item: NDArray[np.int32]
    """(B, W) last items; -1 where there are fewer."""
    log_p: NDArray[np.float64]
    """(B, W) log-probability of the likeliest path to each."""
    path: NDArray[np.int32]
    """(B, W, T, 2) attribute and item of each step; -1 after the end of a walk."""

    def proposals(self) -> Proposals:
        """The same without the empty places."""
        found = self.item >= 0
        indptr = np.concatenate([[0], np.cumsum(found.sum(axis=1))]).astype(np.int64)
        return Proposals(indptr, self.item[found], self.path[found])


def beam(
    sampler: PathSampler,
    h: NDArray[np.float32],
    user: NDArray[np.integer],
    item: NDArray[np.integer],
    excluded: Ragged,
    *,
    depth: int,
    width: int,
) -> Beams:
    """The likeliest walks of `depth` steps for B states; row b keeps off row b of `excluded`.

    They never come back to where they started. A state from which no step is possible stays
    where it is; one that cannot start has no end.
    """
    who: NDArray[np.int32] = np.ascontiguousarray(user, np.int32)
    start: NDArray[np.int32] = np.ascontiguousarray(item, np.int32)
    path = np.full((len(who), width, depth, 2), -1, np.int32)
    state = np.full((len(who), width), -1, np.int32)
    log_p = np.full((len(who), width), -np.inf)
    state[:, 0], log_p[:, 0] = start, 0.0
    for t in range(depth):
        given = (
            h,
            who,
            start,
            state,
            log_p,
            excluded.indptr,
            excluded.indices,
            *sampler.hops,
            sampler.graph.n_items,
            sampler.slope,
            sampler.uniform,
        )
        new, via = np.full((2, len(who), width), -1, np.int32)
        parent = np.zeros((len(who), width), np.int32)
        value = np.full((len(who), width), -np.inf)
        _rows(*given, new, parent, via, value)
        on = np.flatnonzero(new[:, 0] >= 0)
        longer = path[on[:, None], parent[on]]
        longer[:, :, t, 0], longer[:, :, t, 1] = via[on], new[on]
        path[on], state[on], log_p[on] = longer, new[on], value[on]
    stuck = path[:, 0, 0, 0] < 0
    state[stuck], log_p[stuck] = -1, -np.inf
    return Beams(item=state, log_p=log_p, path=path)


@numba.njit(**_JIT)
def _rows(
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
    width = state.shape[1]
    widest = max(_widest(near.indptr), _widest(far.indptr))
    space = make_space(n_items, widest, h.shape[1])
    best = np.full(n_items, -np.inf)
    origin = np.zeros((2, n_items), np.int32)
    touched = np.empty(n_items, np.int32)
    for b in range(len(state)):
        mark_list(space.mark, b + 1, off_indices, off_indptr[b], off_indptr[b + 1])
        mark_list(space.mark, b + 1, start, b, b + 1)
        n_touched, bar = 0, -np.inf
        for w in range(width):
            if state[b, w] >= 0:
                n_touched, bar = _expand(
                    h, user[b], state[b, w], w, base[b, w], near, far, slope, uniform, width,
                    b + 1, space, best, origin, touched, n_touched, bar,
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
    top = attend(h, near, item, uniform[0], space)
    lo = near.indptr[item]
    n = near.indptr[item + 1] - lo
    if space.cum[n] <= 0.0:
        return n_touched, bar
    first = np.full(n, -np.inf)
    for j in range(n):
        if space.ok[j]:
            first[j] = base + space.score[j] - top - np.log(space.cum[n])
    for j in np.argsort(-first, kind="mergesort"):
        if first[j] == -np.inf or first[j] <= bar:
            break
        attribute = near.indices[lo + j]
        n_touched = _enter(
            h, user, item, w, attribute, first[j], far, slope, uniform[1], stamp, space, best,
            origin, touched, n_touched,
        )  # fmt: skip
        if n_touched >= width:
            bar = np.partition(best[touched[:n_touched]], n_touched - width)[n_touched - width]
    return n_touched, bar


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
    """Enter the items behind one attribute; returns how many items the level has reached."""
    allow(far, attribute, space.mark, stamp, space.ok)
    make_query(h, user, far.source_offset + attribute, slope, space)
    top = attend(h, far, attribute, uniform, space)
    lo = far.indptr[attribute]
    n = far.indptr[attribute + 1] - lo
    skip = place(far, attribute, item)
    if skip >= 0 and not space.ok[skip]:
        skip = -1
    own_top, rest, _ = normaliser(space, n, skip, top)
    for j in range(n):
        if not space.ok[j] or j == skip:
            continue
        x = far.indices[lo + j]
        value = base + space.score[j] - own_top - np.log(rest)
        if best[x] == -np.inf:
            touched[n_touched] = x
            n_touched += 1
        if value > best[x]:
            best[x] = value
            origin[0, x], origin[1, x] = w, attribute
    return n_touched
