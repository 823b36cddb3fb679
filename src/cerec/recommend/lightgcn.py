"""LightGCN (He 2020): vectors averaged over the user-item graph, learned by BPR with Adam."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend.asking import drawn, drawn_ahead, list_length
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.factors import batches, start_vectors
from cerec.recommend.scorer import Scorer
from cerec.recommend.sparse import Sparse, multiply
from cerec.recommend.topk import top_k_all
from cerec.settings.recommender import RecommenderConfig

_NAMES = ("user", "item")


class LightGCN:
    """Final vectors are the mean of layers 0..L, layer l + 1 = normalised adjacency x layer l.

    Same seed, same bits on one torch thread.
    """

    def __init__(
        self, config: RecommenderConfig, known: Ragged, facts: Facts, *, seed: int
    ) -> None:
        self.config, self._known, self._facts = config, known, facts
        sizes = len(known), len(facts.of_item)
        self._tables = [
            torch.from_numpy(start_vectors(n, config, seed, name)).requires_grad_()
            for n, name in zip(sizes, _NAMES, strict=True)
        ]
        self._adam = torch.optim.Adam(self._tables, lr=config.learning_rate)
        for table in self._tables:  # exists from the start, so that state() has one form
            self._adam.state[table] = {
                "step": torch.tensor(0.0),
                "exp_avg": torch.zeros_like(table),
                "exp_avg_sq": torch.zeros_like(table),
            }
        self._adjacency = _adjacency(known, len(facts.of_item))

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        start = self.context(list_length(negatives))
        ahead = drawn_ahead(negatives, user, item, start, rng)
        total = 0.0
        for rows in batches(len(user), self.config.pairs_per_update(len(user)), rng):
            u, i = user[rows], item[rows]
            final = self._propagate()
            if ahead is None:
                j = drawn(negatives, u, i, self._seen(final, start.lists), rng)
            else:
                j = ahead[rows]
            loss = self._pair_loss(final, u, i, j)
            total += float(loss.detach())
            pull = self._pull(u, i, j)
            self._adam.zero_grad()
            ((loss + pull) / len(rows)).backward()
            self._adam.step()
        return total / max(len(user), 1)

    def factors(self) -> tuple[Vectors, Vectors]:
        """See `Recommender.factors`."""
        with torch.no_grad():
            user, item = self._propagate()
        return user.numpy(), item.numpy()

    def context(self, list_length: int = 0) -> Context:
        """What a sampler would see now, with lists Q_u of that length."""
        user, item = self.factors()
        lists = np.empty((len(user), 0), np.int32)
        if list_length:
            lists = top_k_all(user, item, self._known, list_length)
        return Context(self._known, self._facts, user, item, lists)

    def scorer(self) -> Scorer:
        """See `Recommender.scorer`."""
        user, item = self.factors()
        effect = np.zeros((self._facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, item, effect, user, "sum")

    def state(self) -> dict[str, NDArray[np.float32]]:
        """See `Recommender.state`."""
        out = {}
        for name, table in zip(_NAMES, self._tables, strict=True):
            adam = self._adam.state[table]
            out[name] = table.detach().numpy().copy()
            out[f"{name}_mean"] = adam["exp_avg"].numpy().copy()
            out[f"{name}_squares"] = adam["exp_avg_sq"].numpy().copy()
            out[f"{name}_steps"] = adam["step"].numpy().reshape(1).copy()
        return out

    def load_state(self, state: dict[str, NDArray[np.float32]]) -> None:
        """See `Recommender.load_state`."""
        for name, table in zip(_NAMES, self._tables, strict=True):
            adam = self._adam.state[table]
            for key, into in (
                (name, table.detach()),
                (f"{name}_mean", adam["exp_avg"]),
                (f"{name}_squares", adam["exp_avg_sq"]),
                (f"{name}_steps", adam["step"]),
            ):
                found = state.get(key)
                if found is None or found.size != into.numel():
                    raise RunError(
                        f"recommender state {key!r}: expected {into.numel()} numbers, got "
                        f"{0 if found is None else found.size}; was it saved with other data?"
                    )
                into.copy_(torch.from_numpy(found).reshape(into.shape))

    def _propagate(self) -> tuple[Tensor, Tensor]:
        """Final vectors of users (U, d) and items (I, d)."""
        user, item = self._tables
        layer = torch.cat([user, item])  # (U + I, d)
        total = layer
        for _ in range(self.config.layers):
            layer = multiply(self._adjacency, layer)
            total = total + layer
        total = total / (self.config.layers + 1)
        return total[: len(user)], total[len(user) :]

    def _seen(self, final: tuple[Tensor, Tensor], lists: Rows) -> Context:
        user, item = (t.detach().numpy() for t in final)
        return Context(self._known, self._facts, user, item, lists)

    def _pair_loss(self, final: tuple[Tensor, Tensor], u: Rows, i: Rows, j: Rows) -> Tensor:
        keep = j >= 0
        user, item = final
        x = user[u[keep]]  # (B, d)
        gap = (x * (item[j[keep]] - item[i[keep]])).sum(1)  # (B,)
        return F.softplus(gap).sum()

    def _pull(self, u: Rows, i: Rows, j: Rows) -> Tensor:
        """l2 / 2 of the first-layer vectors of every pair, as in the paper's code."""
        user, item = self._tables
        parts = (user[u], item[i], item[j[j >= 0]])
        return self.config.l2 / 2 * torch.stack([(p * p).sum() for p in parts]).sum()


def _adjacency(known: Ragged, n_items: int) -> Sparse:
    """`1 / sqrt(|N_u| |N_i|)` between users and items, symmetric, nodes: users then items."""
    user, item = known.row_of(), known.indices + np.int32(len(known))
    n = len(known) + n_items
    rows = Ragged.from_pairs(np.concatenate([user, item]), np.concatenate([item, user]), n)
    scale = 1.0 / np.sqrt(np.maximum(rows.counts, 1))
    weight = scale[rows.row_of()] * scale[rows.indices]
    return Sparse.build(rows, weight.astype(np.float32), None)
