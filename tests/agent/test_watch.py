"""What is said of a loss that goes wrong."""

import math

import pytest

from cerec.agent.watch import LossWatch
from cerec.settings.recommender import RecommenderConfig


def test_only_a_loss_far_above_chance_is_told(caplog: pytest.LogCaptureFixture) -> None:
    chance = 2 * math.log(2)  # of two terms
    watch = LossWatch(RecommenderConfig(model="climf"))
    watch({"loss": 3.9 * chance})
    watch({"phase": "agent"})
    assert caplog.text == ""
    watch({"loss": 4.1 * chance})
    watch({"loss": 9.0 * chance})
    said = f"the loss is {4.1 * chance:.3g}, where knowing nothing has at most {chance:.2g}; "
    assert [r.getMessage() for r in caplog.records] == [
        f"note: {said}lower recommender.learning_rate (0.05)"
    ]


def test_the_start_is_named_where_it_is_wide(caplog: pytest.LogCaptureFixture) -> None:
    LossWatch(RecommenderConfig(model="bpr", init=10.0))({"loss": 100.0})
    assert "at most 0.69; lower recommender.learning_rate (0.05) or recommender.init (10.0)" in (
        caplog.text
    )


def test_a_loss_of_nothing_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    watch = LossWatch(RecommenderConfig())
    for _ in range(2):
        watch({"loss": 0.0})
    assert caplog.text.count("no pair was learned from") == 1
