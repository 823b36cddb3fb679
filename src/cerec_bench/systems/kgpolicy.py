"""KGPolicy (Wang et al., 2020): BPR-MF with negatives from a policy over the knowledge graph.

Recommender and sampler learn in turn: the sampler explores from each liked item to a negative,
the recommender takes a BPR step on it, the sampler a REINFORCE step on how hard and how close
its finds were. The recommender is BPR-MF (Adagrad), pre-trained with uniform negatives as the
authors do; `recommender` puts any other of this project's in its place, and `KGPolicySampler`
alone serves whatever draws negatives.
"""

from __future__ import annotations

import numpy as np

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import NegativeSampler, Rows, Vectors
from cerec.recommend.models import build
from cerec.recommend.scorer import Scorer
from cerec.settings.recommender import RecommenderConfig
from cerec_bench.systems.kgpolicy_sampler import KGPolicyConfig, KGPolicySampler
from cerec_bench.systems.weights import State, fetch

AUTHORS = {
    "recommender": "bpr",
    "dim": 64,
    "hidden": 32,
    "steps": 2,
    "neighbours": 64,
    "random": 64,
    "keep": 32,
    "greedy": True,
    "gamma": 0.99,
    "policy_rate": 1e-4,
    "update": 1024,
    "dropout": 0.5,
    "start": "random",
    "learning_rate": 1e-4,
    "l2": 1e-5,
    "batch": 1024,
}
"""The authors' released settings (400 epochs, Adam for both; l2 1e-4 but for Last-FM)."""


class KGPolicy:
    """KGPolicy as a `Recommender`: the negatives are its own, those handed in serve the start."""

    def __init__(
        self, config: KGPolicyConfig, known: Ragged, facts: Facts, graph: Ckg, *, seed: int
    ) -> None:
        self.config = config
        self.model = build(
            RecommenderConfig(
                model=config.recommender,
                dim=config.dim,
                learning_rate=config.learning_rate,
                l2=config.l2,
                batch=config.batch,
            ),
            known,
            facts,
            seed=seed,
        )
        self.sampler = KGPolicySampler(config, graph, known, seed=seed)
        self._epochs = 0

    def epoch(
        self, user: Rows, item: Rows, negatives: NegativeSampler, *, rng: np.random.Generator
    ) -> float:
        """See `Recommender.epoch`; pre-trains on `negatives` at first."""
        if self._epochs == 0:
            for _ in range(self.config.pretrain):
                self.model.epoch(user, item, negatives, rng=rng)
        loss = self.model.epoch(user, item, self.sampler, rng=rng)
        self.sampler.refresh()
        self._epochs += 1
        return loss

    def factors(self) -> tuple[Vectors, Vectors]:
        """See `Recommender.factors`."""
        return self.model.factors()

    def scorer(self) -> Scorer:
        """Scores of the recommender."""
        return self.model.scorer()

    def state(self) -> State:
        """See `Recommender.state`."""
        own = {f"model.{k}": v for k, v in self.model.state().items()}
        sampler = {f"sampler.{k}": v for k, v in self.sampler.state().items()}
        return own | sampler | {"epochs": np.array([self._epochs], np.float32)}

    def load_state(self, state: State) -> None:
        """See `Recommender.load_state`."""
        for part in (self.model, self.sampler):
            prefix = "model." if part is self.model else "sampler."
            mine = {k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)}
            part.load_state(mine)
        self._epochs = int(fetch(state, "epochs", (1,)))
