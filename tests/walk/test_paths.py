from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from slow_paths import step_log_p

from cerec.agent.log_prob import log_prob
from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.walk.paths import PathSampler, Walks

Make = Callable[..., Ckg]


def no_lists(n: int) -> Ragged:
    return Ragged(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))


def vectors(graph: Ckg, seed: int, d: int = 5, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (scale * rng.standard_normal((graph.n_nodes, d))).astype(np.float32)


def random_lists(graph: Ckg, seed: int, k: int = 3) -> Ragged:
    rng = np.random.default_rng(seed)
    user = np.repeat(np.arange(graph.n_users), k)
    return Ragged.from_pairs(user, rng.integers(0, graph.n_items, len(user)), graph.n_users)


def test_two_step_probability_by_hand(make_graph: Make) -> None:
    # item 0 has attributes 0 and 1; behind 0 are items 1 and 2, behind 1 only item 2
    graph = make_graph(1, 3, 2, [(0, 0)], [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1)])
    h = np.zeros((6, 2), np.float32)
    h[0] = [1.0, 2.0]  # user
    h[1] = [1.0, -1.0]  # item 0
    h[2], h[3] = [2.0, 0.0], [0.0, 1.0]  # items 1 and 2
    h[4], h[5] = [1.0, 1.0], [0.5, -1.0]  # attributes 0 and 1
    # slope 0.5; a(0, attribute 0) = 1 * 1 + 2 * (-0.5) = 0; a(0, attribute 1) = 0.5 + 2 = 2.5
    # a(attribute 0, item 1) = 2; a(attribute 0, item 2) = 2
    first = math.log(1 / (1 + math.exp(2.5)))
    sampler = PathSampler(graph, slope=0.5)
    found = {}
    for seed in range(200):
        walk = sampler.walk(
            h, np.array([0]), np.array([0]), no_lists(1), depth=1, rng=np.random.default_rng(seed)
        )
        found[int(walk.attribute[0, 0]), int(walk.end[0])] = float(walk.log_p[0, 0])
    assert set(found) == {(0, 1), (0, 2), (1, 2)}
    assert found[0, 1] == pytest.approx(first + math.log(0.5), abs=1e-6)
    assert found[0, 2] == pytest.approx(first + math.log(0.5), abs=1e-6)
    assert found[1, 2] == pytest.approx(math.log(1 / (1 + math.exp(-2.5))), abs=1e-6)
    likeliest = sampler.walk(h, np.array([0]), np.array([0]), no_lists(1), depth=1, rng=None)
    assert path(likeliest, 0) == (0, 1, 2)


def test_an_attribute_that_leads_nowhere_is_not_offered(make_graph: Make) -> None:
    # attribute 1 leads only to item 2, which is on the list; attribute 2 only back to item 0
    facts = [(0, 0), (0, 1), (0, 2), (1, 0), (2, 1)]
    graph = make_graph(1, 3, 3, [(0, 0)], facts)
    lists = Ragged.from_pairs(np.array([0]), np.array([2]), 1)
    walk = PathSampler(graph).walk(
        vectors(graph, 0), np.array([0]), np.array([0]), lists, depth=1, rng=None
    )
    assert path(walk, 0) == (0, 0, 1)
    assert walk.log_p[0, 0] == pytest.approx(0.0)


def test_a_walk_without_a_way_on_ends(make_graph: Make) -> None:
    # 0 -(0)- 1, and 2 has no attribute at all; 1 may only go back to 0, 0 only to 1
    graph = make_graph(1, 3, 1, [(0, 0)], [(0, 0), (1, 0)])
    off = Ragged.from_pairs(np.array([0]), np.array([0]), 1)
    sampler = PathSampler(graph)
    walk = sampler.walk(
        vectors(graph, 0), np.zeros(2, int), np.array([0, 2]), off, depth=3, rng=None
    )
    assert path(walk, 0) == (0, 0, 1)  # 1 could only go to 0, which is on the list
    assert walk.steps.tolist() == [1, 0]
    assert path(walk, 1) == (2,)
    assert walk.item[:, 1].tolist() == [2, 2, 2, 2]
    assert walk.log_p[1:].tolist() == [[0.0, 0.0], [0.0, 0.0]]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), slope=st.sampled_from([0.0, 0.2, 0.7]), directed=st.booleans())
