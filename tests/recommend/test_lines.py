from __future__ import annotations

import numpy as np
import pytest

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.lines import _solve, ease, ials, itemknn, itemknn_weights
from recommend_worlds import ragged, random_world


def dense(known: Ragged, n_items: int) -> np.ndarray:
    x = np.zeros((len(known), n_items))
    for u in range(len(known)):
        x[u, known.row(u)] = 1
    return x


def test_ease_solves_its_ridge_regression() -> None:
    # column j of B is the ridge regression of item j on the other items
    known, _ = random_world(0)
    x = dense(known, 20)
    got = ease(known, 20, l2=2.0).matrix
    for j in (0, 7):
        rest = np.delete(np.arange(20), j)
        a = x[:, rest]
        b = np.linalg.solve(a.T @ a + 2.0 * np.eye(19), a.T @ x[:, j])
        assert got[:, j] == pytest.approx(a @ b, abs=1e-5)


def test_itemknn_by_hand() -> None:
    # items 0 and 1 share one of two users each: cosine 1/2, shrunk to 1 / (2 + 2)
    known = ragged([0, 1], [0], [1])
    got = itemknn(known, 2, shrink=2.0).matrix
    assert got == pytest.approx(np.array([[0.25, 0.25], [0.0, 0.25], [0.25, 0.0]]))


def test_itemknn_keeps_the_nearest() -> None:
    known = ragged([0, 1, 2], [0, 1], [2])
    got = itemknn(known, 3, neighbours=1, shrink=0.0).matrix
    assert got[2].tolist() == [0.0, 0.0, 0.0]  # 0 and 1 are nearest to each other, not to 2
    assert got[0].tolist() == pytest.approx([1.0, 1.0, 1.0])  # 2 has two equal neighbours


def test_ials_lowers_its_objective() -> None:
    known, _ = random_world(0)
    x = dense(known, 20)

    def objective(sweeps: int) -> float:
        s = ials(known, 20, dim=4, weight=0.3, l2=0.05, sweeps=sweeps)
        p = s.user.astype(float) @ s.item.T
        fit = (x * (p - 1) ** 2).sum() + 0.3 * (p**2).sum()
        pull = sum(
            0.05 * (n + 0.3 * m) * v @ v
            for table, counts, m in (
                (s.user, x.sum(1), 20),
                (s.item, x.sum(0), len(known)),
            )
            for n, v in zip(counts, table.astype(float), strict=True)
        )
        return float(fit + pull)

    values = [objective(n) for n in (1, 2, 4, 12)]
    assert values == sorted(values, reverse=True)


def test_too_large_for_dense_is_refused() -> None:
    known = ragged([0])
    with pytest.raises(ConfigError, match="too large; use ials"):
        ease(known, 30_000)


def test_item_items_score_some_users_as_all() -> None:
    known, _ = random_world(0)
    model = itemknn_weights(known, 20, neighbours=5)
    whole = model.scorer().matrix
    assert whole is not None
    users = np.array([4, 0, 7])
    assert np.array_equal(model.scores(users), whole[users])


def test_ials_rows_are_least_squares() -> None:
    known, _ = random_world(1)
    rng = np.random.default_rng(0)
    item = rng.standard_normal((20, 6)).astype(np.float32)
    got = np.zeros((len(known), 6), np.float32)
    _solve(got, item, known, 0.3, 0.05)
    for u in range(len(known)):
        held = item[known.row(u)].astype(float)
        a = 0.3 * (item.astype(float).T @ item) + held.T @ held
        a += 0.05 * (len(held) + 0.3 * 20) * np.eye(6)
        assert got[u] == pytest.approx(np.linalg.solve(a, held.sum(0)), rel=1e-4, abs=1e-5)
