"""Exact top-80 with exclusion, and the evaluation of all users, against the bare matrix product.

    python benchmarks/bench_topk.py [--users 8000] [--items 48123] [--dim 64]
    python benchmarks/bench_topk.py --users 23566 --rounds 2      all of last-fm's shape

Prints the ratio to the product alone, and to product + torch.topk, from interleaved runs on one
thread (CPU seconds, so that a busy machine does not blur them). "evaluation" is all that `cerec
compare` does with a finished model: lists, every metric at K = 20, 40, 60, 80 for every user, their
means, coverage, novelty and popularity bias. The wanted ratios to the bare product are at most 1.6
for the lists and 2.5 for the evaluation.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from cerec.data.ragged import Ragged
from cerec.metrics import beyond_accuracy, mean, per_user
from cerec.recommend.topk import top_k_all


def bare(user: np.ndarray, item: np.ndarray, size: int) -> None:
    table = np.ascontiguousarray(item.T)
    out = np.empty((size, len(item)), np.float32)
    for first in range(0, len(user), size):
        block = user[first : first + size]
        np.matmul(block, table, out=out[: len(block)])


def with_topk(user: np.ndarray, item: np.ndarray, known: Ragged, size: int, k: int) -> None:
    table = torch.from_numpy(np.ascontiguousarray(item.T))
    for first in range(0, len(user), size):
        scores = torch.from_numpy(user[first : first + size]) @ table
        n = len(scores)
        low, high = known.indptr[first], known.indptr[first + n]
        rows = np.repeat(np.arange(n), known.counts[first : first + n])
        scores[
            torch.from_numpy(rows), torch.from_numpy(known.indices[low:high]).long()
        ] = -torch.inf
        scores.topk(k)


def evaluation(
    user: np.ndarray, item: np.ndarray, known: Ragged, held_out: Ragged, k: int
) -> dict[str, float]:
    lists = top_k_all(user, item, known, k)
    ks = [n for n in (20, 40, 60, 80) if n <= k]
    out = mean(per_user(lists, held_out, ks))
    for n in ks:
        out |= beyond_accuracy(lists, known, len(item), n)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=8000)
    parser.add_argument("--items", type=int, default=48123)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--k", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    user = rng.standard_normal((args.users, args.dim), np.float32)
    item = rng.standard_normal((args.items, args.dim), np.float32)
    row = np.repeat(np.arange(args.users), 40)
    known = Ragged.from_pairs(row, rng.integers(0, args.items, len(row)), args.users)
    row = np.repeat(np.arange(args.users), 18)  # last-fm: 18 held-out items a user
    held_out = Ragged.from_pairs(row, rng.integers(0, args.items, len(row)), args.users)
    size = 64
    contenders = {
        "bare product": lambda: bare(user, item, size),
        "product + torch.topk": lambda: with_topk(user, item, known, size, args.k),
        "top_k_all": lambda: top_k_all(user, item, known, args.k),
        "evaluation": lambda: evaluation(user, item, known, held_out, args.k),
    }
    top_k_all(user[:64], item, Ragged(known.indptr[:65], known.indices), args.k)  # compile
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(args.rounds):
        for name, run in contenders.items():
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    print(f"top-{args.k} of {args.items:,} items for {args.users:,} users, d = {args.dim}")
    for name, seconds in best.items():
        print(f"{name:24} {seconds:7.2f} s   {seconds / best['bare product']:.2f} x bare product")


if __name__ == "__main__":
    main()
