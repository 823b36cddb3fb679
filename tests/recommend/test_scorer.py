"""One arithmetic: the same bits however a number is computed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.errors import DataError
from cerec.recommend.scorer import Scorer
from recommend_worlds import rank_of, top_k


def scorer(seed: int, scale: float = 1.0, n_values: int = 200) -> Scorer:
    rng = np.random.default_rng(seed)

    def factors(n: int) -> np.ndarray:
        return (scale * rng.normal(size=(n, 8))).astype(np.float32)

    user = factors(5)
    return Scorer(user, factors(40), factors(n_values), user, "mean")


def test_ranks_by_hand_with_ties_and_seen_items() -> None:
    scores = np.array([1.0, 3.0, 2.0, 3.0, 0.0])
    assert [rank_of(scores, i, np.array([], int)) for i in range(5)] == [4, 1, 3, 2, 5]
    assert top_k(scores, 3, np.array([], int)).tolist() == [1, 3, 2]
    assert top_k(scores, 9, np.array([1])).tolist() == [3, 2, 0, 4]
    assert rank_of(scores, 2, np.array([1])) == 2
    assert top_k(scores, 1, np.arange(5)).tolist() == []


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 1000), st.floats(-30, 30))
def test_sums_of_effects_are_exact_in_any_order(seed: int, log_scale: float) -> None:
    s = scorer(seed, 2.0**log_scale)
    w = s.all_effects(0)
    exact = sum((Fraction(float(x)) for x in w), Fraction(0))
    order = np.random.default_rng(seed).permutation(len(w))
    assert Fraction(float(w.sum())) == exact == Fraction(float(np.add.reduce(w[order])))
    assert Fraction(sum(w[order].tolist())) == exact


def test_any_batch_gives_the_same_bits() -> None:
    s = scorer(1, n_values=203)
    everything = s.all_effects(2)
    for size in (1, 2, 7, 64, 203):
        rows = np.random.default_rng(size).choice(203, size, replace=False)
        assert np.array_equal(s.effects(2, rows), everything[rows])
    part = Scorer(s.user, s.item[3:4], s.effect, s.effect_user, "mean")
    assert part.scores(2)[0] == s.scores(2)[3]


def test_effects_move_by_less_than_single_precision() -> None:
    s = scorer(4)
    raw = s.effect.astype(np.float64) @ s.effect_user[0].astype(np.float64)
    assert np.abs(s.all_effects(0) - raw).max() < 1e-8


def test_a_matrix_of_scores_serves_as_it_is() -> None:
    s = scorer(0)
    matrix = np.arange(10, dtype=np.float32).reshape(5, 2)
    m = Scorer(s.user, s.item[:2], s.effect, s.effect_user, "sum", matrix=matrix)
    assert (m.n_users, m.n_items) == (5, 2)
    assert m.scores(3).tolist() == [6.0, 7.0]


def test_tables_that_cannot_be_compared_are_refused() -> None:
    s = scorer(0)
    broken = s.item.copy()
    broken[7, 0] = np.nan
    with pytest.raises(DataError, match=r"item factors hold .* in row 7"):
        Scorer(s.user, broken, s.effect, s.effect_user, "sum")
    with pytest.raises(DataError, match="8 columns and item factors 3"):
        Scorer(s.user, s.item[:, :3].copy(), s.effect, s.effect_user, "sum")
    with pytest.raises(DataError, match="float32"):
        Scorer(s.user, s.item.astype(np.float64), s.effect, s.effect_user, "sum")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="effects have 3 columns"):
        Scorer(s.user, s.item, s.effect[:, :3].copy(), s.effect_user, "sum")
