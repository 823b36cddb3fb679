"""Settings of the recommenders."""

from __future__ import annotations

from typing import Annotated, Literal

from annotated_types import Le

from cerec.settings.base import Count, Natural, NotNegative, Positive, settings

MODELS = ("bpr", "climf", "lightgcn")
WIDEST = 100_000  # far more than a vector can use, and memory cannot hold
UPDATES, FEWEST, MOST = 32, 2048, 8192  # updates per epoch, and the pairs of one


@settings("recommender")
class RecommenderConfig:
    """What is learned, and how."""

    model: Literal["bpr", "climf", "lightgcn"] = "climf"
    """`climf` (the paper's eq. 4), `bpr` or `lightgcn`."""
    dim: Annotated[Count, Le(WIDEST)] = 64
    """Width of the vectors."""
    optimiser: Literal["adagrad", "sgd"] = "adagrad"
    """How vectors move (LightGCN always uses Adam); `sgd` is the paper's."""
    learning_rate: Positive = 0.05
    """Step size of the optimiser."""
    l2: NotNegative = 0.03
    """Pull towards zero on the vectors of every pair learned from."""
    batch: Natural = 0
    """Pairs per update; 0: a 32nd of the train pairs, from 2,048 to 8,192."""
    layers: Count = 2
    """Rounds of neighbour averaging of LightGCN."""
    init: Positive = 0.1
    """Standard deviation of the first vectors."""

    @property
    def alone(self) -> float:
        """Weight of softplus(-f_ui) in the loss; see `bpr.PairFactorisation`."""
        return 1.0 if self.model == "climf" else 0.0

    def pairs_per_update(self, pairs: int) -> int:
        """`batch`, or what it stands for where an epoch has that many pairs."""
        return self.batch or min(max(pairs // UPDATES, FEWEST), MOST)
