from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_paths import step_log_p

from cerec.data.ckg import Ckg
from cerec.data.ragged import Ragged
from cerec.walk.beam import beam
from cerec.walk.paths import PathSampler

Make = Callable[..., Ckg]


def vectors(graph: Ckg, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((graph.n_nodes, 4)).astype(np.float32)


def best_paths(
    h: np.ndarray,
    graph: Ckg,
    user: int,
    item: int,
    off: set[int],
    depth: int,
    width: int,
    directed: bool,
) -> dict[int, tuple[float, tuple[int, ...]]]:
    """The beam again, level by level over dictionaries."""
    exact = torch.from_numpy(h.astype(np.float64))
    off = off | {item}
    states = {item: (0.0, (item,))}
    for _ in range(depth):
        found: dict[int, tuple[float, tuple[int, ...]]] = {}
        for at, (value, path) in states.items():
            for (a, j), p in step_log_p(exact, graph, user, at, off, 0.2, directed).items():
                entry = (value + float(p), (*path, a, j))
                if j not in found or entry[0] > found[j][0]:
                    found[j] = entry
        if not found:
            break
        keep = sorted(found, key=lambda j: -found[j][0])[:width]
        states = {j: found[j] for j in keep}
    return states


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    depth=st.integers(1, 3),
    width=st.integers(1, 5),
    directed=st.booleans(),
)
def test_beam_finds_the_likeliest_paths(
    random_graph: Make, seed: int, depth: int, width: int, directed: bool
) -> None:
    graph = random_graph(seed)
    h = vectors(graph, seed)
    rng = np.random.default_rng(seed)
    user, item = rng.integers(0, graph.n_users, 3), rng.integers(0, graph.n_items, 3)
    off = Ragged.from_pairs(np.repeat(np.arange(3), 4), rng.integers(0, graph.n_items, 12), 3)
    sampler = PathSampler(graph, directed=directed)
    beams = beam(sampler, h, user, item, off, depth=depth, width=width)
    proposals = beams.proposals()
    exact = torch.from_numpy(h.astype(np.float64))
    for b in range(3):
        expected = best_paths(
            h, graph, int(user[b]), int(item[b]), set(off.row(b).tolist()), depth, width, directed
        )
        mine = proposals.of(b)
        if mine.start == mine.stop:
            assert list(expected) == [int(item[b])]  # it could not start
            continue
        best = [value for value, _ in expected.values()]
        assert beams.log_p[b, : len(best)].tolist() == pytest.approx(best, abs=1e-5)
        assert len(set(proposals.item[mine].tolist())) == len(best)
        off_b = {int(item[b]), *off.row(b).tolist()}
        for w, path in enumerate(proposals.path[mine]):  # equal paths may stand in either order
            at, value = int(item[b]), 0.0
            for attribute, to in path[path[:, 0] >= 0].tolist():
                table = step_log_p(exact, graph, int(user[b]), at, off_b, 0.2, directed)
                at, value = to, value + float(table[attribute, to])
            assert at == proposals.item[mine][w]
            assert value == pytest.approx(best[w], abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), depth=st.integers(1, 2), width=st.integers(1, 4))
def test_rows_that_share_a_user_and_a_list_are_as_if_alone(
    random_graph: Make, seed: int, depth: int, width: int
) -> None:
    graph = random_graph(seed)
    h, sampler = vectors(graph, seed), PathSampler(graph)
    rng = np.random.default_rng(seed)
    n = 9  # a few starts of each user stand on its list, a few do not
    user = np.sort(rng.integers(0, min(graph.n_users, 2), n))
    item = rng.integers(0, graph.n_items, n)
    lists = [np.unique(rng.integers(0, graph.n_items, 4)) for _ in range(2)]
    whole = Ragged.from_pairs(
        np.repeat(np.arange(n), [len(lists[u]) for u in user]),
        np.concatenate([lists[u] for u in user]),
        n,
    )
    together = beam(sampler, h, user, item, whole, depth=depth, width=width)
    for b in range(n):
        off = Ragged(np.array([0, len(lists[user[b]])]), lists[user[b]].astype(np.int32))
        alone = beam(sampler, h, user[[b]], item[[b]], off, depth=depth, width=width)
        assert (alone.item[0] == together.item[b]).all()
        assert (alone.path[0] == together.path[b]).all()
        assert alone.log_p[0].tolist() == pytest.approx(together.log_p[b].tolist(), abs=1e-6)


def test_width_one_at_depth_one_is_no_worse_than_the_greedy_walk(random_graph: Make) -> None:
    graph = random_graph(8)
    h = vectors(graph, 8)
    n = graph.n_items
    none = Ragged(np.zeros(n + 1, np.int64), np.zeros(0, np.int32))
    sampler = PathSampler(graph)
    user, item = np.zeros(n, int), np.arange(n)
    beams = beam(sampler, h, user, item, none, depth=1, width=1)
    walks = sampler.walk(h, user, item, none, depth=1, rng=None)
    # both score in float32, but not by the same sums
    assert (beams.log_p[:, 0] >= walks.log_p[0] - 1e-6).all()


def test_an_item_without_attributes_has_no_path(make_graph: Make) -> None:
    graph = make_graph(1, 3, 1, [(0, 0)], [(0, 0), (1, 0)])
    none = Ragged(np.zeros(2, np.int64), np.zeros(0, np.int32))
    beams = beam(
        PathSampler(graph), vectors(graph, 0), np.array([0]), np.array([2]), none, depth=2, width=3
    )
    assert beams.item.tolist() == [[-1, -1, -1]]
    assert len(beams.proposals().item) == 0
