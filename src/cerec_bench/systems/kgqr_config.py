"""Settings of KGQR, and its authors'."""

from __future__ import annotations

from typing import Annotated

from pydantic import Strict

from cerec.errors import ConfigError
from cerec.settings.base import settings


@settings("model")
class KGQRConfig:
    """Settings of KGQR; the defaults suit two CPU cores."""

    dim: int = 50
    """Width of entity vectors and states."""
    hidden: int = 64
    """Width of the Q network."""
    layers: int = 2
    """Graph convolutions."""
    pretrain: int = 20
    """Epochs of link prediction that entity vectors start from."""
    history: int = 20
    """Items a state starts from at the most."""
    length: int = 10
    """Steps of an episode."""
    episodes: int = 512
    """Episodes per epoch, with users drawn at random."""
    candidates: int = 100
    """Items a state chooses from."""
    popular: int = 500
    """Most popular items that candidates are drawn from."""
    planted: float = 0.1
    """Share of the candidates that is drawn from the simulated user's items."""
    replay: int = 4096
    """Episodes remembered."""
    updates: int = 40
    """Gradient steps per epoch."""
    batch: int = 256
    """Transitions per gradient step."""
    shared: int = 8
    """Gradient steps for each one of entity vectors and convolution, which cost a pass over the
    graph."""
    learning_rate: float = 1e-3
    """Step of Adam."""
    l2: float = 1e-6
    """Pull towards zero on all weights."""
    gamma: float = 0.6
    """Discount of later rewards."""
    tau: float = 0.01
    """Share by which the target follows at each update."""
    streak: float = 0.1
    """Bonus per like (malus per miss) in a row before a step."""
    explore: Annotated[tuple[float, ...], Strict(False)] = (0.9, 0.1, 0.002)
    """Chance of a random action: at first, in the end, and its decay per update."""

    def __post_init__(self) -> None:
        least = ("dim", "hidden", "history", "length", "episodes", "candidates", "popular")
        for name in (*least, "replay", "updates", "batch", "shared"):
            if getattr(self, name) < 1:
                raise ConfigError(f"model.{name} must be at least 1, got {getattr(self, name)}")
        for name in ("gamma", "tau", "planted"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"model.{name} must be in 0..1, got {getattr(self, name)}")
        if not self.learning_rate > 0 or min(self.l2, self.layers, self.pretrain) < 0:
            raise ConfigError(
                "model.learning_rate must be above 0 and .l2, .layers, .pretrain not below, got "
                f"{self.learning_rate}, {self.l2}, {self.layers} and {self.pretrain}"
            )
        if len(self.explore) != 3 or min(self.explore) < 0 or max(self.explore[:2]) > 1:
            raise ConfigError(f"model.explore must be (first, last, decay), got {self.explore}")


AUTHORS = KGQRConfig(
    history=50,
    length=32,
    episodes=2000,
    candidates=200,
    popular=300,
    replay=10_000,
    updates=100,
    batch=2000,
    shared=1,
    gamma=0.7,
    explore=(0.9, 0.1, 1e-4),
)
"""The authors' settings for MovieLens-1M (up to 300 epochs); replay counts episodes here."""
