"""CaDSI (Wang et al., 2022): disentangled intents with semantics from meta-paths.

    E = route(E_0)                          K intent chunks over the user-item graph
    y(u, i) = (E_u + sum_r p_r(u)) . E_i    p_r: frozen vectors from meta-path walks
    loss    = BPR + c * distance correlation of neighbouring chunks + pull towards zero

(`cadsi_routing`, `cadsi_semantics`.) Items are ranked by the y that is learned; the release drops
p_r when it ranks. With p = 0 this is DGCF. The preference for a value of relation r, for
explanations, is p_r(u) . v, with v the value's vector from the same walks. U users, I items, K
intents, d width, A aspects, V values.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from annotated_types import Ge
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.factors import batches
from cerec.recommend.scorer import Scorer
from cerec.rng import torch_generator
from cerec.settings.base import Count, Natural, NotNegative, Positive, settings
from cerec_bench.systems.cadsi_routing import Edges, route
from cerec_bench.systems.cadsi_semantics import Semantics, aspects_of, learn_semantics
from cerec_bench.systems.chunks import lists_for
from cerec_bench.systems.weights import State, adam, array, fetch, normal, pack, rows, unpack


@settings("model")
class CaDSIConfig:
    """Settings of CaDSI; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of the vectors, all intents together."""
    intents: Count = 4
    """Chunks the vectors are split into; must divide `dim`."""
    rounds: Count = 2
    """Routing rounds per layer."""
    layers: Count = 1
    """Layers; their outputs are averaged with the first vectors."""
    relations: Natural = 3
    """Aspects: one for each of the most frequent relations, and one for all others."""
    walks: Natural = 20
    """Meta-path walks from every user, per aspect; 0 leaves the semantics out (DGCF)."""
    hops: Count = 3
    """User-to-user hops of a walk."""
    independence: NotNegative = 0.01
    """Weight of the distance correlation; 0 leaves it out."""
    sampled: Annotated[int, Ge(2)] = 256
    """Users and as many items the distance correlation is taken over."""
    learning_rate: Positive = 0.01
    """Step of Adam."""
    l2: NotNegative = 1e-3
    """Pull towards zero on the first vectors of every pair."""
    batch: Count = 8192
    """Pairs per update; each update routes over the whole graph."""
    init: Positive = 0.1
    """Standard deviation of the first vectors."""

    def __post_init__(self) -> None:
        if self.dim % self.intents:
            raise ConfigError(
                f"model.intents must divide model.dim, got {self.intents} and {self.dim}"
            )


AUTHORS = {
    "dim": 128,
    "intents": 4,
    "rounds": 2,
    "layers": 1,
    "relations": 3,
    "independence": 0.01,
    "learning_rate": 0.001,
    "l2": 1e-3,
    "batch": 2000,
}
"""The authors' released defaults (up to 100 epochs); their example run leaves independence out."""


def distance_correlation(a: Tensor, b: Tensor) -> Tensor:
    """Of paired rows (n, d) and (n, d'): 0 where independent (for many rows), 1 where the same."""
    x, y = _centred(a), _centred(b)
    return _covariance(x, y) / (_covariance(x, x) * _covariance(y, y)).sqrt()


def _centred(a: Tensor) -> Tensor:
    size = a.square().sum(1)
    apart = (size[:, None] + size[None, :] - 2 * a @ a.T).clamp(min=0)
    apart = (apart + 1e-8).sqrt()  # the root of 0 has no gradient
    return apart - apart.mean(0, keepdim=True) - apart.mean(1, keepdim=True) + apart.mean()


def _covariance(x: Tensor, y: Tensor) -> Tensor:
    return ((x * y).mean().clamp(min=0) + 1e-8).sqrt()


