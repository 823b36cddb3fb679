"""How long a contender learns, and the product's training loop within that budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from cerec.agent.loop import Trainer
from cerec.agent.signals import Policy
from cerec.errors import ConfigError
from cerec.recommend.base import EpochRecommender, Material, NegativeSampler
from cerec.settings.train import SignalConfig, TrainConfig

PLAIN = SignalConfig(counterfactuals="none")


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


def learn(
    model: EpochRecommender,
    m: Material,
    budget: FitConfig,
    validate: Callable[[EpochRecommender], float],
    *,
    negatives: NegativeSampler | None = None,
    policy: Policy | None = None,
    signals: SignalConfig = PLAIN,
    train: TrainConfig | None = None,
) -> Trainer:
    """A training that is done, its model in its best state; `validate` gives the number to raise.

    An interrupt is passed on: a result wants all of the training.
    """
    trainer = Trainer(
        model,
        policy,
        m.known,
        m.facts,
        config=replace(
            train or TrainConfig(),
            epochs=budget.epochs,
            validate_every=budget.every,
            patience=budget.patience,
            metric="ndcg@20",
            agent_epochs=0,
        ),
        signals=signals,
        seed=m.seed,
        validate=lambda model: {"ndcg@20": validate(model)},
        negatives=negatives,
        seconds=budget.seconds,
    )
    if not trainer.run():
        raise KeyboardInterrupt
    return trainer
