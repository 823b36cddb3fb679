"""Splits: hand cases, then the properties every method must keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.dataset import TEST, TRAIN, VALID, Dataset, Interactions, Triples
from cerec.data.ids import IdTable
from cerec.data.split import Split, split, with_parts
from cerec.errors import ConfigError, DataError
from cerec.settings.data import SplitConfig


def dataset(pairs, *, users=4, items=12, time=None, part=None) -> Dataset:
    user, item = np.array(pairs, np.int32).reshape(-1, 2).T
    none = np.zeros(0, np.int32)
    return Dataset(
        name="hand",
        users=IdTable("user", [str(k) for k in range(users)]),
        items=IdTable("item", [str(k) for k in range(items)]),
        entities=IdTable("entity", []),
        relations=IdTable("relation", []),
        interactions=Interactions(
            user,
            item,
            time=None if time is None else np.array(time, np.float64),
            part=None if part is None else np.array(part, np.int8),
        ),
        triples=Triples(none, none, none),
    )


def pairs_of(parts: Split) -> list[set[tuple[int, int]]]:
    return [
        set(zip(p.row_of().tolist(), p.indices.tolist(), strict=True))
        for p in (parts.train, parts.valid, parts.test)
    ]


def test_ratio_parts_each_user_60_20_20() -> None:
    data = dataset([(0, k) for k in range(10)] + [(1, k) for k in range(5)] + [(2, 3)])
    parts = split(data, seed=0)
    assert parts.train.counts.tolist() == [6, 3, 1, 0]
    assert parts.valid.counts.tolist() == [2, 1, 0, 0]
    assert parts.test.counts.tolist() == [2, 1, 0, 0]


def test_time_takes_the_latest_for_test() -> None:
    data = dataset([(0, k) for k in range(5)], time=[50, 10, 40, 20, 30])
    parts = split(data, SplitConfig(method="time"), seed=0)
    assert pairs_of(parts) == [{(0, 1), (0, 3), (0, 4)}, {(0, 2)}, {(0, 0)}]


def test_leave_one_out_uses_times_when_there_are_any() -> None:
    data = dataset([(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 5)], time=[3, 2, 1, 1, 2, 9])
    parts = split(data, SplitConfig(method="leave_one_out"), seed=0)
    assert pairs_of(parts) == [{(0, 2), (1, 0), (2, 5)}, {(0, 1)}, {(0, 0), (1, 1)}]


def test_leave_one_out_without_times_draws() -> None:
    data = dataset([(0, k) for k in range(9)])
    parts = split(data, SplitConfig(method="leave_one_out"), seed=0)
    assert (parts.train.size, parts.valid.size, parts.test.size) == (7, 1, 1)


def test_given_keeps_the_parts_and_carves_validation_from_train() -> None:
    pairs = [(0, k) for k in range(8)] + [(0, 8), (0, 9), (1, 0), (2, 0)]
    part = [TRAIN] * 8 + [TEST] * 2 + [TRAIN, TEST]
    parts = split(dataset(pairs, part=part), seed=0)
    assert parts.train.counts.tolist() == [6, 1, 0, 0]
    assert parts.valid.counts.tolist() == [2, 0, 0, 0]
    assert pairs_of(parts)[2] == {(0, 8), (0, 9), (2, 0)}
    whole = split(dataset(pairs, part=part), SplitConfig(carve=0), seed=0)
    assert whole.valid.size == 0
    assert whole.train.counts.tolist() == [8, 1, 0, 0]


def test_given_validation_is_not_carved_again() -> None:
    data = dataset([(0, 0), (0, 1), (0, 2)], part=[TRAIN, VALID, TEST])
    assert pairs_of(split(data, seed=3)) == [{(0, 0)}, {(0, 1)}, {(0, 2)}]


def test_a_pair_in_train_and_test_stays_in_train() -> None:
    data = dataset([(0, 0), (0, 0), (0, 1)], part=[TEST, TRAIN, TEST])
    assert pairs_of(split(data, seed=0)) == [{(0, 0)}, set(), {(0, 1)}]


def test_repeats_count_once_at_their_earliest_time() -> None:
    data = dataset([(0, 0), (0, 0), (0, 1)], time=[9, 1, 5])
    parts = split(data, SplitConfig(method="leave_one_out"), seed=0)
    assert pairs_of(parts) == [{(0, 0)}, set(), {(0, 1)}]


@pytest.mark.parametrize(
    ("method", "needs"), [("time", "a time for every interaction"), ("given", "comes in parts")]
)
def test_a_method_without_its_column_says_what_to_do(method, needs) -> None:
    with pytest.raises(DataError, match=needs):
        split(dataset([(0, 0)]), SplitConfig(method=method), seed=0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "random"},
        {"train": 0.9},
        {"train": 0.0, "valid": 0.5, "test": 0.5},
        {"train": 1.2, "valid": -0.2, "test": 0.0},
        {"carve": 1.0},
    ],
)
def test_wrong_settings_are_refused(wrong) -> None:
    with pytest.raises(ConfigError, match=r"split\."):
        SplitConfig(**wrong)


@st.composite
def tables(draw: st.DrawFn) -> Dataset:
    rows = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 11)), min_size=1, max_size=60))
    n = len(rows)
    time = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))
    part = draw(st.lists(st.sampled_from([TRAIN, VALID, TEST]), min_size=n, max_size=n))
    return dataset(rows, time=time, part=part)


METHODS = st.sampled_from(["ratio", "leave_one_out", "time", "given"])


@settings(deadline=None)
@given(tables(), METHODS, st.integers(0, 5), st.randoms(use_true_random=False))
def test_parts_are_disjoint_complete_and_independent_of_row_order(data, method, seed, rnd) -> None:
    config = SplitConfig(method=method)
    parts = split(data, config, seed=seed)
    train, valid, test = pairs_of(parts)
    table = data.interactions
    every = set(zip(table.user.tolist(), table.item.tolist(), strict=True))
    assert train | valid | test == every
    assert len(train) + len(valid) + len(test) == len(every)
    assert all(len(p) == len(data.users) for p in (parts.train, parts.valid, parts.test))
    if method != "given":
        assert {u for u, _ in train} == {u for u, _ in every}
    order = list(range(len(table)))
    rnd.shuffle(order)
    mixed = Interactions(
        table.user[order], table.item[order], time=table.time[order], part=table.part[order]
    )
    again = split(replace(data, interactions=mixed), config, seed=seed)
    assert again.train.equals(parts.train)
    assert again.valid.equals(parts.valid)
    assert again.test.equals(parts.test)


def test_seeds_differ() -> None:
    data = dataset([(u, k) for u in range(4) for k in range(12)])
    assert not split(data, seed=0).test.equals(split(data, seed=1).test)


@settings(deadline=None)
@given(tables(), METHODS)
def test_parts_written_into_the_data_are_found_again(data, method) -> None:
    parts = split(data, SplitConfig(method=method), seed=0)
    marked = with_parts(data, parts)
    assert len(marked.interactions) == len(data.interactions)
    again = split(marked, SplitConfig(method="given", carve=0), seed=1)
    assert again.train.equals(parts.train)
    assert again.valid.equals(parts.valid)
    assert again.test.equals(parts.test)
