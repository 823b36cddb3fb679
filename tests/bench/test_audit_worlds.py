"""What was planted in a recommender is found, in one world of each part."""

from __future__ import annotations

import pytest

from cerec_bench.audit import RELATIONS, none, order, planted, world


@pytest.mark.slow
def test_the_planted_order_is_found() -> None:
    rows = [order(seed) for seed in (80, 81)]
    assert sum(row["rank_brought"] for row in rows) / 2 >= 0.9
    assert all(sum(row["planted"].values()) == pytest.approx(1.0) for row in rows)
    assert set(rows[0]["learned"]) == set(RELATIONS)


@pytest.mark.slow
def test_a_planted_penalty_is_found_with_its_size() -> None:
    rows = [planted(seed) for seed in (80, 81, 82)]
    assert all(row["flagged"] and row["effect"][2] < 0 for row in rows)
    assert sum(row["within"] for row in rows) >= 2


@pytest.mark.slow
def test_a_penalty_in_what_people_take_is_found_and_none_is_not() -> None:
    rows = [world(seed) for seed in (80, 81)]
    assert all(row["flagged"] and row["planted"] < row["effect"][0] < 0 for row in rows)
    assert sum(none(seed)["flagged"] for seed in (80, 81, 82)) <= 1
