"""PRINCE and ACCENT: minimality against enumeration, influence against solving again."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from explanation_worlds import context_of, learned, ragged
from hypothesis import given, settings
from hypothesis import strategies as st

from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec_bench.explainers.accent import Accent, influences
from cerec_bench.explainers.fold_in import fold_in
from cerec_bench.explainers.history import fewest
from cerec_bench.explainers.pairs import listed_pairs
from cerec_bench.explainers.prince import PageRank, Prince
from cerec_bench.explainers.protocol import Context
from cerec_bench.explainers.verdict import judge

RESTART = 0.15


def test_the_fewest_by_hand() -> None:
    gap = np.array([3.0, 1.0, -1.0])
    change = np.array([[-2.0, -2.0, 1.0], [-0.5, -0.4, -0.4], [-9.0, 0.0, 0.0]])
    other, which = fewest(gap, change, 3)  # the third is ahead already
    assert (other, which.tolist()) == (0, [0, 1])
    other, which = fewest(gap[1:], change[1:], 3)
    assert (other, which.tolist()) == (0, [0, 1, 2])
    assert fewest(gap[1:], change[1:], 2) is None
    # as few for both: the one that is then further ahead
    assert fewest(np.array([1.0, 1.0]), np.array([[-2.0], [-3.0]]), 1)[0] == 1


def slow_page_rank(graph: Ragged, user: int, kept: set[int]) -> np.ndarray:
    """pi(u, .) with u's edges out restricted to `kept`, step by step."""
    n, head = len(graph), graph.row_of()
    stays = (head != user) | np.isin(graph.indices, list(kept))
    ends = head[stays], graph.indices[stays]
    weight = 1.0 / np.bincount(ends[0], minlength=n)[ends[0]]
    step = sp.csr_matrix((weight, (ends[1], ends[0])), (n, n))
    start = RESTART * np.eye(1, n, user)[0]
    out = start
    for _ in range(120):
        out = start + (1 - RESTART) * (step @ out)
    return out


def test_page_rank_is_the_solution_of_its_equation() -> None:
    # a path 0 - 1 - 2 and a triangle 2 - 3 - 4
    graph = ragged([1], [0, 2], [1, 3, 4], [2, 4], [2, 3])
    rank = PageRank(graph, restart=RESTART, rounds=120)
    got = rank(np.array([0, 3]))
    for column, start in enumerate((0, 3)):
        expected = slow_page_rank(graph, start, set(graph.row(start).tolist()))
        np.testing.assert_allclose(got[:, column], expected, atol=1e-5)
    np.testing.assert_allclose(got.sum(axis=0), 1.0, atol=1e-5)


def test_the_way_back_is_the_way_there() -> None:
    graph = learned(1).graph.adjacency
    rank = PageRank(graph, restart=RESTART, rounds=120)
    got = rank(np.array([3, 40]))
    assert got[40, 0] * rank.degree[3] == pytest.approx(got[3, 1] * rank.degree[40], rel=1e-3)


def ahead(context: Context, user: int, item: int, other: int, removed: tuple[int, ...]) -> float:
    """By how much `other` is ahead of `item` once actions are deleted."""
    n_users = context.graph.n_users
    kept = {int(n) + n_users for n in context.train.row(user) if n not in removed}
    pi = slow_page_rank(context.graph.adjacency, user, kept)
    return float(pi[n_users + other] - pi[n_users + item])


def small(seed: int) -> Context:
    """Six actions at most, so that all sets of them can be tried."""
    whole, rng = learned(seed, k=3), np.random.default_rng(seed)
    few = Ragged.from_pairs(np.repeat(np.arange(30), 6), rng.integers(0, 50, 180), 30)
    user, item = whole.factors
    value = np.zeros((whole.facts.n_values, 8), np.float32)
    return context_of(whole.data, few, whole.facts, user, item, value, k=3, seed=1)


