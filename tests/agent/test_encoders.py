from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from cerec.agent.encoders import Encoder, cosine_spread
from cerec.agent.spmm import Adjacency, propagate
from cerec.agent.warmstart import factor_table, random_table
from cerec.data.ckg import Ckg
from cerec.data.dataset import Dataset, Interactions, Triples
from cerec.data.ids import IdTable
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.settings.agent import EncoderConfig


def graph_of(n_users: int, n_items: int, n_entities: int, seed: int | None = None) -> Ckg:
    """Random facts and train pairs; without a seed, user 0 - item 0 - entity 0 in a row."""
    if seed is None:
        pairs, facts = np.array([[0, 0]]), np.array([[0, 0]])
    else:
        rng = np.random.default_rng(seed)
        pairs = np.stack([rng.integers(0, n_users, 40), rng.integers(0, n_items, 40)], axis=1)
        facts = np.stack([rng.integers(0, n_items, 40), rng.integers(0, n_entities, 40)], axis=1)
    known = Ragged.from_pairs(pairs[:, 0], pairs[:, 1], n_users)
    has = Ragged.from_pairs(facts[:, 0], facts[:, 1], n_items)
    data = Dataset(
        name="small",
        users=IdTable("user", [str(n) for n in range(n_users)]),
        items=IdTable("item", [str(n) for n in range(n_items)]),
        entities=IdTable("entity", [str(n) for n in range(n_entities)]),
        relations=IdTable("relation", ["0"]),
        interactions=Interactions(known.row_of(), known.indices),
        triples=Triples(
            has.row_of(), np.zeros(has.size, np.int32), has.indices + np.int32(n_items)
        ),
    )
    return Ckg.build(data, known)


def dense(matrix: Adjacency) -> Tensor:
    n = len(matrix.rows.offsets) - 1
    out = torch.zeros(n, n)
    for r in range(n):
        for p in range(int(matrix.rows.offsets[r]), int(matrix.rows.offsets[r + 1])):
            out[r, int(matrix.rows.indices[p])] = matrix.rows.weight[p]
    return out


def test_sage_layer_by_hand() -> None:
    # A chain user - item - entity: degrees 1, 2, 1, so every edge weighs 1 / sqrt(2).
    graph = graph_of(1, 1, 1)
    config = EncoderConfig(size=1, layers=1, slope=0.5, centre=False)
    encoder = Encoder(graph, config, torch.tensor([[1.0], [2.0], [-4.0]]))
    layer = encoder.layers[0]
    with torch.no_grad():
        layer.own.fill_(1.0)
        layer.other.fill_(3.0)
    w = 1 / math.sqrt(2)
    user = 1 + 3 * w * 2  # positive
    item = 0.5 * (2 + 3 * w * (1 - 4))  # 2 - 6.36: below zero, halved
    entity = -4 + 3 * w * 2
    torch.testing.assert_close(encoder()[:, 0], torch.tensor([user, item, entity]))


def test_layers_are_added_up() -> None:
    graph = graph_of(1, 1, 1)
    encoder = Encoder(graph, EncoderConfig(size=1, centre=False), torch.ones(3, 1))
    encoder.reset(torch.Generator().manual_seed(0))
    one = encoder.layers[0](encoder.adjacency, encoder.table)
    two = encoder.layers[1](encoder.adjacency, one)
    assert torch.equal(encoder(), one + two)


def test_product_and_its_gradient_are_those_of_the_dense_matrix() -> None:
    graph = graph_of(6, 9, 5, seed=1)
    matrix = Adjacency.plain(graph)
    full = dense(matrix)
    torch.testing.assert_close(full, full.T)
    x = torch.randn(graph.n_nodes, 3, generator=torch.Generator().manual_seed(0))
    fast, slow = x.clone().requires_grad_(), x.clone().requires_grad_()
    out = propagate(matrix, fast)
    torch.testing.assert_close(out, full @ slow)
    (out * out).sum().backward()
    ((full @ slow) ** 2).sum().backward()
    torch.testing.assert_close(fast.grad, slow.grad)


def test_the_encoder_gives_its_width_and_learns() -> None:
    graph = graph_of(6, 9, 5, seed=2)
    config = EncoderConfig(size=8)
    encoder = Encoder(graph, config, random_table(graph, 8, np.random.default_rng(0)))
    encoder.reset(torch.Generator().manual_seed(0))
    h = encoder()
    assert h.shape == (graph.n_nodes, 8)
    assert torch.isfinite(h).all()
    (h**2).sum().backward()
    for name, weight in encoder.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.any(), name


