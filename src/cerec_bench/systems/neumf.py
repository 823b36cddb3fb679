"""NeuMF (He et al., 2017): generalised matrix factorisation beside a perceptron.

    phi = p_u^G * q_i^G                               (GMF)
    z   = ReLU(W_L ... ReLU(W_1 [p_u^M ; q_i^M]))     (MLP)
    y   = sigmoid(h_G . phi + h_M . z + b)

learned by binary cross-entropy with uniform negatives drawn anew every epoch. With `pretrain`,
GMF and MLP learn alone first; then both outputs are halved, added, and tuned by plain SGD.
Both branches have embedding tables of their own. B pairs or users, I items.
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
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
from cerec.settings.base import Count, Natural, Positive, Widths, settings
from cerec_bench.systems.chunks import hidden_sums, lists_for, matrix_scorer, spans
from cerec_bench.systems.weights import (
    State,
    adam,
    array,
    dense,
    fetch,
    normal,
    pack,
    rows,
    unpack,
)

Phase = Literal["gmf", "mlp", "both"]


@settings("model")
class NeuMFConfig:
    """Settings of NeuMF; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of the GMF vectors."""
    layers: Widths = (128, 64, 32)
    """Widths of the MLP; the first is that of [p ; q] and so must be even."""
    negatives: Count = 4
    """Negatives per liked item."""
    learning_rate: Positive = 0.002
    """Step of Adam, and of SGD after pre-training."""
    batch: Count = 1024
    """Liked items per update; their negatives come on top."""
    pretrain: Natural = 0
    """Epochs GMF and MLP each learn alone before they are joined; 0 learns both at once."""
    init: Positive = 0.01
    """Standard deviation of the first vectors."""

    def __post_init__(self) -> None:
        if not self.layers or self.layers[0] % 2:
            raise ConfigError(
                f"model.layers must be one or more widths, the first even, got {self.layers}"
            )


AUTHORS = {
    "dim": 8,
    "layers": (64, 32, 16, 8),
    "negatives": 4,
    "learning_rate": 0.001,
    "batch": 256,
    "pretrain": 0,
    "init": 0.01,
}
"""The authors' released defaults (100 epochs)."""


