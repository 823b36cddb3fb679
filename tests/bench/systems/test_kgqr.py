"""KGQR's network, episodes and learning against versions written out."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from cerec.data.ckg import Ckg
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec_bench.systems.kgqr import KGQR
from cerec_bench.systems.kgqr_config import KGQRConfig
from cerec_bench.systems.kgqr_episodes import Candidates, Episodes, histories
from cerec_bench.systems.kgqr_network import soft_update

USERS, ITEMS = 20, 25


def model(**changes: object) -> tuple[KGQR, Ragged]:
    data = make_world(WorldConfig(users=USERS, items=ITEMS, interactions=150), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, USERS)
    settings = {
        "dim": 5,
        "hidden": 6,
        "history": 6,
        "length": 4,
        "episodes": 32,
        "candidates": 8,
        "popular": 10,
        "batch": 16,
        "updates": 5,
        "pretrain": 2,
        **changes,
    }
    made = KGQR(KGQRConfig(**settings), known, Facts.build(data), Ckg.build(data, known), seed=1)
    return made, known


def played(made: KGQR, epsilon: float = 0.5, seed: int = 0) -> Episodes:
    return made.play(np.arange(USERS, dtype=np.int32), np.random.default_rng(seed), epsilon)


def one_episode() -> Episodes:
    return Episodes(
        np.array([0], np.int32),
        np.array([[4, 2, -1]], np.int32),
        np.array([[7, 1, 9]], np.int32),
        np.array([[True, False, True]]),
        np.zeros((1, 3), np.float32),
    )


@pytest.mark.parametrize(
    ("steps", "liked", "shown"),
    [
        (0, [4, 2], {4, 2}),
        (1, [4, 2, 7], {4, 2, 7}),
        (2, [4, 2, 7], {4, 2, 7, 1}),
        (3, [4, 2, 7, 9], {4, 2, 7, 1, 9}),
    ],
)
def test_states_on_the_way_by_hand(steps: int, liked: list[int], shown: set[int]) -> None:
    at = np.array([steps])
    assert one_episode().liked(at)[0].tolist() == liked + [-1] * (6 - len(liked))
    assert set(one_episode().shown(at)[0].tolist()) - {-1} == shown


def test_replay_forgets_the_oldest() -> None:
    made, _ = model()
    first, second = played(made), played(made, seed=1)
    both = first.followed_by(second, 30)
    assert len(both.user) == 30
    assert np.array_equal(both.action, np.concatenate([first.action[10:], second.action]))
    again = Episodes.from_state(both.state())
    for name in Episodes.__slots__:
        assert np.array_equal(getattr(again, name), getattr(both, name))


def test_episodes_reward_what_the_user_knows_once() -> None:
    made, known = model()
    got = played(made)
    for b, u in enumerate(got.user):
        seen, streak = set(got.start[b]) - {-1}, 0
        assert seen <= set(known.row(u))
        for t, item in enumerate(got.action[b]):
            hit = item in known.row(u) and item not in seen
            assert got.hit[b, t] == hit
            expected = (1 if hit else -1) + 0.1 * streak
            assert got.reward[b, t] == pytest.approx(expected, abs=1e-6)
            same = (streak > 0) == hit and streak != 0
            streak = (streak if same else 0) + (1 if hit else -1)
            seen.add(item)
        assert len(set(got.action[b])) == 4  # nothing is shown twice


def test_candidates_are_distinct_and_new() -> None:
    made, _ = model()
    got = played(made)
    steps = np.full(USERS, 3)
    pool = made._candidates.draw(
        got.user, got.liked(steps), got.shown(steps), np.random.default_rng(0)
    )
    for b in range(USERS):
        mine = pool[b][pool[b] >= 0]
        assert len(set(mine)) == len(mine) > 0
        assert not set(mine) & set(got.shown(steps)[b])


def test_candidates_come_from_popular_and_related_items() -> None:
    data = make_world(WorldConfig(users=USERS, items=ITEMS, interactions=150), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, USERS)
    facts = Facts.build(data)
    pool = Candidates(known, facts, popular=2, count=25, planted=0.0)
    none = np.full((1, 1), -1, np.int32)
    alone = pool.draw(np.array([0], np.int32), none, none, np.random.default_rng(0))
    assert set(alone[0]) - {-1} == set(pool.popular)
    liked = np.array([[3]], np.int32)
    got = pool.draw(np.array([0], np.int32), liked, liked, np.random.default_rng(0))[0]
    for item in set(got) - {-1} - set(pool.popular):
        assert set(facts.of_item.row(item)) & set(facts.of_item.row(3))


def test_histories_are_a_part_of_the_train_items() -> None:
    _, known = model()
    user = np.arange(USERS)
    got = histories(user, known, np.full(USERS, 0.5), 6, np.random.default_rng(0))
    for u in user:
        mine = got[u][got[u] >= 0]
        assert set(mine) <= set(known.row(u))
        assert len(mine) == min(6, round(0.5 * len(known.row(u))))


def test_items_equal_a_dense_convolution() -> None:
    made, _ = model()
    enc = made.encoder
    matrix = enc._matrix
    n = len(enc.entity)
    dense = torch.diag(matrix.diagonal[:, 0]).double()
    row = torch.repeat_interleave(torch.arange(n), matrix.rows.offsets.diff())
    dense[row, matrix.rows.indices.long()] += matrix.rows.weight.double()
    torch.testing.assert_close(dense, dense.T)
    first, last = enc.layers
    x = (dense @ (enc.entity.double() @ first.weight.T.double() + first.bias.double())).relu()
    x = dense @ (x @ last.weight.T.double() + last.bias.double())
    torch.testing.assert_close(enc.items(), x[:ITEMS].float(), atol=1e-5, rtol=1e-4)


def slow_gru(made: KGQR, items: torch.Tensor, sequence: list[int]) -> torch.Tensor:
    weights = made.encoder.gru
    h = torch.zeros(items.shape[1])
    for i in sequence:
        x = weights.weight_ih_l0 @ items[i] + weights.bias_ih_l0
        y = weights.weight_hh_l0 @ h + weights.bias_hh_l0
        (xr, xz, xn), (yr, yz, yn) = x.chunk(3), y.chunk(3)
        r, z = torch.sigmoid(xr + yr), torch.sigmoid(xz + yz)
        h = (1 - z) * torch.tanh(xn + r * yn) + z * h
    return h


def test_states_follow_the_liked_items() -> None:
    made, _ = model()
    items = made.encoder.items()
    liked = torch.tensor([[3, 1, 4], [2, -1, -1], [-1, -1, -1]])
    got = made.encoder.states(items, liked)
    for b, sequence in enumerate([[3, 1, 4], [2], []]):
        torch.testing.assert_close(got[b], slow_gru(made, items, sequence), atol=1e-6, rtol=1e-5)
    longer = made.encoder.step(items[torch.tensor([4, 0, 5])], got)
    for b, sequence in enumerate([[3, 1, 4, 4], [2, 0], [5]]):
        torch.testing.assert_close(longer[b], slow_gru(made, items, sequence), atol=1e-6, rtol=1e-5)


def test_q_of_an_action_and_of_a_set_differ_by_the_mean_advantage() -> None:
    made, _ = model()
    state = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    item = made.encoder.entity[:4]
    together = made.head.among(state, item[None].expand(3, 4, 5))
    alone = torch.stack([made.head.one(state, item[a].expand(3, 5)) for a in range(4)], dim=1)
    mean = made.head.advantage(state, item).mean(dim=1, keepdim=True)
    torch.testing.assert_close(together, alone - mean)


def test_the_target_follows_by_tau() -> None:
    made, _ = model(tau=0.25)
    head = copy.deepcopy(made.head)
    with torch.no_grad():
        for weight in head.parameters():
            weight.add_(4.0)
    before = [w.clone() for w in made.target.parameters()]
    soft_update(made.target, head, 0.25)
    for old, new in zip(before, made.target.parameters(), strict=True):
        torch.testing.assert_close(new, old + 1.0)


def test_an_update_follows_the_slow_double_dqn() -> None:
    made, _ = model(l2=0.0, gamma=0.5)
    made.replay = played(made)
    with torch.no_grad():  # a target that differs from the head
        for weight in made.target.parameters():
            weight.mul_(1.5)
    twin, _ = model(l2=0.0, gamma=0.5)
    twin.load_state(made.state())
    (loss,) = made.learn(1, np.random.default_rng(7))

    rng = np.random.default_rng(7)
    at, step = rng.integers(0, USERS, 16), rng.integers(0, 4, 16)
    past = twin.replay.take(at)
    pool = twin._candidates.draw(past.user, past.liked(step + 1), past.shown(step + 1), rng)
    items, table = twin.encoder.items(), twin.encoder.entity
    errors = []
    for b, t in enumerate(step):
        before, after = ([i for i in past.liked(s)[b] if i >= 0] for s in (step, step + 1))
        state = slow_gru(twin, items, before)[None]
        q = twin.head.one(state, table[past.action[b, t]][None])
        aim = torch.tensor(past.reward[b, t])
        if t < 3:
            later = slow_gru(twin, items, after)[None].detach()
            values = [float(twin.head.one(later, table[a][None]).detach()) for a in pool[b]]
            best = pool[b][int(np.argmax(values))]
            aim = aim + 0.5 * twin.target.one(later, table[best][None]).detach()[0]
        errors.append((q[0] - aim) ** 2)
    slow = torch.stack(errors).mean()
    assert loss == pytest.approx(slow.item(), rel=1e-4)
    slow.backward()
    for name, weight in made._both.named_parameters():
        other = dict(twin._both.named_parameters())[name]
        torch.testing.assert_close(weight.grad, other.grad, atol=1e-5, rtol=1e-3)


def test_updates_that_share_a_pass_add_up_what_the_graph_is_owed() -> None:
    together, _ = model(l2=0.0, tau=0.0, learning_rate=1e-12)
    apart, _ = model(l2=0.0, tau=0.0, learning_rate=1e-12)
    together.replay = apart.replay = played(together)
    losses = together.learn(2, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    owed = []
    for loss in losses:
        assert apart.learn(1, rng) == pytest.approx([loss], rel=1e-5)
        owed.append(
            [w.grad.clone() for w in (apart.encoder.entity, *apart.encoder.layers[0].parameters())]
        )
    graph = (together.encoder.entity, *together.encoder.layers[0].parameters())
    for weight, one, two in zip(graph, *owed, strict=True):
        assert weight.grad.abs().max() > 0
        torch.testing.assert_close(weight.grad, one + two, atol=1e-6, rtol=1e-3)


def test_without_discount_it_regresses_the_reward() -> None:
    made, _ = model(gamma=0.0, learning_rate=0.01, streak=0.0)
    made.replay = played(made, epsilon=1.0).take(np.arange(3))
    rng = np.random.default_rng(0)
    losses = [made.learn(1, rng)[0] for _ in range(300)]
    assert np.mean(losses[-20:]) < 0.05 < losses[0]


def test_without_exploration_play_is_by_q_alone() -> None:
    made, _ = model(candidates=25, popular=25)
    first, second = played(made, epsilon=0.0), played(made, epsilon=0.0)
    assert np.array_equal(first.action, second.action)
    assert made.epsilon == pytest.approx(0.9)
    made._updates = 10**6
    assert made.epsilon == pytest.approx(0.1)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"model\.gamma"):
        KGQRConfig(gamma=1.5)
    with pytest.raises(ConfigError, match=r"model\.explore"):
        KGQRConfig(explore=(0.5, 0.1))
