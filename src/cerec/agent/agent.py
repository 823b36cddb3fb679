"""The agent that walks from an item to a counterfactual one, and learns to by REINFORCE."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cerec.agent.encoders import Encoder, cosine_spread
from cerec.agent.log_prob import log_prob
from cerec.agent.returns import discounted, others_mean, per_step, reinforce_loss
from cerec.agent.reward import cutoffs, figures, list_items, rewards
from cerec.agent.samplers import WalkedNegatives
from cerec.agent.warmstart import factor_table, random_table
from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import RunError
from cerec.recommend.base import Context, Rows
from cerec.rng import generator, torch_generator
from cerec.settings.agent import AgentConfig, EncoderConfig
from cerec.threads import kernel_threads, torch_threads
from cerec.walk.paths import Walks
from cerec.walk.proposals import BeamProposer, path_sampler, refuse_diverged

log = logging.getLogger("cerec")
_LARGE = 10_000_000  # products of one pass over the graph
_ALIKE = 0.75  # mean cosine of item vectors; those of a healthy encoder have about 0

Arrays = dict[str, NDArray[Any]]


class WalkAgent:
    """States (user, item), actions item -> attribute -> item, the policy of `PathSampler`."""

    def __init__(
        self,
        config: AgentConfig,
        encoder: EncoderConfig,
        graph: Ckg,
        facts: Facts,
        *,
        seed: int,
    ) -> None:
        self.config, self.encoder_config, self.graph = config, encoder, graph
        self._facts, self._seed = facts, seed
        self.sampler = path_sampler(graph, config, encoder)
        self.negatives = WalkedNegatives(self)
        self._encoder: Encoder | None = None
        self._adam: torch.optim.Adam | None = None
        counts = np.diff(self.sampler.hops[1].indptr).astype(np.float64)
        per_walk = config.depth * float((counts**2).sum() / max(counts.sum(), 1.0))
        self._affordable = max(64, int(config.neighbours / (config.draws * max(per_walk, 1.0))))
        self._vectors: NDArray[np.float32] | None = None
        self._yardstick: NDArray[np.float32] | None = None
        self._off: tuple[Rows, Ragged, Ragged] | None = None
        self._told = False  # that the vectors are alike

    def learn(
        self, user: Rows, item: Rows, context: Context, *, rng: np.random.Generator
    ) -> dict[str, float]:
        """One epoch of policy updates against the recommender of this moment; its figures.

        `user`, `item` are the train pairs. The first call starts the node table.
        """
        if self._encoder is None:
            self._begin(self._first_table(context))
            self._yardstick = self._item_vectors(self.vectors()).copy()
        cutoff = cutoffs(context, self.config.list_length)
        found = [self._update(user, item, context, cutoff, rng) for _ in range(self.config.updates)]
        self._vectors = None
        mean, deviation = cosine_spread(torch.from_numpy(self._item_vectors(self.vectors())))
        if mean > _ALIKE and not self._told:
            self._told = True
            log.warning(
                f"note: the agent's item vectors are nearly alike, mean cosine {mean:.2f}, so "
                "likeness says little; encoder.centre = true and encoder.start = 'factors' keep "
                "them apart"
            )
        out = {name: float(np.mean([f[name] for f in found])) for name in found[0]}
        return {**out, "cosine": mean, "spread": deviation}

    @property
    def learned(self) -> bool:
        """False until the first `learn` or `load_state`."""
        return self._encoder is not None

    def vectors(self) -> NDArray[np.float32]:
        """(N, width) vectors of all nodes, as the policy uses them."""
        if self._vectors is None:
            if self._encoder is None:
                raise RunError("the agent has not learned yet: call learn() or load_state() first")
            with torch.no_grad(), self._threads():
                found = self._encoder().numpy()
            refuse_diverged(found)
            self._vectors = found
        return self._vectors

    def walk(
        self,
        user: Rows,
        item: Rows,
        context: Context,
        *,
        rng: np.random.Generator | None,
        unknown: bool = False,
    ) -> Walks:
        """Walks of the policy, drawn or (without `rng`) the likeliest.

        `unknown` keeps the last step off the user's train items, too.
        """
        lists, more = self._keep_off(context)
        return self.sampler.walk(
            self.vectors(),
            user,
            item,
            lists,
            depth=self.config.depth,
            rng=rng,
            last=more if unknown else None,
        )

    def rewards(self, walks: Walks, context: Context) -> NDArray[np.float64]:
        """(T, B) rewards of walks, as learning would give them now."""
        cutoff = cutoffs(context, self.config.list_length)
        return rewards(walks, self.compared(), context, cutoff)

    def compared(self) -> NDArray[np.float32]:
        """(I, width) the item vectors whose cosine is the similarity of the reward."""
        return self._compared(self.vectors())

    def proposer(self) -> BeamProposer:
        """The policy's likeliest ends, for the explainer."""
        return BeamProposer(self.vectors(), self.graph, self.config, self.encoder_config)

    def state(self) -> Arrays:
        """Everything needed to go on exactly as if never stopped; little before the first epoch."""
        out: Arrays = {}
        if self._encoder is None or self._adam is None:
            return out
        if self._yardstick is not None:
            out["yardstick"] = self._yardstick
        for name, weight in self._encoder.named_parameters():
            out[f"encoder.{name}"] = weight.detach().numpy().copy()
            for key, moment in self._adam.state[weight].items():
                out[f"adam.{name}.{key}"] = moment.numpy().copy()
        return out

    def load_state(self, state: Arrays) -> None:
        """Take over a `state()` of an agent of the same graph and settings."""
        if "encoder.table" not in state:
            return
        self._yardstick = np.array(state["yardstick"])
        encoder, adam = self._begin(torch.from_numpy(np.array(state["encoder.table"])))
        for name, weight in encoder.named_parameters():
            weight.data.copy_(torch.from_numpy(np.array(state[f"encoder.{name}"])))
            prefix = f"adam.{name}."
            adam.state[weight] = {
                key.removeprefix(prefix): torch.from_numpy(np.array(moment))
                for key, moment in state.items()
                if key.startswith(prefix)
            }

    def _begin(self, table: torch.Tensor) -> tuple[Encoder, torch.optim.Adam]:
        self._encoder = Encoder(self.graph, self.encoder_config, table)
        self._encoder.reset(torch_generator(self._seed, "agent/encoder"))
        self._adam = torch.optim.Adam(
            self._encoder.parameters(), lr=self.config.learning_rate, fused=True
        )
        self._vectors = None
        return self._encoder, self._adam

    def _first_table(self, context: Context) -> torch.Tensor:
        rng, size = generator(self._seed, "agent/table"), self.encoder_config.size
        if self.encoder_config.start == "random":
            return random_table(self.graph, size, rng)
        return factor_table(self.graph, context.user, context.item, size, rng)

    def _update(
        self,
        user: Rows,
        item: Rows,
        context: Context,
        cutoff: NDArray[np.float64],
        rng: np.random.Generator,
    ) -> dict[str, float]:
        if self._encoder is None or self._adam is None:
            raise RunError("the agent has not started")
        config = self.config
        user, item = self._starts(user, item, context, rng)
        lists, _ = self._keep_off(context)
        with self._threads():
            h = self._encoder()
            table = h.detach().numpy()
            refuse_diverged(table)
            walks = self.sampler.walk(table, user, item, lists, depth=config.depth, rng=rng)
            reward = rewards(walks, self._compared(table), context, cutoff)
            credited = discounted if config.credit == "to_go" else per_step
            returns = credited(reward + config.entropy * walks.surprise / 2, config.gamma)
            advantage = returns - others_mean(returns, config.draws)
            log_p = log_prob(self.sampler, h, walks, lists)
            reinforce_loss(log_p, torch.from_numpy(advantage).float()).backward()
            self._adam.step()
            self._adam.zero_grad()  # and let the memory go
        return figures(walks, reward, config.gamma)

    def _starts(
        self, user: Rows, item: Rows, context: Context, rng: np.random.Generator
    ) -> tuple[Rows, Rows]:
        """The starts of one update, each `draws` times in a row."""
        n_pairs = min(self.config.pairs, self._affordable)
        lists = context.lists[:, : self.config.list_length]
        listed = np.flatnonzero(lists.ravel() >= 0)
        share = {"positives": 0.0, "lists": 1.0, "both": 0.5}[self.config.starts]
        n_listed = round(share * n_pairs) if len(listed) else 0
        take = rng.choice(len(user), n_pairs - n_listed) if len(user) else np.zeros(0, np.int64)
        place = rng.choice(listed, n_listed) if n_listed else listed[:0]
        who = np.concatenate([user[take], (place // max(lists.shape[1], 1)).astype(np.int32)])
        where = np.concatenate([item[take], lists.ravel()[place]])
        return np.repeat(who, self.config.draws), np.repeat(where, self.config.draws)

    def _compared(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """The item vectors that the reward compares, where `table` holds those of the moment."""
        if self.config.similarity == "start" and self._yardstick is not None:
            return self._yardstick
        return self._item_vectors(table)

    def _item_vectors(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        return table[self.graph.n_users : self.graph.n_users + self.graph.n_items]

    def _threads(self) -> AbstractContextManager[None]:
        """All cores for a large graph; on a small one a second thread costs more than it gives."""
        large = self.graph.adjacency.size * self.encoder_config.size > _LARGE
        return torch_threads(kernel_threads() if large else 1)

    def _keep_off(self, context: Context) -> tuple[Ragged, Ragged]:
        """Items of the lists; and those with the known items. Kept for the lists at hand."""
        if self._off is None or self._off[0] is not context.lists:
            lists, known = list_items(context, self.config.list_length), context.known
            user = np.concatenate([lists.row_of(), known.row_of()])
            both = np.concatenate([lists.indices, known.indices])
            more = Ragged.from_pairs(user, both, len(lists))
            self._off = context.lists, lists, more
        return self._off[1], self._off[2]