class NeuMFNet(nn.Module):
    """The two branches; `forward` gives logits of pairs."""

    def __init__(
        self, n_users: int, n_items: int, config: NeuMFConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        half = config.layers[0] // 2
        self.gmf_user = normal(n_users, config.dim, config.init, generator)
        self.gmf_item = normal(n_items, config.dim, config.init, generator)
        self.mlp_user = normal(n_users, half, config.init, generator)
        self.mlp_item = normal(n_items, half, config.init, generator)
        sizes = itertools.pairwise(config.layers)
        self.layers = nn.ModuleList(dense(n, m, generator) for n, m in sizes)
        self.gmf_out = dense(config.dim, 1, generator)
        self.mlp_out = dense(config.layers[-1], 1, generator)

    def forward(self, user: Tensor, item: Tensor, phase: Phase = "both") -> Tensor:
        """Logits of B pairs, (B,); `phase` tells which branches speak."""
        out = torch.zeros(len(user))
        if phase != "mlp":
            out = out + self.gmf_out(self.gmf_user[user] * self.gmf_item[item])[:, 0]
        if phase != "gmf":
            z = torch.cat([self.mlp_user[user], self.mlp_item[item]], dim=1)
            for layer in self.layers:
                z = F.relu(layer(z))
            out = out + self.mlp_out(z)[:, 0]
        return out

    @torch.no_grad()
    def all_items(self, user: Tensor, phase: Phase) -> Tensor:
        """Logits of every item for B users, (B, I); the first layer is applied to users and items
        apart, so that only its sum is made for every pair.
        """
        out = torch.zeros(len(user), len(self.gmf_item))
        if phase != "mlp":
            weighted = self.gmf_user[user] * self.gmf_out.weight
            out += weighted @ self.gmf_item.T + self.gmf_out.bias
        if phase == "gmf":
            return out
        p, q = self.mlp_user[user], self.mlp_item
        if not self.layers:
            first, second = self.mlp_out.weight.split(p.shape[1], dim=1)
            return out + (p @ first.T + self.mlp_out.bias) + (q @ second.T).T
        first, second = self.layers[0].weight.split(p.shape[1], dim=1)  # type: ignore[operator]
        near, far = p @ first.T + self.layers[0].bias, q @ second.T
        if len(self.layers) == 1:
            weight = array(self.mlp_out.weight)[0]
            sums = hidden_sums(array(near), np.ascontiguousarray(array(far).T), weight)
            return out.add_(torch.from_numpy(sums)).add_(self.mlp_out.bias)
        z = (near[:, None, :] + far[None]).relu_()  # (B, I, layers[1])
        for layer in self.layers[1:]:
            z = layer(z).relu_()
        out += self.mlp_out(z)[:, :, 0]
        return out

    @torch.no_grad()
    def join(self) -> None:
        """Halve both outputs, so that their sum is the mean of the two branches."""
        for weight in (*self.gmf_out.parameters(), *self.mlp_out.parameters()):
            weight.mul_(0.5)


class NeuMF:
    """NeuMF as a `Recommender`; ranks by logits, which order items as the sigmoid does."""

    def __init__(self, config: NeuMFConfig, known: Ragged, facts: Facts, *, seed: int) -> None:
        self.config, self._known, self._facts = config, known, facts
        n_items = len(facts.of_item)
        self.net = NeuMFNet(len(known), n_items, config, torch_generator(seed, "neumf"))
        self._adam = adam(self.net.parameters(), config.learning_rate)
        self._epochs = 0

    def phase_of(self, epoch: int) -> Phase:
        """Which branches learn, and then speak, in an epoch (the first is 0)."""
        if epoch >= 2 * self.config.pretrain or self.config.pretrain == 0:
            return "both"
        return "gmf" if epoch < self.config.pretrain else "mlp"

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        lists = lists_for(self, self._known, negatives)
        context = Context(self._known, self._facts, *self.factors(), lists)
        phase, loss = self.phase_of(self._epochs), 0.0
        for part in batches(len(user), self.config.batch, rng):
            u, i = user[part], item[part]
            wrong = [drawn(negatives, u, i, context, rng) for _ in range(self.config.negatives)]
            loss += self._update(u, i, np.concatenate(wrong), phase)
        self._epochs += 1
        if self._epochs == 2 * self.config.pretrain:
            self.net.join()
        return loss / max(len(user), 1)

    def _update(self, user: Rows, item: Rows, wrong: Rows, phase: Phase) -> float:
        """One step; the mean loss per instance, times the liked items."""
        users = np.concatenate([user, np.tile(user, self.config.negatives)])
        items = np.concatenate([item, wrong])
        label = torch.zeros(len(users))
        label[: len(user)] = 1
        there = items >= 0
        logit = self.net(rows(users[there]), rows(items[there]), phase)
        loss = F.binary_cross_entropy_with_logits(logit, label[torch.from_numpy(there)])
        self.net.zero_grad()
        loss.backward()
        if self.config.pretrain and phase == "both":
            with torch.no_grad():  # plain SGD: Adam's moments belong to the branches alone
                for weight in self.net.parameters():
                    if weight.grad is not None:
                        weight.sub_(self.config.learning_rate * weight.grad)
        else:
            self._adam.step()
        return loss.item() * len(user)

    def factors(self) -> tuple[Vectors, Vectors]:
        """The GMF branch as factors, for similarity and samplers; scores have the MLP beside."""
        return array(self.net.gmf_user * self.net.gmf_out.weight), array(self.net.gmf_item)

    def scores(self, users: NDArray[np.integer]) -> Vectors:
        """(B, I) logits of every item."""
        widest = max(self.config.layers[1:]) if len(self.config.layers) > 2 else 1
        n_items = len(self.net.gmf_item)
        parts = [
            array(self.net.all_items(rows(users[part]), self.phase_of(self._epochs - 1)))
            for part in spans(len(users), 4 * n_items * widest)
        ]
        return np.concatenate(parts) if parts else np.empty((0, n_items), np.float32)

    def scorer(self) -> Scorer:
        """Stored scores; the effects of values are to be fitted."""
        return matrix_scorer(self, *self.factors(), self._facts)

    def state(self) -> State:
        """See `Recommender.state`."""
        return pack(self.net, adam=self._adam) | {"epochs": np.array([self._epochs], np.float32)}

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self.net, adam=self._adam)
        self._epochs = int(fetch(state, "epochs", (1,)))
