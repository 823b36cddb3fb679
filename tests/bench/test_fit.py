"""The product's training loop within a contender's budget."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.facts import Facts
from cerec.errors import ConfigError
from cerec.recommend.base import Material
from cerec.recommend.negatives import Uniform
from cerec_bench.plans.fit import FitConfig, learn
from recommend_worlds import random_world


class Counter:
    """A recommender whose whole state is how many epochs it has seen."""

    def __init__(self) -> None:
        self.seen = 0

    def epoch(self, user, item, negatives, *, rng) -> float:
        self.seen += 1
        return 1.0 / self.seen

    def state(self):
        return {"seen": np.array([self.seen], np.float32)}

    def load_state(self, state) -> None:
        self.seen = int(state["seen"][0])


def fit(curve, **settings):
    known, facts = random_world(0)
    assert isinstance(facts, Facts)
    model, m = Counter(), Material(known, facts, None, 0)  # type: ignore[arg-type]
    config = FitConfig(**settings)
    done = learn(model, m, config, lambda m: curve(m.seen), negatives=Uniform())  # type: ignore[arg-type]
    return model, done


def test_stops_after_patience_and_goes_back_to_the_best() -> None:
    model, done = fit(lambda n: -abs(n - 6), epochs=100, every=2, patience=3)
    assert model.seen == done.progress.stopper.best_epoch == 6
    assert len(done.progress.history) == 12


def test_the_last_epoch_is_looked_at() -> None:
    model, done = fit(float, epochs=5, every=2, patience=9)
    assert [row["epoch"] for row in done.progress.history if "ndcg@20" in row] == [2, 4, 5]
    assert model.seen == 5
    assert not done.timed_out


def test_out_of_time_is_told() -> None:
    _, done = fit(float, epochs=50, every=1, patience=9, seconds=0.0)
    assert done.timed_out
    assert len(done.progress.history) == 1


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"fit\.every must be at least 1, got 0"):
        FitConfig(every=0)
