"""Small hand-made recommenders for the tests of explainers."""

from __future__ import annotations

import numpy as np

from cerec.data.dataset import Dataset
from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.data.synthetic.generate import WorldConfig, make_world
from cerec.recommend.canonical import FactorScores
from cerec.recommend.subject import Subject
from cerec.settings.run import RunConfig
from cerec_bench.explainers.protocol import Context, Pairs


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def ragged(*lists: list[int]) -> Ragged:
    row = np.array([r for r, entries in enumerate(lists) for _ in entries], np.int32)
    return Ragged.from_pairs(row, np.array([e for x in lists for e in x], np.int32), len(lists))


def pairs_of(k: int, *listed: tuple[int, int, int]) -> Pairs:
    """(user, item, rank) in the order of users."""
    user, item, rank = (rows(*column) for column in zip(*listed, strict=True))
    return Pairs(user, item, rank, k)


def context_of(
    data: Dataset | None,
    known: Ragged,
    facts: Facts,
    user: np.ndarray,
    item: np.ndarray,
    value: np.ndarray,
    *,
    k: int,
    seed: int = 0,
    epochs: int = 0,
) -> Context:
    """A factor model with these effects of every value; CERec's agent learns so many epochs."""
    vocabulary = np.arange(facts.n_values, dtype=np.int32)
    scale = np.ones(len(item))
    model = FactorScores(user, item, value)
    subject = Subject(facts, known, vocabulary, facts.of_item, scale, "canonical", model)
    config = RunConfig.of({"train": {"agent_epochs": epochs}}, preset="paper")
    return Context(data, subject, k=k, seed=seed, config=config, factors=(user, item))


def hand(effects: list[float], of_item: list[list[int]], relation: list[int]) -> Context:
    """One user who knows nothing; items score as their values do, with these effects."""
    values = ragged(*of_item)
    facts = Facts(
        rows(*relation), np.arange(len(relation), dtype=np.int32), values,
        values.transpose(len(relation)),
    )  # fmt: skip
    effect = np.array(effects, np.float32)[:, None]
    item = np.array([[effect[v].sum() if v else 0.0] for v in of_item], np.float32)
    return context_of(None, ragged([]), facts, np.ones((1, 1), np.float32), item, effect, k=1)


def learned(seed: int = 3, *, k: int = 5, epochs: int = 0) -> Context:
    """A generated world whose items are what their values make them."""
    data = make_world(WorldConfig(users=30, items=50, interactions=500), seed=seed)
    facts = Facts.build(data)
    rng = np.random.default_rng(seed)
    user = rng.normal(size=(30, 8)).astype(np.float32)
    value = rng.normal(size=(facts.n_values, 8)).astype(np.float32)
    item = np.stack([value[facts.of_item.row(i)].sum(axis=0) for i in range(50)])
    item = (item + 0.3 * rng.normal(size=item.shape)).astype(np.float32)
    train = Ragged.from_pairs(data.interactions.user, data.interactions.item, 30)
    return context_of(data, train, facts, user, item, value, k=k, seed=1, epochs=epochs)
