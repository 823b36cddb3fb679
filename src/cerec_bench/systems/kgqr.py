"""KGQR (Zhou et al., 2020): interactive recommendation by Q-learning over a knowledge graph.

A state is what a GRU makes of the graph-convolved vectors of the items liked so far. Actions are
items; the reward is +1 for a liked one, -1 otherwise, plus a bonus for a run of likes (a malus for
a run of misses). A dueling double DQN with replay and a slowly following target learns Q.

As a ranker of the whole catalogue: the state of a user is that of (a random `history` of) their
train items, and items are ranked by Q. Without ratings the simulated user likes their train items
alone, see `kgqr_episodes`. Whole neighbourhoods are convolved instead of 40 sampled neighbours per
item and state; `shared` updates of the rest use one pass over the graph and add up what it is owed.
The end of an episode is not bootstrapped.
"""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import NegativeSampler, Rows, Vectors
from cerec.recommend.draws import fresh_state
from cerec.recommend.scorer import Scorer
from cerec.rng import generator, torch_generator
from cerec_bench.systems.chunks import hidden_sums, matrix_scorer
from cerec_bench.systems.kgqr_config import KGQRConfig
from cerec_bench.systems.kgqr_episodes import (
    Candidates,
    Episodes,
    histories,
    likes,
    unseen_items,
)
from cerec_bench.systems.kgqr_network import DuelingQ, StateEncoder, soft_update
from cerec_bench.systems.links import link_table
from cerec_bench.systems.weights import State, adam, array, fetch, pack, rows, unpack


