"""Settings of the default recommender; all else is chosen on the validation part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cerec.errors import ConfigError, check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearConfig:
    """What a person may want to decide themselves."""

    dial: float = 0.01
    """Share of the best validation NDCG@20 that may be given up for attributes: among settings
    within it, the one in which attributes carry most is taken. 0: the most accurate."""
    factors: Literal["auto", "none"] = "auto"
    """`auto`: factors where validation says that they earn their place."""

    holdout: bool = False
    """Keep the recommender that was measured. Otherwise it is fitted once more, with the settings
    found, on all interactions."""
    agent: bool = False
    """Whether an agent learns to walk on it, too (`agent`, `encoder`, `train.agent_epochs`)."""

    def __post_init__(self) -> None:
        check_fields(self, "model")
        if not 0.0 <= self.dial < 1.0:
            raise ConfigError(f"model.dial must be at least 0 and below 1, got {self.dial}")
