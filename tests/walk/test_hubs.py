"""Attributes of very many items, which have a kernel of their own, beside the slow version."""

from __future__ import annotations

import math
from collections.abc import Callable

import numba
import numpy as np
import pytest
import torch
from scipy import stats
from slow_paths import step_log_p

from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.walk.hubs import HUB, TILE, USERS
from cerec.walk.paths import PathSampler

Make = Callable[..., Ckg]
N_USERS = USERS + 40  # more than share the products of a tile
N_ITEMS = HUB + TILE // 2 + 300  # not a whole number of tiles


class Given:
    """Numbers known beforehand, in place of a generator; both hops of a step share them."""

    def __init__(self, numbers: np.ndarray) -> None:
        self._numbers = numbers

    def random(self, n: int) -> np.ndarray:
        assert n == len(self._numbers)
        return self._numbers


def hub_graph(make_graph: Make) -> Ckg:
    """Attribute 0 on nearly all items, attribute 1 on some."""
    facts = [(i, 0) for i in range(N_ITEMS - 20)] + [(i, 1) for i in range(0, N_ITEMS, 7)]
    return make_graph(N_USERS, N_ITEMS, 2, [(u, u) for u in range(N_USERS)], facts)


def world(make_graph: Make, d: int = 13) -> tuple[Ckg, np.ndarray, Ragged]:
    graph, rng = hub_graph(make_graph), np.random.default_rng(0)
    h = (0.7 * rng.standard_normal((graph.n_nodes, d))).astype(np.float32)
    user = np.repeat(np.arange(N_USERS), 30)
    return graph, h, Ragged.from_pairs(user, rng.integers(0, N_ITEMS, len(user)), N_USERS)


@pytest.mark.parametrize("d", [4, 13, 64])
def test_walks_behind_a_hub_have_the_slow_versions_probability(make_graph: Make, d: int) -> None:
    graph, h, lists = world(make_graph, d)
    assert graph.items_of.counts[0] >= HUB > graph.items_of.counts[1]
    rng = np.random.default_rng(1)
    user, item = rng.integers(0, N_USERS, 2000), rng.integers(0, N_ITEMS, 2000)
    walks = PathSampler(graph).walk(h, user, item, lists, depth=1, rng=rng)
    exact = torch.from_numpy(h.astype(np.float64))
    behind = np.flatnonzero(walks.attribute[0] == 0)
    assert len(np.unique(user[behind])) > USERS
    for b in behind[::40]:
        off = set(lists.row(user[b]).tolist())
        table = step_log_p(exact, graph, int(user[b]), int(item[b]), off, 0.2)
        assert walks.log_p[0, b] == pytest.approx(float(table[0, int(walks.end[b])]), abs=3e-5)
    assert not any(walks.end[b] in lists.row(user[b]) for b in behind)
    assert not (walks.end[behind] == item[behind]).any()


def test_draws_behind_a_hub_have_the_frequencies_of_the_distribution(make_graph: Make) -> None:
    graph, h, lists = world(make_graph)
    n, user, item = 60_000, 7, 1  # item 1 has the hub alone
    exact = torch.from_numpy(h.astype(np.float64))
    table = step_log_p(exact, graph, user, item, set(lists.row(user).tolist()), 0.2)
    walks = PathSampler(graph).walk(
        h, np.full(n, user), np.full(n, item), lists, depth=1, rng=np.random.default_rng(3)
    )
    expected = np.zeros(N_ITEMS)
    for (_, j), log_p in table.items():
        expected[j] = n * math.exp(float(log_p))
    seen = np.bincount(walks.end, minlength=N_ITEMS)
    often = expected >= 5
    assert often.sum() > 100
    assert seen[expected == 0].sum() == 0
    rare = int(seen[~often].sum()), float(expected[~often].sum())
    pooled = [(seen[j], expected[j]) for j in np.flatnonzero(often)] + [rare] * (rare[1] > 0)
    observed, hoped = np.array(pooled).T
    assert stats.chisquare(observed, hoped, sum_check=False).pvalue > 1e-3


