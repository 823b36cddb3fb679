"""Tests and intervals for pairs that are explained by several methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from cerec.rng import generator

Bools = NDArray[np.bool_]


def mcnemar(ours: Bools, theirs: Bools) -> float:
    """Two-sided exact McNemar test: do two methods succeed equally often on the same pairs?"""
    only_ours, only_theirs = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    n = only_ours + only_theirs
    return 1.0 if n == 0 else float(stats.binomtest(only_ours, n, 0.5).pvalue)


def over_users(
    values: NDArray[np.float64],
    user: NDArray[np.integer],
    *,
    rounds: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of the mean over pairs, users drawn with replacement.

    Pairs of one user go together, for they are alike; nan are left out.
    """
    there = ~np.isnan(values)
    _, at = np.unique(user[there], return_inverse=True)
    if len(at) == 0:
        return float("nan"), float("nan")
    total, count = np.bincount(at, values[there]), np.bincount(at)
    rng = generator(seed, "explanations/bootstrap")
    means = []
    for _ in range(rounds):
        drawn = rng.integers(0, len(count), len(count))
        means.append(total[drawn].sum() / count[drawn].sum())
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
