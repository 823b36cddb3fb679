"""From a configuration to the recommender it names."""

from __future__ import annotations

from cerec.data.facts import Facts
from cerec.data.ragged import Ragged
from cerec.recommend.base import EpochRecommender
from cerec.recommend.bpr import PairFactorisation
from cerec.settings.recommender import RecommenderConfig


def build(config: RecommenderConfig, known: Ragged, facts: Facts, *, seed: int) -> EpochRecommender:
    """A fresh recommender for users with the given train items."""
    if config.model == "lightgcn":
        from cerec.recommend.lightgcn import LightGCN  # needs torch

        return LightGCN(config, known, facts, seed=seed)
    return PairFactorisation(config, known, facts, seed=seed, alone=config.alone)
