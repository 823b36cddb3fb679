from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cerec.errors import ConfigError
from cerec_bench.statistics import bootstrap, compare, holm, signed_rank, spread


def test_signed_rank_by_hand() -> None:
    # ranks 1..5, all won: p = 2 / 2^5; then rank 1 lost: effect (14 - 1) / 15
    assert signed_rank(np.array([1.0, 2, 3, 4, 5])) == (pytest.approx(2 / 32), 1.0)
    assert signed_rank(np.array([-1.0, 2, 3, 4, 5]))[1] == pytest.approx(13 / 15)


def test_no_difference_is_no_evidence() -> None:
    same = np.array([0.1, 0.2, np.nan])
    got = compare(same, same)
    assert (got.p, got.effect, got.n, got.difference) == (1.0, 0.0, 2, 0.0)


def test_users_without_value_are_left_out_in_pairs() -> None:
    got = compare(np.array([1.0, np.nan, 3.0]), np.array([0.5, 1.0, np.nan]))
    assert (got.n, got.difference) == (1, 0.5)


def test_misaligned_values_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"\(2,\) and \(3,\)"):
        compare(np.zeros(2), np.zeros(3))


def test_a_clear_difference_is_found() -> None:
    rng = np.random.default_rng(0)
    base = rng.random(500)
    got = compare(base + 0.01 + 0.02 * rng.standard_normal(500), base)
    assert got.p < 1e-6
    assert 0 < got.low < got.difference < got.high < 0.02


def test_bootstrap_of_a_constant_is_the_constant() -> None:
    assert bootstrap(np.full(9, 2.5)) == (2.5, 2.5)


def test_holm_by_hand() -> None:
    # sorted .01 .02 .03 -> 3 * .01, max(.03, 2 * .02), max(.04, .03)
    assert holm([0.02, 0.01, 0.03]) == pytest.approx([0.04, 0.03, 0.04])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_only_raises_and_keeps_order(p: list[float]) -> None:
    adjusted = holm(p)
    assert all(a >= b for a, b in zip(adjusted, p, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


def test_spread_over_seeds() -> None:
    assert spread([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert spread([1.0]) == (1.0, 0.0)
