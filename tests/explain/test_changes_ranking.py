"""Lists and ranks from doubles against sorting in Python."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.recommend.rank import lists, ranks_after

NUMBERS = st.sampled_from([-np.inf, -1.0, 0.0, -0.0, 0.5, 0.5000000000000001, 2.0, np.nan])


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.sets(st.integers(0, 11)), st.integers(1, 15))
def test_lists_keep_the_order_of_the_catalogue(row: list[float], seen: set[int], k: int) -> None:
    scores = np.array([row])
    some = np.array(sorted(i for i in seen if i < len(row)), int)
    known = Ragged.from_pairs(0 * some, some, 1)
    order = [i for i in range(len(row)) if i not in seen and row[i] == row[i]]
    order.sort(key=lambda i: (-row[i], i))
    expected = (order + [-1] * k)[:k]
    assert lists(scores, known.indptr, known.indices, k).tolist() == [expected]


@given(st.lists(NUMBERS, min_size=1, max_size=12), st.sets(st.integers(0, 11)), st.data())
def test_ranks_after_a_change(row: list[float], seen: set[int], data: st.DataObject) -> None:
    item = data.draw(st.integers(0, len(row) - 1))
    score = data.draw(NUMBERS.filter(lambda x: x == x))
    some = np.array(sorted(i for i in seen if i < len(row)), int)
    known = Ragged.from_pairs(0 * some, some, 1)
    others = [i for i in range(len(row)) if i not in seen and i != item and row[i] == row[i]]
    ahead = sum(row[i] > score or (row[i] == score and i < item) for i in others)
    user, items = np.zeros(1, np.int64), np.array([item], np.int64)
    after = ranks_after(
        np.array([row]), known.indptr, known.indices, user, items, np.array([score])
    )
    assert after.tolist() == [ahead + 1]
