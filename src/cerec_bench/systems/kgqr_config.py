"""Settings of KGQR, and its authors'."""

from __future__ import annotations

from typing import Annotated

from pydantic import Strict

from cerec.errors import ConfigError
from cerec.settings.base import Count, Natural, NotNegative, Positive, Share, settings


@settings("model")
class KGQRConfig:
    """Settings of KGQR; the defaults suit two CPU cores."""

    dim: Count = 64
    """Width of entity vectors and states."""
    hidden: Count = 64
    """Width of the Q network."""
    layers: Natural = 2
    """Graph convolutions."""
    pretrain: Natural = 20
    """Epochs of link prediction that entity vectors start from."""
    history: Count = 20
    """Items a state starts from at the most."""
    length: Count = 10
    """Steps of an episode."""
    episodes: Count = 512
    """Episodes per epoch, with users drawn at random."""
    candidates: Count = 100
    """Items a state chooses from."""
    popular: Count = 500
    """Most popular items that candidates are drawn from."""
    planted: Share = 0.1
    """Share of the candidates that is drawn from the simulated user's items."""
    replay: Count = 4096
    """Episodes remembered."""
    updates: Count = 40
    """Gradient steps per epoch."""
    batch: Count = 256
    """Transitions per gradient step."""
    shared: Count = 8
    """Gradient steps for each one of entity vectors and convolution, which cost a pass over the
    graph."""
    learning_rate: Positive = 1e-3
    """Step of Adam."""
    l2: NotNegative = 1e-6
    """Pull towards zero on all weights."""
    gamma: Share = 0.6
    """Discount of later rewards."""
    tau: Share = 0.01
    """Share by which the target follows at each update."""
    streak: float = 0.1
    """Bonus per like (malus per miss) in a row before a step."""
    explore: Annotated[tuple[float, ...], Strict(False)] = (0.9, 0.1, 0.002)
    """Chance of a random action: at first, in the end, and its decay per update."""

    def __post_init__(self) -> None:
        if len(self.explore) != 3 or min(self.explore) < 0 or max(self.explore[:2]) > 1:
            raise ConfigError(f"model.explore must be (first, last, decay), got {self.explore}")


AUTHORS = {
    "dim": 50,
    "layers": 2,
    "length": 32,
    "episodes": 2000,
    "candidates": 200,
    "popular": 300,
    "planted": 0.0,
    "replay": 10_000,
    "updates": 100,
    "batch": 2000,
    "shared": 1,
    "learning_rate": 1e-3,
    "l2": 1e-6,
    "gamma": 0.7,
    "tau": 0.01,
    "streak": 0.1,
    "explore": (0.9, 0.1, 1e-4),
}
"""The authors' settings for MovieLens-1M (up to 300 epochs); replay counts episodes here."""
