"""Every simple rival against a slow independent version, and on a world with an obvious answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from cerec.data.split import split
from cerec.data.synthetic.generate import checkerboard
from cerec.settings.data import SplitConfig
from cerec_bench.plans.tuning import SPACES, read_space
from cerec_bench.systems.chunks import top_lists_of
from cerec_bench.systems.simple import slim
from cerec_bench.systems.simple.base import Train, neighbours, powers
from cerec_bench.systems.simple.ials import _half
from cerec_bench.systems.simple.table import RIVALS
from recommend_worlds import facts, ragged, random_world

USERS = np.arange(12)


def world(seed: int = 0) -> tuple[Train, np.ndarray]:
    """A random train part, and the same as a dense matrix."""
    train = Train.of(*random_world(seed))
    return train, train.matrix.toarray().astype(np.float64)


def keep_largest(rows: np.ndarray, most: int) -> np.ndarray:
    """In every row only the largest entries above zero, the earlier first in ties."""
    out = np.zeros_like(rows)
    for i, row in enumerate(rows):
        for j in np.argsort(-row, kind="stable")[:most]:
            out[i, j] = max(row[j], 0.0)
    return out


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "popularity"])
def test_solves_the_checkerboard(name: str) -> None:
    board = checkerboard(30)
    known = split(board, SplitConfig(carve=0.0), seed=0).train
    given_values = facts([[n % 2] for n in range(30)], [0, 0])
    made = RIVALS[name].fit(
        Train.of(known, given_values), **({"common": 1.0} if name == "contentknn" else {})
    )
    assert top_lists_of(made, known, 1)[:, 0].tolist() == list(range(30))


@pytest.mark.parametrize("name", RIVALS)
def test_some_users_score_as_all_and_twice_the_same(name: str) -> None:
    train, _ = world()
    one, two = RIVALS[name].fit(train), RIVALS[name].fit(train)
    every = one.scores(USERS)
    assert every.shape == (12, 20)
    assert every.dtype == np.float32
    some = np.array([4, 0, 7])
    np.testing.assert_allclose(one.scores(some), every[some], rtol=1e-6, atol=1e-7)
    assert np.array_equal(two.scores(USERS), every)


@pytest.mark.parametrize("name", RIVALS)
def test_strangers_and_lonely_items_have_finite_scores(name: str) -> None:
    known, values = ragged([0, 1], [], [1, 2], [0, 2]), facts([[0], [0], [1], []], [0, 0])
    made = RIVALS[name].fit(Train.of(known, values)).scores(np.arange(4))
    assert np.isfinite(made).all()
    if name not in ("popularity", "ials"):
        assert (made[1] == 0).all()  # nobody is known by nothing


@pytest.mark.parametrize("name", RIVALS)
def test_nothing_to_learn_from_is_no_trace(name: str) -> None:
    made = RIVALS[name].fit(Train.of(ragged([], []), facts([[], [], []], [])))
    assert np.isfinite(made.scores(np.arange(2))).all()


def test_every_rival_has_a_search_space_of_its_own_settings() -> None:
    train, _ = world()
    for name, rival in RIVALS.items():
        space = read_space(SPACES, name)
        for low in (True, False):
            chosen = {s.name: s.choices[0 if low else -1] if s.choices else s.low for s in space}
            rival.fit(train, **chosen)


def test_popularity_counts() -> None:
    train, x = world()
    assert np.array_equal(RIVALS["popularity"].fit(train).scores(USERS), np.tile(x.sum(0), (12, 1)))


def test_itemknn_by_hand() -> None:
    # user 0 has both items, 1 and 2 have one each: n_i = 2, common 1
    train = Train.of(ragged([0, 1], [0], [1]), facts([[], []], []))
    got = RIVALS["itemknn"].fit(train, user_weight=1.0, shrink=1.0).scores(np.arange(3))
    half = 0.5 / 2.0 * 0.5  # user 0 counts 1/2, the cosine divides by 2, shrinking by 1 / (1 + 1)
    assert got == pytest.approx(np.array([[half, half], [0.0, half], [half, 0.0]]))


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 99), st.floats(0, 1), st.floats(0, 1), st.sampled_from([0.0, 3.0]),
    st.integers(1, 25),
)  # fmt: skip
def test_itemknn_is_its_formula(
    seed: int, asymmetry: float, user_weight: float, shrink: float, most: int
) -> None:
    train, x = world(seed)
    users, items = x.sum(1), x.sum(0)
    sim = np.zeros((20, 20))
    for i in range(20):
        for h in range(20):
            both = (x[:, i] > 0) & (x[:, h] > 0)
            if i != h and both.any():
                top = (users[both] ** -user_weight).sum()
                sim[i, h] = top / (items[i] ** asymmetry * items[h] ** (1 - asymmetry))
                sim[i, h] *= both.sum() / (both.sum() + shrink)
    changes = {"asymmetry": asymmetry, "user_weight": user_weight, "shrink": shrink, "most": most}
    got = RIVALS["itemknn"].fit(train, **changes)
    weight = got.weight.toarray().T
    assert ((weight > 0).sum(1) <= most).all()
    kept = weight > 0
    assert weight[kept] == pytest.approx(sim[kept], rel=1e-5)
    largest = np.sort(keep_largest(sim, most), axis=1)  # rounding may swap what is tied
    assert np.sort(weight, axis=1) == pytest.approx(largest, rel=1e-5, abs=1e-7)
    assert got.scores(USERS) == pytest.approx(x @ weight.T, rel=1e-5, abs=1e-6)


def test_rp3beta_is_a_walk() -> None:
    train, x = world(2)
    items = np.maximum(x.sum(0), 1.0)
    to_user = (x / items).T ** 0.7  # item -> user
    to_item = (x / x.sum(1, keepdims=True)) ** 0.7
    walk = to_user @ to_item / items**0.3
    np.fill_diagonal(walk, 0.0)
    got = RIVALS["rp3beta"].fit(train, alpha=0.7, beta=0.3, most=20)
    assert got.weight.toarray() == pytest.approx(walk, rel=1e-5)
    few = RIVALS["rp3beta"].fit(train, alpha=0.7, beta=0.3, most=3).weight.toarray()
    assert np.sort(few, axis=1) == pytest.approx(np.sort(keep_largest(walk, 3), axis=1), rel=1e-5)


@pytest.mark.parametrize("user_weight", [0.0, 0.5])
@pytest.mark.parametrize("whole", [True, False])
def test_ease_columns_are_ridge_regressions(
    user_weight: float, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, x = world()
    if not whole:  # the nearest of a large catalogue, here all there are
        monkeypatch.setattr("cerec.recommend.linear.itemitem.SMALL", 5)
        monkeypatch.setattr("cerec_bench.systems.simple.ease.DENSE_ITEMS", 5)
    got = RIVALS["ease"].fit(train, penalty=0.7, user_weight=user_weight, most=19).weight
    got = got.toarray() if sp.issparse(got) else got
    x = x * x.sum(1, keepdims=True) ** (-user_weight / 2)
    pull = 0.7 * (x**2).sum(0).mean()
    for i in range(20):
        others = [h for h in range(20) if h != i and (whole or (x[:, h] @ x[:, i]) > 0)]
        a = x[:, others]
        want = np.linalg.solve(a.T @ a + pull * np.eye(len(others)), a.T @ x[:, i])
        assert got[others, i] == pytest.approx(want, abs=1e-5)
        assert got[i, i] == 0.0


def test_weighted_ease_weighs_users() -> None:
    train, _ = world()
    named = RIVALS["ease-weighted"].fit(train, penalty=2.0)
    assert np.array_equal(
        named.weight, RIVALS["ease"].fit(train, penalty=2.0, user_weight=0.5).weight
    )


def slow_column(x: np.ndarray, i: int, l1: float, ridge: float) -> np.ndarray:
    """SLIM's column by a general solver with bounds."""
    others = np.delete(np.arange(x.shape[1]), i)
    a, goal = x[:, others], x[:, i]

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        gap = a @ w - goal
        value = gap @ gap / 2 + l1 * w.sum() + ridge * (w @ w) / 2
        return value, a.T @ gap + l1 + ridge * w

    bounds = [(0, None)] * len(others)
    found = minimize(loss, np.zeros(len(others)), jac=True, bounds=bounds, tol=1e-12)
    out = np.zeros(x.shape[1])
    out[others] = found.x
    return out


