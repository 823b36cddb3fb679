"""Settings of the recommenders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cerec.errors import ConfigError, check_fields

MODELS = ("bpr", "climf", "climf-original", "lightgcn")
WIDEST = 100_000  # far more than a vector can use, and memory cannot hold
UPDATES, FEWEST, MOST = 32, 2048, 8192  # updates per epoch, and the pairs of one


@dataclass(frozen=True, slots=True, kw_only=True)
class RecommenderConfig:
    """What is learned, and how."""

    model: Literal["bpr", "climf", "climf-original", "lightgcn"] = "climf"
    """`climf` (the paper's eq. 4); `bpr`; `climf-original` (positives only); `lightgcn`."""
    dim: int = 64
    """Width of the vectors."""
    learning_rate: float = 0.05
    """Step size of Adagrad (of Adam for LightGCN)."""
    l2: float = 0.03
    """Pull towards zero on the vectors of every pair learned from."""
    batch: int = 0
    """Pairs per update; 0: a 32nd of the train pairs, from 2,048 to 8,192."""
    layers: int = 2
    """Rounds of neighbour averaging of LightGCN."""
    init: float = 0.1
    """Standard deviation of the first vectors."""

    @property
    def alone(self) -> float:
        """Weight of softplus(-f_ui) in the loss; see `bpr.PairFactorisation`."""
        return 1.0 if self.model.startswith("climf") else 0.0

    def pairs_per_update(self, pairs: int) -> int:
        """`batch`, or what it stands for where an epoch has that many pairs."""
        return self.batch or min(max(pairs // UPDATES, FEWEST), MOST)

    def __post_init__(self) -> None:
        check_fields(self, "recommender")
        for name, least in (("dim", 1), ("batch", 0), ("layers", 1)):
            if getattr(self, name) < least:
                raise ConfigError(
                    f"recommender.{name} must be at least {least}, got {getattr(self, name)}"
                )
        if self.dim > WIDEST:
            raise ConfigError(f"recommender.dim must be at most {WIDEST:,}, got {self.dim:,}")
        for name in ("learning_rate", "init"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"recommender.{name} must be above 0, got {getattr(self, name)}")
        if self.l2 < 0:
            raise ConfigError(f"recommender.l2 must not be negative, got {self.l2}")
