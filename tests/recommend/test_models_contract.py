"""What every recommender must do; a model missing from the list fails the meta-test."""

from __future__ import annotations

import numpy as np
import pytest

from cerec.data.facts import Facts
from cerec.data.split import split
from cerec.data.synthetic.generate import checkerboard
from cerec.errors import RunError
from cerec.recommend.base import EpochRecommender
from cerec.recommend.models import build
from cerec.recommend.negatives import Uniform
from cerec.recommend.popularity import popularity
from cerec.recommend.topk import top_k_all
from cerec.settings.data import SplitConfig
from cerec.settings.recommender import MODELS, RecommenderConfig
from cerec.settings.run import PRESETS
from recommend_worlds import random_world

PAPER = "the paper's"
RATE = {"bpr": 0.1, "climf": 0.1, "lightgcn": 0.05, PAPER: 0.2}


def test_no_model_is_missing() -> None:
    assert set(RATE) - {PAPER} == set(MODELS)


def config(model: str, **changes) -> RecommenderConfig:
    settings = {"dim": 8, "batch": 64, "learning_rate": RATE[model], "l2": 0.001} | changes
    if model == PAPER:
        settings = {**PRESETS["paper"]["recommender"], **settings}
        model = settings.pop("model")
    return RecommenderConfig(model=model, **settings)  # type: ignore[arg-type]


def learn(model: EpochRecommender, known, epochs: int, rng: np.random.Generator) -> list[float]:
    return [model.epoch(known.row_of(), known.indices, Uniform(), rng=rng) for _ in range(epochs)]


@pytest.mark.parametrize("name", RATE)
def test_solves_the_checkerboard(name: str) -> None:
    board = checkerboard(30)
    parts = split(board, SplitConfig(carve=0.0), seed=0)
    model = build(config(name), parts.train, Facts.build(board), seed=1)
    learn(model, parts.train, 40, np.random.default_rng(0))
    first = top_k_all(*model.factors(), parts.train, 1)[:, 0]
    assert first.tolist() == list(range(30))


@pytest.mark.parametrize("name", RATE)
def test_trained_twice_is_bitwise_the_same(name: str) -> None:
    known, facts = random_world(1)
    states = []
    for _ in range(2):
        model = build(config(name), known, facts, seed=1)
        learn(model, known, 2, np.random.default_rng(0))
        states.append(model.state())
    assert all(np.array_equal(states[0][key], states[1][key]) for key in states[0])


@pytest.mark.parametrize("name", RATE)
def test_stopped_and_resumed_is_bitwise_the_same(name: str) -> None:
    known, facts = random_world(1)
    straight, first, second = (build(config(name), known, facts, seed=1) for _ in range(3))
    learn(straight, known, 4, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    learn(first, known, 1, rng)
    second.load_state(first.state())
    learn(second, known, 3, rng)
    want, got = straight.state(), second.state()
    assert all(np.array_equal(want[key], got[key]) for key in want)
    assert all(value.dtype == np.float32 for value in want.values())


@pytest.mark.parametrize("name", RATE)
def test_the_scorer_has_the_scores_of_the_factors(name: str) -> None:
    known, facts = random_world(1)
    model = build(config(name), known, facts, seed=1)
    learn(model, known, 2, np.random.default_rng(0))
    user, item = model.factors()
    scorer = model.scorer()
    assert scorer.scores(3) == pytest.approx(item.astype(float) @ user[3], abs=1e-5)
    assert scorer.effect.shape[0] == facts.n_values
    assert not scorer.effect.any()  # to be fitted


@pytest.mark.parametrize("name", RATE)
def test_a_foreign_state_is_refused(name: str) -> None:
    known, facts = random_world(1)
    model = build(config(name), known, facts, seed=1)
    with pytest.raises(RunError, match="'user'"):
        model.load_state(build(config(name, dim=4), known, facts, seed=1).state())


@pytest.mark.parametrize("name", RATE)
def test_a_sampler_that_is_ahead_is_asked_once_and_teaches_the_same(name: str) -> None:
    known, facts = random_world(1)

    class Next:
        """The first unknown item after the liked one; draws nothing at random."""

        list_length = 0

        def __init__(self, ahead: bool) -> None:
            self.ahead, self.asked = ahead, []

        def draw(self, user, item, context, rng):
            self.asked.append(len(user))
            n = len(context.item)
            found = []
            for u, i in zip(user, item, strict=True):
                free = np.setdiff1d(np.arange(n), context.known.row(u))
                found.append(free[np.searchsorted(free, i) % len(free)])
            return np.array(found, np.int32)

    states = []
    for sampler in (Next(False), Next(True)):
        model = build(config(name, batch=16), known, facts, seed=1)
        model.epoch(known.row_of(), known.indices, sampler, rng=np.random.default_rng(0))
        states.append(model.state())
        assert sum(sampler.asked) == known.size
        assert (len(sampler.asked) == 1) == sampler.ahead
    assert all(np.array_equal(states[0][key], states[1][key]) for key in states[0])


def test_lightgcn_propagates_as_the_dense_formula() -> None:
    known, facts = random_world(2)
    model = build(config("lightgcn", layers=3), known, facts, seed=1)
    state = model.state()
    n_users, n_items = len(known), len(facts.of_item)
    adjacency = np.zeros((n_users + n_items, n_users + n_items))
    for u in range(n_users):
        adjacency[u, n_users + known.row(u)] = adjacency[n_users + known.row(u), u] = 1
    degree = np.maximum(adjacency.sum(1), 1)
    adjacency /= np.sqrt(np.outer(degree, degree))
    layer = np.concatenate([state["user"], state["item"]])
    want = layer
    for _ in range(3):
        layer = adjacency @ layer
        want = want + layer
    user, item = model.factors()
    assert np.concatenate([user, item]) == pytest.approx(want / 4, abs=1e-5)


def test_popularity_by_hand() -> None:
    known, _ = random_world(0)
    scores = popularity(known, 20).scores(3)
    assert scores.tolist() == np.bincount(known.indices, minlength=20).tolist()
