"""Nothing held out reaches the graph, the recommender, the agent or the moment to stop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cerec
from cerec.agent import loop
from cerec.data.dataset import TEST, VALID, Dataset
from cerec.data.ragged import Ragged
from cerec.data.split import Split, split, with_parts
from cerec.data.synthetic.generate import make_world
from cerec.recommend.scorer import Scorer
from cerec.runs import evaluate as measure
from worlds import QUICK, SMALL

AGENT = replace(QUICK, signals=replace(QUICK.signals, chooser="agent"))
ONE_LOOK = replace(AGENT, train=replace(AGENT.train, validate_every=AGENT.train.epochs))
SEED = 3


@pytest.fixture(scope="module")
def parted() -> Dataset:
    data = make_world(SMALL, seed=1)
    return with_parts(data, split(data, seed=SEED))


def others(data: Dataset, part: int) -> Dataset:
    """The data with the items of a part put in place by other items unknown to the user."""
    table, rng = data.interactions, np.random.default_rng(0)
    assert table.part is not None
    item = table.item.copy()
    for user in range(len(data.users)):
        here = np.flatnonzero((table.user == user) & (table.part == part))
        free = np.setdiff1d(np.arange(len(data.items)), table.item[table.user == user])
        item[here] = rng.choice(free, len(here), replace=False)
    return replace(data, interactions=replace(table, item=item))


def learned(run: cerec.Run) -> list[np.ndarray]:
    assert run.vectors is not None
    graph = run.ckg.adjacency
    return [*run.model.arrays.values(), run.vectors, graph.indptr, graph.indices]


def timeless(run: cerec.Run) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in run.history]


def test_other_test_items_leave_every_bit_of_a_training(parted: Dataset) -> None:
    one, two = (cerec.train(d, AGENT, seed=SEED) for d in (parted, others(parted, TEST)))
    assert all(np.array_equal(a, b) for a, b in zip(learned(one), learned(two), strict=True))
    assert timeless(one) == timeless(two)
    assert one.metrics["valid"] == two.metrics["valid"]
    assert one.metrics["test"] != two.metrics["test"]


def test_validation_items_do_nothing_but_stop(parted: Dataset) -> None:
    one, two = (cerec.train(d, ONE_LOOK, seed=SEED) for d in (parted, others(parted, VALID)))
    assert all(np.array_equal(a, b) for a, b in zip(learned(one), learned(two), strict=True))
    assert one.metrics["valid"] != two.metrics["valid"]


def test_the_trainer_gets_pairs_and_edges_of_train_alone(
    parted: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Kept(loop.Trainer):
        def run(self) -> bool:
            made.append(self)
            return True

    monkeypatch.setattr(loop, "Trainer", Kept)
    run = cerec.train(parted, AGENT, seed=SEED)
    trainer, train = made[0], set(pairs(run.split.train))
    assert train.isdisjoint(pairs(run.split.valid))
    assert train.isdisjoint(pairs(run.split.test))
    assert set(zip(trainer.user.tolist(), trainer.item.tolist(), strict=True)) == train
    for graph in (trainer.policy.graph, run.ckg):
        taken = graph.relation == 0
        edges = zip(graph.head[taken], graph.tail[taken] - graph.n_users, strict=True)
        assert {(int(u), int(i)) for u, i in edges} == train
        around = graph.adjacency
        near = [(u, int(n) - graph.n_users) for u in range(graph.n_users) for n in around.row(u)]
        assert set(near) == train


def pairs(part: Ragged) -> list[tuple[int, int]]:
    return list(zip(part.row_of().tolist(), part.indices.tolist(), strict=True))


def test_train_is_masked_for_validation_and_both_are_for_test() -> None:
    # One user, items scored 4, 3, 2, 1: train, validation, test, and one of no part.
    one = [Ragged(np.array([0, 1]), np.array([i], np.int32)) for i in range(3)]
    parts = Split(*one)
    user, item = np.ones((1, 1), np.float32), np.array([[4], [3], [2], [1]], np.float32)
    scorer = Scorer(user, item, item[:0], user, "sum")
    assert parts.known_before("valid").row(0).tolist() == [0]
    assert parts.known_before("test").row(0).tolist() == [0, 1]
    figures = measure.final_figures(scorer, parts, k=1)
    assert figures["valid"]["recall@1"] == figures["test"]["recall@1"] == 1.0
    assert measure.validation_figures(scorer, parts, "ndcg@1")["ndcg@1"] == 1.0
