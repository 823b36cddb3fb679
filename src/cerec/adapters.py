"""Adapters for recommenders made elsewhere; see docs/guide/your-recommender.md."""

from cerec.recommend.adapters import (
    Factors,
    FeatureFactors,
    Function,
    Implicit,
    ItemItem,
    LightFM,
    Ranker,
    Scores,
    attribute_columns,
)

__all__ = [
    "Factors",
    "FeatureFactors",
    "Function",
    "Implicit",
    "ItemItem",
    "LightFM",
    "Ranker",
    "Scores",
    "attribute_columns",
]
