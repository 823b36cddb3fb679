"""Explanations per second, against trying all items and all sets of changes one by one.

    python benchmarks/bench_explain.py [FOLDER] [--users 200] [--k 20] [--tried 30]

FOLDER is a trained run, or data in any supported format (default: the demo world), whose
recommender is then implicit ALS with fitted effects. Prints coverage, sizes, who found the
counterfactual items, the speed of `explain_many` and of single explanations, and two ratios from
the same run: to the exhaustive search of `exhaustive.py` (compiled; given up after `--seconds` a
pair, so the ratio is a lower bound), and to the exact search over all items, with what it gains.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections import Counter
from pathlib import Path

import numpy as np
from exhaustive import agrees, smallest_over_all

import cerec
from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.recommend.adapters import scorer_from_factors
from cerec.threads import set_threads
from cerec_bench.systems.simple.base import Train
from cerec_bench.systems.simple.ials import ials


def make(folder: str) -> Explainer:
    if (Path(folder) / "run.json").exists():
        run = cerec.open(folder)
        print(f"{run.data}\n{run.facts.of_item.counts.mean():.0f} values an item; a trained run")
        return run.explainer
    data = cerec.load(folder)
    known = split(data, seed=0).train
    facts = Facts.build(data)
    als = ials(Train.of(known, facts))
    start = time.perf_counter()
    scorer = scorer_from_factors(data, facts, als.user, als.item)
    values = facts.of_item.counts.mean()
    print(f"{data}\n{values:.0f} values an item; effects fitted in ", end="")
    print(f"{time.perf_counter() - start:.1f} s, held-out R2 {scorer.fidelity:.2f}")
    return Explainer(data, known, facts, scorer)


def compare_to_exhaustive(
    explainer: Explainer, tried: list[Explanation], in_batch: float, seconds: float
) -> None:
    """Time the exhaustive search on the same pairs; where it ends, the exact search must agree."""
    data = explainer.data
    smallest_over_all(
        explainer, data.users.row(tried[0].user), data.items.row(tried[0].item), tried[0].k, 0.0
    )
    slow, ended = [], 0
    for e in tried:
        user, item = data.users.row(e.user), data.items.row(e.item)
        size, took = smallest_over_all(explainer, user, item, e.k, seconds)
        slow.append(took)
        ended += size is not None
        if size is not None and not agrees(explainer, e, size):
            raise SystemExit(f"exhaustive and exact search disagree on {e.user}, {e.item}")
    alone = np.array([explainer.explain(e.user, e.item, k=e.k).seconds for e in tried])
    ratios = np.array(slow) / alone
    print(
        f"exhaustive search: {np.mean(slow):.2f} s a pair, median {np.median(slow):.2f} s; ", end=""
    )
    print(f"{ended} of {len(tried)} pairs ended within {seconds:.0f} s")
    print(f"  at least {sum(slow) / alone.sum():,.0f} x single explanations ", end="")
    print(f"(median pair {np.median(ratios):,.0f} x), ", end="")
    print(f"{np.mean(slow) / in_batch:,.0f} x those of a batch")


def growth(explainer: Explainer, pairs: list[tuple[str, str]], k: int) -> str:
    """Resident memory when a tenth of the pairs has been read and dropped, and at the end."""
    seen = []
    for n, _ in enumerate(explainer.explain_many(pairs * 3, k=k)):
        if n in (3 * len(pairs) // 10, 3 * len(pairs) - 1):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            seen.append(pages * resource.getpagesize() / 2**20)
    first, last = seen
    return f"{first:.0f} MB after {3 * len(pairs) // 10:,} pairs, {last:.0f} MB after 10 x as many"


def recheck(explainer: Explainer, answers: list[Explanation]) -> None:
    """Every verified explanation, through `rescore` and a full ranking."""
    for e in answers:
        changed = set(explainer.attributes(e.item))
        changed -= {(c.relation, c.before) for c in e.changes}
        changed |= {(c.relation, c.after) for c in e.changes if c.after is not None}
        w = explainer.what_if(e.user, e.item, changed, k=e.k)
        if (w.score, w.rank_before, w.rank_after) != (e.score_after, e.rank_before, e.rank_after):
            raise SystemExit(f"explanation of {e.user}, {e.item} does not check")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default="demo")
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--k", type=int, default=20)
    parser.add_argument("--tried", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=10.0)
    asked = parser.parse_args()
    set_threads()
    explainer = make(asked.folder)
    data = explainer.data
    rng = np.random.default_rng(0)
    users = rng.choice(len(data.users), min(asked.users, len(data.users)), replace=False)
    pairs = [
        (data.users[u], data.items[int(i)]) for u in users for i in explainer.listed(u, asked.k)
    ]
    list(explainer.explain_many(pairs[:50], k=asked.k))  # compile, and meet the neighbours

    start, cpu = time.perf_counter(), time.process_time()
    answers = list(explainer.explain_many(pairs, k=asked.k))
    batch, cpu = time.perf_counter() - start, time.process_time() - cpu
    verified = [e for e in answers if e.status == "verified"]
    sizes = np.array([e.size for e in verified])
    print(f"{len(pairs):,} pairs: {dict(Counter(e.status for e in answers))}")
    print(f"found by {dict(Counter(e.found_by for e in verified))}")
    print(f"changes: median {np.median(sizes):.0f}, mean {sizes.mean():.1f}, ", end="")
    print(f"90 % {np.percentile(sizes, 90):.0f}, largest {sizes.max()}")
    print(f"in a batch: {len(pairs) / batch:,.0f} a second ", end="")
    print(f"({1e3 * cpu / len(pairs):.2f} ms of CPU each)")

    print(f"memory: {growth(explainer, pairs, asked.k)}")
    singles = np.array([explainer.explain(*pair, k=asked.k).seconds for pair in pairs[:500]])
    p50, p99 = 1e3 * np.percentile(singles, [50, 99])
    print(f"alone: median {p50:.1f} ms, 99 % within {p99:.1f} ms")

    tried = [verified[int(n)] for n in rng.choice(len(verified), min(asked.tried, len(verified)))]
    recheck(explainer, tried)
    compare_to_exhaustive(explainer, tried, batch / len(pairs), asked.seconds)

    some = pairs[: asked.tried]
    start = time.perf_counter()
    best = list(explainer.explain_many(some, k=asked.k, exhaustive=True))
    every = time.perf_counter() - start
    start = time.perf_counter()
    quick = list(explainer.explain_many(some, k=asked.k))
    ratio = every / (time.perf_counter() - start)
    more = np.mean([q.size - b.size for q, b in zip(quick, best, strict=True)])
    same = np.mean([q.size == b.size for q, b in zip(quick, best, strict=True)])
    print(f"best over all items: {ratio:.0f} x the time; {same:.0%} of sizes equal, ", end="")
    print(f"{more:.2f} changes fewer on average")


if __name__ == "__main__":
    main()
