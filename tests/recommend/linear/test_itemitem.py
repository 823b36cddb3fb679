"""The item-item ridge against numpy, whole and on the nearest items."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from cerec.data.ragged import Ragged
from cerec.recommend.linear import itemitem
from cerec.recommend.linear.gram import Gram, longest, shortened
from cerec.recommend.linear.itemitem import cut, nearest, pairs_of


def rows_of(matrix: NDArray[np.float64]) -> tuple[Ragged, NDArray[np.float64]]:
    user, item = np.nonzero(matrix)
    return Ragged.from_pairs(user, item, len(matrix)), matrix[user, item]


def random_matrix(users: int, items: int, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return (rng.random((users, items)) < 0.3) * rng.integers(1, 3, (users, items)).astype(float)


def dense(pairs: itemitem.Pairs, n: int) -> NDArray[np.float64]:
    out = np.zeros((n, n))
    out[pairs.targets.row_of(), pairs.targets.indices] = pairs.strength
    return out


def slow_gram(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    total = matrix.sum(axis=1)
    weight = np.where(total > 0, np.maximum(total, 1e-9) ** -0.5, 0.0)
    return matrix.T @ (weight[:, None] * matrix)


def test_gram_is_the_weighted_product() -> None:
    matrix = random_matrix(30, 12)
    rows, weight = rows_of(matrix)
    gram = Gram.build(rows, weight, 12)
    found = np.zeros((12, 12))
    found[np.repeat(np.arange(12), np.diff(gram.indptr)), gram.indices] = gram.count
    assert np.allclose(found, slow_gram(matrix), rtol=1e-6)
    assert np.allclose(gram.diagonal, np.diag(found))


def test_long_histories_count_with_a_drawn_part() -> None:
    """Squares 1 + 4 + 100: within 41, the longest of ten items counts with six."""
    lengths = np.array([1, 2, 10])
    rows = Ragged.from_pairs(np.repeat([0, 1, 2], lengths), np.r_[0, 0:2, 0:10], 3)
    assert longest(rows, squares=41) == 6
    assert longest(rows, squares=40) == 5
    assert longest(rows, squares=105) == 5_000
    few, weight = shortened(rows, np.arange(13.0), 6)
    assert few.counts.tolist() == [1, 2, 6]
    assert weight[:3].tolist() == [0, 1, 2]
    assert np.array_equal(few.row(2), weight[3:] - 3)  # each entry with its own weight
    assert (np.diff(few.row(2)) > 0).all()


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(1, 5_000))
def test_the_length_that_counts_keeps_within_the_squares(counts: list[int], squares: int) -> None:
    rows = Ragged(np.cumsum([0, *counts]), np.zeros(sum(counts), np.int32))
    most = longest(rows, squares=squares)
    used = np.minimum(counts, most).astype(float)
    assert (used**2).sum() <= squares
    more = np.minimum(counts, most + 1).astype(float)
    assert (more**2).sum() > squares or most == 5_000


def test_nearest_prefers_the_lower_item_where_cosines_are_equal() -> None:
    matrix = np.zeros((8, 6))
    matrix[np.arange(8), [0, 0, 1, 1, 2, 2, 3, 3]] = 1.0
    matrix[[0, 2, 4, 6], 5] = 1.0  # four items alike to item 5
    rows, weight = rows_of(matrix)
    near = nearest(Gram.build(rows, weight, 6), 3)
    assert near[5].tolist() == [0, 1, 2]
    assert near[0].tolist() == [5, -1, -1]


def test_whole_columns_solve_the_regression_without_the_item_itself() -> None:
    matrix = random_matrix(40, 10)
    rows, weight = rows_of(matrix)
    gram = Gram.build(rows, weight, 10)
    found = dense(pairs_of(gram, 2.0), 10)
    g = slow_gram(matrix)
    for i in range(10):
        rest = [j for j in range(10) if j != i]
        system = g[np.ix_(rest, rest)] + 2.0 * gram.mean * np.eye(9)
        assert np.allclose(found[rest, i], np.linalg.solve(system, g[rest, i]), atol=1e-5)
        assert found[i, i] == 0


def test_nearest_columns_solve_it_on_their_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itemitem, "SMALL", 5)
    monkeypatch.setattr(itemitem, "NEAR", 4)
    matrix = random_matrix(60, 14, seed=3)
    rows, weight = rows_of(matrix)
    gram = Gram.build(rows, weight, 14)
    found, near = dense(pairs_of(gram, 0.5), 14), nearest(gram, 4)
    g = slow_gram(matrix)
    cosine = g / np.sqrt(np.outer(np.diag(g), np.diag(g)))
    np.fill_diagonal(cosine, -1)
    for i in range(14):
        mine = near[i][near[i] >= 0]
        best = np.sort(cosine[i])[::-1][:4]
        assert np.allclose(np.sort(cosine[i, mine])[::-1], best, atol=1e-6)
        system = g[np.ix_(mine, mine)] + 0.5 * gram.mean * np.eye(len(mine))
        assert np.allclose(found[mine, i], np.linalg.solve(system, g[mine, i]), atol=1e-5)
        others = np.setdiff1d(np.arange(14), mine)
        assert not found[others, i].any()


def test_cut_keeps_the_largest_entries_of_each_column() -> None:
    rows, weight = rows_of(random_matrix(40, 10))
    whole = pairs_of(Gram.build(rows, weight, 10), 1.0)
    full, few = dense(whole, 10), dense(cut(whole, 3), 10)
    for i in range(10):
        kept = np.flatnonzero(few[:, i])
        assert len(kept) == 3
        assert np.array_equal(few[kept, i], full[kept, i])
        assert np.abs(full[kept, i]).min() >= np.sort(np.abs(full[:, i]))[-3]


def test_threads_do_not_change_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itemitem, "SMALL", 5)
    rows, weight = rows_of(random_matrix(80, 30, seed=4))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("CEREC_THREADS", threads)
        gram = Gram.build(rows, weight, 30)
        found.append((gram.count.tobytes(), pairs_of(gram, 1.0).strength.tobytes()))
    assert found[0] == found[1]


@given(st.integers(0, 1000), st.integers(1, 6))
def test_solve_is_the_solution(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, n + 2))
    system, goal = half @ half.T + np.eye(n), rng.normal(size=n)
    upper, found = np.triu(system), goal.copy()
    itemitem.solve(upper, found)
    assert np.allclose(system @ found, goal)


def test_users_and_items_without_interactions_do_no_harm() -> None:
    matrix = random_matrix(10, 6)
    matrix[2] = 0
    matrix[:, 3] = 0
    rows, weight = rows_of(matrix)
    found = dense(pairs_of(Gram.build(rows, weight, 6), 1.0), 6)
    assert np.isfinite(found).all()
    assert not found[3].any()
    assert not found[:, 3].any()
