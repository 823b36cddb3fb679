"""What explainers of histories share: the fewest actions that let another item ahead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def fewest(gap: Array, change: Array, most: int) -> tuple[int, NDArray[np.int64]] | None:
    """The candidate that gets ahead once the fewest actions are left out, and which these are.

    `gap` (C,) is how far the item is ahead of each candidate, `change` (C, H) what leaving out each
    action adds to that. Changes add up, so those that lower it most make the smallest set. Ties:
    the candidate that is then further ahead. At most `most` actions; candidates that are ahead
    already do not count; None when there is no other.
    """
    best: tuple[int, float, int, NDArray[np.int64]] | None = None
    for c in np.flatnonzero(gap >= 0).tolist():
        order = np.argsort(change[c], kind="stable")[:most]
        left = gap[c] + np.cumsum(change[c][order])
        done = np.flatnonzero(left < 0)
        if len(done):
            n = int(done[0]) + 1
            if best is None or (n, float(left[n - 1])) < best[:2]:
                best = n, float(left[n - 1]), c, order[:n]
    return None if best is None else (best[2], best[3])
