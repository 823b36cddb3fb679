"""Adapters for recommenders made elsewhere; see docs/guide/your-recommender.md."""

from cerec.recommend.adapters import *  # noqa: F403
from cerec.recommend.adapters import __all__ as __all__
