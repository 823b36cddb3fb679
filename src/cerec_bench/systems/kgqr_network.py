"""KGQR's network: graph convolution over the knowledge graph, a GRU over liked items, dueling Q.

B states, L liked items (right-padded with -1), C candidates, d width of the entity vectors.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cerec.agent.spmm import Adjacency, propagate
from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.recommend.sparse import Sparse
from cerec_bench.systems.weights import dense, glorot


def knowledge_graph(graph: Ckg) -> Adjacency:
    """Items and other entities alone, every node among its own neighbours, symmetric weights."""
    ragged = graph.adjacency
    row, column = ragged.row_of() - graph.n_users, ragged.indices - graph.n_users
    keep = (row >= 0) & (column >= 0)
    row, column = row[keep], column[keep]
    n = graph.n_items + graph.n_entities
    degree = np.bincount(row, minlength=n) + 1.0
    weight = (1.0 / np.sqrt(degree[row] * degree[column])).astype(np.float32)
    rows = Ragged(np.searchsorted(row, np.arange(n + 1)), column.astype(np.int32))
    loop = torch.from_numpy((1.0 / degree).astype(np.float32)[:, None])
    return Adjacency(Sparse.build(rows, weight, None), loop)


class StateEncoder(nn.Module):
    """Entity vectors; what a graph convolution makes of the items; and the state they lead to."""

    def __init__(
        self, graph: Ckg, dim: int, layers: int, start: Tensor, generator: torch.Generator
    ):
        super().__init__()
        self.n_items = graph.n_items
        self.entity = nn.Parameter(start.clone())
        self.layers = nn.ModuleList(dense(dim, dim, generator) for _ in range(layers))
        self.gru = nn.GRU(dim, dim, batch_first=True, device="meta").to_empty(device="cpu")
        with torch.no_grad():
            for weight in self.gru.parameters():
                weight.copy_(
                    (torch.rand(weight.shape, generator=generator) * 2 - 1) / math.sqrt(dim)
                )
        self._matrix = knowledge_graph(graph)

    def items(self) -> Tensor:
        """(I, d): `X' = ReLU(A X W + b)`, one pass over the graph; the last layer is linear."""
        x: Tensor = self.entity
        for n, layer in enumerate(self.layers):
            x = propagate(self._matrix, layer(x))
            x = F.relu(x) if n + 1 < len(self.layers) else x
        return x[: self.n_items]

    def states(self, item: Tensor, liked: Tensor) -> Tensor:
        """(B, d) last hidden vector after the liked items of each row; zero without any."""
        return self.states_after(item, liked, (liked >= 0).sum(dim=1))[0]

    def states_after(self, item: Tensor, liked: Tensor, *counts: Tensor) -> list[Tensor]:
        """(B, d) hidden vectors after so many (B,) of the liked items, for each of `counts`."""
        longest = max(int((liked >= 0).sum(dim=1).max()), 1)
        steps, _ = self.gru(F.embedding(liked[:, :longest].clamp(min=0), item))  # (B, L, d)
        row = torch.arange(len(liked))
        return [steps[row, (n - 1).clamp(min=0)] * (n > 0)[:, None] for n in counts]

    def step(self, item: Tensor, state: Tensor) -> Tensor:
        """(B, d) states after one more liked item each."""
        return self.gru(item[:, None], state[None])[0][:, 0]


class DuelingQ(nn.Module):
    """Q(s, a) = V(s) + Adv(s, e_a), e_a the entity vector of the item itself."""

    def __init__(self, dim: int, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.front = dense(dim, hidden, generator)
        self.value = dense(hidden, hidden, generator)
        self.value_out = dense(hidden, 1, generator)
        self.by_state = dense(hidden, hidden, generator)
        self.by_item = glorot(dim, hidden, generator=generator)
        self.advantage_out = dense(hidden, 1, generator)

    def worth(self, state: Tensor) -> Tensor:
        """V(s), (B,)."""
        return self.value_out(F.relu(self.value(F.relu(self.front(state)))))[:, 0]

    def advantage(self, state: Tensor, item: Tensor) -> Tensor:
        """Adv of C items per state, `item` (B, C, d) -> (B, C); or of one list for all, (C, d)."""
        near = self.by_state(F.relu(self.front(state)))  # the first layer on [x ; e], in two parts
        return self.advantage_out(F.relu(near[:, None] + item @ self.by_item))[..., 0]

    def one(self, state: Tensor, item: Tensor) -> Tensor:
        """Q of one action per state, `item` (B, d) -> (B,)."""
        return self.worth(state) + self.advantage(state, item[:, None])[:, 0]

    def among(self, state: Tensor, item: Tensor) -> Tensor:
        """Q of a set: V + Adv - mean of Adv over the set, (B, C)."""
        advantage = self.advantage(state, item)
        return self.worth(state)[:, None] + advantage - advantage.mean(dim=1, keepdim=True)


def soft_update(target: nn.Module, source: nn.Module, tau: float) -> None:
    """Move the target's weights by the share `tau` towards the source's."""
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), source.parameters(), strict=True):
            slow.lerp_(fast, tau)
