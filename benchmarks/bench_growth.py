"""CPU seconds and peak memory of a fit as users and items grow at kept history lengths.

    python benchmarks/bench_growth.py [--most 64] [--seconds 900]

Data are drawn: 22,363 users and 12,101 items times 1, 2, 4, ..., histories about as long as those
of Amazon Beauty, items by groups of tastes and by popularity, five values an item. Each size is a
process of its own, so that its peak memory is its own. Before a size that would take longer than is
left, it stops.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

USERS, ITEMS, GROUP, VALUES = 22_363, 12_101, 200, 5


def measure(times: int) -> dict[str, float]:
    """One fit, with settings as they are; choosing costs a fixed number of such fits."""
    from cerec.data.facts import Facts
    from cerec.data.ragged import Ragged
    from cerec.recommend.linear.fit import Chosen, FitMaterial, build
    from cerec.recommend.linear.folding import Folding
    from cerec.threads import training_threads

    rng = np.random.default_rng(0)
    users, items = USERS * times, ITEMS * times
    length = np.minimum(3 + rng.geometric(1 / 4, users), 200)
    user = np.repeat(np.arange(users), length)
    groups = max(items // GROUP, 1)
    taste = rng.integers(0, groups, (users, 3))[user, rng.integers(0, 3, len(user))]
    item = (taste * GROUP + (GROUP * rng.random(len(user)) ** 2).astype(int)) % items
    history = Ragged.from_pairs(user, item, users)
    n_values = max(items // 20, VALUES)
    of_item = Ragged.from_pairs(
        np.repeat(np.arange(items), VALUES), rng.integers(0, n_values, items * VALUES), items
    )
    relation = np.zeros(n_values, np.int32)
    rows = np.arange(n_values, dtype=np.int32)
    facts = Facts(relation, rows, of_item, of_item.transpose(n_values))
    with training_threads(learning=False):
        start = time.process_time()
        material = FitMaterial(history, np.ones(history.size), facts)
        build(material, Chosen(10.0, 0, 0.02, {0: 0.2}))
        ridge = time.process_time() - start
        chosen = Chosen(10.0, 0, 0.02, {0: 0.2}, Folding(64, 0.1, 5.0, 5.0), 0.5)
        start = time.process_time()
        material.factors(chosen.folding)
        factors = time.process_time() - start
    squares = float((history.counts.astype(float) ** 2).sum())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "times": times,
        "users": users,
        "items": items,
        "interactions": history.size,
        "squares": squares,
        "seconds": ridge,
        "factors": factors,
        "megabytes": peak,
    }


def main() -> None:
    """Print a line for every size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=900.0)
    parser.add_argument("--one", type=int, help="measure this size alone, as JSON")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measure(asked.one)))
        return
    left, times = asked.seconds, 1
    measure(1)  # compiles
    print("times      users   interactions  sum n^2 (M)  ridge s  factors s  s per M   peak MB")
    while times <= asked.most:
        start = time.perf_counter()
        words = [sys.executable, __file__, "--one", str(times)]
        done = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        x = json.loads(done)
        millions = x["squares"] / 1e6
        print(
            f"{times:5} {x['users']:10,} {x['interactions']:14,} {millions:12.1f} "
            f"{x['seconds']:8.1f} {x['factors']:10.1f} {x['seconds'] / millions:8.2f} "
            f"{x['megabytes']:9,.0f}",
            flush=True,
        )
        taken = time.perf_counter() - start
        left, times = left - taken, 2 * times
        if 2.2 * taken > left:
            print(f"stopped before {times}: it would take longer than the {left:.0f} s left")
            return


if __name__ == "__main__":
    main()