@pytest.mark.parametrize("whole", [True, False])
def test_slim_columns_are_the_bounded_optimum(whole: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    train, x = world(1)
    if not whole:
        monkeypatch.setattr(slim, "DENSE_ITEMS", 5)
    got = RIVALS["slim"].fit(train, l1=0.3, l2=0.2, most=19, sweeps=500).weight
    got = got.toarray() if sp.issparse(got) else got
    ridge = 0.2 * x.sum(0).mean()
    for i in range(20):
        assert got[:, i] == pytest.approx(slow_column(x, i, 0.3, ridge), abs=4e-3)
    assert (got > 0).any()
    assert (got == 0).mean() > 0.3


def test_ials_rows_are_least_squares() -> None:
    train, x = world(1)
    rng = np.random.default_rng(0)
    item = rng.standard_normal((20, 6)).astype(np.float32)
    got = np.zeros((12, 6), np.float32)
    _half(train.matrix, got, item, 0.3, 0.8, 30)  # many steps: the exact optimum
    v = item.astype(float)
    mass = x.sum(1) + 0.3 * 20
    for u in range(12):
        a = 0.3 * (v.T @ v) + v.T @ (v * x[u][:, None]) + 0.8 * mass[u] / mass.mean() * np.eye(6)
        assert got[u] == pytest.approx(np.linalg.solve(a, x[u] @ v), rel=1e-3, abs=1e-4)


def test_ials_lowers_its_objective_and_the_seed_decides() -> None:
    train, x = world()
    masses = [x.sum(axis) + 0.3 * n for axis, n in ((1, 20), (0, 12))]

    def objective(sweeps: int) -> float:
        made = RIVALS["ials"].fit(train, dim=4, weight=0.3, pull=0.5, sweeps=sweeps)
        p = made.user.astype(float) @ made.item.T
        value = (x * (1 - p) ** 2).sum() + 0.3 * (p**2).sum()
        for table, mass in zip((made.user, made.item), masses, strict=True):
            value += (0.5 * mass / mass.mean() * (table.astype(float) ** 2).sum(1)).sum()
        return float(value)

    values = [objective(n) for n in (1, 2, 4, 12)]
    assert values == sorted(values, reverse=True)
    other = RIVALS["ials"].fit(Train(train.matrix, train.facts, 1)).scores(USERS)
    assert not np.array_equal(other, RIVALS["ials"].fit(train).scores(USERS))


def test_gfcf_is_its_filters() -> None:
    train, x = world(3)
    down = np.diag(powers(x.sum(0), -0.5))
    normal = np.diag(powers(x.sum(1), -0.5)) @ x @ down
    _, _, right = np.linalg.svd(normal)
    low = right[:4].T @ right[:4]
    want = x @ down @ (x.T @ np.diag(powers(x.sum(1), -1.0)) @ x) @ down
    want += 0.6 * x @ down @ low @ np.diag(powers(x.sum(0), 0.5))
    got = RIVALS["gfcf"].fit(train, dim=4, ideal=0.6).scores(USERS)
    assert got == pytest.approx(want, abs=2e-3)


def test_contentknn_is_the_cosine_of_its_values() -> None:
    train, _ = world(4)
    rows = train.facts.of_item
    values = np.zeros((20, 9))
    for i in range(20):
        values[i, rows.row(i)] = 1.0
    held = values.sum(0)
    weighted = values * np.log(21 / np.maximum(held, 1)) * (held <= 0.25 * 20)
    length = np.linalg.norm(weighted, axis=1)
    cosine = weighted @ weighted.T / np.maximum(np.outer(length, length), 1e-12)
    np.fill_diagonal(cosine, 0.0)
    got = RIVALS["contentknn"].fit(train, rarity=1.0, common=0.25, most=20).weight.toarray()
    np.testing.assert_allclose(got.T, cosine, atol=1e-6)


def test_neighbours_of_one_item_are_none() -> None:
    one = sp.csr_matrix(np.ones((1, 3), np.float32))
    ones = np.ones(3)
    assert neighbours(one, ones, ones[:1], ones[:1], shrink=0.0, most=5).nnz == 0


def test_weights_are_the_same_for_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    train, _ = world(5)
    for name in ("itemknn", "slim", "ials"):
        made = []
        for threads in ("1", "2"):
            monkeypatch.setenv("CEREC_THREADS", threads)
            made.append(RIVALS[name].fit(train).scores(USERS))
        assert np.array_equal(*made)
