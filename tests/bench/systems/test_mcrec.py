"""MCRec's paths against full enumeration, its network against the formulas."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.errors import ConfigError
from cerec_bench.systems.mcrec import MCRec
from cerec_bench.systems.mcrec_network import MCRecConfig, MCRecNet
from cerec_bench.systems.mcrec_paths import PathFinder, frequent

USERS, ITEMS = 20, 25


def world() -> tuple[Ragged, Facts]:
    data = make_world(WorldConfig(users=USERS, items=ITEMS, interactions=150), seed=2)
    known = Ragged.from_pairs(data.interactions.user, data.interactions.item, USERS)
    return known, Facts.build(data)


def vectors(facts: Facts, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((USERS + ITEMS + facts.n_values, 5)).astype(np.float32)


def model(**changes: object) -> MCRec:
    settings = {
        "dim": 4,
        "node_dim": 5,
        "filters": 6,
        "tower": (7,),
        "candidates": 6,
        "pretrain": 2,
        **changes,
    }
    return MCRec(MCRecConfig(**settings), *world(), seed=1)


def all_paths(
    user: int, item: int, known: Ragged, facts: Facts, relations: list[int]
) -> list[set[tuple[int, int, int, int]]]:
    out = [set() for _ in range(1 + len(relations))]
    end = USERS + item
    for mid in set(known.row(user)) - {item}:
        for other in range(USERS):
            if other != user and {mid, item} <= set(known.row(other)):
                out[0].add((user, USERS + mid, other, end))
        for v in set(facts.of_item.row(mid)) & set(facts.of_item.row(item)):
            if facts.relation[v] in relations:
                place = 1 + relations.index(facts.relation[v])
                out[place].add((user, USERS + mid, USERS + ITEMS + v, end))
    return out


def test_a_wide_beam_finds_the_most_similar_paths_of_all() -> None:
    known, facts = world()
    nodes = vectors(facts)
    finder = PathFinder(nodes, known, facts, relations=2, beam=100, instances=3)
    unit = nodes / np.linalg.norm(nodes, axis=1, keepdims=True)
    user, item = (x.ravel().astype(np.int32) for x in np.mgrid[:6, :ITEMS])
    got = finder.find(user, item)
    assert got.shape == (150, 3, 3, 4)
    for b in range(150):
        every = all_paths(user[b], item[b], known, facts, finder.relations.tolist())
        for p in range(3):
            found = [tuple(map(int, path)) for path in got[b, p] if path[0] >= 0]
            assert len(found) == min(3, len(every[p]))
            score = {path: sum(unit[x] @ unit[y] for x, y in pairwise(path)) for path in every[p]}
            best = sorted(score.values(), reverse=True)[:3]
            np.testing.assert_allclose([score[path] for path in found], best, atol=1e-5)


def test_a_narrow_beam_finds_only_real_paths_without_the_pairs_own_edge() -> None:
    known, facts = world()
    finder = PathFinder(vectors(facts), known, facts, relations=3, beam=2, instances=5)
    user, item = known.row_of(), known.indices
    got = finder.find(user, item)
    assert (got[:, 0, 0, 0] >= 0).any()
    for b in range(len(user)):
        every = all_paths(user[b], item[b], known, facts, finder.relations.tolist())
        for p in range(4):
            found = [tuple(map(int, path)) for path in got[b, p] if path[0] >= 0]
            assert set(found) <= every[p]
            assert len(set(found)) == len(found)


def test_frequent_relations_have_most_facts() -> None:
    _, facts = world()
    count = np.bincount(facts.relation[facts.of_item.indices])
    got = frequent(facts, 2)
    assert sorted(count[got], reverse=True) == sorted(count, reverse=True)[:2]
    assert len(frequent(facts, 1000)) == (count > 0).sum()


def slow_forward(
    net: MCRecNet, nodes: torch.Tensor, u: int, i: int, path: np.ndarray
) -> torch.Tensor:
    x, y = net.user[u], net.item[i]
    contexts, present = [], []
    for p, instances in enumerate(path):
        hs = [torch.zeros(net.gates)]
        for one in instances[instances[:, 0] >= 0]:
            v = nodes[torch.from_numpy(one.astype(np.int64))]
            hs.append(
                torch.stack([F.relu(net.filters[p](v[t : t + 3].flatten())) for t in (0, 1)]).amax(
                    0
                )
            )
        contexts.append(torch.stack(hs).amax(0))
        present.append(len(hs) > 1)
    c = torch.zeros(net.gates)
    if any(present):
        logit = torch.stack(
            [
                F.relu(
                    net.attend_out(
                        F.relu(net.attend_pair(torch.cat([x, y])) + net.attend_path(one))
                    )
                )[0]
                for one, there in zip(contexts, present, strict=True)
                if there
            ]
        )
        kept = [one for one, there in zip(contexts, present, strict=True) if there]
        c = sum(w * one for w, one in zip(logit.softmax(0), kept, strict=True))
    x = F.relu(net.gate_user(torch.cat([x, c]))) * x
    y = F.relu(net.gate_item(torch.cat([y, c]))) * y
    z = torch.cat([x, c, y])
    for layer in net.tower:
        z = F.relu(layer(z))
    return net.out(z)[0]


def test_the_network_equals_the_formulas_pair_by_pair() -> None:
    made = model()
    user, item = (x.ravel().astype(np.int32) for x in np.mgrid[:4, :ITEMS])
    path = made.finder.find(user, item)
    slow = [
        slow_forward(made.net, made.nodes, u, i, p)
        for u, i, p in zip(user, item, path, strict=True)
    ]
    logit, weight = made.judge(user, item)
    np.testing.assert_allclose(logit, torch.stack(slow).detach(), atol=1e-5)
    there = path[:, :, 0, 0] >= 0
    assert there.any(1).any()
    assert not there.all()
    assert (weight[~there] == 0).all()
    np.testing.assert_allclose(weight.sum(1), there.any(1), atol=1e-5)


def test_an_update_follows_autograd_of_the_slow_version() -> None:
    made, twin = model(dropout=0.0, l2=0.0), model(dropout=0.0, l2=0.0)
    user, item = np.array([0, 3], np.int32), np.array([4, 5], np.int32)
    wrong = np.array([1, 2, 3, -1], np.int32)  # no negative for the last
    loss = made._update(user, item, wrong, np.random.default_rng(0))
    pairs = [(0, 4, 1.0), (3, 5, 1.0), (0, 1, 0.0), (3, 2, 0.0), (0, 3, 0.0)]
    errors = []
    for u, i, label in pairs:
        one = np.array([u], np.int32), np.array([i], np.int32)
        logit = slow_forward(twin.net, twin.nodes, u, i, twin.finder.find(*one)[0])
        errors.append(F.binary_cross_entropy_with_logits(logit, torch.tensor(label)))
    slow = torch.stack(errors).mean()
    assert loss == pytest.approx(2 * slow.item(), rel=1e-4)
    slow.backward()
    for name, weight in made.net.named_parameters():
        other = dict(twin.net.named_parameters())[name].grad
        torch.testing.assert_close(
            weight.grad, torch.zeros_like(weight) if other is None else other, atol=1e-5, rtol=1e-3
        )


def test_a_pair_without_paths_has_a_finite_score() -> None:
    made = model(relations=0)
    path = torch.full((1, 1, 3, 4), -1)
    logit, weight = made.net(made.nodes, torch.tensor([0]), torch.tensor([1]), path)
    assert torch.isfinite(logit).all()
    assert weight.tolist() == [[0.0]]


def test_fewer_meta_paths_change_counts_alone() -> None:
    for relations in (0, 1, 3):
        made = model(relations=relations)
        user, item = np.array([0], np.int32), np.array([1], np.int32)
        assert made.finder.find(user, item).shape == (1, 1 + relations, 3, 4)
        assert np.isfinite(made.scores(np.arange(3))).all()


def test_candidates_come_first_the_others_keep_the_order_of_bpr() -> None:
    made = model()
    known, _ = world()
    scores = made.scores(np.arange(USERS))
    base = made.factors()[0] @ made.factors()[1].T
    for u in range(USERS):
        mine = made.candidates[u]
        unknown = np.setdiff1d(np.arange(ITEMS), known.row(u))
        expected = unknown[np.argsort(-base[u, unknown], kind="stable")][:6]
        assert set(mine) == set(expected)
        rest = np.setdiff1d(np.arange(ITEMS), mine)
        assert scores[u, mine].min() > 0 > -1 > scores[u, rest].max()
        assert np.array_equal(np.argsort(scores[u, rest]), np.argsort(base[u, rest]))
        logit, _ = made.judge(np.full(6, u, np.int32), mine)
        assert np.array_equal(np.argsort(scores[u, mine]), np.argsort(logit))


def test_soft_gates_add_up_to_one() -> None:
    made = model(soft_gates=True)
    x, c = torch.ones(3, 4), torch.rand(3, 6, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(made.net.gate(made.net.gate_user, x, c).sum(1), torch.ones(3))


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"model\.width"):
        MCRecConfig(width=5)
    with pytest.raises(ConfigError, match=r"model\.beam"):
        MCRecConfig(beam=0)
