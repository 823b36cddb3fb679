from __future__ import annotations

import numpy as np
import pytest

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec_bench.plans.fit import FitConfig, fit_recommender


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


TRAIN = Ragged(np.array([0, 1], np.int64), np.array([0], np.int32))


def fit(curve, **settings):
    model = Counter()
    result = fit_recommender(
        model,
        TRAIN,
        Uniform(),
        lambda m: curve(m.seen),
        FitConfig(**settings),
        rng=np.random.default_rng(0),
    )
    return model, result


def test_stops_after_patience_and_goes_back_to_the_best() -> None:
    model, result = fit(lambda n: -abs(n - 6), epochs=100, every=2, patience=3)
    assert model.seen == result.best.epoch == 6
    assert [look.epoch for look in result.looks] == [2, 4, 6, 8, 10, 12]


def test_the_last_epoch_is_looked_at() -> None:
    model, result = fit(float, epochs=5, every=2, patience=9)
    assert [look.epoch for look in result.looks] == [2, 4, 5]
    assert model.seen == 5
    assert not result.timed_out


def test_out_of_time_is_told() -> None:
    _, result = fit(float, epochs=50, every=1, patience=9, seconds=0.0)
    assert result.timed_out
    assert len(result.looks) == 1


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"fit\.every must be at least 1, got 0"):
        FitConfig(every=0)
