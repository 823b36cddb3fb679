"""What an epoch learns from: ordinary negatives, or counterfactual items."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.recommend.base import Context, NegativeSampler, Rows
from cerec.recommend.negatives import DNS, Uniform, Walk
from cerec.settings.train import SignalConfig


class Policy(Protocol):
    """What co-training needs of an agent."""

    @property
    def negatives(self) -> NegativeSampler:
        """The last item of a drawn walk, per pair."""
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
) -> NegativeSampler:
    """The negatives of a co-training epoch; `policy` is asked only where it chooses."""
    if config.counterfactuals == "none":
        return ordinary
    return policy.negatives if policy is not None and config.learned else Walk()
