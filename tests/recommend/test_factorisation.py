from __future__ import annotations

import numpy as np
import pytest

from cerec.errors import ConfigError
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.models import build
from cerec.recommend.negatives import DNS, Walk
from cerec.recommend.topk import top_k_all
from cerec.settings.recommender import RecommenderConfig
from recommend_worlds import random_world


def model(**changes) -> PairFactorisation:
    known, facts = random_world(0)
    config = RecommenderConfig(dim=8, batch=16, **changes)
    return PairFactorisation(config, known, facts, seed=4)


def train(m: PairFactorisation, rng: np.random.Generator, epochs: int) -> list[float]:
    known, _ = random_world(0)
    return [m.epoch(known.row_of(), known.indices, DNS(2), rng=rng) for _ in range(epochs)]


def test_learning_brings_the_loss_down() -> None:
    loss = train(model(learning_rate=0.2, l2=0.0), np.random.default_rng(0), 60)
    assert loss[-1] < 0.5 * loss[0]


def test_stop_and_resume_is_bitwise_the_same() -> None:
    straight = model()
    rng = np.random.default_rng(0)
    train(straight, rng, 5)
    first = model()
    rng = np.random.default_rng(0)
    train(first, rng, 2)
    second = model()
    second.load_state(first.state())
    train(second, rng, 3)
    want, got = straight.state(), second.state()
    assert want.keys() == got.keys()
    assert all(np.array_equal(want[name], got[name]) for name in want)


def test_the_scorer_speaks_for_the_model() -> None:
    m = model()
    train(m, np.random.default_rng(0), 3)
    user, item = m.factors()
    scorer = m.scorer()
    assert scorer.scores(2) == pytest.approx(item.astype(float) @ user[2], abs=1e-6)


def test_lists_are_those_of_the_moment_and_made_once() -> None:
    known, _ = random_world(0)
    m = model()
    state, first = m.state(), m.context(5).lists
    assert m.context(5).lists is first
    assert [m.context(k).lists.shape[1] for k in (3, 0)] == [3, 0]
    for _ in range(3):
        m.epoch(known.row_of(), known.indices, Walk(), rng=np.random.default_rng(1))
        now = m.context(5).lists
        np.testing.assert_array_equal(now, top_k_all(*m.factors(), known, 5))
    assert not np.array_equal(now, first)
    m.load_state(state)
    np.testing.assert_array_equal(m.context(5).lists, first)


def test_config_refuses_nonsense() -> None:
    with pytest.raises(ConfigError, match="'svd'"):
        RecommenderConfig(model="svd")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="got 0"):
        RecommenderConfig(dim=0)
    with pytest.raises(ConfigError, match="l2"):
        RecommenderConfig(l2=-1)


def test_updates_grow_with_the_data_within_bounds() -> None:
    config = RecommenderConfig()
    # a 32nd of the pairs, from 2,048 to 8,192; what is set is kept
    sizes = {100: 2048, 65_536: 2048, 160_000: 5000, 262_144: 8192, 10**7: 8192}
    assert {n: config.pairs_per_update(n) for n in sizes} == sizes
    assert RecommenderConfig(batch=10).pairs_per_update(10**7) == 10
    with pytest.raises(ConfigError, match=r"recommender\.batch must be at least 0, got -1"):
        RecommenderConfig(batch=-1)


def test_a_sampler_of_ones_own_is_asked_per_batch() -> None:
    known, _ = random_world(0)

    class Last:
        list_length = 2

        def __init__(self) -> None:
            self.asked: list[int] = []

        def draw(self, user, item, context, rng):
            assert context.lists.shape == (len(known), 2)
            self.asked.append(len(user))
            return context.lists[user, -1]

    sampler = Last()
    model().epoch(known.row_of(), known.indices, sampler, rng=np.random.default_rng(0))
    assert sampler.asked == [16, 16, 16, 12]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full(n, 999, np.int32), "got 999"),
        (lambda n: np.full(n, -2, np.int32), "got -2"),
        (lambda n: np.zeros(n + 1, np.int32), "one per pair"),
        (lambda n: np.zeros(n), "float64"),
    ],
)
@pytest.mark.parametrize("name", ["bpr", "lightgcn"])
def test_a_wrong_sampler_is_refused_not_trusted(name: str, answer, message: str) -> None:
    class Wrong:
        list_length = 0

        def draw(self, user, item, context, rng):
            del item, context, rng
            return answer(len(user))

    known, facts = random_world(0)
    m = build(RecommenderConfig(model=name, dim=8), known, facts, seed=0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=message):
        m.epoch(known.row_of(), known.indices, Wrong(), rng=np.random.default_rng(0))