def test_no_gradient_is_added_in_an_order_that_threads_race_for() -> None:
    # The backward of x[rows] adds with atomics once there are enough rows; index_select does not.
    graph = graph_of(6, 9, 5, seed=2)
    config = EncoderConfig(size=4, layers=1, centre=False)
    encoder = Encoder(graph, config, random_table(graph, 4, np.random.default_rng(0)))
    encoder.reset(torch.Generator().manual_seed(0))
    todo, seen = [encoder().grad_fn], set()
    while todo:
        node = todo.pop()
        if node is not None and node not in seen:
            seen.add(node)
            todo += [before for before, _ in node.next_functions]
    names = {node.name() for node in seen}
    assert len(names) > 1
    assert not {name for name in names if name.startswith(("IndexBackward", "IndexPut"))}


def test_centred_kinds_have_mean_zero() -> None:
    graph = graph_of(6, 9, 5, seed=3)
    encoder = Encoder(
        graph,
        EncoderConfig(size=8),
        random_table(graph, 8, np.random.default_rng(0)),
    )
    encoder.reset(torch.Generator().manual_seed(0))
    for part in encoder().detach().split([6, 9, 5]):
        torch.testing.assert_close(
            part.mean(dim=0), torch.zeros(part.shape[1]), atol=1e-6, rtol=0.0
        )


def test_weights_depend_on_the_generator_alone() -> None:
    graph = graph_of(2, 3, 2, seed=4)
    table = random_table(graph, 64, np.random.default_rng(0))
    outputs = []
    for _ in range(2):
        encoder = Encoder(graph, EncoderConfig(), table)
        encoder.reset(torch.Generator().manual_seed(7))
        outputs.append(encoder())
    assert torch.equal(*outputs)


def test_collapse_shows_in_the_spread() -> None:
    same = torch.ones(10, 3)
    assert cosine_spread(same) == pytest.approx((1.0, 0.0), abs=1e-6)
    # Cosines of 1, 0, 0 and their mirror images: mean 1/3, deviation sqrt(2)/3
    two = torch.tensor([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    assert cosine_spread(two) == pytest.approx((1 / 3, math.sqrt(2) / 3), abs=1e-6)
    assert cosine_spread(same[:1]) == (0.0, 0.0)


def test_factor_table_keeps_the_geometry_of_the_factors() -> None:
    graph = graph_of(6, 9, 5, seed=5)
    rng = np.random.default_rng(0)
    user = rng.standard_normal((6, 4)).astype(np.float32)
    item = rng.standard_normal((9, 4)).astype(np.float32)
    for size in (16, 4):
        table = factor_table(graph, user, item, size, rng).numpy()
        assert table.shape == (graph.n_nodes, size)
        before, after = np.corrcoef(item @ item.T)[0], table[6:15] @ table[6:15].T
        assert np.corrcoef((item @ item.T).ravel(), after.ravel())[0, 1] > 0.95
        assert np.isfinite(before).all()
    entity = table[15:]
    for a in range(5):
        near = graph.items_of.row(a)
        if len(near):
            mean = item[near].mean(axis=0)
            cosine = mean @ entity[a] / np.linalg.norm(mean) / np.linalg.norm(entity[a])
            assert cosine > 0.8


def test_factor_table_takes_wide_factors() -> None:
    graph = graph_of(6, 9, 5, seed=6)
    rng = np.random.default_rng(1)
    base = rng.standard_normal((15, 3)).astype(np.float32)
    wide = base @ rng.standard_normal((3, 10)).astype(np.float32)  # rank 3 in width 10
    table = factor_table(graph, wide[:6], wide[6:], 5, rng).numpy()
    assert np.corrcoef((wide[:6] @ wide[6:].T).ravel(), (table[:6] @ table[6:15].T).ravel())[
        0, 1
    ] == pytest.approx(1.0, abs=0.05)


def test_factors_that_do_not_fit_are_refused() -> None:
    graph = graph_of(6, 9, 5, seed=6)
    with pytest.raises(ConfigError, match="do not fit 6 users and 9 items"):
        factor_table(
            graph,
            np.zeros((6, 3), np.float32),
            np.zeros((8, 3), np.float32),
            4,
            np.random.default_rng(0),
        )


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(ConfigError, match="slope"):
        EncoderConfig(slope=1.5)
    with pytest.raises(ConfigError, match=r"encoder\.layers must be at least 1"):
        EncoderConfig(layers=0)
