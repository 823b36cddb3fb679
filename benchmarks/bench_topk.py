"""Exact top-80 with exclusion for all users, against the bare matrix product it needs.

    python benchmarks/bench_topk.py [--users 8000] [--items 48123] [--dim 64]

Prints the ratio to the product alone, and to product + torch.topk, from interleaved runs on one
thread (CPU seconds, so that a busy machine does not blur them). The wanted ratio to the bare
product is at most 1.6.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from cerec.ragged import Ragged
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
    size = 64
    contenders = {
        "bare product": lambda: bare(user, item, size),
        "product + torch.topk": lambda: with_topk(user, item, known, size, args.k),
        "top_k_all": lambda: top_k_all(user, item, known, args.k),
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
