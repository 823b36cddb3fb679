"""One epoch of learning, against a plain torch version of the same step.

    python benchmarks/bench_epoch.py [--shape ml-1m | amazon-book] [--batch 2048]

Generates interactions and facts of that shape and prints CPU seconds per 1,024 pairs on one
thread: our kernels with uniform and with DNS negatives, and BPR in torch (embedding gathers,
autograd, Adagrad). KGPolicy's released code was measured at 6.3 s per
1,024 pairs on such a machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.negatives import DNS, Uniform
from cerec.settings.recommender import RecommenderConfig

SHAPES = {  # users, items, pairs, values, facts
    "ml-1m": (6_039, 3_171, 600_000, 7_510, 75_000),
    "amazon-book": (70_679, 24_915, 847_733, 113_487, 2_557_746),
}
KGPOLICY = 6.3


def world(shape: str) -> tuple[Ragged, Facts]:
    n_users, n_items, n_pairs, n_values, n_facts = SHAPES[shape]
    rng = np.random.default_rng(0)
    item = (n_items * rng.random(n_pairs) ** 2).astype(np.int32)
    known = Ragged.from_pairs(rng.integers(0, n_users, n_pairs), item, n_users)
    value = (n_values * rng.random(n_facts) ** 2).astype(np.int32)
    of_item = Ragged.from_pairs(rng.integers(0, n_items, n_facts), value, n_items)
    relation = (np.arange(n_values) % 19).astype(np.int32)
    facts = Facts(
        relation, np.arange(n_values, dtype=np.int32), of_item, of_item.transpose(n_values)
    )
    return known, facts


def torch_epoch(known: Ragged, n_items: int, batch: int, share: float) -> None:
    """A `share` of an epoch of BPR, the usual way."""
    user, item = (torch.nn.Embedding(n, 64) for n in (len(known), n_items))
    optimiser = torch.optim.Adagrad([*user.parameters(), *item.parameters()], lr=0.05)
    u, i = torch.from_numpy(known.row_of()).long(), torch.from_numpy(known.indices).long()
    order = torch.randperm(len(u))[: int(len(u) * share)]
    for rows in order.split(batch):
        x, y, z = user(u[rows]), item(i[rows]), item(torch.randint(n_items, (len(rows),)))
        loss = F.softplus((x * (z - y)).sum(1)).mean() + 1e-4 * (x * x + y * y + z * z).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return best


def main() -> None:
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=sorted(SHAPES), default="ml-1m")
    parser.add_argument("--batch", type=int, default=2048)
    args = parser.parse_args()
    known, facts = world(args.shape)
    user, item = known.row_of(), known.indices
    model = PairFactorisation(
        RecommenderConfig(model="bpr", batch=args.batch), known, facts, seed=0
    )
    rng = np.random.default_rng(0)
    cases = {
        "uniform": lambda: model.epoch(user, item, Uniform(), rng=rng),
        "DNS(4)": lambda: model.epoch(user, item, DNS(4), rng=rng),
    }
    for run in cases.values():
        run()  # compile
    unit = len(user) / 1024
    plain = seconds(lambda: torch_epoch(known, len(facts.of_item), args.batch, 0.2), 2) / 0.2 / unit
    print(f"{len(user):,} pairs, {facts.of_item.size:,} facts, d = 64, batch {args.batch:,}")
    print(f"{'torch BPR':36} {plain * 1e3:8.2f} ms per 1,024 pairs")
    for name, run in cases.items():
        took = seconds(run) / unit
        print(
            f"{name:36} {took * 1e3:8.2f} ms per 1,024 pairs, {took * unit:5.1f} s an epoch, "
            f"{plain / took:5.1f} x torch, {KGPOLICY / took:7,.0f} x KGPolicy as released"
        )


if __name__ == "__main__":
    main()