@settings(max_examples=3, deadline=None)
@given(st.integers(0, 1000))
def test_prince_deletes_the_fewest_actions(seed: int) -> None:
    context = small(seed)
    method = Prince(rounds=120, candidates=3)
    method.fit(context)
    pairs = listed_pairs(context, 4)
    for at, answer in enumerate(method.explain(pairs)):
        user, item = int(pairs.user[at]), int(pairs.item[at])
        history = context.train.row(user).tolist()
        follow = context.standing(user).order[pairs.k : pairs.k + 3].tolist()
        behind = [j for j in follow if ahead(context, user, item, j, ()) < -1e-6]
        if answer.found:
            other = answer.counterfactual
            assert other in follow
            assert ahead(context, user, item, other, tuple(answer.removed.tolist())) > -1e-6
        for size in range(1, len(answer.removed) or len(history)):
            for removed in combinations(history, size):
                assert all(ahead(context, user, item, j, removed) < 1e-5 for j in behind)


def test_influence_is_what_solving_again_gives() -> None:
    rng = np.random.default_rng(0)
    item = rng.normal(size=(300, 6)).astype(np.float32)
    liked, l2 = np.arange(60), 0.05
    vector = fold_in(item, liked, l2=l2).astype(np.float64)
    wide = item.astype(np.float64)
    moved = influences(vector, wide[liked], wide[60:], l2)
    true = np.stack([fold_in(item, np.delete(liked, n), l2=l2) - vector for n in range(60)])
    assert np.corrcoef(moved.ravel(), true.ravel())[0, 1] > 0.95
    assert np.abs(moved - true).max() < 0.3 * np.abs(true).max()


def test_influences_by_differences() -> None:
    """H^-1 grad l_n by numerical derivatives of the loss."""
    rng = np.random.default_rng(1)
    liked, others, x, l2 = rng.normal(size=(3, 2)), rng.normal(size=(5, 2)), rng.normal(size=2), 0.1

    def one(n: int, at: np.ndarray) -> float:
        gap = others @ at - liked[n] @ at
        return float(np.logaddexp(0, gap).mean() + l2 / 2 * at @ at)

    step, eye = 1e-4, np.eye(2)

    def gradient(n: int, at: np.ndarray) -> np.ndarray:
        return np.array([(one(n, at + step * e) - one(n, at - step * e)) / (2 * step) for e in eye])

    hessian = sum(
        np.stack(
            [(gradient(n, x + step * e) - gradient(n, x - step * e)) / (2 * step) for e in eye]
        )
        for n in range(3)
    )
    expected = np.stack([np.linalg.solve(hessian, gradient(n, x)) for n in range(3)])
    np.testing.assert_allclose(influences(x, liked, others, l2), expected, atol=1e-4)


def fitted() -> Context:
    """Users whose vectors are folded in from their histories: what ACCENT takes them for."""
    base = learned(5)
    item = base.factors[1]
    user = np.stack([fold_in(item, base.train.row(u), l2=0.03) for u in range(30)])
    value = np.zeros((base.facts.n_values, 8), np.float32)
    return context_of(base.data, base.train, base.facts, user, item, value, k=5, seed=1)


def test_accent_mostly_flips_when_solved_again() -> None:
    context = fitted()
    method = Accent()
    method.fit(context)
    pairs = listed_pairs(context, 40)
    found = method.explain(pairs)
    verdicts = judge(context, pairs, found)
    assert verdicts.found.mean() > 0.5
    assert verdicts.flipped.sum() > 0.4 * verdicts.found.sum()
    last = pairs.rank == pairs.k
    assert verdicts.size[last & verdicts.found].mean() <= verdicts.size[verdicts.found].mean()
    for at, answer in enumerate(found):
        if answer.found:
            order = context.standing(int(pairs.user[at])).order
            assert answer.counterfactual in order[5:25]


def test_wrong_settings_of_history_methods_are_refused() -> None:
    with pytest.raises(ConfigError, match="restart"):
        Prince(restart=1.0)
    with pytest.raises(ConfigError, match="candidate"):
        Accent(candidates=0)
    base = learned(1)
    context = Context(base.data, base.subject, k=5, seed=0)
    with pytest.raises(ConfigError, match="factors"):
        Accent().fit(context)
