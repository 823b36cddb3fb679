"""Settings of a training: how long, and what an epoch learns from."""

from __future__ import annotations

import re
from typing import Literal

from cerec.errors import ConfigError
from cerec.settings.base import Count, Natural, NotNegative, settings


@settings("train")
class TrainConfig:
    """How long, and when to stop."""

    epochs: Count = 1000
    """Passes over the train pairs at the most."""
    warmup: Natural = 5
    """Epochs with ordinary negatives before counterfactuals come in; where they do, none of these
    epochs is the best."""
    validate_every: Count = 5
    """Epochs between two looks at the validation part."""
    patience: Count = 12
    """Looks without a better value before training stops. Where users know little, validation
    rises slowly and for hundreds of epochs."""
    metric: str = "ndcg@20"
    """The validation number that decides: recall@K or ndcg@K."""
    agent_every: Count = 5
    """Epochs between two policy epochs while co-training."""
    agent_epochs: Natural = 12
    """Policy epochs on the finished recommender, so that the agent knows the scores it explains."""
    checkpoint_seconds: NotNegative = 15.0
    """Seconds between two checkpoints; the work since the last one is what a kill can lose."""

    def __post_init__(self) -> None:
        if not re.fullmatch("(recall|ndcg)@[1-9][0-9]*", self.metric):
            raise ConfigError(f"train.metric must be recall@K or ndcg@K, got {self.metric!r}")


@settings("signals")
class SignalConfig:
    """Which negatives and which counterfactuals the recommender learns from."""

    negatives: Literal["uniform", "dns"] = "uniform"
    """Ordinary negatives, those of the warm-up: any unknown item, or the best-scored of a few
    (`dns`)."""
    dns_candidates: Count = 4
    """How many unknown items `dns` picks from."""
    counterfactuals: Literal["none", "literal"] = "literal"
    """`literal`: after the warm-up the counterfactual item is the negative (the paper's form).
    `none`: ordinary negatives throughout."""
    chooser: Literal["agent", "random"] = "agent"
    """Who chooses counterfactual items: the learned agent, or a uniform walk, which is many times
    cheaper. The agent that explains learns in either case, on the finished recommender."""

    @property
    def learned(self) -> bool:
        """True when the recommender learns from what the agent chooses."""
        return self.counterfactuals != "none" and self.chooser == "agent"
