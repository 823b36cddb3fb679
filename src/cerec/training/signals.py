"""What an epoch learns from: ordinary negatives, and counterfactuals in one of their forms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from cerec.agent.config import AgentConfig
from cerec.errors import ConfigError, check_fields
from cerec.graph.facts import Facts
from cerec.recommend.base import Context, NegativeSampler, Rows, SwapSampler
from cerec.recommend.config import RecommenderConfig
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps, can_swap


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalConfig:
    """Which negatives and which counterfactuals the recommender learns from."""

    negatives: Literal["uniform", "dns"] = "dns"
    """Ordinary negatives: any unknown item, or the best-scored of a few (`dns`)."""
    dns_candidates: int = 4
    """How many unknown items `dns` picks from."""
    counterfactuals: Literal["none", "literal", "mixture", "imagined"] = "imagined"
    """`literal`: the counterfactual item is the negative (the paper's form). `mixture`: it is, for
    a share of the pairs. `imagined`: the liked item is ranked above itself with one value changed,
    beside the ordinary negative. `none`: no counterfactuals."""
    chooser: Literal["agent", "random"] = "random"
    """Who chooses counterfactuals: the learned agent, or a uniform walk, which is many times
    cheaper and about as good on most data (docs/results/helps.md). The agent that explains learns
    in either case, on the finished recommender."""
    swap_steps: int = 3
    """Steps of the uniform walk that chooses what is imagined, where `chooser` is `random`: the
    longer, the less its end is like the liked item. Not the depth of the agent (`agent.depth`)."""
    share: float = 0.5
    """Share of the pairs whose negative is counterfactual, for `mixture`."""

    def __post_init__(self) -> None:
        check_fields(self, "signals")
        if not 0.0 <= self.share <= 1.0:
            raise ConfigError(f"signals.share must be between 0 and 1, got {self.share}")
        for name in ("dns_candidates", "swap_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"signals.{name} must be at least 1, got {getattr(self, name)}")

    @property
    def learned(self) -> bool:
        """True when the recommender learns from what the agent chooses."""
        return self.counterfactuals != "none" and self.chooser == "agent"


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


def signals_in_force(
    asked: SignalConfig, model: RecommenderConfig, agent: AgentConfig, facts: Facts
) -> SignalConfig:
    """The signals a training learns from: those asked for, without counterfactuals that do nothing.

    So a training whose counterfactuals do nothing is that without any.
    """
    idle = asked.counterfactuals == "imagined" and not imaginable(asked, model, agent, facts)
    if idle or model.model == "climf-original":
        return replace(asked, counterfactuals="none")
    return asked


def imaginable(
    asked: SignalConfig, model: RecommenderConfig, agent: AgentConfig, facts: Facts
) -> bool:
    """Whether imagined items do anything: vectors hold values, and walks find some to exchange."""
    if model.vectors == "id" or facts.n_values == 0:
        return False
    return can_swap(facts, asked.swap_steps if asked.chooser == "random" else agent.depth)
