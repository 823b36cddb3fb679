"""Explanations per second, against trying sets of changes one by one.

    python benchmarks/bench_explain.py [FOLDER] [--users 200] [--k 20] [--tried 30]

FOLDER is data in any supported format (default: the demo world). The recommender is implicit ALS
with fitted effects. Prints coverage, sizes, who found the counterfactual items, the speed of
`explain_many` and of single explanations, and two ratios from the same run: to enumeration by
size towards the same counterfactual item (given up after two seconds a pair, so the ratio is a
lower bound), and to the exact search over all items, with what it gains in size.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

import numpy as np

import cerec
from cerec.data.split import split
from cerec.explain.enumeration import OutOfTime, smallest
from cerec.explain.explainer import Explainer
from cerec.explain.explanation import Explanation
from cerec.graph.facts import Facts
from cerec.recommend.adapters import scorer_from_factors
from cerec.recommend.lines import ials
from cerec.threads import set_threads


def make(folder: str) -> Explainer:
    data = cerec.load(folder)
    known = split(data, seed=0).train
    facts = Facts.build(data)
    als = ials(known, len(data.items), seed=0)
    start = time.perf_counter()
    scorer = scorer_from_factors(data, facts, als.user, als.item)
    values = facts.of_item.counts.mean()
    print(f"{data}\n{values:.0f} values an item; effects fitted in ", end="")
    print(f"{time.perf_counter() - start:.1f} s, held-out R2 {scorer.fidelity:.2f}")
    return Explainer(data, known, facts, scorer)


def enumerate_one(explainer: Explainer, e: Explanation) -> float:
    """Seconds to find the same set by trying all, smallest first, scores computed incrementally."""
    data, facts = explainer.data, explainer.facts
    user, item = data.users.row(e.user), data.items.row(e.item)
    own = facts.of_item.row(item)
    other = facts.of_item.row(data.items.row(e.counterfactual_item))
    effects = explainer.scorer.all_effects(user)
    total = float(effects[own].sum())
    relations = np.unique(facts.relation[np.union1d(own, other)])
    lost, gained = np.setdiff1d(own, other), np.setdiff1d(other, own)
    lose = [lost[facts.relation[lost] == r].tolist() for r in relations]
    gain = [gained[facts.relation[gained] == r].tolist() for r in relations]
    rival = data.items.row(e.replacement)

    def flips(out: tuple[int, ...], into: tuple[int, ...]) -> bool:
        after = total - sum(effects[v] for v in out) + sum(effects[v] for v in into)
        score = e.score_before + (after - total)
        return score < e.cutoff or (score == e.cutoff and rival < item)

    start = time.perf_counter()
    try:
        found = smallest(lose, gain, flips, deadline=time.monotonic() + 2.0)
    except OutOfTime:
        found = None
    seconds = time.perf_counter() - start
    if found is not None and found.certificate == "minimum":
        shown = max(len(found.lost), len(found.gained))
        if shown > e.size:
            raise SystemExit(f"enumeration and search disagree on {e.user}, {e.item}")
    return seconds


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

    singles = np.array([explainer.explain(*pair, k=asked.k).seconds for pair in pairs[:500]])
    p50, p99 = 1e3 * np.percentile(singles, [50, 99])
    print(f"alone: median {p50:.1f} ms, 99 % within {p99:.1f} ms")

    tried = [verified[int(n)] for n in rng.choice(len(verified), min(asked.tried, len(verified)))]
    recheck(explainer, tried)
    slow = sum(enumerate_one(explainer, e) for e in tried)
    alone = sum(explainer.explain(e.user, e.item, k=asked.k).seconds for e in tried)
    print(f"enumeration: at least {slow / alone:,.0f} x a single explanation, ", end="")
    print(f"{slow / len(tried) / (batch / len(pairs)):,.0f} x one in a batch")

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
