"""History answers per second, against greedy removal that scores every shortened history anew.

    python benchmarks/bench_history.py [FOLDER] [--users 200] [--k 10 20] [--tried 20] [--factors]

FOLDER is data in any supported format (default: the demo world). Prints answers per second of wall
and of processor time, the sizes of the smallest sets, how many are proven, and two ratios to the
naive search from the same run: time for each answer, and how often its sets are larger.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

from cerec.data.facts import Facts
from cerec.data.load import load
from cerec.data.split import split
from cerec.explain.history import Histories, HistoryAnswer
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.folding import Folding
from cerec.recommend.linear.model import Linear
from cerec.settings.data import SplitConfig
from cerec.threads import set_threads


def make(folder: str, *, factors: bool) -> Linear:
    data = load(folder)
    train = split(data, SplitConfig(), seed=0).train
    facts = Facts.build(data)
    relations = {int(r): 0.05 for r in np.unique(facts.relation)}
    folding = Folding(32, 0.1, 5.0, 5.0, 3) if factors else None
    chosen = Chosen(5.0, 0, 0.03, relations, folding, 0.5 if factors else 0.0)
    print(f"{data}\nmean history {train.counts.mean():.0f}, factors: {'32' if factors else 'none'}")
    return Linear(build(FitMaterial(train, np.ones(train.size), facts), chosen))


def ranked(scores: np.ndarray, seen: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, kind="stable")
    return order[~np.isin(order, seen)]


def naive(model: Linear, user: int, item: int, k: int) -> int:
    """Take away what lowers the item's score most until it is out; the size, 0: never."""
    seen, left = model.known(user), model.known(user)
    while len(left):
        scores = model.both_from([np.delete(left, n) for n in range(len(left))])[0]
        best = int(np.argmin(scores[:, item]))
        left = np.delete(left, best)
        if item not in ranked(scores[best], seen)[:k]:
            return len(seen) - len(left)
    return 0


def report(answers: list[HistoryAnswer], wall: float, cpu: float) -> None:
    n = len(answers)
    sizes = Counter(min(len(a.items), 4) for a in answers)
    kinds = Counter(a.certificate for a in answers)
    print(f"  {n / wall:,.0f} answers a second, {n / cpu:,.0f} for each second of a core")
    names = {1: "one", 2: "two", 3: "three", 4: "more", 0: "none"}
    print("  sizes: " + ", ".join(f"{names[s]} {sizes[s] / n:.1%}" for s in names))
    print("  " + ", ".join(f"{kind} {count / n:.2%}" for kind, count in kinds.most_common()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="demo")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20])
    parser.add_argument("--tried", type=int, default=20)
    parser.add_argument("--factors", action="store_true")
    args = parser.parse_args()
    set_threads()
    model = make(args.folder, factors=args.factors)
    ask, rng = Histories(model), np.random.default_rng(0)
    n_users = len(model.histories)
    some = np.sort(rng.choice(n_users, min(args.users, n_users), replace=False))
    for k in args.k:
        tops = [ranked(model.scores(np.array([u]))[0], model.known(u))[:k] for u in some.tolist()]
        users, items = np.repeat(some, [len(t) for t in tops]), np.concatenate(tops)
        ask.why_many(users[:k], items[:k], k)
        wall, cpu = time.perf_counter(), time.process_time()
        found = ask.why_many(users, items, k)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"k = {k}: {len(users):,} listed items of {len(some)} users")
        report([a for a in found if a is not None], wall, cpu)
        tried = rng.choice(len(users), min(args.tried, len(users)), replace=False).tolist()
        start = time.perf_counter()
        sizes = [naive(model, int(users[n]), int(items[n]), k) for n in tried]
        slow = (time.perf_counter() - start) / len(tried)
        ours = [len(a.items) for n in tried if (a := found[n]) is not None]
        larger = sum(a > b for a, b in zip(sizes, ours, strict=True))
        print(
            f"  naive greedy: {slow * 1e3:.0f} ms an answer, {slow / (wall / len(users)):,.0f} x; ",
            end="",
        )
        print(f"larger than ours for {larger} of {len(tried)}")


if __name__ == "__main__":
    main()
