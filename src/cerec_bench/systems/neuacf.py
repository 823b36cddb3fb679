"""NeuACF (Han et al., 2018): latent factors per aspect, from meta-path similarities.

Per aspect a (purchase, and the most frequent relations) and side, from the frozen row x of a
PathSim matrix (`neuacf_similarity`):

    u_a = W2 ReLU(W1 x + b1) + b2                            (towers of their own)
    t_a = sigmoid(g . sigmoid(G u_a + b) + c),  w = softmax(t)
    y   = sigmoid((sum_a w_a u_a) . (sum_a w_a v_a))

The attention looks at the user alone and weighs the item's vectors, too. Learned by binary
cross-entropy; negatives are drawn anew every epoch (once and for all in the release). Since the
weights are the user's, y is a product of factors of width aspects x dim:

    user [w_1 p ; ... ; w_A p] with p = sum_a w_a u_a,   item [v_1 ; ... ; v_A]

The preference for a value of relation r, for explanations, is the part of y that the aspect of r
brings, for the mean vector of the items that hold the value; relations without an aspect speak
through purchases. A aspects, d width, U users, I items.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.asking import drawn
from cerec.recommend.base import Context, NegativeSampler, Rows, Vectors
from cerec.recommend.factors import batches
from cerec.recommend.scorer import Scorer
from cerec.recommend.sparse import Sparse, multiply
from cerec.rng import torch_generator
from cerec.settings.base import Count, Natural, Positive, settings
from cerec_bench.systems.chunks import lists_for
from cerec_bench.systems.neuacf_similarity import Similarity, aspects
from cerec_bench.systems.weights import State, adam, array, dense, glorot, pack, rows, unpack


@settings("model")
class NeuACFConfig:
    """Settings of NeuACF; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of the vectors of an aspect."""
    hidden: Count = 64
    """Width of the towers' first layer."""
    relations: Natural = 3
    """Aspects beside purchase: one for each of the most frequent relations."""
    neighbours: Count = 50
    """Entries kept in each row of a similarity matrix."""
    attention: Count = 32
    """Width of the attention's hidden layer."""
    negatives: Count = 4
    """Negatives per liked item."""
    learning_rate: Positive = 0.005
    """Step of Adam."""
    batch: Count = 8192
    """Liked items per update; each update runs the towers of all users and items."""


AUTHORS = {
    "dim": 64,
    "hidden": 600,
    "relations": 3,
    "attention": 64,
    "negatives": 2,
    "learning_rate": 5e-5,
    "batch": 1024,
}
"""The authors' released defaults (40 epochs); they keep whole rows above the median."""


class Tower(nn.Module):
    """Rows of a similarity matrix -> vectors, (n, d)."""

    def __init__(
        self, similarity: Similarity, config: NeuACFConfig, generator: torch.Generator
    ) -> None:
        super().__init__()
        n = len(similarity.rows)
        self._input = Sparse.build(similarity.rows, similarity.weight, n)
        self.first = glorot(n, config.hidden, generator=generator)
        self.bias = nn.Parameter(torch.zeros(config.hidden))
        self.second = dense(config.hidden, config.dim, generator)

    def forward(self) -> Tensor:
        """The vectors of every row."""
        out: Tensor = self.second(F.relu(multiply(self._input, self.first) + self.bias))
        return out


