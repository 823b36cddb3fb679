"""KGAT against slow versions written from the paper's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, checkerboard, make_world
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec_bench.systems import kgat_kernels as kernels
from cerec_bench.systems.kgat import KGAT, KGATConfig
from cerec_bench.systems.kgat_graph import Edges, Propagation, attention


def world() -> tuple[Dataset, Ragged]:
    data = make_world(WorldConfig(users=20, items=25, interactions=150), seed=2)
    return data, Ragged.from_pairs(data.interactions.user, data.interactions.item, 20)


def model(**changes: object) -> tuple[KGAT, Ragged]:
    data, known = world()
    settings = {"dim": 6, "layers": (5, 3), "pretrain": 0, "batch": 64, "kg_batch": 256, **changes}
    made = KGAT(KGATConfig(**settings), known, Facts.build(data), Ckg.build(data, known), seed=1)
    return made, known


def slow_attention(edges: Edges, node: np.ndarray, rel: np.ndarray, w: np.ndarray) -> np.ndarray:
    logit = np.array(
        [
            (node[t] @ w[r]) @ np.tanh(node[h] @ w[r] + rel[r])
            for h, r, t in zip(edges.head, edges.relation, edges.tail, strict=True)
        ]
    )
    out = np.empty_like(logit)
    for h in np.unique(edges.head):
        mine = edges.head == h
        weight = np.exp(logit[mine] - logit[mine].max())
        out[mine] = weight / weight.sum()
    return out


def test_edges_go_both_ways_with_relations_of_their_own() -> None:
    data = checkerboard(4)
    known = Ragged.from_pairs(np.array([0, 1]), np.array([2, 3]), 4)
    edges = Edges.build(Ckg.build(data, known))
    got = {
        (int(h), int(r), int(t))
        for h, r, t in zip(edges.head, edges.relation, edges.tail, strict=True)
    }
    # users 0..3, items 4..7, dark 8, light 9; interact 0, square 1, their inverses 2 and 3
    assert got == {(0, 0, 6), (1, 0, 7), (6, 2, 0), (7, 2, 1)} | {
        e for i in range(4) for e in ((4 + i, 1, 8 + i % 2), (8 + i % 2, 3, 4 + i))
    }


def test_first_weights_average_within_a_relation() -> None:
    made, _ = model()
    edges, weight = made.edges, made.edges.first_weights().numpy()
    for h, r in {(int(h), int(r)) for h, r in zip(edges.head, edges.relation, strict=True)}:
        mine = (edges.head == h) & (edges.relation == r)
        assert weight[mine].sum() == pytest.approx(1.0, abs=1e-5)


def test_attention_is_the_papers_and_rows_sum_to_one() -> None:
    made, _ = model()
    net = made.net
    got = attention(made.edges, net.node, net.relation, net.project).numpy()
    arrays = [x.detach().double().numpy() for x in (net.node, net.relation, net.project)]
    np.testing.assert_allclose(got, slow_attention(made.edges, *arrays), atol=1e-5)
    total = np.bincount(made.edges.head, got, minlength=made.edges.n_nodes)
    np.testing.assert_allclose(total[np.unique(made.edges.head)], 1.0, atol=1e-5)
    lonely = np.flatnonzero(np.bincount(made.edges.head) == 1)
    assert len(lonely)
    np.testing.assert_array_equal(got[np.isin(made.edges.head, lonely)], 1.0)


def test_propagation_and_its_gradient_equal_the_dense_matrix() -> None:
    made, _ = model()
    edges = made.edges
    weight = torch.rand(len(edges.head), generator=torch.Generator().manual_seed(0))
    cut = Propagation(edges, weight, 45)
    matrix = cut.whole
    full = torch.zeros(edges.n_nodes, edges.n_nodes)
    at = (torch.from_numpy(edges.head).long(), torch.from_numpy(edges.tail).long())
    full.index_put_(at, weight, accumulate=True)  # parallel edges add up
    x = torch.randn(edges.n_nodes, 3, generator=torch.Generator().manual_seed(1))
    pull = torch.randn(edges.n_nodes, 3, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(matrix.forward(x), full @ x)
    torch.testing.assert_close(matrix.backward(pull), full.T @ pull)
    torch.testing.assert_close(cut.ranked.forward(x), full[:45] @ x)
    torch.testing.assert_close(cut.ranked.backward(pull[:45]), full[:45].T @ pull[:45])


def slow_propagation(made: KGAT) -> torch.Tensor:
    """The paper's formulas on a dense matrix, for autograd; nothing dropped."""
    edges, net = made.edges, made.net
    full = torch.zeros(edges.n_nodes, edges.n_nodes)
    at = (torch.from_numpy(edges.head).long(), torch.from_numpy(edges.tail).long())
    full.index_put_(at, made.matrix.weight, accumulate=True)
    e, parts = net.node, [net.node]
    for by_sum, by_product in zip(net.sums, net.products, strict=True):
        near = full @ e
        e = F.leaky_relu(by_sum(e + near)) + F.leaky_relu(by_product(e * near))
        parts.append(e / e.norm(dim=1, keepdim=True).clamp(min=1e-12))
    return torch.cat(parts, dim=1)[:45]


