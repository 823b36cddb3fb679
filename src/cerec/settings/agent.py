"""Settings of the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cerec.errors import ConfigError, check_fields

_LEAST = {
    "list_length": 1,
    "draws": 1,
    "updates": 1,
    "pairs": 1,
    "neighbours": 1,
    "price": 0.0,
    "entropy": 0.0,
    "learning_rate": 0.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentConfig:
    """The walking agent, its reward and how it learns."""

    depth: int = 1
    """Steps T of a walk, 1 to 5; the last item is the counterfactual item."""
    gamma: float = 0.9
    """Discount of later rewards."""
    list_length: int = 20
    """Items K in a user's list Q_u, which the walk keeps off."""
    reward: Literal["all", "rationality", "similarity", "verified"] = "all"
    """`rationality`: 1 for an item scored no higher than the last of the list. `similarity`: the
    cosine to the item before. `all`: both. `verified`: both, and 1 where changing the start toward
    the item takes it out of the list, less `price` per change."""
    price: float = 0.1
    """What each change costs in the reward `verified`."""
    similarity: Literal["start", "encoder"] = "start"
    """Which vectors the cosine compares: those the encoder started with, a fixed yardstick, or
    those of the moment (the paper's letter), which the agent can move until it is pleased."""
    baseline: Literal["others", "mean", "value"] = "others"
    """What is subtracted from a return: the mean of the other walks from the same start, a running
    mean per step, or a value fitted to the vectors of user and item."""
    draws: int = 4
    """Walks per start and update; `others` needs at least 2."""
    entropy: float = 0.05
    """Reward for staying undecided, per unit of entropy; keeps the walk exploring."""
    learning_rate: float = 0.01
    """Step of Adam."""
    updates: int = 8
    """Policy updates per epoch; the graph is encoded once for each."""
    pairs: int = 1024
    """Starts per update, drawn from all there are."""
    neighbours: int = 16_000_000
    """Neighbours to be looked at in one update, at about the most: where attributes stand on many
    items, fewer walks start, so that an epoch stays short."""
    starts: Literal["positives", "lists", "both"] = "both"
    """Where walks start while learning: liked items (co-training walks from these), items of the
    lists (explanations start from these), or half each."""
    swap: Literal["lowest", "random", "highest"] = "random"
    """Which change toward the counterfactual item makes the imagined item: the one with the lowest
    or highest effect on the user's score, or any."""
    attribute_step: Literal["attention", "uniform"] = "attention"
    """`uniform` takes any attribute with equal chances (an ablation)."""
    item_step: Literal["attention", "uniform"] = "attention"
    """`uniform` takes any item of the attribute with equal chances (an ablation)."""

    def __post_init__(self) -> None:
        check_fields(self, "agent")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ConfigError(
                    f"agent.{name} must be at least {least}, got {getattr(self, name)}"
                )
        if not 1 <= self.depth <= 5:
            raise ConfigError(f"agent.depth must be between 1 and 5, got {self.depth}")
        if not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"agent.gamma must be between 0 and 1, got {self.gamma}")
        if self.baseline == "others" and self.draws < 2:
            raise ConfigError(
                f"agent.baseline = 'others' needs agent.draws of at least 2, got {self.draws}"
            )
