"""KGAT (Wang et al., 2019): attentive propagation over the collaborative knowledge graph.

Each epoch has three parts:

1. ranking: e = [E_0 ; norm E_1 ; ... ; norm E_L] with N = A E and
   E' = LeakyReLU((E + N) W_1 + b_1) + LeakyReLU((E * N) W_2 + b_2); BPR on e_u . e_i;
2. the graph: TransR, g(h, r, t) = |W_r e_h + e_r - W_r e_t|^2, every edge below one with a wrong
   tail;
3. attention: A anew from the vectors and W_r; ranking sends no gradient into it.

Starts from BPR-MF vectors, as the authors recommend. The paper's A is used in propagation (in
the released code the refreshed matrix does not reach it). The pull towards zero of part 2 is on
the vectors themselves. N nodes, d width of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numba
import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.errors import ConfigError
from cerec.graph.ckg import Ckg
from cerec.graph.facts import Facts
from cerec.ragged import Ragged
from cerec.recommend.base import Context, NegativeSampler, Rows, SwapSampler, Vectors
from cerec.recommend.compared.chunks import lists_for
from cerec.recommend.compared.kgat_graph import Edges, Propagation, attention
from cerec.recommend.compared.pretraining import pretrain
from cerec.recommend.compared.weights import (
    State,
    adam,
    array,
    dense,
    fetch,
    glorot,
    pack,
    rows,
    unpack,
)
from cerec.recommend.draws import TRIES, below, fresh_state, holds
from cerec.recommend.factors import batches
from cerec.recommend.scorer import Scorer
from cerec.rng import torch_generator


@dataclass(frozen=True, slots=True, kw_only=True)
class KGATConfig:
    """Settings of KGAT; the defaults suit two CPU cores."""

    dim: int = 64
    """Width of the node table and of the relation vectors."""
    layers: tuple[int, ...] = (32, 16)
    """Width after each propagation; none is BPR-MF."""
    learning_rate: float = 0.003
    """Step of both Adams."""
    batch: int = 8192
    """Pairs per update; each update is a pass over the graph."""
    kg_batch: int = 16384
    """Edges per update of the graph part."""
    l2: float = 1e-4
    """Pull towards zero on the propagated vectors."""
    kg_l2: float = 1e-5
    """Pull towards zero in the graph part."""
    dropout: float = 0.1
    """Share of each layer's output left out while learning."""
    pretrain: int = 30
    """Epochs of BPR-MF whose vectors it starts from; 0 starts from noise."""

    def __post_init__(self) -> None:
        if min(self.dim, self.batch, self.kg_batch, *self.layers, 1) < 1:
            raise ConfigError(
                "kgat.dim, .batch, .kg_batch and .layers must be at least 1, got "
                f"{self.dim}, {self.batch}, {self.kg_batch} and {self.layers}"
            )
        if not self.learning_rate > 0 or min(self.l2, self.kg_l2, self.pretrain) < 0:
            raise ConfigError(
                "kgat.learning_rate must be above 0 and .l2, .kg_l2, .pretrain not below, got "
                f"{self.learning_rate}, {self.l2}, {self.kg_l2} and {self.pretrain}"
            )
        if not 0 <= self.dropout < 1:
            raise ConfigError(f"kgat.dropout must be in [0, 1), got {self.dropout}")


AUTHORS = KGATConfig(
    layers=(64, 32, 16), learning_rate=1e-4, batch=1024, kg_batch=2048, l2=1e-5, pretrain=100
)
"""The authors' released defaults (up to 1,000 epochs)."""


