"""Swaps of one item value for another: the imagined items to learn from (`base.SwapSampler`)."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.recommend.base import Context, Rows
from cerec.recommend.draws import below, fresh_state, holds, walk

_TRIES = 8  # walks, and gained values per walk, before a pair goes without a swap


@dataclass(frozen=True, slots=True)
class RandomSwaps:
    """One value of the item replaced by one, of the same relation, of an item a walk leads to."""

    steps: int = 1
    list_length: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ConfigError(f"RandomSwaps needs at least 1 step, got {self.steps}")

    def draw(
        self, user: Rows, item: Rows, context: Context, rng: np.random.Generator
    ) -> tuple[Rows, Rows]:
        """See `SwapSampler.draw`; (-1, -1) for items that share no value with others."""
        del user
        facts = context.facts
        return _random_swaps(
            item,
            facts.of_item.indptr,
            facts.of_item.indices,
            facts.holders.indptr,
            facts.holders.indices,
            facts.relation,
            self.steps,
            fresh_state(rng),
        )


@numba.njit(cache=True, error_model="numpy", nogil=True)
def swap_toward(
    state: NDArray[np.uint64],
    item: int,
    other: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    relation: NDArray[np.int32],
) -> tuple[int, int]:
    """(lost, gained): a value of `item` alone and one of `other` alone, of one relation.

    The gained value is uniform over what only `other` has, as far as the item has something of
    that relation to lose for it; (-1, -1) when no draw finds a pair.
    """
    first, n = indptr[other], indptr[other + 1] - indptr[other]
    for _ in range(_TRIES if n > 0 else 0):
        gained = indices[first + below(state, n)]
        if holds(indptr, indices, item, gained):
            continue
        count = 0
        lost = -1
        for at in range(indptr[item], indptr[item + 1]):
            value = indices[at]
            if relation[value] != relation[gained] or holds(indptr, indices, other, value):
                continue
            count += 1  # keeps each candidate with probability 1 / count: uniform over all
            if below(state, count) == 0:
                lost = value
        if lost >= 0:
            return lost, gained
    return -1, -1


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _random_swaps(
    item: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],
    holders: NDArray[np.int32],
    relation: NDArray[np.int32],
    steps: int,
    state: NDArray[np.uint64],
) -> tuple[Rows, Rows]:
    lost = np.full(len(item), -1, np.int32)
    gained = np.full(len(item), -1, np.int32)
    for p in range(len(item)):
        for _ in range(_TRIES):
            other = walk(state, item[p], steps, indptr, indices, holder_indptr, holders)
            if other < 0:
                break
            lost[p], gained[p] = swap_toward(state, item[p], other, indptr, indices, relation)
            if lost[p] >= 0:
                break
    return lost, gained
