"""Ranking with models that have no factors: scores of a few users at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.base import EpochRecommender, NegativeSampler, Rows, Vectors
from cerec.recommend.rank import lists
from cerec.recommend.scorer import Scorer
from cerec.recommend.topk import top_k_all

_CHUNK_BYTES = 32 << 20
MATRIX_BYTES = 2 << 30
"""The largest score matrix that is stored."""


@runtime_checkable
class Unfactored(Protocol):
    """A recommender whose scores are not products of factors."""

    def scores(self, users: NDArray[np.integer]) -> Vectors:
        """(B, I) scores of every item for the given users."""
        ...


def spans(n: int, bytes_each: int) -> Iterator[NDArray[np.int64]]:
    """0..n-1 in runs that take about 32 MB at `bytes_each`."""
    size = max(1, _CHUNK_BYTES // max(bytes_each, 1))
    for first in range(0, n, size):
        yield np.arange(first, min(first + size, n))


def top_lists(
    model: EpochRecommender, known: Ragged, k: int, users: NDArray[np.integer] | None = None
) -> Rows:
    """The k best unknown items of every user, or of `users`; -1 where there are fewer. Any model.

    `known` has a row for every user of the model.
    """
    if isinstance(model, Unfactored):
        return top_lists_of(model, known, k, users)
    user, item = model.factors()
    if users is None:
        return top_k_all(user, item, known, k)
    return top_k_all(user[users], item, known.take(users), k)


def top_lists_of(
    model: Unfactored, known: Ragged, k: int, users: NDArray[np.integer] | None = None
) -> Rows:
    """`top_lists` by scores alone, those of a few users at a time."""
    who = np.arange(len(known)) if users is None else np.asarray(users)
    out = np.full((len(who), k), -1, np.int32)
    first, size = 0, 16
    while first < len(who):
        part = who[first : first + size]
        scores = model.scores(part)
        mine = known.take(part)
        out[first : first + len(part)] = lists(scores, mine.indptr, mine.indices, k)
        first += len(part)
        size = max(16, _CHUNK_BYTES // (4 * max(scores.shape[1], 1)))
    return out


def lists_for(model: EpochRecommender, known: Ragged, sampler: NegativeSampler) -> Rows:
    """The lists Q_u a sampler asks for, as of now; empty when it asks for none."""
    if sampler.list_length == 0:
        return np.empty((len(known), 0), np.int32)
    return top_lists(model, known, sampler.list_length)


def matrix_scorer(model: Unfactored, user: Vectors, item: Vectors, facts: Facts) -> Scorer:
    """All scores of the model, stored; `user` and `item` serve similarity alone.

    Effects of values are zero, to be fitted. Raises when the matrix would not fit.
    """
    n_users, n_items = len(user), len(item)
    if 4 * n_users * n_items > MATRIX_BYTES:
        raise ConfigError(
            f"{type(model).__name__} has no factors, and its scores of {n_users:,} users and "
            f"{n_items:,} items take {4 * n_users * n_items / 2**30:.1f} GB, more than the "
            f"{MATRIX_BYTES / 2**30:.0f} GB a run stores: use fewer users or a factor model"
        )
    matrix = np.empty((n_users, n_items), np.float32)
    for users in spans(n_users, 4 * n_items):
        matrix[users] = model.scores(users)
    effect = np.zeros((facts.n_values, 1), np.float32)
    return Scorer(user, item, effect, np.zeros((n_users, 1), np.float32), "sum", matrix)


_BLOCK = 512  # items whose sums stay in the first cache


@numba.njit(
    cache=True, error_model="numpy", nogil=True, parallel=True, fastmath={"reassoc", "contract"}
)
def hidden_sums(near: Vectors, far: Vectors, weight: Vectors) -> Vectors:
    """(B, I): weight . ReLU(near_b + far_i), for `near` (B, h) and `far` (h, I).

    The one hidden layer of a perceptron on a user and an item, whose first product was made for
    both apart; the (B, I, h) tensor is never stored.
    """
    n, width = len(near), far.shape[1]
    out = np.zeros((n, width), np.float32)
    for b in numba.prange(n):
        for first in range(0, width, _BLOCK):
            row = out[b, first : first + _BLOCK]
            for k in range(len(weight)):
                shift, w = near[b, k], weight[k]
                part = far[k, first : first + _BLOCK]
                for i in range(len(row)):
                    row[i] += w * max(part[i] + shift, np.float32(0))
    return out