def test_drawn_steps_are_allowed_and_have_the_slow_versions_probability(
    random_graph: Make, seed: int, slope: float, directed: bool
) -> None:
    graph = random_graph(seed)
    h = vectors(graph, seed)
    lists = random_lists(graph, seed)
    user = np.repeat(np.arange(graph.n_users), graph.n_items)
    item = np.tile(np.arange(graph.n_items), graph.n_users)
    rng = np.random.default_rng(seed)
    sampler = PathSampler(graph, slope=slope, directed=directed)
    walks = sampler.walk(h, user, item, lists, depth=2, rng=rng)
    exact = torch.from_numpy(h.astype(np.float64))
    for b in range(0, len(user), 7):
        off = set(lists.row(user[b]).tolist())
        for t in range(2):
            at = int(walks.item[t, b])
            table = step_log_p(exact, graph, int(user[b]), at, off, slope, directed)
            assert (not table) == (walks.attribute[t, b] < 0)
            if table:
                key = int(walks.attribute[t, b]), int(walks.item[t + 1, b])
                assert walks.log_p[t, b] == pytest.approx(float(table[key]), abs=1e-5)
                assert sum(math.exp(float(p)) for p in table.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradient_is_that_of_the_slow_version(
    random_graph: Make, seed: int, directed: bool
) -> None:
    graph = random_graph(seed)
    h = vectors(graph, seed)
    lists = random_lists(graph, seed)
    rng = np.random.default_rng(seed)
    user = np.repeat(rng.integers(0, graph.n_users, 60), 2)  # pairs of rows share their groups
    item = np.repeat(rng.integers(0, graph.n_items, 60), 2)
    sampler = PathSampler(graph, slope=0.2, directed=directed)
    walks = sampler.walk(h, user, item, lists, depth=2, rng=rng)
    weight = torch.from_numpy(rng.standard_normal(walks.log_p.shape))

    fast = torch.from_numpy(h).requires_grad_()
    (log_prob(sampler, fast, walks, lists) * weight).sum().backward()
    slow = torch.from_numpy(h.astype(np.float64)).requires_grad_()
    total = slow.sum() * 0
    for b in range(len(user)):
        off = set(lists.row(user[b]).tolist())
        for t in np.flatnonzero(walks.moved[:, b]):
            at = int(walks.item[t, b])
            table = step_log_p(slow, graph, int(user[b]), at, off, 0.2, directed)
            key = int(walks.attribute[t, b]), int(walks.item[t + 1, b])
            total = total + weight[t, b] * table[key]
    total.backward()
    assert fast.grad is not None
    assert slow.grad is not None
    np.testing.assert_allclose(fast.grad.numpy(), slow.grad.numpy(), rtol=1e-3, atol=1e-4)


def test_draws_have_the_frequencies_of_the_distribution(random_graph: Make) -> None:
    graph = random_graph(3)
    h = vectors(graph, 3, scale=0.8)
    lists = random_lists(graph, 3, k=2)
    n = 20_000
    for user, item in [(0, 1), (3, 5)]:
        exact = torch.from_numpy(h.astype(np.float64))
        table = step_log_p(exact, graph, user, item, set(lists.row(user).tolist()), 0.2)
        rng = np.random.default_rng(user)
        walks = PathSampler(graph, slope=0.2).walk(
            h, np.full(n, user), np.full(n, item), lists, depth=1, rng=rng
        )
        keys = sorted(table)
        seen = {key: 0 for key in keys}
        for key in zip(walks.attribute[0].tolist(), walks.end.tolist(), strict=True):
            seen[key] += 1
        expected = np.array([n * math.exp(float(table[key])) for key in keys])
        often = expected >= 5
        pooled = [*expected[often], max(expected[~often].sum(), 1e-9)]
        counts = np.array([seen[key] for key in keys])
        observed = [*counts[often], counts[~often].sum()]
        if pooled[-1] < 5:
            pooled, observed = pooled[:-1], observed[:-1]
            pooled = list(np.array(pooled) / np.sum(pooled) * np.sum(observed))
        assert stats.chisquare(observed, pooled).pvalue > 1e-3


def test_a_dominating_current_item_is_left_out_exactly(make_graph: Make) -> None:
    # The item one stands on outweighs the others by e^60: their share must not be lost.
    graph = make_graph(1, 3, 1, [(0, 0)], [(0, 0), (1, 0), (2, 0)])
    h = np.array([[1.0], [60.0], [1.0], [1.0 + math.log(3.0)], [1.0]], np.float32)
    ends = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        walk = PathSampler(graph).walk(
            h, np.array([0]), np.array([0]), no_lists(1), depth=1, rng=rng
        )
        ends.append(int(walk.end[0]))
        expected = math.log(0.75) if ends[-1] == 2 else math.log(0.25)
        assert walk.log_p[0, 0] == pytest.approx(expected, abs=1e-6)
    assert 0.65 < np.mean(np.array(ends) == 2) < 0.85


def test_gradient_beside_a_dominating_current_item(make_graph: Make) -> None:
    # As above; a third walk, from item 1, shares the group and has the softmax of the group.
    graph = make_graph(1, 3, 1, [(0, 0)], [(0, 0), (1, 0), (2, 0)])
    h = np.array([[1.0], [60.0], [1.0], [1.0 + math.log(3.0)], [1.0]], np.float32)
    sampler, item = PathSampler(graph), np.array([0, 0, 1])
    lists, weight = no_lists(1), np.array([[1.0, 3.0, 0.5]])
    drawn = set()
    for seed in range(8):
        rng = np.random.default_rng(seed)
        walks = sampler.walk(h, np.zeros(3, int), item, lists, depth=1, rng=rng)
        drawn |= set(walks.end[:2].tolist())
        grad = sampler.gradient(h, walks, lists, weight)
        slow = torch.from_numpy(h.astype(np.float64)).requires_grad_()
        parts = [
            weight[0, b] * step_log_p(slow, graph, 0, int(item[b]), set(), 0.2)[0, int(end)]
            for b, end in enumerate(walks.end)
        ]
        torch.stack(parts).sum().backward()
        assert slow.grad is not None
        np.testing.assert_allclose(grad, slow.grad.numpy(), rtol=1e-4, atol=1e-5)
    assert drawn == {1, 2}


def test_uniform_steps_ignore_the_vectors(random_graph: Make) -> None:
    graph = random_graph(1)
    h = vectors(graph, 1)
    user, item = np.zeros(30, int), np.tile(np.arange(10), 3)
    lists = random_lists(graph, 1)
    sampler = PathSampler(graph, uniform=True)
    walks = sampler.walk(h, user, item, lists, depth=1, rng=np.random.default_rng(0))
    zero = torch.zeros(graph.n_nodes, 2, dtype=torch.float64)
    for b in np.flatnonzero(walks.moved[0]):
        table = step_log_p(zero, graph, 0, int(item[b]), set(lists.row(0).tolist()), 0.2)
        key = int(walks.attribute[0, b]), int(walks.end[b])
        assert walks.log_p[0, b] == pytest.approx(float(table[key]), abs=1e-9)
    leaf = torch.from_numpy(h).requires_grad_()
    log_prob(sampler, leaf, walks, lists).sum().backward()
    assert leaf.grad is not None
    assert not leaf.grad.any()


def test_hubs_are_skipped_and_surprise_does_not_grow_with_choices(make_graph: Make) -> None:
    # attribute 0 on 30 of 40 items, attribute 1 on 12, attribute 2 on the same 12
    facts = [(i, 0) for i in range(30)] + [(i, a) for i in range(12) for a in (1, 2)]
    graph = make_graph(1, 40, 3, [(0, 0)], facts)
    h, who, item = vectors(graph, 0), np.zeros(500, int), np.zeros(500, int)

    def walk(widest: float) -> Walks:
        sampler = PathSampler(graph, uniform=True, widest=widest)
        rng = np.random.default_rng(0)
        return sampler.walk(h, who, item, no_lists(1), depth=1, rng=rng)

    assert set(walk(1.0).attribute[0].tolist()) == {0, 1, 2}
    assert set(walk(0.5).attribute[0].tolist()) == {1, 2}
    both = walk(0.5)  # the item itself is one of the twelve, but no choice
    assert both.surprise[0] == pytest.approx(1 + math.log(11) / math.log(12))


def test_the_last_step_may_keep_off_more(random_graph: Make) -> None:
    graph = random_graph(4)
    h, lists = vectors(graph, 4), no_lists(graph.n_users)
    more = random_lists(graph, 9, k=6)
    user = np.repeat(np.arange(graph.n_users), 40)
    item = np.tile(np.arange(10), len(user) // 10)
    walks = PathSampler(graph).walk(
        h, user, item, lists, depth=2, rng=np.random.default_rng(1), last=more
    )
    took = walks.moved[1]
    assert took.any()
    assert not any(walks.end[b] in more.row(user[b]) for b in np.flatnonzero(took))


def test_order_and_company_of_rows_do_not_matter(random_graph: Make) -> None:
    graph = random_graph(5)
    h, lists = vectors(graph, 5), random_lists(graph, 5)
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, graph.n_users, 500), rng.integers(0, graph.n_items, 500)
    sampler = PathSampler(graph)
    whole = sampler.walk(h, user, item, lists, depth=2, rng=None)
    for rows in (rng.permutation(500), np.arange(0, 500, 9)):
        part = sampler.walk(h, user[rows], item[rows], lists, depth=2, rng=None)
        assert np.array_equal(part.item, whole.item[:, rows])
        assert np.array_equal(part.log_p, whole.log_p[:, rows])


def test_gradient_is_the_same_bits_on_any_number_of_threads(random_graph: Make) -> None:
    import numba

    graph = random_graph(6)
    h, lists = vectors(graph, 6), random_lists(graph, 6)
    rng = np.random.default_rng(0)
    user, item = rng.integers(0, graph.n_users, 3000), rng.integers(0, graph.n_items, 3000)
    sampler, results = PathSampler(graph), []
    before = numba.get_num_threads()
    try:
        for threads in (1, min(2, before)):
            numba.set_num_threads(threads)
            walks = sampler.walk(h, user, item, lists, depth=2, rng=np.random.default_rng(1))
            results.append((walks, sampler.gradient(h, walks, lists, np.ones((2, 3000)))))
    finally:
        numba.set_num_threads(before)
    (one, grad), (two, other) = results
    assert np.array_equal(one.item, two.item)
    assert np.array_equal(one.log_p, two.log_p)
    assert np.array_equal(grad, other)


def test_no_walks_at_all(random_graph: Make) -> None:
    graph = random_graph(0)
    none = np.zeros(0, int)
    walks = PathSampler(graph).walk(
        vectors(graph, 0), none, none, no_lists(graph.n_users), depth=2, rng=None
    )
    assert walks.item.shape == (3, 0)


def path(walks: Walks, b: int) -> tuple[int, ...]:
    """Item, attribute, item, ... of walk b: item rows and entity rows by turns."""
    rows = [int(walks.item[0, b])]
    for t in range(int(walks.steps[b])):
        rows += [int(walks.attribute[t, b]), int(walks.item[t + 1, b])]
    return tuple(rows)