def test_propagation_is_the_papers_bi_interaction() -> None:
    made, _ = model()
    got = np.concatenate(made.factors())
    np.testing.assert_allclose(got, slow_propagation(made).detach().numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("layers", [(5, 3), (4,), (6, 5, 3)])
def test_ranking_gradients_equal_autograd_of_the_definition(layers: tuple[int, ...]) -> None:
    made, known = model(layers=layers, dropout=0.0, l2=0.3, learning_rate=1e-12)
    rng, wrong = np.random.default_rng(0), []

    class Spy(Uniform):
        def draw(self, *args: object) -> np.ndarray:
            wrong.append(super().draw(*args))
            return wrong[-1]

    u, i = known.row_of()[::2], known.indices[::2]
    loss = made._rank(u, i, Spy(), np.empty((20, 0), np.int32), rng)
    ranked = (made.net.node, *made.net.sums.parameters(), *made.net.products.parameters())
    ours = [weight.grad.clone() for weight in ranked]
    e = slow_propagation(made)
    a, b, c = (e[torch.from_numpy(x.astype(np.int64))] for x in (u, i + 20, wrong[0] + 20))
    slow = F.softplus((a * c).sum(1) - (a * b).sum(1)).sum()
    size = a.square().sum() + b.square().sum() + c.square().sum()
    theirs = torch.autograd.grad((slow + 0.15 * size) / len(u), ranked)
    assert loss == pytest.approx(slow.item(), rel=1e-5)
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-4)


def test_dropout_leaves_out_its_share_and_its_gradient_the_same() -> None:
    rng = np.random.default_rng(0)
    total, product = (rng.standard_normal((200, 30)).astype(np.float32) for _ in range(2))
    whole = kernels.activate(total, product, 0.0, 5)
    some = kernels.activate(total, product, 0.25, 5)
    kept = some != 0
    assert kept.mean() == pytest.approx(0.75, abs=0.02)
    np.testing.assert_allclose(some[kept], whole[kept] / 0.75, rtol=1e-5)
    assert not np.array_equal(kept, kernels.activate(total, product, 0.25, 6) != 0)
    ones = np.ones_like(total)
    kernels.deactivate(total, product, ones, 0.25, 5)
    np.testing.assert_array_equal(total != 0, kept)
    np.testing.assert_allclose(np.abs(product[kept]).max(), 1 / 0.75, rtol=1e-6)


def test_ranking_sends_no_gradient_into_the_attention() -> None:
    made, known = model()
    nothing = np.empty((20, 0), np.int32)
    rng = np.random.default_rng(0)
    made._rank(known.row_of()[:9], known.indices[:9], Uniform(), nothing, rng)
    assert made.net.project.grad is None
    assert made.net.relation.grad is None
    assert made.net.node.grad is not None


def test_without_layers_it_is_matrix_factorisation() -> None:
    made, known = model(layers=())
    user, item = made.factors()
    node = made.net.node.detach().numpy()
    assert np.array_equal(user, node[:20])
    assert np.array_equal(item, node[20:45])
    before = node.copy()
    rng, wrong = np.random.default_rng(0), []

    class Spy(Uniform):
        def draw(self, *args: object) -> np.ndarray:
            wrong.append(super().draw(*args))
            return wrong[-1]

    u, i = known.row_of(), known.indices
    made._rank(u, i, Spy(), np.empty((20, 0), np.int32), rng)
    table = torch.tensor(before, requires_grad=True)
    j = wrong[0]
    a, b, c = (table[torch.from_numpy(x.astype(np.int64))] for x in (u, i + 20, j + 20))
    loss = F.softplus((a * c).sum(1) - (a * b).sum(1)).sum()
    size = a.square().sum() + b.square().sum() + c.square().sum()
    ((loss + 0.5 * made.config.l2 * size) / len(u)).backward()
    optimiser = torch.optim.Adam([table], lr=made.config.learning_rate)
    optimiser.step()
    torch.testing.assert_close(made.net.node.detach(), table.detach(), atol=1e-6, rtol=1e-5)


def test_graph_gradients_equal_autograd_of_the_definition() -> None:
    made, _ = model()
    edges, net = made.edges, made.net
    part = np.argsort(edges.relation, kind="stable")[::3]
    ends = [x[part] for x in (edges.head, edges.relation, edges.tail)]
    ends.append(np.random.default_rng(0).integers(0, edges.n_nodes, len(part)).astype(np.int32))
    loss = net.embed(*ends, 0.1)
    head, kind, tail, wrong = (torch.from_numpy(x.astype(np.int64)) for x in ends)
    node, rel, w = (
        x.detach().clone().requires_grad_() for x in (net.node, net.relation, net.project)
    )

    def energy(end: torch.Tensor) -> torch.Tensor:
        near, far = (torch.einsum("bd,bdk->bk", node[x], w[kind]) for x in (head, end))
        return (near + rel[kind] - far).square().sum(1)

    slow = F.softplus(energy(tail) - energy(wrong)).mean()
    assert loss == pytest.approx(slow.item(), rel=1e-5)
    size = sum(x.square().sum() for x in (node[head], node[tail], node[wrong], rel[kind]))
    (slow + 0.05 * size / len(part)).backward()
    for ours, theirs in ((net.node, node), (net.relation, rel), (net.project, w)):
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-4)


def test_the_graph_loss_falls_below_ln_2() -> None:
    made, _ = model(learning_rate=0.01)
    rng = np.random.default_rng(0)
    everything = np.arange(len(made.edges.head), dtype=np.int32)
    losses = [made._embed(everything, rng) for _ in range(60)]
    assert losses[-1] < 0.8 * math.log(2) < losses[0]


def test_starts_from_pretrained_vectors() -> None:
    made, known = model(pretrain=3, learning_rate=1e-9)
    noise = made.net.node.detach().clone()
    made.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    assert not torch.allclose(made.net.node[:45], noise[:45], atol=1e-3)
    torch.testing.assert_close(made.net.node[45:].detach(), noise[45:], atol=1e-6, rtol=0)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="dropout"):
        KGATConfig(dropout=1.0)
    with pytest.raises(ConfigError, match="kg_batch"):
        KGATConfig(kg_batch=0)