class KGQR:
    """KGQR as a `Recommender`; epochs play and learn, the pairs of `epoch` are the train items."""

    def __init__(
        self, config: KGQRConfig, known: Ragged, facts: Facts, graph: Ckg, *, seed: int
    ) -> None:
        self.config, self._known, self._facts = config, known, facts
        draw = torch_generator(seed, "kgqr")
        start = link_table(graph, config.dim, generator(seed, "kgqr/links"), epochs=config.pretrain)
        self.encoder = StateEncoder(graph, config.dim, config.layers, start[graph.n_users :], draw)
        self.head = DuelingQ(config.dim, config.hidden, draw)
        self.target = copy.deepcopy(self.head)
        self._both = nn.ModuleDict({"encoder": self.encoder, "head": self.head})
        slow = [self.encoder.entity, *self.encoder.layers.parameters()]
        fast = [*self.encoder.gru.parameters(), *self.head.parameters()]
        self._adam = adam(fast, config.learning_rate)
        self._adam_graph = adam(slow, config.learning_rate)
        self._candidates = Candidates(
            known, facts, popular=config.popular, count=config.candidates, planted=config.planted
        )
        self._players = np.flatnonzero(known.counts >= 2).astype(np.int32)
        self.replay = Episodes.none(config.history, config.length)
        self._updates = 0

    @property
    def epsilon(self) -> float:
        """Chance of a random action as of now."""
        first, last, decay = self.config.explore
        return last + (first - last) * math.exp(-decay * self._updates)

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """Plays `episodes` and learns from replay; the mean squared error of Q."""
        del user, item, negatives
        if len(self._players) == 0:
            return 0.0
        player = rng.choice(self._players, size=self.config.episodes)
        new = self.play(player, rng, self.epsilon)
        self.replay = self.replay.followed_by(new, self.config.replay)
        losses: list[float] = []
        while len(losses) < self.config.updates:
            left = self.config.updates - len(losses)
            losses += self.learn(min(self.config.shared, left), rng)
        return float(np.mean(losses))

    def learn(self, updates: int, rng: np.random.Generator) -> list[float]:
        """Some updates of GRU and Q, then one of what they share; the errors."""
        self._adam_graph.zero_grad()
        item = self.encoder.items()
        leaf = item.detach().requires_grad_()
        losses = [self._update(leaf, rng) for _ in range(updates)]
        item.backward(leaf.grad)
        self._adam_graph.step()
        return losses

    @torch.no_grad()
    def play(self, user: Rows, rng: np.random.Generator, epsilon: float) -> Episodes:
        """Episodes of the given users by the policy of now."""
        n, length = len(user), self.config.length
        share = rng.uniform(0.2, 0.8, n)
        start = histories(user, self._known, share, self.config.history, rng)
        made = Episodes(
            user,
            start,
            np.full((n, length), -1, np.int32),
            np.zeros((n, length), np.bool_),
            np.zeros((n, length), np.float32),
        )
        item = self.encoder.items()
        state = self.encoder.states(item, rows(start))
        streak = np.zeros(n, np.float32)
        for t in range(length):
            at = np.full(n, t)
            shown = made.shown(at)
            action = self._act(user, state, made.liked(at), shown, rng, epsilon)
            hit = likes(user, action, shown, self._known.indptr, self._known.indices)
            made.action[:, t], made.hit[:, t] = action, hit
            made.reward[:, t] = np.where(hit, 1.0, -1.0) + self.config.streak * streak
            streak = np.where(hit, np.maximum(streak, 0) + 1, np.minimum(streak, 0) - 1)
            moved = self.encoder.step(item[rows(action)], state)
            state = torch.where(torch.from_numpy(hit)[:, None], moved, state)
        return made

    def _act(
        self,
        user: Rows,
        state: Tensor,
        liked: Rows,
        shown: Rows,
        rng: np.random.Generator,
        epsilon: float,
    ) -> Rows:
        best = self._best(self._candidates.draw(user, liked, shown, rng), state)
        chance = unseen_items(shown, self.encoder.n_items, fresh_state(rng))
        return np.where((rng.random(len(user)) < epsilon) | (best < 0), chance, best)

    def _best(self, candidate: Rows, state: Tensor) -> Rows:
        """The candidate with the highest Q per state; -1 where there is none."""
        index = rows(candidate)
        q = self.head.among(state, self.encoder.entity[index.clamp(min=0)])
        place = q.masked_fill(index < 0, -math.inf).argmax(dim=1, keepdim=True)
        return index.gather(1, place)[:, 0].numpy().astype(np.int32)

    def _update(self, item: Tensor, rng: np.random.Generator) -> float:
        """One double-DQN step: `r + gamma Q'(s', argmax Q(s', .))` against Q(s, a).

        `item` are the convolved items; gradients of theirs and of entity vectors are left there.
        """
        config = self.config
        at = rng.integers(0, len(self.replay.user), config.batch)
        step = rng.integers(0, config.length, config.batch)
        past = self.replay.take(at)
        liked = past.liked(step + 1)  # begins with what was liked before the step
        count = (torch.from_numpy((x >= 0).sum(1)) for x in (past.liked(step), liked))
        state, after = self.encoder.states_after(item, rows(liked), *count)
        with torch.no_grad():
            pool = self._candidates.draw(past.user, liked, past.shown(step + 1), rng)
            best = rows(self._best(pool, after))
            later = self.target.one(after, self.encoder.entity[best.clamp(min=0)])
            goes_on = (best >= 0) & torch.from_numpy(step + 1 < config.length)
            row = np.arange(config.batch)
            aim = torch.from_numpy(past.reward[row, step]) + config.gamma * later * goes_on
        q = self.head.one(state, self.encoder.entity[rows(past.action[row, step])])
        loss = F.mse_loss(q, aim)
        pull = sum(w.square().sum() for w in self._both.parameters())
        self._adam.zero_grad()
        (loss + 0.5 * config.l2 * pull).backward()
        self._adam.step()
        soft_update(self.target, self.head, config.tau)
        self._updates += 1
        return loss.item()

    @torch.no_grad()
    def user_states(self, users: NDArray[np.integer]) -> Tensor:
        """(B, d) states of users after their train items (a fixed random choice of them)."""
        item = self.encoder.items()
        start = np.full((len(users), self.config.history), -1, np.int32)
        for b, u in enumerate(users):
            own = generator(0, f"kgqr/history/{u}").permutation(self._known.row(int(u)))
            start[b, : min(len(own), self.config.history)] = own[: self.config.history]
        return self.encoder.states(item, rows(start))

    @torch.no_grad()
    def scores(self, users: NDArray[np.integer]) -> Vectors:
        """(B, I) advantage of every item in the user's state, which orders items as Q does."""
        near = self.head.by_state(F.relu(self.head.front(self.user_states(users))))
        far = self.encoder.entity[: self.encoder.n_items] @ self.head.by_item
        weight = array(self.head.advantage_out.weight)[0]
        sums = hidden_sums(array(near), np.ascontiguousarray(array(far).T), weight)
        return sums + array(self.head.advantage_out.bias)

    @torch.no_grad()
    def factors(self) -> tuple[Vectors, Vectors]:
        """States and convolved items, for similarity and samplers; scores are not their product."""
        return array(self.user_states(np.arange(len(self._known)))), array(self.encoder.items())

    def scorer(self) -> Scorer:
        """Stored scores; the effects of values are to be fitted."""
        return matrix_scorer(self, *self.factors(), self._facts)

    def state(self) -> State:
        """See `Recommender.state`; replay included."""
        weights = pack(self._both, adam=self._adam, graph=self._adam_graph)
        weights |= _prefixed(pack(self.target))
        counters = {"updates": np.array([self._updates], np.float32)}
        return weights | self.replay.state() | counters

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        unpack(state, self._both, adam=self._adam, graph=self._adam_graph)
        start = len("target.")
        unpack({k[start:]: v for k, v in state.items() if k.startswith("target.")}, self.target)
        self.replay = Episodes.from_state(state)
        self._updates = int(fetch(state, "updates", (1,)))


def _prefixed(state: State) -> State:
    return {f"target.{name}": value for name, value in state.items()}
