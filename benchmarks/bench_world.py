"""Drawing who took what: the numba race against `Generator.choice` user by user.

    python benchmarks/bench_world.py            # sizes 1x, 4x, 16x
    python benchmarks/bench_world.py --book     # and the shape of Amazon-book

Both draw items without replacement with the same odds. Times are minima of three in one run.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.data.synthetic.tastes import Tastes, _activity, draw_interactions, draw_tastes
from cerec.data.synthetic.world import World, draw_world
from cerec.rng import generator

BOOK = WorldConfig(
    users=70_679,
    items=24_915,
    interactions=847_733,
    entities=88_572,
    relations=39,
    triples=2_557_746,
)


def obvious(world: World, tastes: Tastes, total: int, popularity: float, seed: int) -> None:
    """One `choice` per user over the odds of all items."""
    rng = generator(seed, "world/interactions")
    n_items = len(world.films)
    base = (rng.permutation(n_items) + 1.0) ** -popularity
    activity = _activity(tastes.n_users, n_items, total, rng)
    start = np.searchsorted(tastes.user, np.arange(tastes.n_users + 1))
    for user, n in enumerate(activity):
        odds = base.copy()
        for t in range(start[user], start[user + 1]):
            odds[world.holders.row(tastes.value[t])] *= np.exp(tastes.strength[t])
        rng.choice(n_items, n, replace=False, p=odds / odds.sum())


def best_of(times: int, work) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--book", action="store_true", help="also the shape of Amazon-book")
    options = parser.parse_args()
    make_world(WorldConfig(users=5, items=5, interactions=10), seed=0)  # compile
    for size in (1, 4, 16):
        users, items, total = 600 * size, 800, 30_000 * size
        world = draw_world(items, None, 10, None, 0)
        tastes = draw_tastes(world, users, 12, 1.0, 0)
        args = (world, tastes, total, 0.6, 0)
        fast = best_of(3, lambda args=args: draw_interactions(*args))
        slow = best_of(1 if size > 1 else 3, lambda args=args: obvious(*args))
        print(f"{total:>9,} interactions: {fast:.3f} s, {slow / fast:.1f}x faster than choice")
    if options.book:
        start = time.perf_counter()
        data = make_world(BOOK, seed=0)
        print(f"{data!r}: {time.perf_counter() - start:.1f} s, peak {peak_gb():.2f} GB")


if __name__ == "__main__":
    main()