class KGATNet(nn.Module):
    """Node table, propagation layers, relation vectors and projections."""

    def __init__(self, edges: Edges, config: KGATConfig, generator: torch.Generator) -> None:
        super().__init__()
        n_relations = len(edges.relations)
        sizes = list(pairwise((config.dim, *config.layers)))
        self.node = glorot(edges.n_nodes, config.dim, generator=generator)
        self.sums = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.products = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.relation = glorot(n_relations, config.dim, generator=generator)
        self.project = glorot(n_relations, config.dim, config.dim, generator=generator)

    def propagate(self, matrix: Propagation, drop: float, noise: torch.Generator | None) -> Tensor:
        """(users + items, dim + layers) vectors; outputs are normalised, what goes on is not."""
        e: Tensor = self.node
        outputs = [e[: matrix.n_ranked]]
        for n, (by_sum, by_product) in enumerate(zip(self.sums, self.products, strict=True)):
            last = n + 1 == len(self.sums)
            near = (matrix.ranked if last else matrix.whole)(e)
            e = e[: len(near)]
            e = F.leaky_relu(by_sum(e + near)) + F.leaky_relu(by_product(e * near))
            if noise is not None and drop > 0:
                keep = torch.rand(e.shape, generator=noise) >= drop
                e = e * keep / (1 - drop)
            outputs.append(F.normalize(e[: matrix.n_ranked], dim=1))
        return torch.cat(outputs, dim=1)

    @torch.no_grad()
    def embed(self, head: Tensor, kind: Tensor, tail: Tensor, wrong: Tensor, l2: float) -> float:
        """Set the gradients of TransR's mean loss over edges sorted by relation; the loss.

        With z = W_r (e_h - e_t) + e_r the energy is |z|^2, and its gradients are written out: by
        autograd this part takes several times longer.
        """
        h, t, w = (self.node[x] for x in (head, tail, wrong))
        n, d = h.shape
        apart = torch.stack([h - t, h - w], dim=1).view(2 * n, d)  # right and wrong by turns
        kinds, counts = torch.unique_consecutive(kind, return_counts=True)
        ends = [0, *(2 * counts.cumsum(0)).tolist()]
        spans = list(zip(kinds.tolist(), pairwise(ends), strict=True))
        z = torch.empty_like(apart)
        for r, (a, b) in spans:
            torch.addmm(self.relation[r], apart[a:b], self.project[r], out=z[a:b])
        energy = z.square().sum(1).view(n, 2)
        gap = energy[:, 0] - energy[:, 1]
        c = 2 * torch.sigmoid(gap) / n
        d_z = z.mul_(torch.stack([c, -c], dim=1).view(2 * n, 1))
        d_apart = torch.empty_like(apart)
        d_project, d_relation = torch.zeros_like(self.project), torch.zeros_like(self.relation)
        for r, (a, b) in spans:
            torch.mm(apart[a:b].T, d_z[a:b], out=d_project[r])
            d_relation[r] = d_z[a:b].sum(0) + l2 / n * ((b - a) // 2) * self.relation[r]
            torch.mm(d_z[a:b], self.project[r].T, out=d_apart[a:b])
        d_right, d_wrong = d_apart.view(n, 2, d).unbind(1)
        d_node, pull = torch.zeros_like(self.node), l2 / len(head)
        d_node.index_add_(0, head, d_right + d_wrong + pull * h)
        d_node.index_add_(0, tail, pull * t - d_right)
        d_node.index_add_(0, wrong, pull * w - d_wrong)
        self.node.grad, self.project.grad, self.relation.grad = d_node, d_project, d_relation
        return F.softplus(gap).mean().item()


class KGAT:
    """KGAT as a `Recommender`: its propagated vectors are factors."""

    def __init__(
        self, config: KGATConfig, known: Ragged, facts: Facts, graph: Ckg, *, seed: int
    ) -> None:
        self.config, self._known, self._facts, self._graph = config, known, facts, graph
        self._seed = seed
        self.edges = Edges.build(graph)
        self.net = net = KGATNet(self.edges, config, torch_generator(seed, "kgat"))
        ranking = (net.node, *net.sums.parameters(), *net.products.parameters())
        self._ranking = adam(ranking, config.learning_rate)
        self._facts_adam = adam((net.node, net.relation, net.project), config.learning_rate)
        self.matrix = self._with(self.edges.first_weights())
        self._epochs = 0

    def epoch(
        self,
        user: Rows,
        item: Rows,
        negatives: NegativeSampler,
        *,
        rng: np.random.Generator,
        swaps: SwapSampler | None = None,
    ) -> float:
        """See `Recommender.epoch`; the loss is that of the ranking part. No use for `swaps`."""
        del swaps
        if self._epochs == 0 and self.config.pretrain:
            self._start(user, item)
        lists = lists_for(self, self._known, negatives)
        loss = sum(
            self._rank(user[part], item[part], negatives, lists, rng)
            for part in batches(len(user), self.config.batch, rng)
        )
        for part in batches(len(self.edges.head), self.config.kg_batch, rng):
            self._embed(part, rng)
        self._epochs += 1
        self._attend()
        return loss / max(len(user), 1)

    def _start(self, user: Rows, item: Rows) -> None:
        model = pretrain(
            user,
            item,
            self._known,
            self._facts,
            dim=self.config.dim,
            epochs=self.config.pretrain,
            seed=self._seed,
        )
        both = np.concatenate(model.factors())
        with torch.no_grad():
            self.net.node[: len(both)] = torch.from_numpy(both)

    def _rank(
        self,
        user: Rows,
        item: Rows,
        negatives: NegativeSampler,
        lists: Rows,
        rng: np.random.Generator,
    ) -> float:
        noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
        e = self.net.propagate(self.matrix, self.config.dropout, noise)
        context = Context(self._known, self._facts, *self._parts(e), lists)
        wrong = negatives.draw(user, item, context, rng)
        there = wrong >= 0
        u = F.embedding(rows(user[there]), e)
        i, j = (F.embedding(rows(x[there] + self._graph.n_users), e) for x in (item, wrong))
        loss = F.softplus((u * j).sum(1) - (u * i).sum(1)).sum()
        size = sum(x.square().sum() for x in (u, i, j))
        self.net.zero_grad()
        ((loss + 0.5 * self.config.l2 * size) / max(len(user), 1)).backward()
        self._ranking.step()
        return loss.item()

    def _parts(self, e: Tensor) -> tuple[Vectors, Vectors]:
        both = array(e)
        return both[: self._graph.n_users], both[self._graph.n_users :]

    def _embed(self, part: Rows, rng: np.random.Generator) -> float:
        edges = self.edges
        part = part[np.argsort(edges.relation[part], kind="stable")]
        near = self._graph.adjacency
        wrong = _wrong_tails(edges.head[part], near.indptr, near.indices, fresh_state(rng))
        head, kind, tail = (rows(x[part]) for x in (edges.head, edges.relation, edges.tail))
        loss = self.net.embed(head, kind, tail, rows(wrong), self.config.kg_l2)
        self._facts_adam.step()
        return loss

    def _attend(self) -> None:
        net = self.net
        self.matrix = self._with(attention(self.edges, net.node, net.relation, net.project))

    def _with(self, weight: Tensor) -> Propagation:
        return Propagation(self.edges, weight, self._graph.n_users + self._graph.n_items)

    @torch.no_grad()
    def factors(self) -> tuple[Vectors, Vectors]:
        """The propagated vectors, nothing dropped."""
        return self._parts(self.net.propagate(self.matrix, 0.0, None))

    def scorer(self) -> Scorer:
        """Scores by the propagated vectors; the effects of values are to be fitted."""
        user, item = self.factors()
        effect = np.zeros((self._facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, item, effect, user, "sum")

    def state(self) -> State:
        """See `Recommender.state`; the attention follows from the weights."""
        weights = pack(self.net, ranking=self._ranking, facts=self._facts_adam)
        return weights | {"epochs": np.array([self._epochs], np.float32)}

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self.net, ranking=self._ranking, facts=self._facts_adam)
        self._epochs = int(fetch(state, "epochs", (1,)))
        if self._epochs:
            self._attend()
        else:
            self.matrix = self._with(self.edges.first_weights())


@numba.njit(cache=True, error_model="numpy", nogil=True)
def _wrong_tails(
    head: Rows, indptr: NDArray[np.int64], indices: Rows, state: NDArray[np.uint64]
) -> Rows:
    """A node that is no neighbour of each head (any node after `TRIES` draws)."""
    n = len(indptr) - 1
    out = np.empty(len(head), np.int32)
    for e in range(len(head)):
        for _ in range(TRIES):
            out[e] = below(state, n)
            if out[e] != head[e] and not holds(indptr, indices, head[e], out[e]):
                break
    return out