class NeuACFNet(nn.Module):
    """Towers for both sides of every aspect, and the attention over aspects."""

    def __init__(
        self,
        sides: list[tuple[Similarity, Similarity]],
        config: NeuACFConfig,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.users = nn.ModuleList(Tower(user, config, generator) for user, _ in sides)
        self.items = nn.ModuleList(Tower(item, config, generator) for _, item in sides)
        self.look = dense(config.dim, config.attention, generator)
        self.weigh = dense(config.attention, 1, generator)

    def attend(self, user: Tensor) -> Tensor:
        """(U, A) weights of the aspects, from the users' vectors (U, A, d)."""
        told = torch.sigmoid(self.weigh(torch.sigmoid(self.look(user)))[:, :, 0])
        return torch.softmax(told, dim=1)

    def forward(self) -> tuple[Tensor, Tensor]:
        """Factors of all users (U, A d) and items (I, A d)."""
        user = torch.stack([tower() for tower in self.users], dim=1)  # (U, A, d)
        item = torch.cat([tower() for tower in self.items], dim=1)  # (I, A d)
        weight = self.attend(user)[:, :, None]
        fused = (weight * user).sum(dim=1, keepdim=True)  # (U, 1, d)
        return (weight * fused).flatten(1), item


class NeuACF:
    """NeuACF as a `Recommender`; ranks by logits, which order items as the sigmoid does."""

    def __init__(self, config: NeuACFConfig, known: Ragged, facts: Facts, *, seed: int) -> None:
        self.config, self._known, self._facts = config, known, facts
        found = aspects(known, facts, relations=config.relations, neighbours=config.neighbours)
        self.aspects = tuple(aspect.relation for aspect in found)
        """Relation row of every aspect; None for purchase."""
        sides = [(aspect.user, aspect.item) for aspect in found]
        self.net = NeuACFNet(sides, config, torch_generator(seed, "neuacf"))
        self._adam = adam(self.net.parameters(), config.learning_rate)
        self._aspect_of = _aspect_of(facts, self.aspects)
        self._told: tuple[Vectors, Vectors] | None = None

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`."""
        lists = lists_for(self, self._known, negatives)
        context = Context(self._known, self._facts, *self.factors(), lists)
        loss = 0.0
        for part in batches(len(user), self.config.batch, rng):
            u, i = user[part], item[part]
            wrong = [drawn(negatives, u, i, context, rng) for _ in range(self.config.negatives)]
            loss += self._update(u, i, np.concatenate(wrong))
        self._told = None
        return loss / max(len(user), 1)

    def _update(self, user: Rows, item: Rows, wrong: Rows) -> float:
        """One step; the mean loss per instance, times the liked items."""
        users = np.concatenate([user, np.tile(user, self.config.negatives)])
        items = np.concatenate([item, wrong])
        label = torch.zeros(len(users))
        label[: len(user)] = 1
        there = items >= 0
        by_user, by_item = self.net()
        u, i = F.embedding(rows(users[there]), by_user), F.embedding(rows(items[there]), by_item)
        loss = F.binary_cross_entropy_with_logits((u * i).sum(1), label[torch.from_numpy(there)])
        self.net.zero_grad()
        loss.backward()
        self._adam.step()
        return loss.item() * len(user)

    @torch.no_grad()
    def factors(self) -> tuple[Vectors, Vectors]:
        """(U, A d) and (I, A d); their products are the logits."""
        user, item = self.net()
        return array(user), array(item)

    @torch.no_grad()
    def attention(self) -> Vectors:
        """(U, A) how much each aspect counts for each user; rows sum to 1."""
        return array(self.net.attend(torch.stack([t() for t in self.net.users], dim=1)))

    def preferences(self, user: int, values: NDArray[np.integer]) -> NDArray[np.float64]:
        """The logit's part that each value's aspect brings, for the mean item that holds it."""
        if self._told is None:
            by_user, by_item = self.factors()
            shape = (len(by_user), len(self.aspects), self.config.dim)
            self._told = by_user.reshape(shape), self._of_values(by_item)
        by_user, by_value = self._told
        chunk = by_user[user][self._aspect_of[values]]  # (n, d)
        return np.einsum("nd,nd->n", chunk, by_value[values], dtype=np.float64)

    def _of_values(self, item: Vectors) -> Vectors:
        """(V, d) mean vector of the holders of every value, in the aspect of its relation."""
        facts, d = self._facts, self.config.dim
        share = 1.0 / np.maximum(facts.holders.counts, 1)
        weight = share[facts.holders.row_of()].astype(np.float32)
        mean = Sparse.build(facts.holders, weight, len(item))
        whole = torch.from_numpy(item)
        out = np.empty((facts.n_values, d), np.float32)
        for a in range(len(self.aspects)):
            mine = self._aspect_of == a
            out[mine] = array(multiply(mean, whole[:, a * d : (a + 1) * d].contiguous()))[mine]
        return out

    def scorer(self) -> Scorer:
        """Logits by the factors; the effects of values are to be fitted."""
        user, item = self.factors()
        effect = np.zeros((self._facts.n_values, user.shape[1]), np.float32)
        return Scorer(user, item, effect, user, "sum")

    def state(self) -> State:
        """See `Recommender.state`; the similarities follow from the train part."""
        return pack(self.net, adam=self._adam)

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self.net, adam=self._adam)
        self._told = None


def _aspect_of(facts: Facts, found: tuple[int | None, ...]) -> NDArray[np.int64]:
    """(V,) the aspect of each value's relation; 0, purchase, where it has none."""
    slot = np.zeros(int(facts.relation.max(initial=-1)) + 1, np.int64)
    for a, relation in enumerate(found):
        if relation is not None:
            slot[relation] = a
    return slot[facts.relation]
