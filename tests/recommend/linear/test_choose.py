"""Settings chosen on validation: the sample, the weights, the dial."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.split import Split
from cerec.metrics import per_user
from cerec.recommend.linear.candidates import _loss, _Side, draw_sample, relation_weights
from cerec.recommend.linear.choose import choose
from cerec.recommend.linear.fit import Chosen, FitMaterial, build
from cerec.recommend.linear.itemitem import pairs_of
from cerec.recommend.linear.kernels import pair_sums
from cerec.recommend.linear.model import Linear
from cerec.recommend.rank import lists


def test_the_sample_holds_the_parts_of_the_model(material: FitMaterial, parts: Split) -> None:
    pairs = pairs_of(material.gram, 10.0)
    sample = draw_sample(material, parts.valid, pairs, 1000)
    assert np.allclose(pair_sums(material, sample, pairs), sample.history)
    relations = {int(r): 0.1 + 0.05 * n for n, r in enumerate(sample.relations)}
    model = Linear(build(material, Chosen(10.0, 0, 0.07, relations), pairs=pairs))
    weights = np.array(list(relations.values()))
    guess = sample.history + 0.07 * sample.popularity + sample.relation @ weights
    row = np.repeat(np.arange(len(sample.users)), np.diff(sample.indptr))
    assert np.allclose(guess, model.scores(sample.users)[row, sample.item], atol=1e-6)
    assert not set(sample.item[sample.indptr[0] : sample.indptr[1]]) & set(
        material.history.row(int(sample.users[0]))
    )


def test_ndcg_of_the_sample_is_that_of_the_lists(material: FitMaterial, parts: Split) -> None:
    """The small world has fewer items than candidates are drawn, so the sample is everything."""
    pairs = pairs_of(material.gram, 10.0)
    sample = draw_sample(material, parts.valid, pairs, 1000)
    scores = Linear(build(material, Chosen(10.0, popularity=0.0), pairs=pairs)).scores(
        np.arange(60)
    )
    found = lists(scores, material.history.indptr, material.history.indices, 20)
    ndcg = per_user(found, parts.valid, (20,), ("ndcg",))["ndcg@20"][sample.users]
    assert sample.ndcg(sample.history) == pytest.approx(ndcg.mean())


def test_the_gradient_of_the_regression_is_its_slope() -> None:
    rng = np.random.default_rng(0)
    one = _Side(rng.normal(size=(5, 3)), np.array([0, 0, 1, 2, 2]))
    rest = _Side(rng.normal(size=(9, 3)), np.repeat([0, 1, 2], 3))
    share, log_weight = np.full(5, 0.2), rng.normal(size=9)
    weight = rng.normal(size=3)
    _, gradient = _loss(weight, one, rest, log_weight, share, 3, 0.1)
    for n in range(3):
        step = np.eye(3)[n] * 1e-6
        up, _ = _loss(weight + step, one, rest, log_weight, share, 3, 0.1)
        down, _ = _loss(weight - step, one, rest, log_weight, share, 3, 0.1)
        assert gradient[n] == pytest.approx((up - down) / 2e-6, rel=1e-4)


def test_relations_get_weights_that_are_not_negative(material: FitMaterial, parts: Split) -> None:
    sample = draw_sample(material, parts.valid, pairs_of(material.gram, 10.0), 1000)
    weights, popularity = relation_weights(sample)
    assert len(weights) == len(sample.relations)
    assert (weights >= 0).all()
    assert weights.max() > 0
    assert popularity >= 0


def test_the_dial_gives_accuracy_for_attributes(material: FitMaterial, parts: Split) -> None:
    exact = choose(material, parts.valid, dial=0.0, factors=False)
    loose = choose(material, parts.valid, dial=0.2, factors=False)
    assert exact.ndcg == pytest.approx(exact.best)
    assert loose.attributes >= exact.attributes
    assert loose.ndcg >= 0.8 * loose.best
    assert loose.looks > 10


def test_nothing_depends_on_luck(material: FitMaterial, parts: Split) -> None:
    first, again = (choose(material, parts.valid, dial=0.01) for _ in range(2))
    assert first.chosen == again.chosen
    assert first.curve == again.curve


def test_factors_are_looked_for_uphill_and_only_where_they_earn_their_place(
    material: FitMaterial, parts: Split, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = choose(material, parts.valid, dial=0.0, factors=False)
    found = choose(material, parts.valid, dial=0.0)
    assert found.best >= without.best  # the search starts from the weights without factors
    assert found.looks > without.looks
    if found.factors is not None:
        assert found.chosen.folding == found.factors.settings
    monkeypatch.setattr("cerec.recommend.linear.choose.EARNS", 1e9)
    assert choose(material, parts.valid, dial=0.0).factors is None
