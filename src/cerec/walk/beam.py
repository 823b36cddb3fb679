"""The likeliest paths of a policy, exactly, by a beam.

One level takes every state of a row's beam one step (item -> attribute -> item) on and keeps the
`width` likeliest distinct items with their best path. Attributes are tried by falling
probability; the rest is skipped once no path through it can still enter the beam.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.walk.beam_kernels import enter_rows
from cerec.walk.paths import PathSampler, Proposals


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
        )
        new, via = np.full((2, len(who), width), -1, np.int32)
        parent = np.zeros((len(who), width), np.int32)
        value = np.full((len(who), width), -np.inf)
        enter_rows(*given, new, parent, via, value)
        on = np.flatnonzero(new[:, 0] >= 0)
        longer = path[on[:, None], parent[on]]
        longer[:, :, t, 0], longer[:, :, t, 1] = via[on], new[on]
        path[on], state[on], log_p[on] = longer, new[on], value[on]
    stuck = path[:, 0, 0, 0] < 0
    state[stuck], log_p[stuck] = -1, -np.inf
    return Beams(item=state, log_p=log_p, path=path)
