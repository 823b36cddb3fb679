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

import numpy as np
import torch
from torch import Tensor

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.draws import fresh_state
from cerec.recommend.factors import batches
from cerec.recommend.scorer import Scorer
from cerec.rng import torch_generator
from cerec_bench.systems import kgat_kernels as kernels
from cerec_bench.systems.chunks import lists_for
from cerec_bench.systems.kgat_graph import Edges, Propagation, attention
from cerec_bench.systems.kgat_network import AUTHORS, KGATConfig, KGATNet
from cerec_bench.systems.pretraining import pretrain
from cerec_bench.systems.weights import State, adam, fetch, pack, unpack

__all__ = ["AUTHORS", "KGAT", "KGATConfig"]


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
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`; the loss is that of the ranking part."""
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
        made = self.net.propagate(self.matrix, self.config.dropout, int(rng.integers(2**31)))
        first = self._graph.n_users
        both = made.every[:first], made.every[first:]
        wrong = drawn(negatives, user, item, Context(self._known, self._facts, *both, lists), rng)
        there = wrong >= 0
        grad = np.zeros_like(made.every)
        loss = kernels.push_pairs(
            made.every,
            user[there],
            item[there] + np.int32(first),
            wrong[there] + np.int32(first),
            self.config.l2,
            1.0 / max(len(user), 1),
            grad,
        )
        self.net.zero_grad()
        self.net.push_back(made, grad)
        self._ranking.step()
        return float(loss)

    def _embed(self, part: Rows, rng: np.random.Generator) -> float:
        edges = self.edges
        part = part[np.argsort(edges.relation[part], kind="stable")]
        near = self._graph.adjacency
        head, kind, tail = (x[part] for x in (edges.head, edges.relation, edges.tail))
        wrong = kernels.wrong_tails(head, near.indptr, near.indices, fresh_state(rng))
        loss = self.net.embed(head, kind, tail, wrong, self.config.kg_l2)
        self._facts_adam.step()
        return loss

    def _attend(self) -> None:
        net = self.net
        self.matrix = self._with(attention(self.edges, net.node, net.relation, net.project))

    def _with(self, weight: Tensor) -> Propagation:
        return Propagation(self.edges, weight, self._graph.n_users + self._graph.n_items)

    def factors(self) -> tuple[Vectors, Vectors]:
        """The propagated vectors, nothing dropped."""
        every = self.net.propagate(self.matrix).every
        return every[: self._graph.n_users], every[self._graph.n_users :]

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
