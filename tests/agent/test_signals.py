"""Which samplers an epoch of co-training learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cerec.agent.signals import plain, signals
from cerec.recommend.negatives import DNS, Uniform, Walk
from cerec.settings.train import SignalConfig


class Constant:
    """A sampler that always draws the same item."""

    list_length = 0

    def __init__(self, item: int) -> None:
        self.item = item

    def draw(self, user: Any, item: Any, context: Any, rng: Any) -> Any:
        return np.full(len(user), self.item, np.int32)


class Agent:
    negatives = Constant(1)


ORDINARY = Constant(0)


@pytest.mark.parametrize(
    ("counterfactuals", "chooser", "negatives"),
    [
        ("none", "agent", ORDINARY),
        ("none", "random", ORDINARY),
        ("literal", "agent", Agent.negatives),
        ("literal", "random", Walk()),
    ],
)
def test_what_each_setting_learns_from(counterfactuals: Any, chooser: Any, negatives: Any) -> None:
    config = SignalConfig(counterfactuals=counterfactuals, chooser=chooser)
    assert signals(config, Agent(), ORDINARY) == negatives  # type: ignore[arg-type]


def test_a_recommender_without_an_agent_walks_at_random() -> None:
    assert signals(SignalConfig(), None, ORDINARY) == Walk()


def test_ordinary_negatives() -> None:
    assert plain(SignalConfig(negatives="uniform")) == Uniform()
    assert plain(SignalConfig(negatives="dns", dns_candidates=7)) == DNS(7)
