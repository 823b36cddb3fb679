from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cerec.agent.returns import discounted, others_mean, per_step, reinforce_loss
from cerec.agent.reward import cutoffs, list_items, pair_scores, rationality, rewards, similarity
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.base import Context
from cerec.recommend.scorer import score_all
from cerec.settings.agent import AgentConfig
from cerec.walk.paths import Walks


def rows(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.fixture
def world(make_world: Callable[..., Any]) -> Any:
    # One user with vector 1 and four items scored 4, 3, 2, 1; item 0 is known, K = 2.
    item = np.array([[4.0], [3.0], [2.0], [1.0]], np.float32)
    facts = [(i, 0, 0) for i in range(4)]
    return make_world([(0, 0)], facts, np.ones((1, 1), np.float32), item, 1, 2)


def test_cutoff_is_the_score_of_the_last_listed_item(world: Any) -> None:
    assert world.context.lists.tolist() == [[1, 2]]
    assert cutoffs(world.context, 2).tolist() == [2.0]
    assert list_items(world.context, 2).row(0).tolist() == [1, 2]
    # the known item scores above the cut-off: walking to a known like earns no rationality
    cut = cutoffs(world.context, 2)
    found = rationality(rows(0, 0, 0, 0), rows(0, 1, 2, 3), world.context, cut)
    assert found.tolist() == [False, False, True, True]


@given(halves=st.lists(st.integers(-6, 6), min_size=4, max_size=9), k=st.integers(1, 3))
def test_rationality_is_the_papers_test_of_softmax_shares(halves: list[int], k: int) -> None:
    # eq. 5: P(e) = exp f(e) / sum over the list of exp f; eq. 14 asks whether walking from e_t to
    # e costs at least what walking from e_t to the list's last item does. Scores no further apart
    # than a double can tell after the exponential.
    f = np.array(halves) / 2.0
    listed = np.argsort(-f[1:], kind="stable")[:k] + 1  # item 0 is where the walk stands
    share = np.exp(f) / np.exp(f[listed]).sum()
    context = Context(
        Ragged.from_pairs(rows(0), rows(0), 1), None, np.ones((1, 1), np.float32),
        f[:, None].astype(np.float32), listed[None, :].astype(np.int32),
    )  # type: ignore[arg-type]  # fmt: skip
    every = np.arange(len(f), dtype=np.int32)
    found = rationality(np.zeros_like(every), every, context, cutoffs(context, k))
    assert found.tolist() == (share[0] - share >= share[0] - share[listed[-1]]).tolist()


def test_a_short_list_is_cut_at_its_last_item_and_an_empty_one_never(
    make_world: Callable[..., Any],
) -> None:
    item = np.array([[2.0], [1.0]], np.float32)
    user = np.ones((2, 1), np.float32)
    made = make_world([(0, 0), (1, 0), (1, 1)], [(0, 0, 0), (1, 0, 0)], user, item, 1, 5)
    assert cutoffs(made.context, 5).tolist() == [1.0, -np.inf]


def walks(items: list[list[int]], attributes: list[list[int]]) -> Walks:
    n = len(items[0])
    return Walks(
        user=np.zeros(n, np.int32),
        item=np.array(items, np.int32),
        attribute=np.array(attributes, np.int32),
        log_p=np.zeros((len(attributes), n)),
        surprise=np.zeros((len(attributes), n)),
    )


def test_rewards_by_hand(world: Any) -> None:
    # vectors at right angles but for items 0 and 3, which are alike at 45 degrees
    vector = np.array([[1, 0], [0, 1], [0, -1], [1, 1]], np.float32)
    made = walks([[0, 1], [3, 0], [2, 0]], [[0, 0], [0, -1]])
    cut = cutoffs(world.context, 2)
    half = 1 / np.sqrt(2)

    # walk 0: 0 -> 3 (rational, cosine 0.71) -> 2 (rational, cosine -0.71); walk 1: 1 -> 0 and ends
    found = rewards(made, vector, world.context, cut)
    np.testing.assert_allclose(found, [[1 + half, 0], [1 - half, 0]], atol=1e-7)


def test_pair_scores_are_the_scorers_bits() -> None:
    rng = np.random.default_rng(0)
    user = rng.standard_normal((3, 64)).astype(np.float32)
    item = rng.standard_normal((50, 64)).astype(np.float32)
    for u in range(3):
        exact = score_all(user[u].astype(np.float64), np.ascontiguousarray(item.T, np.float64))
        mine = pair_scores(np.full(50, u, np.int32), np.arange(50, dtype=np.int32), user, item)
        assert np.array_equal(exact, mine)


def test_a_vector_without_length_is_similar_to_nothing() -> None:
    vector = np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)
    assert similarity(rows(0), rows(1), vector).tolist() == [0.0]


def test_return_to_go_by_hand() -> None:
    reward = np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 8.0]])
    expected = [[1 + 1 + 1, 2], [2 + 2, 4], [4, 8]]
    np.testing.assert_allclose(discounted(reward, 0.5), expected)


def test_the_papers_credit_by_hand() -> None:
    reward = np.array([[1.0, 0.0], [2.0, 6.0]])  # gamma^t r_t / T
    np.testing.assert_allclose(per_step(reward, 0.5), [[0.5, 0], [0.5, 1.5]])


@given(st.integers(2, 5), st.integers(1, 4))
def test_the_others_mean_leaves_oneself_out(draws: int, starts: int) -> None:
    rng = np.random.default_rng(draws)
    returns = rng.standard_normal((2, starts * draws))
    mean = others_mean(returns, draws)
    changed = returns.copy()
    changed[:, 0] += 100.0
    again = others_mean(changed, draws)
    np.testing.assert_allclose(again[:, 0], mean[:, 0])
    np.testing.assert_allclose(again[:, 1], mean[:, 1] + 100.0 / (draws - 1))
    np.testing.assert_allclose(again[:, draws:], mean[:, draws:])


def test_loss_and_where_its_gradient_flows() -> None:
    log_p = torch.tensor([[-1.0, -2.0], [-3.0, -4.0]], requires_grad=True)
    advantage = torch.tensor([[1.0, 0.0], [2.0, -1.0]], requires_grad=True)
    loss = reinforce_loss(log_p, advantage)
    assert float(loss.detach()) == pytest.approx((1 + 6 - 4) / 2)
    loss.backward()
    assert advantage.grad is None
    assert log_p.grad is not None
    torch.testing.assert_close(log_p.grad, -advantage.detach() / 2)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"depth": 6}, "depth must be at most 5, got 6"),
        ({"gamma": 1.5}, "gamma must be at most 1"),
        ({"credit": "joy"}, "credit must be one of to_go, step"),
        ({"draws": 1}, "draws must be at least 2, got 1"),
        ({"updates": 0}, "updates must be at least 1, got 0"),
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        AgentConfig(**setting)
