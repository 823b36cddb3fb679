"""Node vectors by link prediction, which KGQR starts from."""

from __future__ import annotations

import numba
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cerec.agent.warmstart import unit_mean
from cerec.data.ckg import Ckg

Float = NDArray[np.float32]


def link_table(graph: Ckg, size: int, rng: np.random.Generator, *, epochs: int = 5) -> Tensor:
    """DistMult vectors: every typed edge ranked above one with a random tail (BPR), by SGD."""
    table = rng.standard_normal((graph.n_nodes, size), np.float32) * np.float32(size**-0.5)
    n_relations = int(graph.relation.max(initial=0)) + 1
    relation = np.ones((n_relations, size), np.float32)
    for epoch in range(epochs):
        order = rng.permutation(len(graph.head))
        wrong = rng.integers(graph.n_users, max(graph.n_nodes, graph.n_users + 1), len(order))
        rate = np.float32(0.1 * (1 - epoch / epochs))
        _link_epoch(table, relation, graph.head, graph.relation, graph.tail, order, wrong, rate)
    return torch.from_numpy(unit_mean(table))


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _link_epoch(
    table: Float,
    relation: Float,
    head: NDArray[np.int32],
    kind: NDArray[np.int32],
    tail: NDArray[np.int32],
    order: NDArray[np.int64],
    wrong: NDArray[np.int64],
    rate: float,
) -> None:
    d = table.shape[1]
    decay = np.float32(1e-3)
    for n in range(len(order)):
        edge = order[n]
        h, r, t, w = head[edge], kind[edge], tail[edge], wrong[n]
        if w in (t, h):
            continue
        margin = np.float32(0.0)
        for k in range(d):
            margin += table[h, k] * relation[r, k] * (table[t, k] - table[w, k])
        step = np.float32(rate / (1.0 + np.exp(margin)))
        for k in range(d):
            a, b, c, v = table[h, k], relation[r, k], table[t, k], table[w, k]
            table[h, k] += step * b * (c - v) - rate * decay * a
            relation[r, k] += np.float32(0.01) * step * a * (c - v)
            table[t, k] += step * a * b - rate * decay * c
            table[w, k] -= step * a * b + rate * decay * v
