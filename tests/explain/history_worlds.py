"""Small linear models and a slow, independent search, for tests of history answers."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from explain_worlds import dataset

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.folding import Folding
from cerec.recommend.linear.model import Linear, LinearArrays


def world(seed: int, *, factors: bool = False, weights: bool = False, **sizes: int) -> Linear:
    """A fitted model of a small random world."""
    rng = np.random.default_rng(seed)
    n_users, n_items = sizes.get("users", 20), sizes.get("items", 24)
    facts = [(*rng.integers(0, [n_items, 2, 4]),) for _ in range(3 * n_items)]
    data = dataset(facts, (n_users, n_items, 4, 2))  # type: ignore[arg-type]
    known = Facts.build(data)
    taken = n_users * sizes.get("each", 7)
    user, item = rng.integers(0, n_users, taken), rng.zipf(1.4, taken) % n_items
    history = Ragged.from_pairs(user, item, n_users)
    weight = rng.integers(1, 4, history.size) / 2.0 if weights else np.ones(history.size)
    folding = Folding(4, 0.1, 2.0, 1.0, 2) if factors else None
    relations = {0: 0.1, 1: 0.05}
    chosen = Chosen(1.0, 0, 0.02, relations, folding, 0.5 if factors else 0.0)
    return Linear(build(FitMaterial(history, weight, known), chosen))


def by_hand(direct: np.ndarray, base: np.ndarray, history: list[int]) -> Linear:
    """A model of one user that is a table of what items say of items (I, I), and nothing else."""
    n_items = len(base)
    source, target = np.nonzero(direct)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n_items))])
    empty = np.zeros(0)
    arrays = LinearArrays(
        history_ptr=np.array([0, len(history)]),
        history=np.array(history, np.int32),
        weight=np.ones(len(history)),
        own=np.asarray(base, float),
        common=empty,
        pair_ptr=indptr.astype(np.int64),
        pair=target.astype(np.int32),
        strength=direct[source, target].astype(np.float32),
        vocabulary=np.zeros(0, np.int32),
        value_ptr=np.zeros(n_items + 1, np.int64),
        value=np.zeros(0, np.int32),
        scale=np.ones(n_items),
        share=empty,
        unit=empty,
        item_vector=np.zeros((n_items, 0)),
        value_vector=np.zeros((0, 0)),
        gram=np.zeros((0, 0)),
        factor=np.array([0.0, 0.0, 1.0]),
        bits=np.array([30]),
    )
    return Linear(arrays)


class Only:
    """A brought recommender: it can score histories and nothing else."""

    def __init__(self, model: Linear, *, banned: int = -1) -> None:
        self.model, self.banned, self.asked = model, banned, 0

    def scores_from(self, histories: Any) -> np.ndarray:
        self.asked += len(histories)
        out = self.model.scores_from(histories)
        if self.banned >= 0:
            out[:, self.banned] = np.nan
        return out


def scores_of(model: Linear, history: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """By a model that knows one user, with this history."""
    order = np.argsort(history)
    arrays = replace(
        model.arrays,
        history_ptr=np.array([0, len(history)]),
        history=np.asarray(history, np.int32)[order],
        weight=np.asarray(weight, float)[order],
    )
    return Linear(arrays).scores(np.array([0]))[0]


def rank_of(scores: np.ndarray, item: int, seen: set[int]) -> int:
    """1 + the number of other unseen items that come first."""
    if np.isnan(scores[item]):
        return len(scores) + 1
    pairs = [(-s, i) for i, s in enumerate(scores.tolist()) if i not in seen and s == s]
    return 1 + sum(pair < (-float(scores[item]), item) for pair in pairs)


def rank_without(model: Linear, user: int, item: int, gone: tuple[int, ...]) -> int:
    """The rank with some items of the history gone, which still count as seen."""
    rows = model.known(user)
    start = int(model.arrays.history_ptr[user])
    weight = model.arrays.weight[start : start + len(rows)]
    keep = ~np.isin(rows, gone)
    return rank_of(scores_of(model, rows[keep], weight[keep]), item, set(rows.tolist()))


def smallest(model: Linear, user: int, item: int, k: int, most: int) -> int:
    """The size of the smallest set, by trying all of them; 0: none of at most `most` items."""
    for size in range(1, most + 1):
        for gone in combinations(model.known(user).tolist(), size):
            if rank_without(model, user, item, gone) > k:
                return size
    return 0


def listed(model: Linear, user: int, k: int) -> list[int]:
    """The items of a user's list."""
    scores, seen = model.scores(np.array([user]))[0], set(model.known(user).tolist())
    rows = [i for i in range(len(scores)) if i not in seen]
    return sorted(rows, key=lambda i: (-scores[i], i))[:k]
