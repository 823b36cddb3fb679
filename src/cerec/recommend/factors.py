"""First vectors, and pairs in random order: what models learned by epochs share."""

from __future__ import annotations

import numpy as np

from cerec.recommend.base import Rows, Vectors
from cerec.rng import generator
from cerec.settings.recommender import RecommenderConfig


def start_vectors(n: int, config: RecommenderConfig, seed: int, name: str) -> Vectors:
    """Random first vectors of one table, (n, d)."""
    rng = generator(seed, f"recommend/{name}")
    vectors = rng.standard_normal((n, config.dim), np.float32)
    vectors *= np.float32(config.init)
    return vectors


def batches(n: int, size: int, rng: np.random.Generator) -> list[Rows]:
    """0..n-1 in random order, in pieces of `size`."""
    order = rng.permutation(n).astype(np.int32)
    return [order[start : start + size] for start in range(0, n, size)]
