"""Settings of the default recommender; all else is chosen on the validation part."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Interval

from cerec.settings.base import settings


@settings("model")
class LinearConfig:
    """What a person may want to decide themselves."""

    dial: Annotated[float, Interval(ge=0, lt=1)] = 0.01
    """Share of the best validation NDCG@20 that may be given up for attributes: among settings
    within it, the one in which attributes carry most is taken. 0: the most accurate."""
    factors: Literal["auto", "none"] = "auto"
    """`auto`: factors where validation says that they earn their place."""
    weights: Literal["auto", "none", "rating", "log"] = "auto"
    """What an interaction counts by where the data have ratings or plays: not at all, as they are,
    or by their logarithm. `auto`: what validation says."""
    half_life: Annotated[float, Interval(ge=0)] | None = None
    """Seconds after which an interaction counts half, seen from the user's latest one. Left out:
    validation chooses where the data have times. 0: age does not count."""

    holdout: bool = False
    """Keep the recommender that was measured. Otherwise it is fitted once more, with the settings
    found, on all interactions."""
    agent: bool = False
    """Whether an agent learns to walk on it, too (`agent`, `encoder`, `train.agent_epochs`)."""
