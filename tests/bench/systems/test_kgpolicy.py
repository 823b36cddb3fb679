"""KGPolicy against a slow version of its walk, and the checks that keep its negatives honest."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec.recommend.base import Context
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.negatives import Uniform
from cerec.settings.recommender import RecommenderConfig
from cerec_bench.systems.kgpolicy import KGPolicy
from cerec_bench.systems.kgpolicy_sampler import (
    KGPolicyConfig,
    KGPolicySampler,
    Walks,
    returns,
    rewards,
)

USERS, ITEMS = 20, 25


def setting(**changes: object) -> tuple[KGPolicySampler, Context, Ragged]:
    data = make_world(WorldConfig(users=USERS, items=ITEMS, interactions=150), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, USERS)
    settings = {
        "dim": 6,
        "hidden": 5,
        "neighbours": 4,
        "random": 3,
        "keep": 3,
        "start": "random",
        "update": 10_000,
        **changes,
    }
    sampler = KGPolicySampler(KGPolicyConfig(**settings), Ckg.build(data, known), known, seed=1)
    rng = np.random.default_rng(4)
    user, item = (rng.standard_normal((n, 6)).astype(np.float32) for n in (USERS, ITEMS))
    lists = np.empty((USERS, 0), np.int32)
    return sampler, Context(known, Facts.build(data), user, item, lists), known


def walk(sampler: KGPolicySampler, context: Context, known: Ragged, seed: int = 0) -> Walks:
    rng = np.random.default_rng(seed)
    return sampler.explore(known.row_of(), known.indices, context, rng)


def slow_log_p(sampler: KGPolicySampler, walks: Walks, h: torch.Tensor) -> torch.Tensor:
    actions = torch.from_numpy(sampler.actions).long()

    def hop(user: int, node: int, chosen: int) -> torch.Tensor:
        x = h[actions[node]]
        logit = F.leaky_relu(h[node] * x, 0.2) @ h[user] / sampler.config.heat
        return logit.log_softmax(0)[chosen]

    rows = []
    for t in range(len(walks.first)):
        for b, u in enumerate(walks.user):
            one, two = int(walks.first[t, b]), int(walks.second[t, b])
            here = USERS + int(walks.item[t, b])
            rows.append(hop(u, here, one) + hop(u, int(walks.between[t, b]), two))
    return torch.stack(rows).reshape(walks.first.shape)


def test_walks_are_what_they_say() -> None:
    sampler, context, known = setting()
    walks = walk(sampler, context, known)
    h = sampler._vectors.detach().double()
    expected = slow_log_p(sampler, walks, h).numpy()
    np.testing.assert_allclose(walks.log_p, expected, atol=1e-4)
    assert (walks.log_p <= 1e-6).all()
    assert np.array_equal(walks.between, sampler.actions[USERS + walks.item[:-1], walks.first])
    end = sampler.actions[walks.between, walks.second] - USERS
    real = (end >= 0) & (end < ITEMS)  # other ends were replaced by random items
    assert np.array_equal(walks.item[1:][real], end[real])
    assert walks.item.min() >= 0
    assert walks.item.max() < ITEMS


def test_negatives_are_items_the_user_does_not_know() -> None:
    sampler, context, known = setting()
    for seed in range(5):
        walks = walk(sampler, context, known, seed)
        assert all(j not in known.row(u) for u, j in zip(walks.user, walks.negative, strict=True))
        fine = np.array(
            [j not in known.row(u) for u, j in zip(walks.user, walks.item[-1], strict=True)]
        )
        assert np.array_equal(walks.negative[fine], walks.item[-1][fine])


def test_the_gradient_equals_autograd_of_the_slow_version() -> None:
    sampler, context, known = setting()
    walks = walk(sampler, context, known)
    weight = np.random.default_rng(1).standard_normal(walks.log_p.shape)
    grad = np.zeros((4, *sampler._vectors.shape), np.float32)
    sampler._push(walks, weight, grad)
    h = sampler._vectors.detach().double().requires_grad_()
    (slow_log_p(sampler, walks, h) * torch.from_numpy(weight)).sum().backward()
    np.testing.assert_allclose(grad.sum(0), h.grad, atol=2e-3, rtol=1e-3)


def test_the_encoder_takes_means_of_neighbours() -> None:
    sampler, _, _ = setting()
    enc, near = sampler.encoder, sampler._graph.adjacency
    dense = torch.zeros(len(near), len(near))
    dense[torch.from_numpy(near.row_of()).long(), torch.from_numpy(near.indices).long()] = 1
    dense /= dense.sum(1, keepdim=True).clamp(min=1)
    x = F.leaky_relu(enc.node @ enc.own1 + dense @ enc.node @ enc.near1, 0.2)
    expected = F.normalize(x @ enc.own2 + dense @ x @ enc.near2, dim=1)
    torch.testing.assert_close(enc(0.0, torch.Generator()), expected, atol=1e-5, rtol=1e-4)


def test_action_lists_hold_neighbours_then_random_items() -> None:
    sampler, context, known = setting(neighbours=4, random=3)
    walk(sampler, context, known)
    near = sampler._graph.adjacency
    for e in range(len(near)):
        n = min(4, len(near.row(e)))
        own, rest = sampler.actions[e, :n], sampler.actions[e, n:]
        assert set(own) <= set(near.row(e))
        assert len(set(own)) == n
        assert ((rest >= USERS) & (rest < USERS + ITEMS)).all()


def test_keeping_one_end_prunes_nothing_and_greedy_takes_the_likeliest() -> None:
    sampler, context, known = setting(keep=1, greedy=True, steps=1)
    walks = walk(sampler, context, known)
    h = sampler._vectors.detach().double()
    actions = torch.from_numpy(sampler.actions).long()
    for b, u in enumerate(walks.user):
        for node, chosen in (
            (USERS + int(walks.item[0, b]), walks.first[0, b]),
            (int(walks.between[0, b]), walks.second[0, b]),
        ):
            logit = F.leaky_relu(h[node] * h[actions[node]], 0.2) @ h[u]
            assert float(logit[int(chosen)]) == pytest.approx(float(logit.max()), abs=1e-5)


def test_more_kept_ends_are_harder_negatives() -> None:
    means = []
    for keep in (1, 7):
        sampler, context, known = setting(keep=keep)
        walks = walk(sampler, context, known)
        score = (context.user[walks.user] * context.item[walks.item[-1]]).sum(1)
        means.append(score.mean())
    assert means[1] > means[0] + 0.5


def test_a_hot_policy_draws_evenly() -> None:
    sampler, context, known = setting(heat=1e9, steps=1)
    walks = [walk(sampler, context, known, seed).first.ravel() for seed in range(60)]
    count = np.bincount(np.concatenate(walks), minlength=7)
    assert count.min() > 0.85 * count.mean()
    assert count.max() < 1.15 * count.mean()


def test_rewards_by_hand() -> None:  # y_uj + q_i . q_j
    user, item = np.array([[1.0, 2.0]], np.float32), np.array([[3.0, 0], [1, 1]], np.float32)
    one = np.array([[0]], np.int32)
    walks = Walks(
        np.array([0], np.int32),
        np.array([[0], [1], [0]], np.int32),
        one,
        one,
        one,
        np.zeros((2, 1)),
        np.array([0], np.int32),
    )
    none = Ragged.from_pairs(np.zeros(0, int), np.zeros(0, int), 1)
    context = Context(none, None, user, item, np.empty((1, 0), np.int32))
    # j = 1: (1, 2).(1, 1) + (3, 0).(1, 1) = 6; j = the liked item itself: 3 + 9, the most
    assert rewards(walks, context).ravel().tolist() == [6.0, 12.0]


def test_returns_by_hand() -> None:
    got = returns(np.array([[1.0], [2.0], [4.0]]), 0.5)
    assert got.ravel().tolist() == [3.0, 4.0, 4.0]


def test_the_policy_learns_to_earn() -> None:
    sampler, context, known = setting(keep=1, heat=0.1, random=16, policy_rate=0.02, neighbours=8)
    rng = np.random.default_rng(0)
    user, item = np.tile(known.row_of(), 8), np.tile(known.indices, 8)
    earned = []
    for _ in range(60):
        earned.append(rewards(sampler.explore(user, item, context, rng), context).mean())
        sampler.draw(user, item, context, rng)  # an epoch's worth: the policy learns
    assert np.mean(earned[-10:]) > np.mean(earned[:10]) + 0.5


def test_serves_another_recommender() -> None:
    sampler, context, known = setting(start="factors", update=64)
    config = RecommenderConfig(dim=4, batch=32)
    model = PairFactorisation(config, known, context.facts, seed=0)
    before = sampler.encoder.own1.detach().clone()
    rng = np.random.default_rng(0)
    losses = [model.epoch(known.row_of(), known.indices, sampler, rng=rng) for _ in range(3)]
    assert np.isfinite(losses).all()
    assert not torch.equal(before, sampler.encoder.own1)
    plain = model.epoch(known.row_of(), known.indices, Uniform(), rng=rng)
    assert plain < losses[0]  # what it found is harder than chance


@pytest.mark.parametrize("name", ["climf", "lightgcn"])
def test_any_recommender_may_take_its_place(name: str) -> None:
    data = make_world(WorldConfig(users=20, items=25, interactions=150), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, 20)
    config = KGPolicyConfig(recommender=name, dim=4, hidden=4, pretrain=1, learning_rate=0.01)
    model = KGPolicy(config, known, Facts.build(data), Ckg.build(data, known), seed=0)
    assert model.model.config.model == name
    rng = np.random.default_rng(0)
    assert np.isfinite(model.epoch(known.row_of(), known.indices, Uniform(), rng=rng))


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"model\.keep"):
        KGPolicyConfig(keep=0)
    with pytest.raises(ConfigError, match=r"model\.heat"):
        KGPolicyConfig(heat=0.0)
