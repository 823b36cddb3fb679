"""Adapters: a few lines that turn a finished recommender into one of the protocol."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.recommend.adapters.factors import Factors, FeatureFactors
    from cerec.recommend.adapters.function import Function
    from cerec.recommend.adapters.implicit import Implicit
    from cerec.recommend.adapters.itemitem import ItemItem
    from cerec.recommend.adapters.lightfm import LightFM
    from cerec.recommend.adapters.ranker import Ranker, attribute_columns
    from cerec.recommend.adapters.scores import Scores

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

__getattr__, __dir__ = exports(__name__, __file__)
