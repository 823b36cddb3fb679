"""NeuMF against hand-worked cases and an independent slow version."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import checkerboard
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec_bench.systems.chunks import hidden_sums
from cerec_bench.systems.neumf import AUTHORS, NeuMF, NeuMFConfig


def small(n: int = 12, **changes: object) -> tuple[NeuMF, Ragged]:
    data = checkerboard(n)
    train = data.interactions.part == 0
    known = Ragged.from_pairs(data.interactions.user[train], data.interactions.item[train], n)
    settings = {"dim": 4, "layers": (8, 6, 3), "batch": 16, **changes}
    return NeuMF(NeuMFConfig(**settings), known, Facts.build(data), seed=1), known


def learn(model: NeuMF, known: Ragged, epochs: int) -> list[float]:
    rng = np.random.default_rng(0)
    user, item = known.row_of(), known.indices
    return [model.epoch(user, item, Uniform(), rng=rng) for _ in range(epochs)]


def test_without_the_perceptron_it_is_a_weighted_dot_product() -> None:
    model, _ = small()
    with torch.no_grad():
        model.net.mlp_out.weight.zero_()
    net = model.net
    expected = (net.gmf_user * net.gmf_out.weight) @ net.gmf_item.T
    np.testing.assert_allclose(model.scores(np.arange(12)), expected.detach(), atol=1e-7)
    user, item = model.factors()
    np.testing.assert_allclose(model.scores(np.arange(12)), user @ item.T, atol=1e-7)


def test_scores_of_all_items_are_the_logits_of_the_pairs() -> None:
    for layers in ((8,), (8, 6), (8, 6, 3)):
        model, _ = small(layers=layers, init=1.0)
        user, item = np.divmod(np.arange(36), 12)
        logit = model.net(torch.from_numpy(user), torch.from_numpy(item)).detach().numpy()
        np.testing.assert_allclose(model.scores(np.arange(3)).ravel(), logit, atol=1e-5)


def test_forward_by_hand() -> None:  # one user, one item, all weights written down
    model, _ = small(dim=1, layers=(2, 1))
    net = model.net
    with torch.no_grad():
        for table, value in ((net.gmf_user, 2.0), (net.gmf_item, 3.0), (net.mlp_user, 1.0)):
            table.fill_(value)
        net.mlp_item.fill_(-2.0)
        net.layers[0].weight.copy_(torch.tensor([[4.0, 1.0]]))  # 4 * 1 + 1 * -2 = 2
        net.gmf_out.weight.fill_(0.5)  # 0.5 * 2 * 3 = 3
        net.mlp_out.weight.fill_(-1.0)  # -2
        net.mlp_out.bias.fill_(0.25)
    zero = torch.zeros(1, dtype=torch.long)
    assert net(zero, zero).item() == pytest.approx(1.25)
    assert net(zero, zero, "gmf").item() == pytest.approx(3.0)


def test_the_loss_starts_at_ln_2_and_falls() -> None:
    model, known = small(learning_rate=1e-6)
    assert learn(model, known, 1) == pytest.approx([math.log(2)], abs=5e-3)
    model, known = small(learning_rate=0.01)
    assert learn(model, known, 30)[-1] < 0.3


def test_one_update_follows_finite_differences() -> None:
    model, known = small(init=0.5, pretrain=1, learning_rate=1e-3)
    model._epochs = 3  # after pre-training steps are plain SGD: the move is the gradient
    user, item = known.row_of()[:5], known.indices[:5]
    wrong = np.arange(20, dtype=np.int32) % 12
    before = {k: v.copy() for k, v in model.state().items()}
    model._update(user, item, wrong, "both")
    after = model.state()

    def loss(state: dict[str, np.ndarray]) -> float:
        model.load_state(state)
        logit = model.scores(np.arange(12)).astype(np.float64)
        yes = logit[user, item]
        no = logit[np.tile(user, 4), wrong]
        return (np.log1p(np.exp(-yes)).sum() + np.log1p(np.exp(no)).sum()) / 25

    rng = np.random.default_rng(3)
    for name in ("gmf_user", "mlp_item", "layers.0.weight", "mlp_out.bias"):
        flat = int(rng.choice(np.flatnonzero(before[name] != after[name])))
        at = np.unravel_index(flat, before[name].shape)
        sides = []
        for step in (1e-2, -1e-2):
            moved = {k: v.copy() for k, v in before.items()}
            moved[name][at] += step
            sides.append(loss(moved))
        slope = (sides[0] - sides[1]) / 2e-2
        move = (before[name][at] - after[name][at]) / 1e-3
        assert move == pytest.approx(slope, rel=0.05, abs=2e-3)


def test_pretraining_learns_the_branches_alone_and_halves_them() -> None:
    model, known = small(pretrain=2, learning_rate=0.01)
    start = model.state()
    learn(model, known, 2)
    gmf = model.state()
    assert np.array_equal(start["mlp_user"], gmf["mlp_user"])
    assert not np.array_equal(start["gmf_user"], gmf["gmf_user"])
    learn(model, known, 1)
    alone = model.scores(np.arange(12)).copy()
    learn(model, known, 1)
    assert np.array_equal(gmf["gmf_user"], model.state()["gmf_user"])
    assert np.allclose(gmf["gmf_out.weight"] / 2, model.state()["gmf_out.weight"])
    assert [model.phase_of(e) for e in range(5)] == ["gmf", "gmf", "mlp", "mlp", "both"]
    assert not np.allclose(alone, model.scores(np.arange(12)))


def test_permuting_items_permutes_scores() -> None:
    model, _ = small(init=1.0)
    plain = model.scores(np.arange(12))
    order = np.random.default_rng(0).permutation(12)
    with torch.no_grad():
        for table in (model.net.gmf_item, model.net.mlp_item):
            table.copy_(table[order])
    np.testing.assert_allclose(model.scores(np.arange(12)), plain[:, order], atol=1e-5)


def test_settings_are_checked() -> None:
    assert AUTHORS["layers"] == (64, 32, 16, 8)
    with pytest.raises(ConfigError, match="the first even"):
        NeuMFConfig(layers=(7, 3))
    with pytest.raises(ConfigError, match="learning_rate"):
        NeuMFConfig(learning_rate=0.0)


def test_hidden_sums_are_a_hidden_layer() -> None:
    rng = np.random.default_rng(0)
    near, far, weight = (
        rng.standard_normal(s).astype(np.float32) for s in ((3, 5), (5, 700), (5,))
    )
    wanted = np.maximum(near[:, :, None] + far, 0).transpose(0, 2, 1) @ weight
    assert hidden_sums(near, far, weight) == pytest.approx(wanted, abs=1e-4)
