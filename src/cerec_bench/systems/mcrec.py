"""MCRec (Hu et al., 2018): meta-path based context for top-N recommendation with co-attention.

For a pair (u, i): path instances along meta-paths (`mcrec_paths`) are embedded by a convolution
over frozen node vectors, max-pooled per meta-path to c_rho, weighted by attention

    a = softmax over rho of w . ReLU(W_u x_u + W_i y_i + W_c c_rho)   ->   c = sum a_rho c_rho,

which in turn gates user and item, x' = ReLU(W [x ; c]) * x; a tower on [x' ; c ; y'] gives the
score, learned by cross-entropy with uniform negatives. Absent meta-paths are masked; a pair without
any path has c = 0.

**It cannot rank a whole catalogue**: paths for every pair are out of reach. It re-ranks the first
`candidates` items of the BPR-MF that also gives the node vectors (a value has the mean of its
items); the other items follow in that model's order. A table must say so. B pairs, P meta-paths,
K instances, F filters.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.factors import batches
from cerec.recommend.scorer import Scorer
from cerec.recommend.topk import top_k_all
from cerec.rng import torch_generator
from cerec_bench.systems.chunks import matrix_scorer
from cerec_bench.systems.mcrec_network import MCRecConfig, MCRecNet
from cerec_bench.systems.mcrec_paths import PathFinder
from cerec_bench.systems.pretraining import pretrain
from cerec_bench.systems.weights import State, adam, array, fetch, pack, rows, unpack

_PAIRS = 4096  # scored at once


class MCRec:
    """MCRec as a `Recommender` that re-ranks candidates; see the module's note."""

    def __init__(self, config: MCRecConfig, known: Ragged, facts: Facts, *, seed: int) -> None:
        self.config, self._known, self._facts = config, known, facts
        start = pretrain(
            known.row_of(),
            known.indices,
            known,
            facts,
            dim=config.node_dim,
            epochs=config.pretrain,
            seed=seed,
        )
        user, item = start.factors()
        self._set_nodes(np.concatenate([user, item, _means(item, facts.holders)]))
        sizes = len(known), len(item), self.finder.n_paths
        self.net = MCRecNet(*sizes, config, torch_generator(seed, "mcrec"))
        self._adam = adam(self.net.parameters(), config.learning_rate)

    def _set_nodes(self, nodes: Vectors) -> None:
        config, n_users = self.config, len(self._known)
        self.nodes = torch.from_numpy(np.ascontiguousarray(nodes))
        self.finder = PathFinder(
            nodes,
            self._known,
            self._facts,
            relations=config.relations,
            beam=config.beam,
            instances=config.instances,
        )
        n_items = len(self._facts.of_item)
        self._base = nodes[:n_users], nodes[n_users : n_users + n_items]
        most = min(config.candidates, n_items)
        self.candidates = top_k_all(*self._base, self._known, most)

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        lists = self.candidates[:, : negatives.list_length]
        context = Context(self._known, self._facts, *self._base, lists)
        loss = 0.0
        for part in batches(len(user), self.config.batch, rng):
            u, i = user[part], item[part]
            wrong = [drawn(negatives, u, i, context, rng) for _ in range(self.config.negatives)]
            loss += self._update(u, i, np.concatenate(wrong), rng)
        return loss / max(len(user), 1)

    def _update(self, user: Rows, item: Rows, wrong: Rows, rng: np.random.Generator) -> float:
        users = np.concatenate([user, np.tile(user, self.config.negatives)])
        items = np.concatenate([item, wrong])
        label = torch.zeros(len(users))
        label[: len(user)] = 1
        there = items >= 0
        users, items = users[there], items[there]
        path = rows(self.finder.find(users, items))
        logit, _ = self.net(self.nodes, rows(users), rows(items), path, self._keep(path, rng))
        loss = F.binary_cross_entropy_with_logits(logit, label[torch.from_numpy(there)])
        pull = sum(w.square().sum() for w in self.net.layers())
        self.net.zero_grad()
        (loss + 0.5 * self.config.l2 * pull).backward()
        self._adam.step()
        return loss.item() * len(user)

    def _keep(self, path: Tensor, rng: np.random.Generator) -> Tensor | None:
        """Dropout of path vectors: factors of 0 or 1 / (1 - share)."""
        share = self.config.dropout
        if share == 0:
            return None
        noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
        shape = (int((path[..., 0] >= 0).sum()), self.config.filters)
        return (torch.rand(shape, generator=noise) >= share) / (1 - share)

    @torch.no_grad()
    def judge(self, user: Rows, item: Rows) -> tuple[Vectors, Vectors]:
        """Logits (B,) of pairs and their attention over meta-paths (B, P): what spoke for them."""
        made = [
            self.net(self.nodes, rows(u), rows(i), rows(self.finder.find(u, i)))
            for u, i in _pieces(user, item)
        ]
        if not made:
            return np.empty(0, np.float32), np.empty((0, self.finder.n_paths), np.float32)
        return array(torch.cat([a for a, _ in made])), array(torch.cat([b for _, b in made]))

    def scores(self, users: NDArray[np.integer]) -> Vectors:
        """(B, I): candidates in 0..1 by their logit, the others in -2..-1 by BPR-MF."""
        out = 0.5 * _squash(self._base[0][users] @ self._base[1].T) - 1.5
        row, column = np.nonzero(self.candidates[users] >= 0)
        item = self.candidates[users][row, column]
        logit, _ = self.judge(np.asarray(users, np.int32)[row], item)
        out[row, item] = 0.5 + 0.5 * _squash(logit)
        return out.astype(np.float32)

    def factors(self) -> tuple[Vectors, Vectors]:
        """The pre-trained vectors, for similarity and samplers; scores are not their product."""
        return self._base

    def scorer(self) -> Scorer:
        """Stored scores; the effects of values are to be fitted."""
        return matrix_scorer(self, *self.factors(), self._facts)

    def state(self) -> State:
        """See `Recommender.state`; node vectors included."""
        return pack(self.net, adam=self._adam) | {"nodes": array(self.nodes)}

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self.net, adam=self._adam)
        self._set_nodes(array(fetch(state, "nodes", tuple(self.nodes.shape))))


def _squash(x: Vectors) -> Vectors:
    """Into -1..1, in the same order, without the flat ends of a sigmoid."""
    return x / (1 + np.abs(x))


def _pieces(user: Rows, item: Rows) -> list[tuple[Rows, Rows]]:
    starts = range(0, len(user), _PAIRS)
    return [(user[s : s + _PAIRS], item[s : s + _PAIRS]) for s in starts]


def _means(item: Vectors, holders: Ragged) -> Vectors:
    """(V, d) the mean vector of the items that hold each value."""
    share = (1.0 / np.maximum(holders.counts, 1)).astype(np.float32)
    shape = len(holders), len(item)
    of = sp.csr_matrix((share[holders.row_of()], holders.indices, holders.indptr), shape=shape)
    return np.asarray(of @ item, np.float32)
