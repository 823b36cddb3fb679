"""Negative samplers: which item a liked item is ranked above (`base.NegativeSampler`)."""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.errors import ConfigError
from cerec.recommend.base import Context, Rows
from cerec.recommend.draws import TRIES, fresh_state, holds, unknown_item, walk


@dataclass(frozen=True, slots=True)
class Uniform:
    """Any item the user does not know, each as likely."""

    list_length: int = 0

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        del item
        known = context.known
        return _uniform(user, known.indptr, known.indices, len(context.item), fresh_state(rng))


@dataclass(frozen=True, slots=True)
class DNS:
    """Dynamic negative sampling: the best-scored of `candidates` uniform draws (Zhang 2013)."""

    candidates: int = 4
    list_length: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.candidates, int | np.integer) or self.candidates < 1:
            raise ConfigError(f"DNS needs at least 1 candidate, got {self.candidates!r}")

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        del item
        known = context.known
        return _hardest(
            user,
            known.indptr,
            known.indices,
            context.user,
            context.item,
            self.candidates,
            fresh_state(rng),
        )


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a uniform item-value-item walk from the liked item ends, outside Q_u and train.

    Steps go through shared values of `Facts` (a relation and an attribute). A walk that does not
    get out, or an item without shared values, falls back on a uniform draw.
    """

    steps: int = 1
    list_length: int = 20

    def __post_init__(self) -> None:
        if self.steps < 1 or self.list_length < 0:
            raise ConfigError(
                f"Walk needs at least 1 step and a list of at least 0, got {self.steps} "
                f"and {self.list_length}"
            )

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`."""
        known, of_item, holders = context.known, context.facts.of_item, context.facts.holders
        return _walked(
            user,
            item,
            known.indptr,
            known.indices,
            of_item.indptr,
            of_item.indices,
            holders.indptr,
            holders.indices,
            context.lists[:, : self.list_length],
            self.steps,
            fresh_state(rng),
        )


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _uniform(
    user: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    n_items: int,
    state: NDArray[np.uint64],
) -> Rows:
    out = np.empty(len(user), np.int32)
    for p in range(len(user)):
        out[p] = unknown_item(state, indptr, indices, user[p], n_items)
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})
def _hardest(
    user: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    users: NDArray[np.float32],
    items: NDArray[np.float32],
    candidates: int,
    state: NDArray[np.uint64],
) -> Rows:
    out = np.empty(len(user), np.int32)
    n_items, d = items.shape
    for p in range(len(user)):
        u = user[p]
        best, best_score = -1, np.float32(-np.inf)
        for _ in range(candidates):
            j = unknown_item(state, indptr, indices, u, n_items)
            if j < 0:
                break
            score = np.float32(0)
            for k in range(d):
                score += users[u, k] * items[j, k]
            if best < 0 or score > best_score:
                best, best_score = j, score
        out[p] = best
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _walked(
    user: Rows,
    item: Rows,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    value_indptr: NDArray[np.int64],
    values: NDArray[np.int32],
    holder_indptr: NDArray[np.int64],
    holders: NDArray[np.int32],
    lists: Rows,
    steps: int,
    state: NDArray[np.uint64],
) -> Rows:
    out = np.empty(len(user), np.int32)
    n_items = len(value_indptr) - 1
    for p in range(len(user)):
        u = user[p]
        out[p] = -1
        for _ in range(TRIES):
            j = walk(state, item[p], steps, value_indptr, values, holder_indptr, holders)
            if j < 0:
                break
            if not holds(indptr, indices, u, j) and not (lists[u] == j).any():
                out[p] = j
                break
        if out[p] < 0:
            out[p] = unknown_item(state, indptr, indices, u, n_items)
    return out
