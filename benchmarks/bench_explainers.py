"""What CaDSI's routing, NeuACF's similarities and forgetting a history cost, beside plain versions.

    python benchmarks/bench_explainers.py

Plain: routing by gathered messages and `index_add` under autograd; PathSim by the whole sparse
product; the user's vector by L-BFGS with the same loss. Same inputs, same answers (checked),
CPU seconds of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.threads import set_threads
from cerec_bench.explainers.fold_in import solve
from cerec_bench.systems.cadsi_routing import Edges, route
from cerec_bench.systems.neuacf_similarity import path_sim

INTENTS, DIM = 4, 64


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds, the lesser of two runs; the first also compiles."""
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times[1:])


def plain_route(edges: Edges, start: Tensor) -> Tensor:
    """One layer of two rounds, all of it left to autograd."""
    n = len(start)
    head, tail = torch.from_numpy(edges.head).long(), torch.from_numpy(edges.tail).long()
    logits, ego = torch.ones(len(head), INTENTS), start.view(n, INTENTS, -1)
    for turn in range(2):
        share = torch.softmax(logits, dim=1)
        rows = torch.zeros(n, INTENTS).index_add(0, head, share)
        columns = torch.zeros(n, INTENTS).index_add(0, tail, share)
        weight = share / (rows[head] * columns[tail]).sqrt()
        out = torch.zeros_like(ego).index_add(0, head, weight[:, :, None] * ego[tail])
        if turn == 0:
            near, far = F.normalize(out, dim=2), torch.tanh(F.normalize(ego, dim=2))
            logits = logits + (near[head] * far[tail]).sum(2)
    return (start + out.flatten(1)) / 2


def routing(known: Ragged, n_items: int) -> tuple[float, float]:
    """Forward and backward: ours, plain."""
    edges = Edges.build(known, n_items)
    start = torch.randn(len(known) + n_items, DIM, generator=torch.Generator().manual_seed(0))
    start.requires_grad_()

    def ours() -> Tensor:
        out = route(edges, start, intents=INTENTS, rounds=2, layers=1)
        (grad,) = torch.autograd.grad(out.square().sum(), start)
        return grad

    def plain() -> Tensor:
        (grad,) = torch.autograd.grad(plain_route(edges, start).square().sum(), start)
        return grad

    torch.testing.assert_close(ours(), plain(), atol=1e-4, rtol=1e-3)
    return seconds(ours), seconds(plain)


def similarity(half: sp.csr_matrix) -> tuple[float, float]:
    """The 50 largest of each row: ours, by the whole product."""

    def plain() -> sp.csr_matrix:
        paths = (half @ half.T).tocoo()
        own = paths.tocsr().diagonal()
        s = 2 * paths.data / (own[paths.row] + own[paths.col])
        row, column, s = (x[s >= np.median(s)] for x in (paths.row, paths.col, s))
        order = np.lexsort((-s, row))
        row, column, s = row[order], column[order], s[order]
        first = np.arange(len(row)) - np.searchsorted(row, row) < 50
        return sp.csr_matrix((s[first], (row[first], column[first])), paths.shape)

    got = path_sim(half, 50)
    if not np.isclose(got.weight.sum(), plain().sum(), rtol=1e-2):
        raise SystemExit("the two similarities differ")
    return seconds(lambda: path_sim(half, 50)), seconds(plain)


def forgetting(n: int) -> tuple[float, float]:
    """One user of n items set against 2,000 others: ours, L-BFGS."""
    rng = np.random.default_rng(0)
    good, rest, l2 = rng.normal(size=(n, DIM)) * 0.3, rng.normal(size=(2000, DIM)) * 0.3, 0.03

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        gap = (rest @ u)[None, :] - (good @ u)[:, None]
        push = 1 / (1 + np.exp(-gap)) / len(rest)
        value = np.logaddexp(0, gap).sum() / len(rest) + l2 / 2 * n * u @ u
        return value, push.sum(0) @ rest - push.sum(1) @ good + l2 * n * u

    def plain() -> np.ndarray:
        return minimize(loss, np.zeros(DIM), jac=True, method="L-BFGS-B").x

    np.testing.assert_allclose(solve(good, rest, l2), plain(), atol=1e-2)
    return seconds(lambda: solve(good, rest, l2)), seconds(plain)


def main() -> None:
    """Print one line per kernel."""
    set_threads()
    data = make_world(WorldConfig(users=2000, items=1500, interactions=200_000), seed=0)
    pairs = data.interactions
    known = Ragged.from_pairs(pairs.user, pairs.item, 2000)
    taken = sp.csr_matrix(
        (np.ones(known.size, np.float32), known.indices, known.indptr), (2000, 1500)
    )
    for name, (ours, plain) in (
        ("CaDSI, one routed update", routing(known, 1500)),
        ("NeuACF, users by purchases", similarity(taken)),
        ("a history of 80 items solved for", forgetting(80)),
    ):
        print(
            f"{name:34s} {1e3 * ours:8.1f} ms   plain {1e3 * plain:8.1f} ms   {plain / ours:5.1f} x"
        )


if __name__ == "__main__":
    main()
