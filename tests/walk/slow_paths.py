"""The sampler again, independently: padded gathers in double precision, gradients by autograd."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged


def padded(ragged: Ragged) -> tuple[Tensor, Tensor]:
    """(rows, widest) entries and which of them exist."""
    width = max(1, int(ragged.counts.max(initial=0)))
    table = np.zeros((len(ragged), width), np.int64)
    mask = np.zeros((len(ragged), width), bool)
    for r in range(len(ragged)):
        table[r, : len(ragged.row(r))] = ragged.row(r)
        mask[r, : len(ragged.row(r))] = True
    return torch.from_numpy(table), torch.from_numpy(mask)


def scores(h: Tensor, user: Tensor, source: Tensor, target: Tensor, slope: float) -> Tensor:
    """h_u . LeakyReLU(h_source * h_target) over (B, n) targets, as the paper writes it."""
    product = F.leaky_relu(h[source][:, None, :] * h[target], slope)  # (B, n, d)
    return torch.einsum("bd,bnd->bn", h[user], product)


def step_log_p(
    h: Tensor,
    graph: Ckg,
    user: int,
    item: int,
    off: set[int],
    slope: float,
    directed: bool = False,
) -> dict[tuple[int, int], Tensor]:
    """(attribute, next item) -> log-probability, for everything that can be drawn."""
    n_users, n_items = graph.n_users, graph.n_items

    def allowed(a: int) -> list[int]:
        return [int(j) for j in graph.items_of.row(a) if j != item and int(j) not in off]

    def log_softmax(source: int, targets: list[int]) -> Tensor:
        row = scores(
            h, torch.tensor([user]), torch.tensor([source]), torch.tensor([targets]), slope
        )
        if directed:
            row = row + (h[torch.tensor(targets)] @ h[n_users + item])[None]
        return row[0].log_softmax(dim=0)

    ways = [int(a) for a in graph.attributes.row(item) if allowed(int(a))]
    if not ways:
        return {}
    first = log_softmax(n_users + item, [n_users + n_items + a for a in ways])
    out = {}
    for n, a in enumerate(ways):
        second = log_softmax(n_users + n_items + a, [n_users + j for j in allowed(a)])
        for m, j in enumerate(allowed(a)):
            out[a, j] = first[n] + second[m]
    return out
