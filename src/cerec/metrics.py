"""How good the lists are: several metrics at several K from one pass over the top-K lists.

For user u with held-out items T and list positions 1..K, hit(p) = 1 when the item at p is in T:

- recall     hits / |T|
- precision  hits / K
- hr         1 if there is any hit
- ndcg       sum hit(p) / log2(p + 1), over its value were the first min(K, |T|) all hits
- mrr        1 / position of the first hit, 0 without one
- map        sum hit(p) * (hits up to p) / p, over min(K, |T|)
- ndcg_kgat  as KGAT's code has it: over the ideal order of the hits *found*; inflated, and here
             only to compare with old tables

A user without held-out items has no value (nan) and is left out of the means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError

METRICS = ("recall", "ndcg", "hr", "precision", "mrr", "map", "ndcg_kgat")

PerUser = dict[str, NDArray[np.float64]]


def hits(lists: NDArray[np.integer], held_out: Ragged) -> NDArray[np.bool_]:
    """(U, K): is the item at this position of the user's list held out? -1 entries are not."""
    n_users, width = lists.shape
    span = 1 + max(int(lists.max(initial=0)), int(held_out.indices.max(initial=0)))
    user = np.repeat(np.arange(n_users, dtype=np.int64), width)
    flat = lists.ravel().astype(np.int64)
    key = np.where(flat >= 0, user * span + flat, -1)
    wanted = held_out.row_of().astype(np.int64) * span + held_out.indices  # sorted: rows are
    at = np.searchsorted(wanted, key)
    found = np.zeros(len(key), np.bool_)
    inside = at < len(wanted)
    found[inside] = wanted[at[inside]] == key[inside]
    return found.reshape(n_users, width)


def per_user(
    lists: NDArray[np.integer],
    held_out: Ragged,
    ks: Sequence[int] = (20,),
    metrics: Sequence[str] = METRICS,
) -> PerUser:
    """`{"recall@20": (U,) array, ...}` for every metric and K; nan for users left out.

    `lists` are the first max(ks) or more items of each user, best first, known items left out;
    shorter lists end in -1.
    """
    unknown = set(metrics) - set(METRICS)
    if unknown:
        raise ConfigError(f"unknown metric {sorted(unknown)[0]!r}; there are {', '.join(METRICS)}")
    if min(ks, default=1) < 1 or max(ks, default=1) > lists.shape[1]:
        raise ConfigError(f"metrics at {list(ks)} need lists of that length, got {lists.shape[1]}")
    hit = hits(lists, held_out)
    count = held_out.counts.astype(np.float64)
    out: PerUser = {}
    for k in ks:
        values = _at_k(hit[:, :k], count)
        for name in metrics:
            out[f"{name}@{k}"] = np.where(count > 0, values[name], np.nan)
    return out


def mean(values: PerUser) -> dict[str, float]:
    """The mean over the users that have a value; nan when none has."""
    return {
        name: float(np.nanmean(column)) if not np.isnan(column).all() else float("nan")
        for name, column in values.items()
    }


def _at_k(hit: NDArray[np.bool_], count: NDArray[np.float64]) -> PerUser:
    k = hit.shape[1]
    position = np.arange(1, k + 1)
    discount = 1.0 / np.log2(position + 1)
    ideal = np.concatenate([[1.0], np.cumsum(discount)])  # ideal[0] only avoids 0 / 0
    n_hits = hit.sum(1)
    most = np.minimum(count, k).astype(np.int64)
    dcg = hit @ discount
    any_hit = n_hits > 0
    first = np.where(any_hit, hit.argmax(1) + 1, 1)
    precision_at = np.cumsum(hit, axis=1) / position
    return {
        "recall": n_hits / np.maximum(count, 1),
        "precision": n_hits / k,
        "hr": any_hit.astype(np.float64),
        "ndcg": dcg / ideal[most],
        "mrr": any_hit / first,
        "map": (precision_at * hit).sum(1) / np.maximum(most, 1),
        "ndcg_kgat": np.where(any_hit, dcg / ideal[n_hits], 0.0),
    }


def beyond_accuracy(
    lists: NDArray[np.integer], train: Ragged, n_items: int, k: int = 20
) -> dict[str, float]:
    """What accuracy does not show, of the first k items of every list:

    - `coverage@k`    share of the catalogue that is in some list
    - `novelty@k`     mean of -log2(share of users who have the item in train)
    - `popularity@k`  mean number of train users of a listed item, over that of a train pair's item
                      (above 1: the lists are more popular than what people take)
    """
    shown = lists[:, :k].ravel()
    shown = shown[shown >= 0]
    taken = np.bincount(train.indices, minlength=n_items).astype(np.float64)
    if len(shown) == 0 or train.size == 0:
        return {f"{name}@{k}": float("nan") for name in ("coverage", "novelty", "popularity")}
    share = np.maximum(taken, 1) / len(train)  # an item nobody took counts as taken once
    return {
        f"coverage@{k}": len(np.unique(shown)) / n_items,
        f"novelty@{k}": float(-np.log2(share[shown]).mean()),
        f"popularity@{k}": float(taken[shown].mean() / taken[train.indices].mean()),
    }
