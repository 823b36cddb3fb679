"""KGPolicy's sampler: hard, informative negatives found by exploring the knowledge graph.

A step goes from an item over any neighbour to an item, by attention over graph vectors; of the
likely ends the recommender's best-scored one is kept. After T steps the item reached is the
negative. The policy learns by REINFORCE from r = y_uj + q_i . q_j at each item reached: hard for
the user, and close to what the user liked.

The graph is encoded once per policy update; all walks until then share the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.agent.spmm import Adjacency, propagate
from cerec.agent.warmstart import factor_table, random_table
from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.base import Context, Rows
from cerec.recommend.draws import fresh_state
from cerec.rng import generator, torch_generator
from cerec.settings.base import Below1, Count, Natural, NotNegative, Positive, Share, settings
from cerec_bench.systems import kgpolicy_kernels as kernels
from cerec_bench.systems.weights import State, adam, array, fetch, glorot, pack, unpack

_SLOPE = 0.2


@settings("model")
class KGPolicyConfig:
    """Settings of KGPolicy; the defaults suit two CPU cores."""

    recommender: Literal["bpr", "climf", "lightgcn"] = "bpr"
    """Which recommender learns from the negatives: any of this project's that takes some."""
    dim: Count = 64
    """Width of the recommender's vectors and of the node table."""
    hidden: Count = 32
    """Width of the first graph layer; the second is `dim` wide."""
    steps: Count = 2
    """Steps of two hops from the liked item to the negative."""
    neighbours: Count = 64
    """Neighbours in an action list, drawn anew every epoch."""
    random: Natural = 64
    """Random items beside them."""
    keep: Count = 32
    """Ends of a step that the recommender picks the best-scored of."""
    greedy: bool = False
    """Take the likeliest hop, as the released code does, instead of drawing it."""
    heat: Positive = 1.0
    """Attention scores are divided by it; below 1 the walk keeps to what is close, and finds more
    items that the user would like."""
    gamma: Share = 0.99
    """Discount of later rewards."""
    policy_rate: Positive = 1e-3
    """Step of the policy's Adam."""
    update: Count = 32768
    """Walks per policy update; each update is one pass over the graph."""
    dropout: Below1 = 0.0
    """Share of the graph vectors left out while learning."""
    start: Literal["factors", "random"] = "factors"
    """Where the node table starts: the recommender's factors, or noise."""
    learning_rate: Positive = 0.05
    """Step of the recommender (Adagrad; Adam for LightGCN)."""
    l2: NotNegative = 0.03
    """Pull towards zero on the recommender's vectors."""
    batch: Count = 2048
    """Pairs per update of the recommender."""
    pretrain: Natural = 20
    """Epochs of BPR-MF with uniform negatives that the recommender starts from."""


class SageEncoder(nn.Module):
    """Two mean-aggregating layers over a node table, rows of unit length."""

    def __init__(self, graph: Ckg, config: KGPolicyConfig, generator: torch.Generator) -> None:
        super().__init__()
        d, m = config.dim, config.hidden
        self.node = glorot(graph.n_nodes, d, generator=generator)
        self.own1, self.near1 = (glorot(d, m, generator=generator) for _ in range(2))
        self.own2, self.near2 = (glorot(m, d, generator=generator) for _ in range(2))
        self._matrix = Adjacency.plain(graph)
        root = np.sqrt(np.maximum(graph.adjacency.counts, 1)).astype(np.float32)
        self._root = torch.from_numpy(root)[:, None]

    def _mean(self, x: Tensor) -> Tensor:
        """Mean over neighbours: D^-1 A = D^-1/2 (D^-1/2 A D^-1/2) D^1/2."""
        return propagate(self._matrix, x * self._root) / self._root

    def forward(self, dropout: float, noise: torch.Generator) -> Tensor:
        """(N, dim)."""
        x = self.node @ self.own1 + self._mean(self.node @ self.near1)
        x = _drop(F.leaky_relu(x, _SLOPE), dropout, noise)
        x = _drop(x @ self.own2 + self._mean(x) @ self.near2, dropout, noise)
        return F.normalize(x, dim=1)


def _drop(x: Tensor, share: float, noise: torch.Generator) -> Tensor:
    return x if share == 0 else x * (torch.rand(x.shape, generator=noise) >= share) / (1 - share)


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """B explorations of T steps."""

    user: Rows
    item: Rows
    """(T + 1, B) item rows, the liked one first."""
    first: Rows
    second: Rows
    """(T, B) places in the action lists of the item and of the node between."""
    between: Rows
    """(T, B) node between two items."""
    log_p: NDArray[np.float64]
    """(T, B)."""
    negative: Rows
    """(B,)."""


