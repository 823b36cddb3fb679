"""Which samplers an epoch of co-training learns from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cerec.agent.signals import plain, signals
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Context
from cerec.recommend.negatives import DNS, Mixture, Uniform, Walk
from cerec.recommend.swaps import RandomSwaps
from cerec.settings.train import SignalConfig


class Constant:
    """A sampler that always draws the same item."""

    list_length = 0

    def __init__(self, item: int) -> None:
        self.item = item

    def draw(self, user: Any, item: Any, context: Any, rng: Any) -> Any:
        return np.full(len(user), self.item, np.int32)


class Agent:
    negatives, swaps = Constant(1), Constant(2)


ORDINARY = Constant(0)


@pytest.mark.parametrize("policy", [Agent(), None])
@pytest.mark.parametrize(
    ("counterfactuals", "chooser", "negatives", "swaps"),
    [
        ("none", "agent", ORDINARY, None),
        ("none", "random", ORDINARY, None),
        ("literal", "agent", Agent.negatives, None),
        ("literal", "random", Walk(), None),
        ("imagined", "agent", ORDINARY, Agent.swaps),
        ("imagined", "random", ORDINARY, RandomSwaps(5)),
    ],
)
def test_what_each_setting_learns_from(
    counterfactuals: Any, chooser: Any, negatives: Any, swaps: Any, policy: Any
) -> None:
    config = SignalConfig(counterfactuals=counterfactuals, chooser=chooser, swap_steps=5)
    if policy is None and chooser == "agent":  # a recommender without an agent walks at random
        negatives = Walk() if counterfactuals == "literal" else negatives
        swaps = RandomSwaps(5) if counterfactuals == "imagined" else swaps
    assert signals(config, policy, ORDINARY) == (negatives, swaps)


@pytest.mark.parametrize(("chooser", "walked"), [("agent", Agent.negatives), ("random", Walk())])
def test_a_mixture_has_its_share_of_walked_items(chooser: Any, walked: Any) -> None:
    config = SignalConfig(counterfactuals="mixture", chooser=chooser, share=0.25)
    found, swaps = signals(config, Agent(), ORDINARY)  # type: ignore[arg-type]
    assert swaps is None
    assert isinstance(found, Mixture)
    assert found._samplers == (walked, ORDINARY)
    np.testing.assert_allclose(found._share, [0.25, 1.0])


def test_a_quarter_of_the_drawn_items_are_the_agents() -> None:
    config = SignalConfig(counterfactuals="mixture", chooser="agent", share=0.25)
    found, _ = signals(config, Agent(), ORDINARY)  # type: ignore[arg-type]
    rows = np.zeros(4000, np.int32)
    nothing = Ragged.from_pairs(rows[:0], rows[:0], 3)  # three users and items, nothing known
    facts = Facts(rows[:0], rows[:0], nothing, Ragged.from_pairs(rows[:0], rows[:0], 0))
    vectors = np.zeros((3, 1), np.float32)
    context = Context(nothing, facts, vectors, vectors, np.zeros((3, 0), np.int32))
    drawn = found.draw(rows, rows, context, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(0.25, abs=0.03)


def test_ordinary_negatives() -> None:
    assert plain(SignalConfig(negatives="uniform")) == Uniform()
    assert plain(SignalConfig(negatives="dns", dns_candidates=7)) == DNS(7)
