"""NeuACF: PathSim by hand and against dense matrices, the attention, what values are worth."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_tastes import likes_what_it_should

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec_bench.systems.neuacf import NeuACF, NeuACFConfig
from cerec_bench.systems.neuacf_similarity import BINS, Similarity, aspects, path_sim
from cerec_bench.systems.preferences import last_important
from recommend_worlds import facts, ragged, random_world

SMALL = NeuACFConfig(dim=4, hidden=6, relations=2, attention=3, batch=16)


def dense(similarity: Similarity) -> np.ndarray:
    rows = similarity.rows
    shape = (len(rows), len(rows))
    return sp.csr_matrix((similarity.weight, rows.indices, rows.indptr), shape).toarray()


def slow(half: np.ndarray) -> np.ndarray:
    paths = half @ half.T
    own = np.diag(paths)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(2 * paths / (own[:, None] + own[None, :]))


def test_path_sim_by_hand() -> None:
    # x: a a b, y: a, z: c, nobody: nothing
    half = sp.csr_matrix(np.array([[2, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]], np.float32))
    got = path_sim(half, 3)
    # s(x, y) = 2 * 2 / (5 + 1); the non-zeros are 1, 1, 1, 2/3, 2/3: their median is 1
    assert got.n_all == 5
    assert got.n_above == 3
    np.testing.assert_array_equal(dense(got), np.diag([1, 1, 1, 0]))
    assert slow(half.toarray())[0, 1] == pytest.approx(2 / 3)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 8))
def test_rows_are_the_largest_of_those_above_the_median(seed: int, n: int, ends: int) -> None:
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 3, (n, ends)) * (rng.random((n, ends)) < 0.6)
    full = slow(half.astype(np.float64))
    np.testing.assert_allclose(full, full.T)
    assert set(np.diag(full)) <= {0.0, 1.0}
    found = full[full > 0]
    whole = path_sim(sp.csr_matrix(half), n)
    assert whole.n_all == len(found)
    median = np.sort(found)[len(found) // 2] if len(found) else 0.0
    kept = np.where(full >= median - 1 / BINS, full, 0)  # as fine as the histogram is
    np.testing.assert_allclose(dense(whole), kept, atol=1e-6)
    assert 2 * whole.n_above >= whole.n_all
    cut = dense(path_sim(sp.csr_matrix(half), 2))
    np.testing.assert_allclose(
        np.sort(cut, axis=1)[:, -2:], np.sort(kept, axis=1)[:, -2:], atol=1e-6
    )
    assert ((cut > 0).sum(axis=1) <= 2).all()


def test_the_median_keeps_about_half() -> None:
    rng = np.random.default_rng(0)
    got = path_sim(sp.csr_matrix(rng.poisson(1.0, (60, 30))), 60)
    assert got.n_above / got.n_all == pytest.approx(0.5, abs=0.02)
    assert got.rows.size == got.n_above


def test_aspects_are_the_meta_paths() -> None:
    known = ragged([0, 1], [1], [2])
    about = facts([[0], [0, 1], [2], [1, 3]], [0, 0, 0, 1])
    purchase, first, second = aspects(known, about, relations=2, neighbours=4)
    assert (purchase.relation, first.relation, second.relation) == (None, 0, 1)
    taken = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    has = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0]])
    for got, half in (
        (purchase.user, taken),
        (purchase.item, taken.T),
        (first.user, taken @ has),
        (first.item, has),
        (second.item, np.array([[0], [0], [0], [1]])),
    ):
        full = slow(half.astype(np.float64))
        np.testing.assert_allclose(dense(got), np.where(full >= got.median, full, 0), atol=1e-6)


def made(config: NeuACFConfig = SMALL, seed: int = 1) -> tuple[NeuACF, Ragged, Facts]:
    known, about = random_world(3)
    return NeuACF(config, known, about, seed=seed), known, about


def test_the_net_is_the_papers() -> None:
    model, known, about = made()
    sides = aspects(known, about, relations=2, neighbours=50)
    net = model.net
    us, vs = [], []
    for aspect, user, item in zip(sides, net.users, net.items, strict=True):
        for x, tower, into in ((aspect.user, user, us), (aspect.item, item, vs)):
            hidden = torch.relu(torch.from_numpy(dense(x)) @ tower.first + tower.bias)
            into.append(hidden @ tower.second.weight.T + tower.second.bias)
    told = [torch.sigmoid(net.weigh(torch.sigmoid(net.look(u)))) for u in us]
    weight = torch.softmax(torch.cat(told, dim=1), dim=1)  # (U, A)
    user, item = model.factors()
    for u in range(4):
        p = sum(w * x[u] for w, x in zip(weight[u], us, strict=True))
        for i in range(5):
            q = sum(w * x[i] for w, x in zip(weight[u], vs, strict=True))
            assert user[u] @ item[i] == pytest.approx(float((p * q).sum().detach()), abs=1e-5)
    np.testing.assert_allclose(model.attention(), weight.detach().numpy(), atol=1e-6)


def test_attention_sums_to_one_and_is_one_for_a_single_aspect() -> None:
    model, *_ = made()
    np.testing.assert_allclose(model.attention().sum(axis=1), 1.0, atol=1e-6)
    alone, *_ = made(NeuACFConfig(dim=4, hidden=6, relations=0))
    assert alone.aspects == (None,)
    np.testing.assert_array_equal(alone.attention(), 1.0)


def test_gradients_equal_those_of_dense_matrices() -> None:
    model, known, about = made()
    tower = model.net.users[1]
    x = torch.from_numpy(dense(aspects(known, about, relations=2, neighbours=50)[1].user))
    pull = torch.randn(len(x), 4, generator=torch.Generator().manual_seed(0))
    (tower() * pull).sum().backward()
    ours = tower.first.grad.clone()
    tower.first.grad = None
    hidden = torch.relu(x @ tower.first + tower.bias)
    ((hidden @ tower.second.weight.T + tower.second.bias) * pull).sum().backward()
    torch.testing.assert_close(ours, tower.first.grad)


def test_a_value_is_worth_what_its_holders_are_in_its_aspect() -> None:
    model, _, about = made()
    user, item = model.factors()
    for value in range(about.n_values):
        relation = about.relation[value]
        a = model.aspects.index(relation) if relation in model.aspects else 0
        chunk = slice(4 * a, 4 * a + 4)
        mean = item[about.holders.row(value)][:, chunk].mean(axis=0)
        got = model.preferences(5, np.array([value]))[0]
        assert got == pytest.approx(user[5, chunk] @ mean, abs=1e-5)


def test_the_last_important_are_the_least_preferred() -> None:
    class Told:
        def preferences(self, user: int, values: np.ndarray) -> np.ndarray:
            return np.array([0.0, 3.0, -1.0, 3.0, -2.0])[values] * (1 if user == 0 else -1)

    values = np.array([0, 1, 2, 3, 4])
    assert last_important(Told(), 0, values, 3).tolist() == [4, 2, 0]
    assert last_important(Told(), 1, values).tolist() == [1, 3, 0, 2, 4]


def test_preferences_follow_learning() -> None:
    model, known, about = made()
    before = model.preferences(0, np.arange(about.n_values))
    model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    assert not np.array_equal(before, model.preferences(0, np.arange(about.n_values)))


def test_items_without_values_and_data_without_facts_are_fine() -> None:
    known = ragged([0, 1], [1, 2])
    nothing = facts([[], [], []], [])
    model = NeuACF(SMALL, known, nothing, seed=0)
    assert model.aspects == (None,)
    assert model.preferences(0, np.array([], np.int32)).shape == (0,)
    loss = model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    assert np.isfinite(loss)


@pytest.mark.slow
def test_likes_planted_tastes_more_than_planted_dislikes() -> None:
    def make(known: Ragged, about: Facts) -> NeuACF:
        model = NeuACF(NeuACFConfig(relations=8, batch=1024), known, about, seed=0)
        for epoch in range(20):
            model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(epoch))
        return model

    assert likes_what_it_should(make)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"model\.neighbours"):
        NeuACFConfig(neighbours=0)
    with pytest.raises(ConfigError, match="relations"):
        NeuACFConfig(relations=-1)
