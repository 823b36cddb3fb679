"""CaDSI: routing against dense matrices and autograd, distance correlation, walks, semantics."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_tastes import likes_what_it_should

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.errors import ConfigError
from cerec.recommend.negatives import Uniform
from cerec_bench.systems.cadsi import CaDSI, CaDSIConfig, distance_correlation
from cerec_bench.systems.cadsi_routing import Edges, agree, normalise, route, spread
from cerec_bench.systems.cadsi_semantics import aspects_of, learn_semantics, pull, walk
from recommend_worlds import facts, ragged, random_world

SMALL = {"dim": 8, "intents": 2, "walks": 2, "hops": 2, "sampled": 8, "batch": 64}


def noise(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def dense(edges: Edges, weight: torch.Tensor) -> torch.Tensor:
    """(N, N) with the weights of one intent."""
    n = len(edges.indptr) - 1
    out = torch.zeros(n, n, dtype=weight.dtype)
    at = (torch.from_numpy(edges.head).long(), torch.from_numpy(edges.tail).long())
    return out.index_put(at, weight)


def slow_route(edges: Edges, start: torch.Tensor, k: int, rounds: int, layers: int) -> torch.Tensor:
    """DGCF with dense matrices, everything left to autograd."""
    head, tail = torch.from_numpy(edges.head).long(), torch.from_numpy(edges.tail).long()
    logits = [torch.ones(len(head), dtype=start.dtype) for _ in range(k)]
    ego, total = start, start
    for _ in range(layers):
        for _ in range(rounds):
            share = torch.softmax(torch.stack(logits), dim=0)
            parts = []
            for n, chunk in enumerate(ego.chunk(k, dim=1)):
                p = dense(edges, share[n])
                rows, columns = p.sum(1).clamp(min=1e-30), p.sum(0).clamp(min=1e-30)
                new = (p / rows.sqrt()[:, None] / columns.sqrt()[None, :]) @ chunk
                a, b = F.normalize(new, dim=1), torch.tanh(F.normalize(chunk, dim=1))
                logits[n] = logits[n] + (a[head] * b[tail]).sum(1)
                parts.append(new)
        ego = torch.cat(parts, dim=1)
        total = total + ego
    return total / (layers + 1)


def test_edges_go_both_ways_and_know_their_way_back() -> None:
    edges = Edges.build(ragged([0, 2], [2]), 3)  # users 0, 1; items 2, 3, 4
    pairs = list(zip(edges.head.tolist(), edges.tail.tolist(), strict=True))
    assert pairs == [(0, 2), (0, 4), (1, 4), (2, 0), (4, 0), (4, 1)]
    assert [pairs[r] for r in edges.reverse] == [(t, h) for h, t in pairs]


def test_kernels_and_their_gradients() -> None:
    known, about = random_world(1, n_users=5, n_items=6)
    edges = Edges.build(ragged([0, 1], [1, 2], [3], [0, 4, 5], [2]), 6)
    del known, about
    n, e = len(edges.indptr) - 1, len(edges.head)
    weight, x, y = noise(e, 2), noise(n, 6, seed=1), noise(n, 6, seed=2)
    expected = torch.cat(
        [dense(edges, weight[:, k]) @ x[:, 3 * k : 3 * k + 3] for k in range(2)], dim=1
    )
    torch.testing.assert_close(spread(edges, weight, x), expected)
    for part in (weight, x, y):
        part.requires_grad_()
    assert torch.autograd.gradcheck(lambda w, a: spread(edges, w, a), (weight, x))
    assert torch.autograd.gradcheck(lambda a, b: agree(edges, a, b, 2), (x, y))
    share = (noise(e, 2, seed=3).abs() + 0.1).requires_grad_()
    assert torch.autograd.gradcheck(lambda p: normalise(edges, p), (share,))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
def test_routing_is_dgcf(seed: int, k: int, rounds: int, layers: int) -> None:
    known, _ = random_world(seed, n_users=6, n_items=9)
    edges = Edges.build(known, 9)
    ours = noise(15, 2 * k, seed=seed).float().requires_grad_()
    theirs = ours.detach().double().requires_grad_()
    pulled = noise(15, 2 * k, seed=seed + 1)
    got = route(edges, ours, intents=k, rounds=rounds, layers=layers)
    slow = slow_route(edges, theirs, k, rounds, layers)
    torch.testing.assert_close(got.double(), slow, atol=1e-5, rtol=1e-4)
    (got * pulled.float()).sum().backward()
    (slow * pulled).sum().backward()
    torch.testing.assert_close(ours.grad.double(), theirs.grad, atol=1e-4, rtol=1e-3)


def test_one_intent_and_one_round_is_a_lightgcn_layer_averaged_with_the_start() -> None:
    known, _ = random_world(2)
    edges = Edges.build(known, 20)
    start = noise(32, 4).float()
    degree = np.maximum(np.diff(edges.indptr), 1)
    weight = 1 / np.sqrt(degree[edges.head] * degree[edges.tail])
    matrix = dense(edges, torch.from_numpy(weight.astype(np.float32)))
    got = route(edges, start, intents=1, rounds=1, layers=1)
    torch.testing.assert_close(got, (start + matrix @ start) / 2)


def test_shares_of_an_edge_sum_to_one_and_move_with_routing() -> None:
    known, _ = random_world(2)
    edges = Edges.build(known, 20)
    start = noise(32, 8).float()
    logits = torch.ones(len(edges.head), 2)
    share = torch.softmax(logits, dim=1)
    out = spread(edges, normalise(edges, share), start)
    logits = logits + agree(edges, out, torch.tanh(start), 2)
    moved = torch.softmax(logits, dim=1)
    torch.testing.assert_close(moved.sum(1), torch.ones(len(edges.head)))
    assert not torch.allclose(moved, share, atol=1e-3)


def test_distance_correlation_of_the_same_is_one_and_of_noise_nearly_nothing() -> None:
    a, b = noise(1500, 3), noise(1500, 3, seed=1)
    assert distance_correlation(a, a).item() == pytest.approx(1.0, abs=1e-6)
    assert distance_correlation(a, 3 * a + 1).item() == pytest.approx(1.0, abs=1e-6)
    few = distance_correlation(a[:100], b[:100]).item()
    many = distance_correlation(a, b).item()
    assert many < 0.1
    assert many < few / 2


def test_distance_correlation_by_its_definition() -> None:
    a, b = noise(7, 2).requires_grad_(), noise(7, 3, seed=1).requires_grad_()

    def centred(x: np.ndarray) -> np.ndarray:
        d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
        return d - d.mean(0) - d.mean(1)[:, None] + d.mean()

    x, y = centred(a.detach().numpy()), centred(b.detach().numpy())
    expected = np.sqrt((x * y).mean() / np.sqrt((x * x).mean() * (y * y).mean()))
    assert distance_correlation(a, b).item() == pytest.approx(expected, rel=1e-4)
    assert torch.autograd.gradcheck(distance_correlation, (a, b), atol=1e-4)


def test_aspects_are_frequent_relations_and_the_rest() -> None:
    about = facts([[0, 1, 3], [0, 1], [1, 2]], [0, 1, 2, 3])
    assert aspects_of(about, 2).tolist() == [1, 0, 2, 2]
    assert aspects_of(about, 9).tolist() == [1, 0, 2, 3]
    assert aspects_of(facts([[], []], []), 3).tolist() == []


def test_walks_follow_the_meta_path() -> None:
    known, about = random_world(4)
    start = np.arange(12, dtype=np.int32)
    walks = walk(known, about.of_item, start, 3, np.random.default_rng(0))
    assert walks.shape == (12, 13)
    takers = known.transpose(20)
    for path in walks:
        path = path[path >= 0]
        for at, node in enumerate(path[:-1]):
            here, there = int(node), int(path[at + 1])
            if at % 4 == 0:
                assert there - 12 in known.row(here)
            elif at % 4 == 1:
                assert there - 32 in about.of_item.row(here - 12)
            elif at % 4 == 2:
                assert there - 12 in about.holders.row(here - 32)
            else:
                assert there in takers.row(here - 12)
    assert (walks[:, 4] >= 0).all()


def test_a_walk_ends_where_nothing_leads_on() -> None:
    known = ragged([0], [1], [])  # item 0 has no value; the last user has nothing
    of_item = ragged([], [0])
    got = walk(known, of_item, np.arange(3, dtype=np.int32), 1, np.random.default_rng(0))
    assert got[0].tolist() == [0, -1, -1, -1, -1]
    assert got[1].tolist() == [1, 4, 5, 4, 1]
    assert got[2].tolist() == [2, -1, -1, -1, -1]


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_a_step_of_skip_gram_is_the_gradient(label: float) -> None:
    x, y = noise(5).float().requires_grad_(), noise(5, seed=1).float().requires_grad_()
    sign = 1.0 if label else -1.0
    F.logsigmoid(sign * (x * y).sum()).backward()
    moved, owed = y.detach().numpy().copy(), np.zeros(5, np.float32)
    pull(x.detach().numpy(), moved, label, 0.1, owed)
    np.testing.assert_allclose(owed, 0.1 * x.grad.numpy(), atol=1e-6)
    np.testing.assert_allclose(moved - y.detach().numpy(), 0.1 * y.grad.numpy(), atol=1e-6)


def test_semantics_tell_whose_values_are_whose() -> None:
    # two camps that share no item and no value
    known = ragged(*[[0, 1, 2], [1, 2, 3]] * 3, *[[4, 5, 6], [5, 6, 7]] * 3)
    about = facts([[0], [0, 1], [1], [0], [2], [2, 3], [3], [2]], [0] * 4)
    told = learn_semantics(known, about, aspects_of(about, 1), dim=8, walks=30, hops=3, seed=0)
    score = told.user[0] @ told.value.T  # (U, V)
    assert (score[:6, :2].min(axis=1) > score[:6, 2:].max(axis=1)).all()
    assert (score[6:, 2:].min(axis=1) > score[6:, :2].max(axis=1)).all()


def made(**changes: object) -> tuple[CaDSI, Ragged, Facts]:
    known, about = random_world(3)
    return CaDSI(CaDSIConfig(**{**SMALL, **changes}), known, about, seed=1), known, about


def test_without_semantics_it_is_dgcf() -> None:
    model, known, _ = made(walks=0, independence=0.0)
    assert not model.semantics.user.any()
    slow = slow_route(model.edges, model.net["node"].detach().double(), 2, 2, 1)
    both = np.concatenate(model.factors())
    np.testing.assert_allclose(both, slow.numpy(), atol=1e-5)
    assert np.isfinite(
        model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    )


def test_the_score_has_the_semantics_in_it() -> None:
    model, *_ = made()
    user, item = model.factors()
    plain = slow_route(model.edges, model.net["node"].detach().double(), 2, 2, 1).numpy()
    np.testing.assert_allclose(item, plain[12:], atol=1e-5)
    np.testing.assert_allclose(user, plain[:12] + model.semantics.user.sum(axis=0), atol=1e-5)


def test_learning_leaves_the_semantics_alone() -> None:
    model, known, about = made()
    before = model.preferences(2, np.arange(about.n_values))
    model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    assert np.array_equal(before, model.preferences(2, np.arange(about.n_values)))
    value = 4
    by_hand = model.semantics.user[model.aspect[value], 2] @ model.semantics.value[value]
    assert before[value] == pytest.approx(by_hand, abs=1e-5)


def test_independence_falls_when_asked_for() -> None:
    told = []
    for weight in (0.0, 5.0):
        model, known, _ = made(independence=weight, sampled=12)
        rng = np.random.default_rng(0)
        for _ in range(30):
            model.epoch(known.row_of(), known.indices, Uniform(), rng=rng)
        told.append(model._dependence(*model._vectors(), np.random.default_rng(1)).item())
    assert told[1] < told[0]


def test_data_without_facts_is_fine() -> None:
    known = ragged([0, 1], [1, 2])
    model = CaDSI(CaDSIConfig(**SMALL), known, facts([[], [], []], []), seed=0)
    loss = model.epoch(known.row_of(), known.indices, Uniform(), rng=np.random.default_rng(0))
    assert np.isfinite(loss)


@pytest.mark.slow
def test_cadsi_likes_planted_tastes_more_than_planted_dislikes() -> None:
    config = CaDSIConfig(relations=8, walks=40)
    assert likes_what_it_should(lambda known, about: CaDSI(config, known, about, seed=0))


def test_settings_of_cadsi_are_checked() -> None:
    with pytest.raises(ConfigError, match="must divide"):
        CaDSIConfig(dim=10, intents=4)
    with pytest.raises(ConfigError, match=r"model\.rounds"):
        CaDSIConfig(rounds=0)
    with pytest.raises(ConfigError, match="independence"):
        CaDSIConfig(independence=-1)
    with pytest.raises(ConfigError, match="sampled"):
        CaDSIConfig(sampled=1)