def test_no_walk_behind_a_hub_is_likelier_than_certain(make_graph: Make) -> None:
    # Scores in the thousands: a float32 holds their differences to a thousandth at best.
    graph, h, lists = world(make_graph)
    rng = np.random.default_rng(2)
    user, item = rng.integers(0, N_USERS, 300), np.full(300, 1)
    walks = PathSampler(graph).walk(20 * h, user, item, lists, depth=1, rng=rng)
    assert walks.moved.all()
    assert walks.log_p.max() <= 1e-9
    assert not any(end in lists.row(u) for u, end in zip(user, walks.end, strict=True))


def test_company_and_threads_do_not_change_a_walk_behind_a_hub(make_graph: Make) -> None:
    graph, h, lists = world(make_graph)
    rng = np.random.default_rng(5)
    user, item = rng.integers(0, N_USERS, 3000), rng.integers(0, N_ITEMS, 3000)
    noise, sampler = rng.random(3000), PathSampler(graph)

    def walk(rows: np.ndarray):  # type: ignore[no-untyped-def]
        given = Given(noise[rows])
        return sampler.walk(h, user[rows], item[rows], lists, depth=1, rng=given)  # type: ignore[arg-type]

    whole = walk(np.arange(3000))
    for rows in (rng.permutation(3000), np.arange(0, 3000, 11), np.array([2999])):
        part = walk(rows)
        assert np.array_equal(part.item, whole.item[:, rows])
        assert np.array_equal(part.log_p, whole.log_p[:, rows])
    before = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        alone = walk(np.arange(3000))
    finally:
        numba.set_num_threads(before)
    assert np.array_equal(alone.item, whole.item)
    assert np.array_equal(alone.log_p, whole.log_p)


def test_an_item_with_nearly_all_the_weight_of_a_hub_is_left_out_exactly(make_graph: Make) -> None:
    # Item 0 outweighs the others by e^60, and item 2 each of the rest by 1,000.
    n = HUB + 100
    graph = make_graph(1, n, 1, [(0, 0)], [(i, 0) for i in range(n)])
    h = np.ones((graph.n_nodes, 1), np.float32)
    h[1], h[3] = 60.0, 1.0 + math.log(1000.0)
    chance = 1000.0 / (1000.0 + n - 2)
    rows = np.zeros(2000, int)
    walks = PathSampler(graph).walk(
        h, rows, rows, Ragged(np.zeros(2, np.int64), np.zeros(0, np.int32)), depth=1,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    there = walks.end == 2
    assert not (walks.end == 0).any()
    assert abs(there.mean() - chance) < 4 * math.sqrt(chance * (1 - chance) / 2000)
    expected = np.where(there, math.log(chance), math.log(chance / 1000.0))
    assert walks.log_p[0] == pytest.approx(expected, abs=1e-5)


def test_a_hub_of_which_all_but_one_item_is_kept_off(make_graph: Make) -> None:
    n = HUB + 5
    graph = make_graph(2, n, 1, [(0, 0)], [(i, 0) for i in range(n)])
    h = np.ones((graph.n_nodes, 3), np.float32)
    off = np.setdiff1d(np.arange(n), [0, 1000])
    lists = Ragged.from_pairs(
        np.concatenate([np.zeros(len(off), int), np.ones(n, int)]),
        np.concatenate([off, np.arange(n)]), 2,
    )  # fmt: skip
    walks = PathSampler(graph).walk(
        h, np.array([0, 0, 1]), np.array([0, 5, 5]), lists, depth=1, rng=np.random.default_rng(0)
    )
    assert walks.end[0] == 1000  # from item 0 nothing else is left
    assert walks.log_p[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert walks.end[1] in (0, 1000)
    assert walks.log_p[0, 1] == pytest.approx(math.log(0.5), abs=1e-6)
    assert walks.steps[2] == 0  # the second user may go nowhere
