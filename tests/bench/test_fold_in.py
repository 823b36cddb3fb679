from __future__ import annotations

import numpy as np
import pytest

from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.negatives import Uniform
from cerec.recommend.scorer import score_all
from cerec.settings.data import SplitConfig
from cerec.settings.recommender import RecommenderConfig
from cerec_bench.explainers.fold_in import fold_in, others_of, solve
from recommend_worlds import top_k


def test_the_answer_is_where_the_gradient_vanishes() -> None:
    # one liked item at (1, 0), one other at (0, 1): u = t (1, -1), s(-2 t) = 2 l2 t ... by symmetry
    item = np.array([[1.0, 0.0], [0.0, 1.0]], np.float32)
    u = fold_in(item, np.array([0]), l2=0.1).astype(float)
    assert u[0] == pytest.approx(-u[1], abs=1e-4)
    assert 1 / (1 + np.exp(2 * u[0])) == pytest.approx(0.1 * u[0], abs=1e-4)


@pytest.mark.parametrize("alone", [0.0, 0.7])
def test_nothing_near_the_answer_is_better(alone: float) -> None:
    rng = np.random.default_rng(0)
    good, rest = rng.normal(size=(9, 4)), rng.normal(size=(20, 4))

    def loss(u: np.ndarray) -> float:
        gap = (rest @ u)[None, :] - (good @ u)[:, None]
        each = np.logaddexp(0, gap).mean(1) + alone * np.logaddexp(0, -good @ u)
        return float((each + 0.05 / 2 * u @ u).sum())

    u = solve(good, rest, 0.05, alone)
    for e in np.eye(4):
        for step in (1e-3, -1e-3):
            assert loss(u + step * e) > loss(u)
        slope = (loss(u + 1e-5 * e) - loss(u - 1e-5 * e)) / 2e-5
        assert slope == pytest.approx(0.0, abs=1e-4)


def test_histories_are_set_against_the_same_items() -> None:
    one, two = (others_of(500, np.array(liked), sampled=100) for liked in ([1, 2], [1, 2, 7]))
    assert set(one) - set(two) <= {7}
    assert len(one) <= 100
    assert others_of(5, np.array([0, 3])).tolist() == [1, 2, 4]


def test_a_user_who_likes_everything_has_an_answer() -> None:
    item = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    assert np.isfinite(fold_in(item, np.arange(4), l2=0.1)).all()
    assert np.isfinite(fold_in(item, np.array([1]), l2=0.0)).all()


@pytest.mark.slow
def test_a_copy_of_a_known_user_gets_a_similar_list() -> None:
    data = make_world(WorldConfig(users=150, items=120, interactions=4500), seed=3)
    train = split(data, SplitConfig(), seed=0).train
    facts = Facts.build(data)
    config = RecommenderConfig(dim=16, l2=0.02, batch=256)
    model = PairFactorisation(config, train, facts, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        model.epoch(train.row_of(), train.indices, Uniform(), rng=rng)
    scorer = model.scorer()
    shared = []
    for u in range(0, 150, 10):
        copy = fold_in(scorer.item, train.row(u), l2=config.l2)
        both = scorer.scores(u), score_all(copy, scorer.item_t)
        lists = [top_k(scores, 10, train.row(u)) for scores in both]
        shared.append(len(np.intersect1d(*lists)) / 10)
    assert np.mean(shared) > 0.6


def test_items_that_do_not_exist_are_refused() -> None:
    item = np.zeros((3, 2), np.float32)
    with pytest.raises(ConfigError, match=r"0..2, got \[3\]"):
        fold_in(item, np.array([3]), l2=0.1)
    with pytest.raises(ConfigError, match=r"got \[\]"):
        fold_in(item, np.array([], int), l2=0.1)
    for bad in (["m01"], [0.5], [[0, 1]], [True, False, True]):
        with pytest.raises(ConfigError, match="rows of items, whole numbers"):
            fold_in(item, np.array(bad), l2=0.1)
    for l2 in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError, match="l2 from 0"):
            fold_in(item, np.array([1]), l2=l2)
