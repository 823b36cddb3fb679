"""The supervised loop: epochs until the validation number stops rising, the best state kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.base import NegativeSampler, Recommender


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """How long a recommender learns."""

    epochs: int = 300
    """Passes over the train pairs at most."""
    every: int = 3
    """Epochs between two looks at validation."""
    patience: int = 5
    """Looks without a better number before stopping."""
    seconds: float | None = None
    """Stop at the first look after this much CPU time, which other work on the machine does not
    stretch; None: no limit."""

    def __post_init__(self) -> None:
        for name in ("epochs", "every", "patience"):
            if getattr(self, name) < 1:
                raise ConfigError(f"fit.{name} must be at least 1, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True)
class Look:
    """One look at validation."""

    epoch: int
    loss: float
    score: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Fit:
    """How the learning went; the model is left in its best state."""

    best: Look
    looks: tuple[Look, ...]
    timed_out: bool


def fit_recommender(
    model: Recommender,
    train: Ragged,
    negatives: NegativeSampler,
    validate: Callable[[Recommender], float],
    config: FitConfig,
    *,
    rng: np.random.Generator,
) -> Fit:
    """Learn until validation stops rising; `validate` gives the number to raise."""
    user, item = train.row_of(), train.indices
    looks: list[Look] = []
    best, state = Look(0, float("nan"), -np.inf, 0.0), model.state()
    start, cpu = time.perf_counter(), time.process_time()
    timed_out = False
    for epoch in range(1, config.epochs + 1):
        loss = model.epoch(user, item, negatives, rng=rng)
        if epoch % config.every and epoch != config.epochs:
            continue
        look = Look(epoch, loss, validate(model), time.perf_counter() - start)
        looks.append(look)
        if look.score > best.score:
            best, state = look, model.state()
        spent = time.process_time() - cpu
        timed_out = config.seconds is not None and spent > config.seconds
        if timed_out or look.epoch - best.epoch >= config.patience * config.every:
            break
    model.load_state(state)
    return Fit(best, tuple(looks), timed_out)
