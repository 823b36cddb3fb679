"""What an epoch learns from: ordinary negatives, and counterfactuals in one of their forms."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Context, NegativeSampler, Rows, SwapSampler
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps
from cerec.settings.train import SignalConfig


class Policy(Protocol):
    """What co-training needs of an agent."""

    @property
    def negatives(self) -> NegativeSampler:
        """The last item of a drawn walk, per pair."""
        ...

    @property
    def swaps(self) -> SwapSampler:
        """A change toward the last item of a drawn walk, per pair."""
        ...

    def learn(
        self, user: Rows, item: Rows, context: Context, *, rng: np.random.Generator
    ) -> dict[str, float]:
        """One epoch of policy updates against the recommender of this moment; its figures."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Everything needed to go on exactly as if never stopped."""
        ...

    def load_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a `state()`."""
        ...


def plain(config: SignalConfig) -> NegativeSampler:
    """The ordinary negatives."""
    return Uniform() if config.negatives == "uniform" else DNS(config.dns_candidates)


def signals(
    config: SignalConfig, policy: Policy | None, ordinary: NegativeSampler
) -> tuple[NegativeSampler, SwapSampler | None]:
    """The negatives and swaps of a co-training epoch; `policy` is asked only where it chooses."""
    agent = policy if config.learned else None
    if config.counterfactuals == "none":
        return ordinary, None
    if config.counterfactuals == "imagined":
        return ordinary, agent.swaps if agent else RandomSwaps(config.swap_steps)
    walked: NegativeSampler = agent.negatives if agent else Walk()
    if config.counterfactuals == "literal":
        return walked, None
    return Mixture([(config.share, walked), (1.0 - config.share, ordinary)]), None
