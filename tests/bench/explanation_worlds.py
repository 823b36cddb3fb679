"""Small hand-made recommenders for the tests of explainers."""

from __future__ import annotations

import numpy as np

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.recommend.scorer import Pooling, Scorer
from cerec_bench.explainers.protocol import AgentSetup, Context, Pairs


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def ragged(*lists: list[int]) -> Ragged:
    row = np.array([r for r, entries in enumerate(lists) for _ in entries], np.int32)
    return Ragged.from_pairs(row, np.array([e for x in lists for e in x], np.int32), len(lists))


def pairs_of(k: int, *listed: tuple[int, int, int]) -> Pairs:
    """(user, item, rank) in the order of users."""
    user, item, rank = (rows(*column) for column in zip(*listed, strict=True))
    return Pairs(user, item, rank, k)


def hand(
    effects: list[float], of_item: list[list[int]], relation: list[int], pooling: Pooling = "sum"
) -> Context:
    """One user who knows nothing; items score as their values do, with these effects."""
    values = ragged(*of_item)
    facts = Facts(
        rows(*relation), np.arange(len(relation), dtype=np.int32), values,
        values.transpose(len(relation)),
    )  # fmt: skip
    effect = np.array(effects, np.float32)[:, None]
    pool = np.mean if pooling == "mean" else np.sum
    item = np.array([[pool(effect[v]) if v else 0.0] for v in of_item], np.float32)
    user = np.ones((1, 1), np.float32)
    scorer = Scorer(user, item, effect, user, pooling)
    return Context(None, ragged([]), facts, scorer, k=1, seed=0)


def learned(seed: int = 3, *, pooling: Pooling = "mean", k: int = 5) -> Context:
    """A generated world whose items are what their values make them."""
    data = make_world(WorldConfig(users=30, items=50, interactions=500), seed=seed)
    facts = Facts.build(data)
    rng = np.random.default_rng(seed)
    user = rng.normal(size=(30, 8)).astype(np.float32)
    value = rng.normal(size=(facts.n_values, 8)).astype(np.float32)
    pool = np.mean if pooling == "mean" else np.sum
    item = np.stack([pool(value[facts.of_item.row(i)], axis=0) for i in range(50)])
    item = (item + 0.3 * rng.normal(size=item.shape)).astype(np.float32)
    scorer = Scorer(user, item, value, user, pooling)
    train = Ragged.from_pairs(data.interactions.user, data.interactions.item, 30)
    return Context(data, train, facts, scorer, k=k, seed=1, setup=AgentSetup(epochs=0))
