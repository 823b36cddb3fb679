"""CountER: its loss by hand, its gradient by differences, what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from explanation_worlds import hand, learned, pairs_of

from cerec.errors import ConfigError
from cerec_bench.explainers.counter import CountER, CounterConfig, Relaxed, descend, loss
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.verdict import judge


def relaxed() -> Relaxed:
    effect = np.array([[2.0, 1.0, -1.0], [3.0, 0.5, 0.0]])
    there = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    return Relaxed(effect, there, np.array([0.5, 1.0]))


def test_the_loss_by_hand() -> None:
    amount = np.array([[0.6, 0.8, 0.0], [0.0, 0.5, 0.0]])
    value, _, behind = loss(relaxed(), amount, CounterConfig())
    # the first falls by 0.6 * 2 + 0.8 * 1 and passes the margin; the second by 0.25
    np.testing.assert_allclose(behind, [0.5 - 2.0, 1.0 - 0.25])
    np.testing.assert_allclose(value, [1.0 + 1.4, 0.5 + 0.5 + 200 * (0.05 + 0.75)])


def test_the_gradient_is_exact() -> None:
    problem, config = relaxed(), CounterConfig(trade=3.0)
    amount = np.array([[0.3, 0.2, 0.7], [0.1, 0.6, 0.0]])
    _, gradient, _ = loss(problem, amount, config)
    for at in np.argwhere(problem.there > 0):
        b, v = at
        step = np.zeros_like(amount)
        step[b, v] = 1e-6
        up, down = (loss(problem, amount + s * step, config)[0][b] for s in (1, -1))
        assert gradient[b, v] == pytest.approx((up - down) / 2e-6, abs=1e-5)
    assert gradient[1, 2] == 0


def test_the_kept_step_has_the_least_loss() -> None:
    problem = relaxed()
    few, _ = descend(problem, CounterConfig(steps=20), np.random.default_rng(0))
    many, done = descend(problem, CounterConfig(steps=400), np.random.default_rng(0))
    config = CounterConfig()
    assert (loss(problem, many, config)[0] <= loss(problem, few, config)[0]).all()
    assert done.all()
    assert ((many >= 0) & (many <= problem.there)).all()


def test_finds_the_value_that_matters() -> None:
    # item 0: 0.1 + 6 against 3 of item 1: the second value must go, the first need not
    context = hand([0.1, 6.0, 3.0, -3.0], [[0, 1], [2], [3]], [0, 0, 0, 0])
    pairs = pairs_of(1, (0, 0, 1))
    method = CountER()
    method.fit(context)
    (answer,) = method.explain(pairs)
    assert answer.lost.tolist() == [1]
    assert judge(context, pairs, [answer]).flipped.all()


def test_no_answer_where_no_amount_does() -> None:
    low = hand([-1.0, -9.0], [[0], [1]], [0, 0])  # taking the value away lifts the item
    alone = hand([1.0], [[0]], [0])
    bare = hand([1.0], [[], [0]], [0])
    for context, item in ((low, 0), (alone, 0), (bare, 0)):
        method = CountER(CounterConfig(steps=50))
        method.fit(context)
        assert not method.explain(pairs_of(1, (0, item, 1)))[0].found


def test_most_of_what_it_finds_flips() -> None:
    context = learned(2)
    pairs = listed_pairs(context, 40)
    method = CountER(CounterConfig(steps=300))
    method.fit(context)
    found = method.explain(pairs)
    verdicts = judge(context, pairs, found)
    assert verdicts.found.mean() > 0.3
    assert verdicts.flipped.sum() > 0.6 * verdicts.found.sum()
    again = method.explain(pairs)
    assert all(a.lost.tolist() == b.lost.tolist() for a, b in zip(found, again, strict=True))


def test_settings_of_counter_are_checked() -> None:
    with pytest.raises(ConfigError, match="counter needs"):
        CounterConfig(steps=0)