class KGPolicySampler:
    """A `NegativeSampler` for any recommender with factors; learns from what it draws."""

    def __init__(self, config: KGPolicyConfig, graph: Ckg, known: Ragged, *, seed: int) -> None:
        self.config, self._graph, self._seed = config, graph, seed
        self.encoder = SageEncoder(graph, config, torch_generator(seed, "kgpolicy"))
        self._adam = adam(self.encoder.parameters(), config.policy_rate)
        self._space = kernels.Graph(graph.n_users, graph.n_items, known.indptr, known.indices)
        self._epoch_pairs = known.size
        self._drawn = 0
        self.actions: Rows | None = None
        self.baseline = np.zeros(config.steps)
        self._started = config.start == "random"
        self._vectors: Tensor | None = None
        self._pending: list[tuple[Walks, NDArray[np.float64]]] = []

    @property
    def list_length(self) -> int:
        """Needs no lists."""
        return 0

    def draw(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Rows:
        """See `NegativeSampler.draw`; once `update` walks have gathered, the policy learns."""
        if not self._started:
            self._warm_start(context)
        walks = self.explore(user, item, context, rng)
        self._pending.append((walks, rewards(walks, context)))
        self._drawn += len(user)
        if sum(len(w.user) for w, _ in self._pending) >= self.config.update:
            self.learn()
        if self._drawn >= self._epoch_pairs:
            self.refresh()
        return walks.negative

    def explore(self, user: Rows, item: Rows, context: Context, rng: np.random.Generator) -> Walks:
        """Walks by the policy of this moment; learns nothing."""
        if self.actions is None:
            near, config = self._graph.adjacency, self.config
            self.actions = kernels.action_lists(
                near.indptr,
                near.indices,
                self._space,
                config.neighbours,
                config.random,
                fresh_state(rng),
            )
        if self._vectors is None:
            noise = torch.Generator().manual_seed(int(rng.integers(2**62)))
            self._vectors = self.encoder(self.config.dropout, noise)
        out = kernels.explore(
            self._policy(),
            self._space,
            user,
            item,
            context.user,
            context.item,
            self.config.steps,
            int(rng.integers(2**62)),
        )
        at, first, second, log_p, negative = out
        between = self.actions[self._graph.n_users + at[:-1], first]
        return Walks(user, at, first, second, between, log_p, negative)

    def learn(self) -> float:
        """One REINFORCE step from all walks since the last; the mean reward (0 without walks)."""
        if self._vectors is None or not self._pending:
            self._vectors = None
            return 0.0
        reward = np.concatenate([r for _, r in self._pending], axis=1)  # (T, B)
        gain = returns(reward - self.baseline[:, None], self.config.gamma)
        grad = np.zeros((kernels.BUFFERS, *self._vectors.shape), np.float32)
        start = 0
        for walks, _ in self._pending:
            weight = -gain[:, start : start + len(walks.user)] / reward.shape[1]
            start += len(walks.user)
            self._push(walks, np.ascontiguousarray(weight), grad)
        self.encoder.zero_grad()
        self._vectors.backward(torch.from_numpy(grad.sum(axis=0)))
        self._adam.step()
        self.baseline = reward.mean(axis=1)
        self._pending, self._vectors = [], None
        return float(reward.mean())

    def refresh(self) -> None:
        """End of an epoch: learn from what is left, draw action lists anew at the next draw."""
        self.learn()
        self.actions, self._drawn = None, 0

    def _push(self, walks: Walks, weight: NDArray[np.float64], grad: NDArray[np.float32]) -> None:
        kernels.push_back(
            self._policy(),
            self._graph.n_users,
            walks.user,
            walks.item,
            walks.first,
            walks.second,
            weight,
            grad,
        )

    def _policy(self) -> kernels.Policy:
        if self._vectors is None or self.actions is None:
            raise ConfigError("the policy has no vectors yet; explore first")
        config = self.config
        h = self._vectors.detach().numpy()
        return kernels.Policy(h, self.actions, _SLOPE, config.heat, config.greedy, config.keep)

    def _warm_start(self, context: Context) -> None:
        rng = generator(self._seed, "kgpolicy/start")
        dim = self.config.dim
        if np.any(context.item):
            table = factor_table(self._graph, context.user, context.item, dim, rng)
        else:
            table = random_table(self._graph, dim, rng)
        with torch.no_grad():
            self.encoder.node.copy_(table)
        self._started = True

    def state(self) -> State:
        """All that is needed to go on after `refresh`."""
        return pack(self.encoder, policy=self._adam) | {
            "baseline": self.baseline.astype(np.float32),
            "started": np.array([self._started], np.float32),
        }

    def load_state(self, state: State) -> None:
        """Take over a `state()`."""
        unpack(state, self.encoder, policy=self._adam)
        self.baseline = array(fetch(state, "baseline", self.baseline.shape)).astype(np.float64)
        self._started = bool(fetch(state, "started", (1,)).item())
        self._pending, self._vectors, self.actions, self._drawn = [], None, None, 0


def rewards(walks: Walks, context: Context) -> NDArray[np.float64]:
    """(T, B): prediction for the user plus similarity to the liked item, at each item reached."""
    anchor = context.user[walks.user] + context.item[walks.item[0]]  # (B, d)
    return np.stack(
        [np.einsum("bd,bd->b", anchor, context.item[at], dtype=np.float64) for at in walks.item[1:]]
    )


def returns(reward: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """G[t] = r[t] + gamma G[t + 1], along the first axis."""
    out = reward.copy()
    for t in range(len(out) - 2, -1, -1):
        out[t] += gamma * out[t + 1]
    return out
