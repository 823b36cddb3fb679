from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import ThreadpoolController

from cerec.data.ragged import Ragged
from cerec.recommend import topk
from cerec.recommend.rank import lists
from cerec.recommend.topk import top_k_all
from recommend_worlds import ragged, top_k


def test_lists_by_hand() -> None:
    user = np.array([[1.0], [-1.0]], np.float32)
    item = np.array([[3.0], [1.0], [3.0], [2.0]], np.float32)
    got = top_k_all(user, item, ragged([], [1]), 3)
    assert got.tolist() == [[0, 2, 3], [3, 0, 2]]  # equal scores in catalogue order


def test_lists_of_no_item() -> None:
    one = np.ones((2, 1), np.float32)
    assert top_k_all(one, one, ragged([], []), 0).shape == (2, 0)


def test_fewer_unknown_items_than_asked_for() -> None:
    one = np.ones((1, 1), np.float32)
    got = top_k_all(one, np.ones((3, 1), np.float32), ragged([1]), 5)
    assert got.tolist() == [[0, 2, -1, -1, -1]]


@given(
    seed=st.integers(0, 999),
    n_items=st.integers(1, 200),
    k=st.integers(1, 40),
    levels=st.sampled_from([2, 5, 1000]),
)
@settings(max_examples=60, deadline=None)
def test_equals_the_one_tie_rule(seed: int, n_items: int, k: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-levels, levels, (5, n_items)).astype(np.float32)  # many ties
    row, entry = np.nonzero(rng.random((5, n_items)) < 0.3)
    known = Ragged.from_pairs(row, entry, 5)
    got = lists(matrix, known.indptr, known.indices, k)
    for u in range(5):
        want = top_k(matrix[u].astype(np.float64), k, known.row(u))
        assert got[u][got[u] >= 0].tolist() == want.tolist()


def test_many_blocks_of_users_equal_one() -> None:
    rng = np.random.default_rng(0)
    user = rng.integers(-3, 4, (700, 8)).astype(np.float32)  # small integers: exact products
    item = rng.integers(-3, 4, (9000, 8)).astype(np.float32)
    known = ragged(*[[u % 9000] for u in range(700)])
    want = lists(user @ item.T, known.indptr, known.indices, 20)
    assert np.array_equal(top_k_all(user, item, known, 20), want)


def test_lists_are_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topk, "_BLOCK_BYTES", 64 << 10)  # many blocks
    rng = np.random.default_rng(0)
    user, item = (rng.standard_normal((n, 64), np.float32) for n in (900, 700))
    known = Ragged.from_pairs(np.arange(900), np.arange(900) % 700, 900)
    products = {}
    for threads in ("1", "2", "5"):
        monkeypatch.setenv("CEREC_THREADS", threads)
        blocks = topk.over_blocks(user, item, lambda first, scores: (first, scores.copy()))
        assert [first for first, _ in blocks] == sorted(first for first, _ in blocks)
        found = np.concatenate([scores for _, scores in blocks]).tobytes()
        products[found] = top_k_all(user, item, known, 20).tobytes()
    assert len(products) == 1


def test_products_run_on_one_thread_each_and_blas_gets_its_own_back() -> None:
    def threads() -> set[int]:
        found = ThreadpoolController().select(user_api="blas").info()
        return {library["num_threads"] for library in found}

    user, before = np.ones((3, 2), np.float32), threads()
    assert topk.over_blocks(user, user, lambda first, scores: threads()) == [{1}]
    assert threads() == before
