"""Swaps of one item value for another: the imagined items to learn from (`base.SwapSampler`)."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
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
        return _swaps_of(item, context.facts, self.steps, rng)


def can_swap(facts: Facts, steps: int) -> bool:
    """Whether walks of so many steps find a swap for any item: one draw for each."""
    item = np.arange(len(facts.of_item), dtype=np.int32)
    lost, _ = _swaps_of(item, facts, steps, np.random.default_rng(0))
    return bool((lost >= 0).any())


def _swaps_of(item: Rows, facts: Facts, steps: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    return _random_swaps(
        item,
        facts.of_item.indptr,
        facts.of_item.indices,
        facts.holders.indptr,
        facts.holders.indices,
        facts.relation,
        steps,
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
    seen: NDArray[np.int64],
    stamp: int,
) -> tuple[int, int]:
    """(lost, gained): a value of `item` alone and one of `other` alone, of one relation.

    The gained value is uniform over what only `other` has, as far as the item has something of
    that relation to lose for it; (-1, -1) when no draw finds a pair. `seen` is scratch, one entry
    per value, none of them equal to `stamp` yet: the values of `other` are noted there.
    """
    first, n = indptr[other], indptr[other + 1] - indptr[other]
    for at in range(first, first + n):
        seen[indices[at]] = stamp
    for _ in range(_TRIES if n > 0 else 0):
        gained = indices[first + below(state, n)]
        if holds(indptr, indices, item, gained):
            continue
        count = 0
        lost = -1
        for at in range(indptr[item], indptr[item + 1]):
            value = indices[at]
            if seen[value] == stamp or relation[value] != relation[gained]:
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
    seen = np.full(len(relation), -1, np.int64)
    stamp = 0
    for p in range(len(item)):
        for _ in range(_TRIES):
            other = walk(state, item[p], steps, indptr, indices, holder_indptr, holders)
            if other < 0:
                break
            stamp += 1
            lost[p], gained[p] = swap_toward(
                state, item[p], other, indptr, indices, relation, seen, stamp
            )
            if lost[p] >= 0:
                break
    return lost, gained
