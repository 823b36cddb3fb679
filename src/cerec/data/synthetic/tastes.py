"""The users of a generated world: what they like, what they dislike, what they took."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from cerec.data.ragged import Ragged, distinct
from cerec.data.synthetic.world import World
from cerec.rng import derive, generator
from cerec.threads import kernel_threads

HABITS = {
    "genre": (2, 2, 2.8),
    "director": (2, 1, 3.3),
    "actor": (3, 2, 2.8),
    "studio": (1, 1, 2.0),
    "country": (1, 1, 2.0),
    "decade": (1, 1, 2.0),
    "theme": (1, 1, 2.0),
    "mood": (1, 1, 2.0),
}
"""Relation: likes per user, dislikes per user, strength of each."""
_AVERSION = 1.5  # a dislike weighs this much more than a like
_CONTRAST = 3.5  # how far the circles' tastes lie apart


@dataclass(frozen=True, slots=True, eq=False)
class Tastes:
    """User, value and strength (below 0: a dislike) as parallel arrays, by (user, value)."""

    n_users: int
    user: NDArray[np.int32]
    value: NDArray[np.int32]
    strength: NDArray[np.float64]


def draw_tastes(
    world: World,
    users: int,
    circles: int,
    scale: float,
    seed: int,
    strengths: Mapping[str, float],
) -> Tastes:
    """Likes and dislikes of every user; users of one circle have related tastes."""
    rng = generator(seed, "world/tastes")
    circle = rng.integers(0, circles, users)
    keys, found = [], []
    for relation, (likes, dislikes, strength) in HABITS.items():
        if relation not in world.relation_ids:
            continue
        values = np.flatnonzero(world.value_relation == world.relation_ids.index(relation))
        odds = world.holders.counts[values] ** 0.75
        leaning = np.exp(_CONTRAST * rng.standard_normal((circles, len(values))))
        liked = _pick(circle, likes, odds * leaning, rng)
        disliked = np.setdiff1d(_pick(circle, dislikes, odds / leaning, rng), liked)
        for key, weight in ((liked, strength), (disliked, -_AVERSION * strength)):
            user, value = np.divmod(key, len(values))
            keys.append(user * len(world.value_relation) + values[value])
            found.append(np.full(len(key), scale * weight * strengths.get(relation, 1.0)))
    every = np.concatenate(keys)
    order = np.argsort(every)
    user, value = np.divmod(every[order], len(world.value_relation))
    return Tastes(
        users, user.astype(np.int32), value.astype(np.int32), np.concatenate(found)[order]
    )


def _pick(
    circle: NDArray[np.int64],
    each: int,
    odds: NDArray[np.floating],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Up to `each` values per user, drawn by the odds of the user's circle: distinct keys
    `user * n_values + value`.
    """
    cdf = np.cumsum(odds, axis=1)
    n_values = cdf.shape[1]
    draw = rng.random((len(circle), each)) * cdf[circle, -1][:, None]
    value = np.empty(draw.shape, np.int64)
    for c in range(len(cdf)):
        value[circle == c] = np.searchsorted(cdf[c], draw[circle == c])
    user = np.repeat(np.arange(len(circle)), each)
    return distinct(user * n_values + np.minimum(value, n_values - 1).ravel())


def draw_interactions(
    world: World,
    tastes: Tastes,
    total: int,
    popularity: float,
    seed: int,
    slower: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Exactly `total` distinct (user, item) pairs in order; few users and items have most.

    `slower` (I,): how many times as long it takes until an item is taken, for everybody.
    """
    rng = generator(seed, "world/interactions")
    n_items = len(world.films)
    rank = rng.permutation(n_items)
    activity = _activity(tastes.n_users, n_items, total, rng)
    indptr = np.concatenate([[0], np.cumsum(activity)])
    start = np.searchsorted(tastes.user, np.arange(tastes.n_users + 1))
    item = _take(
        (rank + 1.0) ** popularity * (1.0 if slower is None else slower),
        Ragged(start, tastes.value),
        np.exp(-tastes.strength),
        world.holders,
        indptr,
        derive(seed, "world/draws"),
    )
    user = np.repeat(np.arange(tastes.n_users, dtype=np.int32), activity)
    key = np.sort(user.astype(np.int64) * n_items + item)
    return user, (key % n_items).astype(np.int32)


def _activity(users: int, items: int, total: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Items per user: log-normal above a small floor, adding up to `total`."""
    most = max(items // 2, math.ceil(total / users))
    floor = max(min(8, total // (2 * users)), 1)
    share = rng.lognormal(0.0, 0.9, users)
    spare = total - floor * users
    activity = floor + np.floor(spare * share / share.sum()).astype(np.int64)
    activity = np.minimum(activity, most)
    while (short := total - int(activity.sum())) > 0:
        activity[rng.permutation(np.flatnonzero(activity < most))[:short]] += 1
    return activity


def _take(
    slowness: NDArray[np.floating],
    of_user: Ragged,
    factor: NDArray[np.float64],
    holders: Ragged,
    indptr: NDArray[np.int64],
    seed: int,
) -> NDArray[np.int32]:
    """The race of every user, a share of the users on each thread."""
    out = np.empty(indptr[-1], np.int32)
    tables = (slowness, of_user.indptr, of_user.indices, factor, holders.indptr, holders.indices)
    cuts = np.linspace(0, len(indptr) - 1, 4 * kernel_threads() + 1).astype(np.int64)
    with ThreadPoolExecutor(kernel_threads()) as pool:
        list(
            pool.map(
                lambda low, high: _race(low, high, *tables, indptr, np.uint64(seed), out),
                cuts[:-1],
                cuts[1:],
            )
        )
    return out


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _uniform(seed, counter):  # type: ignore[no-untyped-def]
    """A number in (0, 1) for each counter: splitmix64, so draws do not depend on threads."""
    z = seed * np.uint64(0xD1342543DE82EF95) + counter * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (float(z >> np.uint64(11)) + 0.5) * 2.0**-53


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _race(  # type: ignore[no-untyped-def]
    low, high, slowness, taste_ptr, taste_value, taste_factor, holder_ptr, holder_item, indptr,
    seed, out,
):  # fmt: skip
    """Weighted sampling without replacement for users `low` to `high`: every item arrives after an
    exponential time with mean `slowness` times the factors of its values; a user takes the first.
    """
    n_items = len(slowness)
    for u in range(low, high):
        mean = slowness.copy()
        for t in range(taste_ptr[u], taste_ptr[u + 1]):
            v = taste_value[t]
            for h in range(holder_ptr[v], holder_ptr[v + 1]):
                mean[holder_item[h]] *= taste_factor[t]
        n = indptr[u + 1] - indptr[u]
        when = np.full(n, np.inf)  # a heap, the latest arrival kept on top
        what = np.zeros(n, np.int32)
        for i in range(n_items):
            draw = _uniform(seed, np.uint64(u) * np.uint64(n_items) + np.uint64(i))
            arrival = -np.log(draw) * mean[i]
            if arrival < when[0]:
                _replace_top(when, what, arrival, i)
        out[indptr[u] : indptr[u + 1]] = what


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _replace_top(when, what, arrival, item):  # type: ignore[no-untyped-def]
    """Put one arrival in place of the latest and restore the heap."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= len(when):
            break
        if child + 1 < len(when) and when[child + 1] > when[child]:
            child += 1
        if when[child] <= arrival:
            break
        when[at], what[at] = when[child], what[child]
        at = child
    when[at], what[at] = arrival, item