class CaDSI:
    """CaDSI as a `Recommender`: its routed vectors are factors."""

    def __init__(self, config: CaDSIConfig, known: Ragged, facts: Facts, *, seed: int) -> None:
        self.config, self._known, self._facts = config, known, facts
        n_items = len(facts.of_item)
        self.edges = Edges.build(known, n_items)
        noise = torch_generator(seed, "cadsi")
        self.net = nn.ParameterDict(
            {"node": normal(len(known) + n_items, config.dim, config.init, noise)}
        )
        self._adam = adam(self.net.parameters(), config.learning_rate)
        self.aspect = aspects_of(facts, config.relations)
        """(V,) aspect of every value."""
        self.semantics = learn_semantics(
            known,
            facts,
            self.aspect,
            dim=config.dim,
            walks=config.walks,
            hops=config.hops,
            seed=seed,
        )

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`; the loss is that of the ranking."""
        lists = lists_for(self, self._known, negatives)
        loss = sum(
            self._update(user[part], item[part], negatives, lists, rng)
            for part in batches(len(user), self.config.batch, rng)
        )
        return loss / max(len(user), 1)

    def _update(
        self,
        user: Rows,
        item: Rows,
        negatives: NegativeSampler,
        lists: Rows,
        rng: np.random.Generator,
    ) -> float:
        by_user, by_item = self._vectors()
        meant = by_user + self._meaning()
        context = Context(self._known, self._facts, array(meant), array(by_item), lists)
        wrong = drawn(negatives, user, item, context, rng)
        there = wrong >= 0
        a, b, c = (rows(x[there]) for x in (user, item, wrong))
        u, i, j = F.embedding(a, meant), F.embedding(b, by_item), F.embedding(c, by_item)
        loss = F.softplus((u * j).sum(1) - (u * i).sum(1)).sum()
        whole = (loss + self._pull(a, b, c)) / max(len(user), 1)
        if self.config.independence and self.config.intents > 1:
            whole = whole + self.config.independence * self._dependence(by_user, by_item, rng)
        self.net.zero_grad()
        whole.backward()
        self._adam.step()
        return loss.item()

    def _pull(self, user: Tensor, item: Tensor, wrong: Tensor) -> Tensor:
        node, n_users = self.net["node"], len(self._known)
        parts = (F.embedding(at, node) for at in (user, item + n_users, wrong + n_users))
        return 0.5 * self.config.l2 * torch.stack([x.square().sum() for x in parts]).sum()

    def _dependence(self, user: Tensor, item: Tensor, rng: np.random.Generator) -> Tensor:
        """Distance correlation of chunks k and k + 1, over drawn users and items together."""
        k, n = self.config.intents, self.config.sampled
        drawn = [
            table[rows(rng.choice(len(table), min(n, len(table)), replace=False))]
            for table in (user, item)
        ]
        chunks = torch.cat(drawn).chunk(k, dim=1)
        told = [distance_correlation(a, b) for a, b in pairwise(chunks)]
        return torch.stack(told).sum() / (k * (k + 1) / 2)

    def _vectors(self) -> tuple[Tensor, Tensor]:
        """Routed vectors of users (U, d) and items (I, d)."""
        c = self.config
        both = route(
            self.edges, self.net["node"], intents=c.intents, rounds=c.rounds, layers=c.layers
        )
        return both[: len(self._known)], both[len(self._known) :]

    def _meaning(self) -> Tensor:
        """(U, d) sum of the semantic vectors."""
        return torch.from_numpy(self.semantics.user.sum(axis=0))

    @torch.no_grad()
    def factors(self) -> tuple[Vectors, Vectors]:
        """Users with their semantics, and items."""
        user, item = self._vectors()
        return array(user + self._meaning()), array(item)

    def preferences(self, user: int, values: NDArray[np.integer]) -> NDArray[np.float64]:
        """p_r(u) . v for every value, r the aspect of its relation."""
        mine = self.semantics.user[self.aspect[values], user]  # (n, d)
        return np.einsum("nd,nd->n", mine, self.semantics.value[values], dtype=np.float64)

    def scorer(self) -> Scorer:
        """Scores by the factors; the effects of values are to be fitted."""
        user, item = self.factors()
        effect = np.zeros((self._facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, item, effect, user, "sum")

    def state(self) -> State:
        """See `Recommender.state`; the semantics are part of it."""
        frozen = {"p": self.semantics.user.copy(), "v": self.semantics.value.copy()}
        return pack(self.net, adam=self._adam) | frozen

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self.net, adam=self._adam)
        told = self.semantics
        self.semantics = Semantics(
            fetch(state, "p", told.user.shape).numpy(), fetch(state, "v", told.value.shape).numpy()
        )
