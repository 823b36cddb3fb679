"""BPR-MF vectors to start from, as KGAT, KGPolicy and MCRec do."""

from __future__ import annotations

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import Rows
from cerec.recommend.bpr import PairFactorisation
from cerec.recommend.negatives import Uniform
from cerec.rng import generator
from cerec.settings.recommender import RecommenderConfig


def pretrain(
    user: Rows,
    item: Rows,
    known: Ragged,
    facts: Facts,
    *,
    dim: int,
    epochs: int,
    seed: int,
) -> PairFactorisation:
    """BPR-MF after `epochs` passes over the train pairs, with uniform negatives."""
    config = RecommenderConfig(model="bpr", dim=dim)
    model = PairFactorisation(config, known, facts, seed=seed)
    for epoch in range(epochs):
        model.epoch(user, item, Uniform(), rng=generator(seed, f"pretraining/{epoch}"))
    return model
